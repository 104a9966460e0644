#include "worker/tasks/catboost/end_options.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>

#include "worker/gbdt/catboost/train/overfitting_detector.h"
#include "worker/tasks/catboost/option_reading.h"

namespace strata {
namespace {

// Nothing: no detector is asked for, or it would never end a training.
Result<std::optional<DetectorParameters>> ReadDetector(const Settings& settings) {
  const bool has_type = settings.IsSet("od_type");
  const bool has_p_value = settings.IsSet("od_pval");
  if (!has_type && !has_p_value && !settings.IsSet("od_wait")) {
    return std::optional<DetectorParameters>();
  }
  DetectorParameters p = {.wait = static_cast<size_t>(settings.Int("od_wait")),
                          .p_value = settings.Float("od_pval")};
  const std::string type = has_type ? settings.Text("od_type") : has_p_value ? "IncToDec" : "Iter";
  if (type == "Iter") {
    if (p.p_value > 0) return HasNoEffect(settings, "od_pval", "with od_type = Iter");
    return std::optional(p);
  }
  p.type = type == "IncToDec" ? DetectorType::kIncToDec : DetectorType::kWilcoxon;
  if (p.p_value > 0) return std::optional(p);
  if (has_p_value) return std::optional<DetectorParameters>();
  return Invalid(
      fmt::format("{}: od_type = {} never ends a training without od_pval: expected od_pval above "
                  "0, such as 0.001",
                  settings.Origin("od_type"), type));
}

}  // namespace

Status SetEnd(const Settings& settings, FitParameters* parameters) {
  const bool has_test = !settings.Text("test_set").empty();
  STRATA_ASSIGN(parameters->detector, ReadDetector(settings));
  if (!has_test) parameters->detector.reset();
  if (!has_test && settings.IsSet("use_best_model") && settings.Bool("use_best_model")) {
    return HasNoEffect(settings, "use_best_model", "without test_set (data.test of a job)");
  }
  parameters->use_best_model = has_test && settings.Bool("use_best_model");
  parameters->best_model_min_trees = static_cast<size_t>(settings.Int("best_model_min_trees"));
  if (parameters->use_best_model || parameters->best_model_min_trees == 1) return {};
  return HasNoEffect(settings, "best_model_min_trees",
                     "without use_best_model and test_set (data.test of a job)");
}

}  // namespace strata
