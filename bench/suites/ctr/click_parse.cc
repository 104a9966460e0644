#include "bench/suites/ctr/click_parse.h"

#include <fmt/format.h>

#include "base/file/disk.h"
#include "bench/suites/ctr/click_text.h"
#include "worker/tasks/job_data.h"

namespace strata::bench {
namespace {

constexpr size_t kBatch = 8192;

}  // namespace

Result<std::unique_ptr<ClickParse>> ClickParse::Make(const std::string& path,
                                                     const std::string& format, bool shuffles,
                                                     int threads) {
  std::string text = ClickTextSection(path, format) + "[model]\nkind = \"fm\"\n";
  if (!shuffles) text += "[train]\nshuffle_rows = 0\n";
  STRATA_ASSIGN(JobConfig job, ParseJob(text, "bench.toml", {}));
  job.data.threads = threads;
  std::unique_ptr<ClickParse> parse(new ClickParse);
  STRATA_ASSIGN(const JobFeatures found, FitJobFeatures(RealDisk(), job, parse->group_));
  STRATA_ASSIGN(parse->source_,
                OpenTraining(RealDisk(), job, found.features, kBatch, parse->group_));
  return parse;
}

Status ClickParse::Run(uint64_t epochs) {
  for (uint64_t i = 0; i < epochs; ++i) {
    STRATA_TRY(source_->Rewind(epoch_++));
    do {
      STRATA_TRY(source_->Next(kBatch, &batch_));
      samples_ += batch_.samples;
    } while (batch_.samples > 0);
  }
  return {};
}

}  // namespace strata::bench
