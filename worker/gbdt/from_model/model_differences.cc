#include "worker/gbdt/from_model/model_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "worker/gbdt/lightgbm/parameter_place.h"
#include "worker/gbdt/lightgbm/parameter_table.h"

namespace strata {
namespace {

constexpr double kSigmoidDigits = 1e-5;  // model files have six

bool UsesSigmoid(std::string_view objective) {
  return objective == "binary" || objective == "multiclassova";
}

// Of a loss of the caller's own a file says no more.
bool HasObjective(std::string_view name) {
  return !name.empty() && name != "custom" && name != "none";
}

}  // namespace

std::vector<ModelDifference> DifferencesFrom(const TreeModel& model, const TreeParameters& p) {
  std::vector<ModelDifference> found;
  const std::string objective(CanonicalChoice("objective", model.ObjectiveName()));
  if (objective != p.objective.name) {
    found.push_back({"objective", objective, p.objective.name});
  }
  if (model.classes != static_cast<size_t>(p.objective.num_class)) {
    found.push_back(
        {"num_class", fmt::format("{}", model.classes), fmt::format("{}", p.objective.num_class)});
  }
  const Result<double> sigmoid = model.Sigmoid();
  if (UsesSigmoid(objective) && sigmoid.ok() &&
      std::fabs(*sigmoid - p.objective.sigmoid) > kSigmoidDigits * p.objective.sigmoid) {
    found.push_back(
        {"sigmoid", fmt::format("{}", *sigmoid), fmt::format("{}", p.objective.sigmoid)});
  }
  const bool has_root = model.objective.find(" sqrt") != std::string::npos;
  if (objective.starts_with("regression") && has_root != p.objective.reg_sqrt) {
    found.push_back(
        {"reg_sqrt", fmt::format("{}", has_root), fmt::format("{}", p.objective.reg_sqrt)});
  }
  if (model.average_output != (p.boosting.mode == "rf")) {
    found.push_back({"boosting", model.average_output ? "rf" : "not rf", p.boosting.mode});
  }
  return found;
}

Status CheckNoneContradicts(const TreeModel& model, const TreeParameters& p) {
  for (const ModelDifference& difference : DifferencesFrom(model, p)) {
    const bool is_set = std::ranges::any_of(
        p.set, [&](const auto& one) { return one.first == difference.parameter; });
    const bool is_known = difference.parameter != "objective" || HasObjective(difference.of_model);
    if (!is_set || !is_known) continue;
    const std::string key = KeyOf(p, difference.parameter);
    return Invalid(fmt::format(
        "{} = {} contradicts the model {}, whose {} is {}: remove {}, or give the "
        "model that was trained with it",
        key, difference.given, p.task.input_model, difference.parameter, difference.of_model, key));
  }
  return {};
}

}  // namespace strata
