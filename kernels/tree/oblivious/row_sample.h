// RowSample: with which factors rows take part in the search for a tree's splits, where that does
// not depend on their gradients (private/libs/algo/tensor_search_helpers.cpp of CatBoost's
// sources). CPUs and GPUs get the same bits.
#pragma once

#include <cstdint>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "strata/host_device.h"

namespace strata {

enum class RowSampleKind : uint8_t {
  kBayesian,   // (-ln u)^temperature, u uniform
  kBernoulli,  // 1 with the probability `share`, else 0
  kPoisson,    // Poisson numbers, which are 0 with the probability 1 - share
};

struct RowSample {
  RowSampleKind kind = RowSampleKind::kBayesian;
  double temperature = 1;
  double share = 1;
  uint64_t seed = 0;  // of the draw

  STRATA_HD float FactorOf(uint64_t row) const {
    const double uniform = RowUniform(seed, row);
    if (kind == RowSampleKind::kBernoulli) return uniform < share ? 1 : 0;
    if (kind == RowSampleKind::kPoisson) return static_cast<float>(Poisson(uniform));
    const double exponential = -math::Log(1 - uniform);  // of (0, 1]
    if (temperature == 1) return static_cast<float>(exponential);
    return static_cast<float>(math::Exp(temperature * math::Log(exponential)));
  }

 private:
  // The inverse of the distribution function.
  STRATA_HD double Poisson(double uniform) const {
    const double none = 1 - share;
    const double mean = -math::Log(none);
    double count = 0;
    double probability = none;
    double cumulated = none;
    // The sum of all probabilities may stay below 1 by rounding.
    while (uniform >= cumulated && probability > 0x1p-60) {
      count += 1;
      probability *= mean / count;
      cumulated += probability;
    }
    return count;
  }
};

}  // namespace strata
