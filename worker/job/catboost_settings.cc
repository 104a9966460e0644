#include "worker/job/catboost_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/core/device_choice.h"
#include "worker/job/tree_settings.h"
#include "worker/job/wrong_setting.h"

namespace strata {
namespace {

constexpr std::string_view kOpenSection = "gbdt";

// CatBoost's parameters that a job file has outside of [gbdt].
struct Placed {
  std::string_view name;
  std::string_view place;
};
constexpr Placed kPlaced[] = {{"learn_set", "data.train"},
                              {"test_set", "data.test"},
                              {"column_description", "[[feature]], data.label and data.weight"},
                              {"cd", "[[feature]], data.label and data.weight"},
                              {"delimiter", "data.delimiter"},
                              {"has_header", "data.header"},
                              {"model_file", "output.model"},
                              {"device", "compute.device"},
                              {"random_seed", "job.seed"},
                              {"random_state", "job.seed"}};

Status CheckTask(const JobConfig& job, const std::string& task) {
  if (task == "train" || task == "evaluate" || task == "predict") return {};
  return Invalid(fmt::format(
      "--task={}: {}: CatBoost's trees know no such task: expected train, evaluate or predict{}",
      task, job.file,
      task == "convert" ? "; --task=convert model_file=FILE, without a job, writes a model anew"
                        : ""));
}

Status CheckPaths(const Settings& settings, const JobConfig& job, const std::string& task) {
  const bool trains = task == "train";
  STRATA_TRY(OneTreeFile(settings, "data.train", job.train_files).status());
  STRATA_TRY(OneTreeFile(settings, "data.test", job.test_files).status());
  if ((trains ? job.train_files : job.test_files).empty()) {
    return NoPath(job.file, trains ? "data.train" : "data.test",
                  fmt::format("the file of rows to {}", task));
  }
  if (job.model_path.empty()) {
    return NoPath(job.file, "output.model",
                  trains ? "the file to write" : "the file of a trained model");
  }
  if (task != "predict" || !job.predictions_path.empty()) return {};
  return NoPath(job.file, "output.predictions", "the file to write");
}

}  // namespace

const SettingsTable& CatBoostJobTable() {
  static const std::vector<Setting> rows = [] {
    std::vector<Setting> all;
    std::ranges::copy_if(JobSettingsTable().settings, std::back_inserter(all),
                         [](const Setting& row) {
                           return !row.key.starts_with("gbdt.") || row.key == "gbdt.algorithm";
                         });
    return all;
  }();
  static const SettingsTable table = {.title = "job.toml",
                                      .settings = rows,
                                      .repeated = JobSettingsTable().repeated,
                                      .refused = {},
                                      .open_section = kOpenSection};
  return table;
}

Settings LookIntoJob(std::string_view text, const std::string& file,
                     std::span<const std::string> overrides) {
  Settings settings(CatBoostJobTable());
  (void)settings.LoadToml(text, file, true);
  for (const std::string& word : overrides) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    (void)settings.Set(word.substr(0, equals), word.substr(equals + 1), "command line");
  }
  return settings;
}

bool AsksForCatBoost(const Settings& of_look) {
  return of_look.Text("gbdt.algorithm") == "catboost";
}

Result<std::vector<OpenValue>> ReadCatBoostSettings(const Settings& settings, const JobConfig& job,
                                                    const std::string& task) {
  STRATA_TRY(CheckTask(job, task));
  STRATA_TRY(CheckTreeSections(settings, "compute.device"));
  if (!job.data.query.empty()) {
    return Wrong(settings, "data.query",
                 "has no effect on gbdt.algorithm = \"catboost\", whose losses know no queries: "
                 "list the column in data.ignore");
  }
  std::vector<OpenValue> parameters = settings.Open();
  for (const OpenValue& given : parameters) {
    const auto* const placed = std::ranges::find(kPlaced, given.key, &Placed::name);
    if (placed == std::end(kPlaced)) continue;
    return Invalid(fmt::format("{}: gbdt.{} has another place: {} (CatBoost's {})", given.origin,
                               given.key, placed->place, given.key));
  }
  STRATA_TRY(CheckPaths(settings, job, task));
  if (settings.IsSet("compute.device")) {
    const std::string& device = settings.Text("compute.device");
    const Status known = ParseDevice(device).status();
    if (!known.ok()) return Wrong(settings, "compute.device", known.message());
    parameters.push_back(
        {"device", fmt::format("\"{}\"", device), settings.Origin("compute.device")});
  }
  if (settings.IsSet("job.seed")) {
    parameters.push_back({"random_seed", fmt::format("{}", job.seed), settings.Origin("job.seed")});
  }
  return parameters;
}

}  // namespace strata
