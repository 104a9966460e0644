#include "worker/gbdt/model_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "worker/gbdt/parameter_place.h"
#include "worker/gbdt/parameter_table.h"

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
  if (objective != p.objective) {
    found.push_back({"objective", objective, p.objective});
  }
  if (model.classes != static_cast<size_t>(p.num_class)) {
    found.push_back(
        {"num_class", fmt::format("{}", model.classes), fmt::format("{}", p.num_class)});
  }
  const Result<double> sigmoid = model.Sigmoid();
  if (UsesSigmoid(objective) && sigmoid.ok() &&
      std::fabs(*sigmoid - p.sigmoid) > kSigmoidDigits * p.sigmoid) {
    found.push_back({"sigmoid", fmt::format("{}", *sigmoid), fmt::format("{}", p.sigmoid)});
  }
  const bool has_root = model.objective.find(" sqrt") != std::string::npos;
  if (objective.starts_with("regression") && has_root != p.reg_sqrt) {
    found.push_back({"reg_sqrt", fmt::format("{}", has_root), fmt::format("{}", p.reg_sqrt)});
  }
  if (model.average_output != (p.boosting == "rf")) {
    found.push_back({"boosting", model.average_output ? "rf" : "not rf", p.boosting});
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
        key, difference.given, p.input_model, difference.parameter, difference.of_model, key));
  }
  return {};
}

}  // namespace strata
