// A row's summed gradient is changed before the optimizer's rule sees it:
// strata/optimizer_spec.h says how.
//
// fp32 throughout, but for norms (row_sum.h). A sum that holds NaN or infinity never comes here:
// tables leave its row alone, and count it.
#pragma once

#include "kernels/core/math.h"
#include "strata/host_device.h"
#include "strata/optimizer_spec.h"

namespace strata {

// The gradient as it came.
struct PlainGradient {
  static constexpr bool kMayClipNorm = false;

  STRATA_HD float operator()(float g, float /*w*/) const { return g; }
};

struct ShapedGradient {
  static constexpr bool kMayClipNorm = true;
  float clip_value;  // infinity: no bound
  float clip_norm;   // 0: no bound
  float weight_decay;
  float scale = 1.0F;  // what clip_norm leaves of this row

  STRATA_HD float Clipped(float g) const {
    const float above = g < -clip_value ? -clip_value : g;
    return above > clip_value ? clip_value : above;
  }
  // `squares`: the sum of squares of all Clipped elements of the row.
  STRATA_HD void ScaleTo(double squares) {
    const double norm = math::Sqrt(squares);
    scale = norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0F;
  }
  STRATA_HD float operator()(float g, float w) const {
    return Clipped(g) * scale + weight_decay * w;
  }
};

// Calls visit(shape) with what `spec` does to gradients.
template <typename Visit>
void WithGradientShape(const OptimizerSpec& spec, Visit&& visit) {
  if (spec.clip_value == 0 && spec.clip_norm == 0 && spec.weight_decay == 0) {
    visit(PlainGradient{});
    return;
  }
  const float bound = spec.clip_value == 0 ? static_cast<float>(math::Infinity()) : spec.clip_value;
  visit(ShapedGradient{bound, spec.clip_norm, spec.weight_decay});
}

}  // namespace strata
