#include "worker/tasks/trees/tree_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/json_text.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json MetricsJson(const std::vector<Evaluation>& evaluations) {
  Json all = Json::object();
  const auto add = [](const Evaluation& evaluation, Json* to) {
    for (const MetricValue& metric : evaluation.metrics) {
      (*to)[metric.name] = JsonNumber(metric.value);
    }
  };
  const auto judged = std::ranges::find_if(
      evaluations, [](const Evaluation& evaluation) { return evaluation.data != "training"; });
  if (judged != evaluations.end()) {
    add(*judged, &all);
  } else if (!evaluations.empty()) {
    add(evaluations.front(), &all);
  }
  for (const Evaluation& evaluation : evaluations) {
    all[evaluation.data] = Json::object();
    add(evaluation, &all[evaluation.data]);
  }
  return all;
}

std::string TreeResultText(const TreeTaskResult& result) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  add("task", result.task);
  if (result.task != "convert") add("rows", HumanCount(result.rows));
  if (result.bad_rows > 0) add("bad rows", HumanCount(result.bad_rows));
  add("features", HumanCount(result.features));
  add("rounds", HumanCount(result.rounds));
  if (result.best_round.has_value()) add("best round", HumanCount(*result.best_round));
  if (!result.stop_reason.empty()) add("stopped", result.stop_reason);
  if (result.task == "train") add("loading", fmt::format("{:.2f} s", result.load_seconds));
  add(result.task == "train" ? "training" : "seconds",
      fmt::format("{:.2f} s", result.train_seconds));
  for (const Evaluation& evaluation : result.evaluations) {
    for (const MetricValue& metric : evaluation.metrics) {
      add(evaluation.data, fmt::format("{} {:.6f}", metric.name, metric.value));
    }
  }
  if (!result.output.empty()) add("written", result.output);
  return text;
}

std::string TreeResultJson(const TreeTaskResult& result) {
  Json object = {{"task", result.task},
                 {"samples", result.samples},
                 {"seconds", result.train_seconds},
                 {"samples_per_second",
                  JsonNumber(static_cast<double>(result.samples) / result.train_seconds)},
                 {"metrics", MetricsJson(result.evaluations)},
                 {"rows", result.rows},
                 {"bad_rows", result.bad_rows},
                 {"features", result.features},
                 {"rounds", result.rounds}};
  if (result.best_round.has_value()) object["best_round"] = *result.best_round;
  if (!result.stop_reason.empty()) object["stop_reason"] = result.stop_reason;
  if (result.task == "train") object["load_seconds"] = result.load_seconds;
  object["output"] = result.output;
  return object.dump();
}

}  // namespace strata
