// RowDraw: with which factors rows take part in the search for a tree's splits
// (private/libs/algo/tensor_search_helpers.cpp and mvs.cpp of CatBoost's sources). CPUs and GPUs
// get the same bits.
#pragma once

#include <cstdint>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/exact_units.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "strata/host_device.h"

namespace strata {

enum class RowDrawKind : uint8_t {
  kBayesian,   // (-ln u)^temperature, u uniform
  kBernoulli,  // 1 with the probability `share`, else 0
  kPoisson,    // Poisson numbers, which are 0 with the probability 1 - share
  kMvs,        // by the rows' sizes and a threshold for each kMvsRows of them
};

constexpr uint32_t kMvsRows = 8192;  // in their order

// The sizes of some rows below a threshold, and how many are not.
struct MvsSums {
  int64_t below = 0;  // in ExactUnits
  uint32_t others = 0;

  // Whether more rows than wanted are kept with a threshold of `size`, which falls with it.
  STRATA_HD bool KeepsMore(const ExactUnits& units, double size, double wanted) const {
    if (!(size > 0)) return true;  // as any size does that is small enough
    return units.Value(below) / size + static_cast<double>(others) > wanted;
  }
  // The threshold t with which the sum of min(1, size / t) is `wanted`, if those below t are these.
  STRATA_HD double Threshold(const ExactUnits& units, double wanted) const {
    return units.Value(below) / (wanted - static_cast<double>(others));
  }
};

struct RowDraw {
  RowDrawKind kind = RowDrawKind::kBayesian;
  double temperature = 1;
  double share = 1;
  uint64_t seed = 0;  // of the draw
  double reg = 0;     // of kMvs: what is added to squared gradients

  // Of kMvs, by the gradient's square.
  STRATA_HD double SizeOf(double square) const { return math::Sqrt(square + reg); }
  // Of kMvs. A row that is not below the threshold, or has none, is kept.
  STRATA_HD float MvsFactorOf(uint64_t row, double size, double threshold) const {
    if (!(size < threshold)) return 1;
    return RowUniform(seed, row) * threshold < size ? static_cast<float>(threshold / size) : 0;
  }
  // Of the other kinds.
  STRATA_HD float FactorOf(uint64_t row) const {
    const double uniform = RowUniform(seed, row);
    if (kind == RowDrawKind::kBernoulli) return uniform < share ? 1 : 0;
    if (kind == RowDrawKind::kPoisson) return static_cast<float>(Poisson(uniform));
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
