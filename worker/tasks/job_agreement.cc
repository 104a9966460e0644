#include "worker/tasks/job_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/file/standard_input.h"
#include "storage/optimizer_fields.h"
#include "worker/ctr/agree.h"

namespace strata {
namespace {

// What the files hold decides the parts of the ranks.
Status AddSizes(Disk& disk, const JobConfig& job, const char* key,
                const std::vector<std::string>& paths, std::string* text) {
  if (paths.size() > 1) *text += fmt::format("files of {} = {}\n", key, paths.size());
  for (const std::string& path : paths) {
    if (IsStandardInput(path)) continue;
    const Result<std::unique_ptr<File>> file = disk.OpenToRead(path);
    STRATA_TRY(WrongPath(job, key, file.status()));
    const Result<uint64_t> size = (*file)->Size();
    STRATA_TRY(WrongPath(job, key, size.status()));
    *text += fmt::format("bytes of {} = {}\n", key, *size);
  }
  return {};
}

// One setting a line.
Result<std::string> Describe(Disk& disk, const JobConfig& job, const std::string& task) {
  std::string text = fmt::format("--task = {}\n", task);
  for (const JobSetting& setting : job.settings) {
    // Each worker has its own.
    if (setting.name == "compute.device" || setting.name == "data.threads") continue;
    text += fmt::format("{} = {}\n", setting.name, setting.value);
  }
  if (task == "train") STRATA_TRY(AddSizes(disk, job, "data.train", job.train_files, &text));
  STRATA_TRY(AddSizes(disk, job, "data.test", job.test_files, &text));
  return text;
}

// The first line of `text` and what is behind it.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return line.empty() ? "nothing more" : line;
}

// What another run of the same job may do otherwise without another bit in the table.
bool IsWithoutEffectOnSteps(std::string_view setting) {
  return setting == "train.epochs" || setting == "train.eval_every" ||
         setting == "train.eval_every_steps" || setting == "train.early_stopping" ||
         setting == "train.best_by" || setting == "train.hint_batches" || setting == "data.test" ||
         setting == "data.group" || setting == "data.threads" || setting.starts_with("output.") ||
         setting.starts_with("checkpoint.");
}

// Whether the first builds' jobs did not have it.
bool IsLater(std::string_view setting) {
  const size_t dot = setting.find('.');
  const std::string_view section = setting.substr(0, dot);
  if (section == "compute" || setting == "sparse.placement" || setting == "model.bottom" ||
      setting == "model.combiner" || setting == "model.loss" || setting.starts_with("data.raw_") ||
      setting == "model.cross_layers" || setting == "model.cross_rank") {
    return true;
  }
  if (section != "sparse" && section != "dense") return false;
  const auto field =
      std::ranges::find(OptimizerFields(), setting.substr(dot + 1), &OptimizerField::name);
  return field != OptimizerFields().end() && !field->from_start;
}

// Jobs that do not set these go on where they are as they would have been.
bool IsLaterAndNotSet(const JobConfig& job, const JobSetting& setting) {
  if (setting.name.ends_with("].keys_of")) return setting.value == "\"\"";  // of a [[feature]]
  if (!IsLater(setting.name)) return false;
  if (!job.origins.contains(setting.name)) return true;
  const auto rows = JobSettingsTable().settings;
  const auto row = std::ranges::find(rows, setting.name, &Setting::key);
  return row != rows.end() && row->default_value == setting.value;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> FirstDifference(std::string_view first,
                                                                   std::string_view second) {
  while (!first.empty() || !second.empty()) {
    const std::string_view first_line = TakeLine(&first);
    const std::string_view second_line = TakeLine(&second);
    if (first_line != second_line)
      return std::pair{std::string(first_line), std::string(second_line)};
  }
  return std::nullopt;
}

std::string JobFingerprint(const JobConfig& job, int workers, const JobFeatures& data) {
  std::string text = fmt::format("workers = {}\n", workers);
  for (const JobSetting& setting : job.settings) {
    if (IsWithoutEffectOnSteps(setting.name) || IsLaterAndNotSet(job, setting)) continue;
    text += fmt::format("{} = {}\n", setting.name, setting.value);
  }
  text += fmt::format("rows of data.train = {}\nhash of data.train = {:016x}\n", data.rows,
                      data.content_hash);
  return text;
}

Status AgreeOnJob(Group& group, Disk& disk, const JobConfig& job, const std::string& task) {
  const Result<std::string> described = Describe(disk, job, task);
  STRATA_TRY(AgreeOnStatus(group, described.status()));
  const std::string& mine = *described;
  std::vector<std::vector<std::byte>> all;
  STRATA_TRY(group.Allgather(std::as_bytes(std::span(mine)), &all));
  const auto text_of = [&](size_t rank) {
    return std::string_view(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
  };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const auto difference = FirstDifference(text_of(0), text_of(rank));
    if (!difference.has_value()) continue;
    return Invalid(fmt::format(
        "the workers do not run the same job: worker 0 has '{}', worker {} has '{}'; give all of "
        "them the same job file, overrides and data files",
        difference->first, rank, difference->second));
  }
  return {};
}

}  // namespace strata
