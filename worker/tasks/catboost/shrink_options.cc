#include "worker/tasks/catboost/shrink_options.h"

#include "worker/tasks/catboost/option_reading.h"

namespace strata {

Result<ShrinkParameters> ReadShrinkage(const Settings& settings, bool is_monotone) {
  const bool is_constant = settings.Text("model_shrink_mode") == "Constant";
  ShrinkParameters p = {.mode = is_constant ? ShrinkMode::kConstant : ShrinkMode::kDecreasing,
                        .rate = FloatOption(settings, "model_shrink_rate")};
  if (is_monotone && !settings.IsSet("model_shrink_rate")) p.rate = is_constant ? 0.01F : 0.2F;
  if (p.rate > 0 || is_constant) return p;
  return HasNoEffect(settings, "model_shrink_mode", "without model_shrink_rate");
}

}  // namespace strata
