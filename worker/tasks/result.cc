#include "worker/tasks/result.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "base/json_text.h"

namespace strata {
namespace {

double Rate(const TaskResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.samples) / result.seconds : 0;
}

// "4.00, and 1.25 for evaluations".
std::string SecondsText(const TaskResult& result) {
  const std::string own = fmt::format("{:.2f}", result.seconds);
  if (result.evaluation_seconds <= 0) return own;
  return fmt::format("{}, and {:.2f} for evaluations", own, result.evaluation_seconds);
}

// "300 of 450 by auc; training ended 3 evaluations later".
std::string BestText(const TaskResult& result) {
  const EarlyStoppingResult& stopping = *result.early_stopping;
  return fmt::format("{} of {} by {}{}", stopping.best_steps, result.steps, stopping.best_by,
                     stopping.ended ? fmt::format("; training ended {} later",
                                                  Counted(stopping.since_best, "evaluation"))
                                    : "");
}

nlohmann::ordered_json MetricsJson(const Metrics& metrics) {
  nlohmann::ordered_json object;
  if (metrics.loss == LossKind::kMse) {
    object = {{"mse", JsonNumber(metrics.mse)}, {"rmse", JsonNumber(std::sqrt(metrics.mse))}};
  } else {
    object = {{"auc", JsonNumber(metrics.auc)},
              {"logloss", JsonNumber(metrics.logloss)},
              {"calibration", JsonNumber(metrics.calibration)}};
  }
  object["samples"] = metrics.samples;
  object["bad_rows"] = metrics.bad_rows;
  return object;
}

void AddMetrics(const Metrics& metrics, std::vector<std::pair<std::string, std::string>>* rows) {
  if (metrics.loss == LossKind::kMse) {
    rows->emplace_back("errors", SquaredErrorText(metrics));
    return;
  }
  const std::string why = WhyNoAuc(metrics);
  rows->emplace_back("AUC", MetricText(metrics.auc, 5) + (why.empty() ? "" : ": " + why));
  rows->emplace_back("logloss", MetricText(metrics.logloss, 5));
  rows->emplace_back("calibration", MetricText(metrics.calibration, 4));
}

}  // namespace

std::string ResultJson(const WorkerOptions& options, const TaskResult& result, int workers,
                       int servers) {
  nlohmann::ordered_json object = {
      {"task", TaskName(options.task)},       {"job", options.job.name},
      {"model", ModelKindName(result.model)}, {"samples", result.samples},
      {"bad_rows", result.bad_rows},          {"seconds", result.seconds},
      {"samples_per_second", Rate(result)}};
  if (options.task == Task::kTrain) {
    object["evaluation_seconds"] = result.evaluation_seconds;
    object["epochs"] = options.job.epochs;
    object["steps"] = result.steps;
    if (result.resumed_from.has_value()) object["resumed_from"] = *result.resumed_from;
    if (result.checkpoints > 0) object["checkpoints"] = result.checkpoints;
  }
  object["metrics"] = nlohmann::ordered_json::object();
  if (result.metrics.has_value()) {
    object["metrics"] = MetricsJson(*result.metrics);
    if (!options.job.data.group.empty()) {
      object["metrics"]["gauc"] = JsonNumber(result.metrics->gauc);
      object["metrics"]["groups"] = result.metrics->groups;
      object["metrics"]["groups_left_out"] = result.metrics->groups_left_out;
    }
  }
  if (result.early_stopping.has_value()) {
    object["early_stopping"] = {{"ended", result.early_stopping->ended},
                                {"best_by", result.early_stopping->best_by},
                                {"best_step", result.early_stopping->best_steps},
                                {"evaluations_since", result.early_stopping->since_best}};
  }
  if (result.stages.has_value()) object["stages"] = StagesJson(*result.stages);
  object["workers"] = workers;
  object["servers"] = servers;
  if (!result.model_path.empty()) object["model_path"] = result.model_path;
  if (!result.predictions_path.empty()) object["predictions_path"] = result.predictions_path;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string ResultTable(const WorkerOptions& options, const TaskResult& result, int workers,
                        int servers) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"task", TaskName(options.task)},
      {"job", fmt::format("{} ({})", options.job.name, ModelKindName(result.model))},
      {"workers", std::to_string(workers)},
      {"servers", servers == 0 ? "none (tables in this process)" : std::to_string(servers)},
      {"samples", std::to_string(result.samples)},
      {"seconds", SecondsText(result)},
      {"samples/s", fmt::format("{:.0f}", Rate(result))}};
  if (result.bad_rows > 0) rows.emplace_back("bad rows", std::to_string(result.bad_rows));
  if (result.metrics.has_value()) {
    AddMetrics(*result.metrics, &rows);
    if (!options.job.data.group.empty()) {
      rows.emplace_back(
          "GAUC",
          fmt::format("{} over {}, {} of one label left out", MetricText(result.metrics->gauc, 5),
                      Counted(result.metrics->groups, "group"), result.metrics->groups_left_out));
    }
    const uint64_t bad = result.metrics->bad_rows;
    rows.emplace_back("evaluated on",
                      fmt::format("{} samples{}", result.metrics->samples,
                                  bad > 0 ? fmt::format(", {} bad rows left out", bad) : ""));
  }
  if (result.stages.has_value()) {
    rows.emplace_back("stages", StageShares(*result.stages));
    rows.emplace_back("limited by", StageName(result.stages->limit));
    rows.emplace_back("reader", ReaderText(*result.stages));
  }
  if (result.early_stopping.has_value()) rows.emplace_back("best step", BestText(result));
  if (result.resumed_from.has_value()) {
    rows.emplace_back("resumed from", fmt::format("checkpoint {}", *result.resumed_from));
  }
  if (result.checkpoints > 0) rows.emplace_back("checkpoints", std::to_string(result.checkpoints));
  if (!result.model_path.empty()) rows.emplace_back("model", result.model_path);
  if (!result.predictions_path.empty()) rows.emplace_back("predictions", result.predictions_path);
  std::string table;
  for (const auto& [name, value] : rows) table += fmt::format("{:<14}{}\n", name, value);
  return table;
}

}  // namespace strata
