#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "worker/gbdt/report/tree_report.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

// {"auc": {"training": [[1, 0.8], [2, 0.9]], ...}, ...}
Json CurvesJson(const TreeReport& report) {
  Json curves = Json::object();
  for (const auto& [round, evaluations] : report.history) {
    for (const Evaluation& evaluation : evaluations) {
      for (const MetricValue& metric : evaluation.metrics) {
        curves[metric.name][evaluation.data].push_back({round, JsonNumber(metric.value)});
      }
    }
  }
  return curves;
}

}  // namespace

std::string ReportJson(const TreeReport& report) {
  Json rows = Json::object();
  for (const auto& [name, count] : report.data) rows[name] = count;
  Json parameters = Json::object();
  for (const auto& [key, value] : report.parameters) parameters[key] = value;
  Json phases = Json::object();
  for (const auto& [name, seconds] : report.phases) phases[name] = JsonNumber(seconds);
  Json importances = Json::array();
  for (const FeatureImportance& one : report.importances) {
    importances.push_back(
        {{"feature", one.feature}, {"gain", JsonNumber(one.gain)}, {"splits", one.splits}});
  }
  const Json object = {
      {"title", report.title},
      {"rows", rows},
      {"features", report.features},
      {"used_features", report.used_features},
      {"bins", report.bins},
      {"parameters", parameters},
      {"rounds", report.rounds},
      {"best_round", report.best_round.has_value() ? Json(*report.best_round) : Json()},
      {"trees", report.trees},
      {"leaves", report.leaves},
      {"load_seconds", JsonNumber(report.load_seconds)},
      {"train_seconds", JsonNumber(report.train_seconds)},
      {"phase_seconds", phases},
      {"learning_curves", CurvesJson(report)},
      {"importances", importances}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strata
