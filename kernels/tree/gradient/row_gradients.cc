// Compiled for loops over doubles with comparisons to be vectorised (CMakeLists.txt).
#include "kernels/tree/gradient/row_gradients.h"

#include <cstring>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/losses.h"
#include "strata/status.h"

namespace strata {
namespace {

int32_t BitsOf(float x) {
  int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

float FromBits(int32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Without a branch, which would keep the loop from being vectorised.
bool AreFinite(float a, float b) {
  return (static_cast<int>(math::IsFinite(a)) & static_cast<int>(math::IsFinite(b))) != 0;
}

template <typename Loss>
[[gnu::always_inline]] inline void Slopes(const Loss loss, size_t count,
                                          const double* __restrict scores,
                                          const float* __restrict labels,
                                          const float* __restrict weights,
                                          float* __restrict gradients, float* __restrict hessians) {
  if (weights == nullptr) {
    for (size_t row = 0; row < count; ++row) {
      const LossSlope slope = loss(scores[row], labels[row]);
      gradients[row] = static_cast<float>(slope.gradient);
      hessians[row] = static_cast<float>(slope.hessian);
    }
    return;
  }
  for (size_t row = 0; row < count; ++row) {
    const LossSlope slope = loss(scores[row], labels[row]);
    const double weight = weights[row];
    gradients[row] = static_cast<float>(slope.gradient * weight);
    hessians[row] = static_cast<float>(slope.hessian * weight);
  }
}

// rows[row] = rounded(row, gradient, hessian), where both are 0 if one is not finite.
template <typename Row, typename Rounded>
[[gnu::always_inline]] inline void RoundRows(size_t count, const float* __restrict gradients,
                                             const float* __restrict hessians, Row* __restrict rows,
                                             const Rounded rounded) {
  for (size_t row = 0; row < count; ++row) {
    const bool finite = AreFinite(gradients[row], hessians[row]);
    rows[row] = rounded(row, finite ? gradients[row] : 0.0, finite ? hessians[row] : 0.0);
  }
}

[[gnu::always_inline]] inline void Round16(size_t count, const float* gradients,
                                           const float* hessians, const GradientUnits units,
                                           uint64_t seed, uint64_t first_row, uint32_t* rows) {
  RoundRows(count, gradients, hessians, rows,
            [=, gradient_scale = 1 / units.gradient, hessian_scale = 1 / units.hessian](
                size_t row, double gradient, double hessian) {
              // One hash for both: 32 bits of chance each are plenty for 16 bits of number.
              const uint64_t bits = Mix64(seed ^ ((first_row + row) * 0x9e3779b97f4a7c15ULL));
              const double above = static_cast<uint32_t>(bits >> 32);
              const double below = static_cast<uint32_t>(bits);
              return PackRow16(RoundToUnits(gradient, gradient_scale, above * 0x1p-32),
                               RoundToUnits(hessian, hessian_scale, below * 0x1p-32));
            });
}

void Round32(size_t count, const float* gradients, const float* hessians, const GradientUnits units,
             Row32* rows) {
  RoundRows(count, gradients, hessians, rows,
            [gradient_scale = 1 / units.gradient, hessian_scale = 1 / units.hessian](
                size_t /*row*/, double gradient, double hessian) {
              return Row32{RoundToUnits(gradient, gradient_scale, 0.5),
                           RoundToUnits(hessian, hessian_scale, 0.5)};
            });
}

#if defined(__x86_64__)
bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

template <typename Loss>
[[gnu::target("avx2"), gnu::flatten]] void SlopesAvx2(const Loss& loss, size_t count,
                                                      const double* scores, const float* labels,
                                                      const float* weights, float* gradients,
                                                      float* hessians) {
  Slopes(loss, count, scores, labels, weights, gradients, hessians);
}

[[gnu::target("avx2"), gnu::flatten]] void Round16Avx2(size_t count, const float* gradients,
                                                       const float* hessians,
                                                       const GradientUnits& units, uint64_t seed,
                                                       uint64_t first_row, uint32_t* rows) {
  Round16(count, gradients, hessians, units, seed, first_row, rows);
}
#else
bool HasAvx2() { return false; }
template <typename... Arguments>
void SlopesAvx2(const Arguments&... /*unused*/) {}
template <typename... Arguments>
void Round16Avx2(const Arguments&... /*unused*/) {}
#endif

}  // namespace

template <typename Loss>
void SlopesOfRows(const Loss& loss, std::span<const double> scores, std::span<const float> labels,
                  std::span<const float> weights, std::span<float> gradients,
                  std::span<float> hessians) {
  const size_t count = scores.size();
  STRATA_CHECK(labels.size() == count && gradients.size() == count && hessians.size() == count);
  STRATA_CHECK(weights.empty() || weights.size() == count);
  const float* const by_row = weights.empty() ? nullptr : weights.data();
  if (HasAvx2()) {
    return SlopesAvx2(loss, count, scores.data(), labels.data(), by_row, gradients.data(),
                      hessians.data());
  }
  Slopes(loss, count, scores.data(), labels.data(), by_row, gradients.data(), hessians.data());
}

#define STRATA_SLOPES_OF(Loss)                                                             \
  template void SlopesOfRows(const Loss&, std::span<const double>, std::span<const float>, \
                             std::span<const float>, std::span<float>, std::span<float>)
STRATA_SLOPES_OF(loss::SquaredError);
STRATA_SLOPES_OF(loss::AbsoluteError);
STRATA_SLOPES_OF(loss::Huber);
STRATA_SLOPES_OF(loss::Fair);
STRATA_SLOPES_OF(loss::Poisson);
STRATA_SLOPES_OF(loss::Quantile);
STRATA_SLOPES_OF(loss::AbsolutePercentageError);
STRATA_SLOPES_OF(loss::Gamma);
STRATA_SLOPES_OF(loss::Tweedie);
STRATA_SLOPES_OF(loss::BinaryLogistic);
STRATA_SLOPES_OF(loss::CrossEntropy);
#undef STRATA_SLOPES_OF

LargestSlopes FindLargestSlopes(std::span<const float> gradients, std::span<const float> hessians) {
  STRATA_CHECK(gradients.size() == hessians.size());
  constexpr int32_t kExponent = 0x7f800000;
  // Sizes of finite floats are in the order of their bits.
  int32_t gradient = 0;
  int32_t hessian = 0;
  uint32_t not_finite = 0;
  for (size_t row = 0; row < gradients.size(); ++row) {
    const int32_t g = BitsOf(gradients[row]);
    const int32_t h = BitsOf(hessians[row]);
    const bool finite = ((g & kExponent) != kExponent) & ((h & kExponent) != kExponent);
    const int32_t size = finite ? g & 0x7fffffff : 0;
    const int32_t kept = finite ? h : 0;
    gradient = size > gradient ? size : gradient;
    hessian = kept > hessian ? kept : hessian;
    not_finite += finite ? 0 : 1;
  }
  return {.gradient = FromBits(gradient), .hessian = FromBits(hessian), .not_finite = not_finite};
}

void RoundRows32(std::span<const float> gradients, std::span<const float> hessians,
                 const GradientUnits& units, std::span<Row32> rows) {
  STRATA_CHECK(gradients.size() == rows.size() && hessians.size() == rows.size());
  Round32(rows.size(), gradients.data(), hessians.data(), units, rows.data());
}

void RoundRows16(std::span<const float> gradients, std::span<const float> hessians,
                 const GradientUnits& units, uint64_t seed, uint64_t first_row,
                 std::span<uint32_t> rows) {
  STRATA_CHECK(gradients.size() == rows.size() && hessians.size() == rows.size());
  if (HasAvx2()) {
    return Round16Avx2(rows.size(), gradients.data(), hessians.data(), units, seed, first_row,
                       rows.data());
  }
  Round16(rows.size(), gradients.data(), hessians.data(), units, seed, first_row, rows.data());
}

}  // namespace strata
