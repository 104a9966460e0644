#include "worker/job/job_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file/standard_input.h"
#include "worker/data/file/file_list.h"
#include "worker/job/wrong_setting.h"

namespace strata {
namespace {

Status FindFilesOf(Disk& disk, const JobConfig& job, const char* key,
                   std::vector<std::string>* names) {
  Result<std::vector<std::string>> files = FindDataFiles(disk, *names);
  STRATA_TRY(WrongPath(job, key, files.status()));
  *names = std::move(files).value();
  if (!job.has_trees() || names->size() <= 1) return {};
  return WrongPath(job, key,
                   Invalid(fmt::format("the pattern stands for {} files: expected one, as boosted "
                                       "trees read one file",
                                       names->size())));
}

}  // namespace

Status CheckStandardInput(const Settings& settings, const JobConfig& job, const std::string& task) {
  const auto is_input = [](const std::vector<std::string>& files) {
    return std::ranges::any_of(files, IsStandardInput);
  };
  if (is_input(job.train_files)) {
    return Wrong(settings, "data.train",
                 "is -, standard input, which can be read once: training reads its data more than "
                 "once; name a file");
  }
  if (!is_input(job.test_files)) return {};
  if (settings.Text("model.kind") == "gbdt" || job.data.raw.has_value()) {
    return Wrong(settings, "data.test",
                 fmt::format("is -, standard input, which is for text and click models, not for "
                             "{}: name a file",
                             job.data.raw.has_value() ? "data.format = \"raw\"" : "boosted trees"));
  }
  if (task != "train") return {};
  return Wrong(settings, "data.test",
               "is -, standard input, which can be read once: training measures on its data more "
               "than once; name a file, or none");
}

Status FindJobFiles(Disk& disk, const std::string& task, JobConfig* job) {
  const bool trains = task == "train" || task == "refit";
  if (trains) STRATA_TRY(FindFilesOf(disk, *job, "data.train", &job->train_files));
  STRATA_TRY(FindFilesOf(disk, *job, "data.test", &job->test_files));
  if (!job->trees.has_value()) return {};
  const std::vector<std::string>& rows = trains ? job->train_files : job->test_files;
  if (!rows.empty()) job->trees->data.path = rows[0];
  if (!job->trees->data.valid.empty()) job->trees->data.valid = job->test_files;
  return {};
}

}  // namespace strata
