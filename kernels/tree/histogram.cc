#include "kernels/tree/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/status.h"

namespace strata {
namespace {

constexpr size_t kBinsMax = 256;               // of a narrow block's feature
constexpr size_t kRowsBetweenCarries = 65535;  // sums of 16-bit gradients fit 32 bits as long
constexpr size_t kPrefetchRows = 48;           // ahead, where rows are not neighbours

// `Features` is known, so that the loop over them is unrolled. The histogram of each has room for
// `Bins`: as few as hold them, as what lies far apart shares few places of the first-level cache.
template <size_t Bins, size_t Features>
void AddRows16(const uint8_t* bins, const uint32_t* rows, const uint32_t* gradients, size_t count,
               uint64_t* sums) {
  constexpr size_t kStride = std::bit_ceil(Features);
  const bool neighbours = count > 0 && rows[count - 1] - rows[0] + 1 == count;
  const size_t fetched = neighbours || count < kPrefetchRows ? 0 : count - kPrefetchRows;
  for (size_t i = 0; i < count; ++i) {
    if (i < fetched) {
      __builtin_prefetch(bins + static_cast<size_t>(rows[i + kPrefetchRows]) * kStride);
    }
    const uint8_t* const row = bins + static_cast<size_t>(rows[i]) * kStride;
    const uint64_t gradient = WidenRow16(gradients[i]);
#pragma GCC unroll 32
    for (size_t f = 0; f < Features; ++f) sums[f * Bins + row[f]] += gradient;
  }
}

using AddRows16Function = void (*)(const uint8_t*, const uint32_t*, const uint32_t*, size_t,
                                   uint64_t*);

template <size_t Bins, size_t... Index>
constexpr std::array<AddRows16Function, sizeof...(Index)> AddRows16Table(
    std::index_sequence<Index...> /*of*/) {
  return {&AddRows16<Bins, Index + 1>...};
}

// What adds rows to histograms of so many bins a feature: of 1 feature, of 2, ...
struct AddRows16Kernels {
  size_t bins;
  std::array<AddRows16Function, BinBlock::kFeaturesMax> of_features;
};

const AddRows16Kernels& KernelsFor(size_t bins) {
  constexpr auto kFeatures = std::make_index_sequence<BinBlock::kFeaturesMax>();
  static constexpr AddRows16Kernels kKernels[] = {{16, AddRows16Table<16>(kFeatures)},
                                                  {64, AddRows16Table<64>(kFeatures)},
                                                  {128, AddRows16Table<128>(kFeatures)},
                                                  {kBinsMax, AddRows16Table<kBinsMax>(kFeatures)}};
  const AddRows16Kernels* kernels = kKernels;
  while (kernels->bins < bins) ++kernels;
  return *kernels;
}

void BuildNarrow16(const BinMatrix& bins, const BinBlock& block, std::span<const uint32_t> rows,
                   std::span<const uint32_t> gradients, std::span<GradientSums> histogram) {
  size_t bins_max = 0;
  for (size_t f = block.first_feature; f < block.end_feature(); ++f) {
    bins_max = std::max<size_t>(bins_max, bins.bins(f));
  }
  const AddRows16Kernels& kernels = KernelsFor(bins_max);
  alignas(64) std::array<uint64_t, BinBlock::kFeaturesMax * kBinsMax> sums;
  for (size_t begin = 0; begin == 0 || begin < rows.size(); begin += kRowsBetweenCarries) {
    const size_t count = std::min(kRowsBetweenCarries, rows.size() - begin);
    std::memset(sums.data(), 0, block.features * kernels.bins * sizeof(uint64_t));
    kernels.of_features[block.features - 1](block.narrow.data(), rows.data() + begin,
                                            gradients.data() + begin, count, sums.data());
    for (size_t f = 0; f < block.features; ++f) {
      const size_t feature = block.first_feature + f;
      GradientSums* const out = histogram.data() + bins.histogram_begin(feature);
      const uint64_t* const in = sums.data() + f * kernels.bins;
      for (uint32_t b = 0; b < bins.bins(feature); ++b) {
        const GradientSums sum = {GradientOf(in[b]), HessianOf(in[b])};
        if (begin == 0) {
          out[b] = sum;
        } else {
          out[b] += sum;
        }
      }
    }
  }
}

// Straight into the 64-bit sums: 32-bit gradients, or features with more than 256 bins.
template <typename Bin, typename GradientAt>
void BuildDirectly(const BinMatrix& bins, const BinBlock& block, const Bin* data,
                   std::span<const uint32_t> rows, const GradientAt& gradient_at,
                   std::span<GradientSums> histogram) {
  std::array<GradientSums*, BinBlock::kFeaturesMax> out;
  for (size_t f = 0; f < block.features; ++f) {
    const size_t feature = block.first_feature + f;
    out[f] = histogram.data() + bins.histogram_begin(feature);
    std::fill_n(out[f], bins.bins(feature), GradientSums{});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchRows < rows.size()) {
      __builtin_prefetch(data + static_cast<size_t>(rows[i + kPrefetchRows]) * block.stride);
    }
    const Bin* const row_bins = data + static_cast<size_t>(rows[i]) * block.stride;
    const GradientSums gradient = gradient_at(i);
    for (size_t f = 0; f < block.features; ++f) out[f][row_bins[f]] += gradient;
  }
}

}  // namespace

void BuildBlockHistogram(const BinMatrix& bins, const BinBlock& block,
                         std::span<const uint32_t> rows, const FixedGradients& gradients,
                         std::span<GradientSums> histogram) {
  if (!gradients.rows32.empty()) {
    const auto at = [&](size_t i) {
      return GradientSums{gradients.rows32[i].gradient, gradients.rows32[i].hessian};
    };
    if (block.is_wide()) {
      return BuildDirectly(bins, block, block.wide.data(), rows, at, histogram);
    }
    return BuildDirectly(bins, block, block.narrow.data(), rows, at, histogram);
  }
  if (!block.is_wide()) return BuildNarrow16(bins, block, rows, gradients.rows16, histogram);
  const auto at = [&](size_t i) {
    const uint64_t packed = WidenRow16(gradients.rows16[i]);
    return GradientSums{GradientOf(packed), HessianOf(packed)};
  };
  BuildDirectly(bins, block, block.wide.data(), rows, at, histogram);
}

void SubtractHistogram(std::span<GradientSums> parent, std::span<const GradientSums> smaller) {
  STRATA_CHECK(parent.size() == smaller.size());
  for (size_t i = 0; i < parent.size(); ++i) parent[i] = parent[i] - smaller[i];
}

void AddHistogram(std::span<GradientSums> sum, std::span<const GradientSums> part) {
  STRATA_CHECK(sum.size() == part.size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

}  // namespace strata
