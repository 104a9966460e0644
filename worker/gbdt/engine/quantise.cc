#include "worker/gbdt/engine/quantise.h"

#include <algorithm>
#include <array>

#include "kernels/tree/gradient/row_gradients.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 16;

LargestSlopes FindLargest(std::span<const float> gradients, std::span<const float> hessians,
                          WorkPool& pool) {
  std::vector<LargestSlopes> parts((gradients.size() + kPieceRows - 1) / kPieceRows);
  pool.RunPieces(gradients.size(), kPieceRows, [&](size_t begin, size_t end) {
    parts[begin / kPieceRows] = FindLargestSlopes(gradients.subspan(begin, end - begin),
                                                  hessians.subspan(begin, end - begin));
  });
  LargestSlopes all;
  for (const LargestSlopes& part : parts) {
    all.gradient = std::max(all.gradient, part.gradient);
    all.hessian = std::max(all.hessian, part.hessian);
    all.not_finite += part.not_finite;
  }
  return all;
}

LargestSlopes OfAllRanks(const LargestSlopes& here, const RowShare& share) {
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
  const LargestSlopes largest = OfAllRanks(FindLargest(gradients, hessians, pool), share);
  const bool wide = options.width == GradientWidth::k32;
  const int32_t levels = wide ? kLevels32 : kLevels16;
  if (options.bins > 0) {
    const auto bins = static_cast<double>(options.bins);
    units_.gradient = largest.gradient > 0 ? largest.gradient / (bins / 2) : 1;
    units_.hessian = largest.hessian > 0 ? largest.hessian / bins : 1;
  } else {
    units_ = {UnitFor(largest.gradient, levels), UnitFor(largest.hessian, levels)};
  }
  const uint64_t seed = Mix64(Mix64(options.seed) + round);
  rows16_.resize(wide ? 0 : gradients.size());
  rows32_.resize(wide ? gradients.size() : 0);
  pool.RunPieces(gradients.size(), kPieceRows, [&](size_t begin, size_t end) {
    const size_t count = end - begin;
    const std::span<const float> g = gradients.subspan(begin, count);
    const std::span<const float> h = hessians.subspan(begin, count);
    if (wide) {
      RoundRows32(g, h, units_, std::span(rows32_).subspan(begin, count));
    } else if (!options.stochastic) {
      std::vector<Row32> rounded(count);
      RoundRows32(g, h, units_, rounded);
      std::ranges::transform(rounded, rows16_.begin() + static_cast<ptrdiff_t>(begin),
                             [](const Row32& row) { return PackRow16(row.gradient, row.hessian); });
    } else {
      RoundRows16(g, h, units_, seed, share.first_row() + begin,
                  std::span(rows16_).subspan(begin, count));
    }
  });
  return largest.not_finite;
}

}  // namespace strata
