#include "worker/tasks/catboost/end_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "worker/gbdt/catboost/train/overfitting_detector.h"
#include "worker/tasks/catboost/option_reading.h"

namespace strata {
namespace {

constexpr const char* kKeys[] = {"early_stopping_rounds", "od_type", "od_wait", "od_pval"};

// Nothing: no parameter of a detector is given.
Result<std::optional<DetectorParameters>> ReadDetector(const Settings& settings, bool has_test) {
  const auto is_set = [&settings](const char* key) { return settings.IsSet(key); };
  const auto* const first = std::ranges::find_if(kKeys, is_set);
  if (first == std::end(kKeys)) return std::optional<DetectorParameters>();
  if (!has_test) return HasNoEffect(settings, *first, "without test_set");
  DetectorParameters p;
  if (is_set("early_stopping_rounds")) {
    const auto* const other = std::find_if(first + 1, std::end(kKeys), is_set);
    if (other != std::end(kKeys)) {
      return HasNoEffect(settings, *other, "with early_stopping_rounds");
    }
    p.wait = static_cast<size_t>(settings.Int("early_stopping_rounds"));
    return std::optional(p);
  }
  p.wait = static_cast<size_t>(settings.Int("od_wait"));
  p.p_value = settings.Float("od_pval");
  const std::string type = is_set("od_type")   ? settings.Text("od_type")
                           : is_set("od_pval") ? "IncToDec"
                                               : "Iter";
  if (type == "Iter") {
    if (is_set("od_pval")) return HasNoEffect(settings, "od_pval", "with od_type = Iter");
    return std::optional(p);
  }
  p.type = type == "IncToDec" ? DetectorType::kIncToDec : DetectorType::kWilcoxon;
  if (p.p_value > 0) return std::optional(p);
  return Invalid(
      fmt::format("{}: od_type = {} never ends a training without od_pval: expected od_pval above "
                  "0, such as 0.001",
                  settings.Origin(*first), type));
}

}  // namespace

Status SetEnd(const Settings& settings, FitParameters* parameters) {
  const bool has_test = !settings.Text("test_set").empty();
  STRATA_ASSIGN(parameters->detector, ReadDetector(settings, has_test));
  if (!has_test && settings.IsSet("use_best_model")) {
    return HasNoEffect(settings, "use_best_model", "without test_set");
  }
  parameters->use_best_model = has_test && settings.Bool("use_best_model");
  parameters->best_model_min_trees = static_cast<size_t>(settings.Int("best_model_min_trees"));
  if (parameters->use_best_model || !settings.IsSet("best_model_min_trees")) return {};
  return HasNoEffect(settings, "best_model_min_trees", "without use_best_model and test_set");
}

}  // namespace strata
