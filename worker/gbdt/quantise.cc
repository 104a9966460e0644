#include "worker/gbdt/quantise.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "kernels/core/math.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 16;

struct Largest {
  float gradient = 0;
  float hessian = 0;
  uint64_t not_finite = 0;
};

Largest FindLargest(std::span<const float> gradients, std::span<const float> hessians,
                    WorkPool& pool) {
  std::vector<Largest> parts((gradients.size() + kPieceRows - 1) / kPieceRows);
  pool.RunPieces(gradients.size(), kPieceRows, [&](size_t begin, size_t end) {
    Largest largest;
    for (size_t row = begin; row < end; ++row) {
      if (!math::IsFinite(gradients[row]) || !math::IsFinite(hessians[row])) {
        ++largest.not_finite;
        continue;
      }
      largest.gradient = std::max(largest.gradient, std::fabs(gradients[row]));
      largest.hessian = std::max(largest.hessian, hessians[row]);
    }
    parts[begin / kPieceRows] = largest;
  });
  Largest all;
  for (const Largest& part : parts) {
    all.gradient = std::max(all.gradient, part.gradient);
    all.hessian = std::max(all.hessian, part.hessian);
    all.not_finite += part.not_finite;
  }
  return all;
}

Largest OfAllRanks(const Largest& here, const RowShare& share) {
  if (share.is_whole()) return here;
  std::array<double, 2> most = {here.gradient, here.hessian};
  share.Max(most);
  return {.gradient = static_cast<float>(most[0]),
          .hessian = static_cast<float>(most[1]),
          .not_finite = static_cast<uint64_t>(share.Sum(static_cast<int64_t>(here.not_finite)))};
}

}  // namespace

uint64_t QuantisedGradients::Quantise(std::span<const float> gradients,
                                      std::span<const float> hessians,
                                      const QuantiseOptions& options, uint64_t round,
                                      const RowShare& share, WorkPool& pool) {
  const Largest largest = OfAllRanks(FindLargest(gradients, hessians, pool), share);
  const bool wide = options.width == GradientWidth::k32;
  const int32_t levels = wide ? kLevels32 : kLevels16;
  if (options.bins > 0) {
    const auto bins = static_cast<double>(options.bins);
    units_.gradient = largest.gradient > 0 ? largest.gradient / (bins / 2) : 1;
    units_.hessian = largest.hessian > 0 ? largest.hessian / bins : 1;
  } else {
    units_ = {UnitFor(largest.gradient, levels), UnitFor(largest.hessian, levels)};
  }
  const double gradient_scale = 1 / units_.gradient;
  const double hessian_scale = 1 / units_.hessian;
  const uint64_t seed = Mix64(Mix64(options.seed) + round);
  rows16_.resize(wide ? 0 : gradients.size());
  rows32_.resize(wide ? gradients.size() : 0);
  pool.RunPieces(gradients.size(), kPieceRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const bool finite = math::IsFinite(gradients[row]) && math::IsFinite(hessians[row]);
      const double gradient = finite ? gradients[row] : 0;
      const double hessian = finite ? hessians[row] : 0;
      if (wide) {
        rows32_[row] = {RoundToUnits(gradient, gradient_scale, 0.5),
                        RoundToUnits(hessian, hessian_scale, 0.5)};
      } else {
        // One hash for both: 32 bits of chance each are plenty for 16 bits of number.
        const uint64_t bits = Mix64(seed ^ ((share.first_row() + row) * 0x9e3779b97f4a7c15ULL));
        rows16_[row] = PackRow16(
            RoundToUnits(gradient, gradient_scale, static_cast<double>(bits >> 32) * 0x1p-32),
            RoundToUnits(hessian, hessian_scale, static_cast<double>(bits & 0xffffffff) * 0x1p-32));
      }
    }
  });
  return largest.not_finite;
}

}  // namespace strata
