#include "worker/tasks/catboost/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/text_file.h"
#include "base/json_text.h"
#include "worker/job/catboost_settings.h"
#include "worker/tasks/catboost/calc_options.h"
#include "worker/tasks/catboost/fit_input.h"
#include "worker/tasks/catboost/fit_settings.h"
#include "worker/tasks/catboost/pool_settings.h"
#include "worker/tasks/catboost/refused_parameters.h"

namespace strata {
namespace {

constexpr uint64_t kJobBytesMax = 16 << 20;
// Of `catboost calc`; a job has it beside the parameters of fit.
constexpr std::string_view kPredictionType = "prediction_type";

bool IsOfCatBoost(std::string_view name) {
  const std::string_view key = FitKey(name);
  return name == kPredictionType || FindRefused(key) != nullptr ||
         std::ranges::any_of(FitSettingsTable().settings,
                             [key](const Setting& row) { return row.key == key; });
}

bool IsOfLightGbm(std::string_view name) {
  const std::string key = fmt::format("gbdt.{}", name);
  const SettingsTable& table = JobSettingsTable();
  const auto has = [&key](const auto& row) { return row.key == key; };
  return std::ranges::any_of(table.settings, has) || std::ranges::any_of(table.refused, has);
}

Status CheckNoneOfLightGbm(const std::vector<OpenValue>& parameters) {
  for (const OpenValue& given : parameters) {
    if (IsOfCatBoost(given.key) || !IsOfLightGbm(given.key)) continue;
    return Invalid(fmt::format(
        "{}: gbdt.{} is a parameter of LightGBM, which gbdt.algorithm = \"catboost\" does not "
        "have: remove it, or leave gbdt.algorithm out",
        given.origin, given.key));
  }
  return {};
}

// A job's parameters as settings of FitSettingsTable, with what rows there are.
Result<Settings> SettingsOf(const JobConfig& job) {
  STRATA_TRY(CheckNoneOfLightGbm(*job.catboost));
  std::vector<OpenValue> of_fit;
  std::ranges::copy_if(*job.catboost, std::back_inserter(of_fit),
                       [](const OpenValue& given) { return given.key != kPredictionType; });
  STRATA_ASSIGN(Settings settings, ReadFitSettings(of_fit));
  if (!job.test_files.empty()) {
    STRATA_TRY(settings.Set("test_set", job.test_files[0], "data.test"));
  }
  return settings;
}

Result<std::string> PredictionTypeOf(const JobConfig& job) {
  Settings settings(CalcSettingsTable());
  for (const OpenValue& given : *job.catboost) {
    if (given.key != kPredictionType) continue;
    const nlohmann::json value = ParseJson(given.json);
    STRATA_TRY(settings.Set(kPredictionType,
                            value.is_string() ? value.get<std::string>() : value.dump(),
                            given.origin));
  }
  return settings.Text(kPredictionType);
}

}  // namespace

Result<FitOptions> FitOptionsOfJob(const JobConfig& job) {
  STRATA_ASSIGN(const Settings settings, SettingsOf(job));
  FitOptions options;
  STRATA_ASSIGN(options.parameters, ReadFitParameters(settings));
  STRATA_TRY(PredictionTypeOf(job).status());
  options.learn.path = job.train_files[0];
  options.learn.of_job = job.data;
  options.test = options.learn;
  options.test.path = settings.Text("test_set");
  options.model_file = job.model_path;
  options.model_option = "output.model";
  STRATA_TRY(CheckIsJson(options.model_option, options.model_file));
  options.threads = ThreadCount(settings);
  STRATA_ASSIGN(options.display, ReadDisplay(settings));
  return options;
}

Result<ApplyOptions> ApplyOptionsOfJob(const JobConfig& job, const std::string& task) {
  STRATA_ASSIGN(const Settings settings, SettingsOf(job));
  ApplyOptions options;
  options.task = task;
  STRATA_ASSIGN(options.parameters, ReadFitParameters(settings));
  STRATA_ASSIGN(options.prediction_type, PredictionTypeOf(job));
  options.rows.path = job.test_files[0];
  options.rows.of_job = job.data;
  options.model_file = job.model_path;
  if (task == "predict") options.output_path = job.predictions_path;
  options.threads = ThreadCount(settings);
  return options;
}

Status WithCatBoostLook(Disk& disk, const std::string& path, std::span<const std::string> overrides,
                        const Status& of) {
  if (of.code() != StatusCode::kInvalid) return of;
  const Result<std::string> text = ReadTextFile(disk, path, kJobBytesMax);
  if (!text.ok()) return of;
  const Settings look = LookIntoJob(*text, path, overrides);
  if (look.Text("model.kind") != "gbdt" || AsksForCatBoost(look)) return of;
  for (const OpenValue& given : look.Open()) {
    if (!IsOfCatBoost(given.key) || IsOfLightGbm(given.key)) continue;
    return Invalid(
        fmt::format("{}: gbdt.{} is a parameter of CatBoost: set gbdt.algorithm = \"catboost\", "
                    "or remove it",
                    given.origin, given.key));
  }
  return of;
}

}  // namespace strata
