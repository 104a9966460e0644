#include "kernels/tree/histogram/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "strata/status.h"

namespace strata {
namespace {

constexpr size_t kValuesMax = 256;             // of a narrow block's column
constexpr size_t kRowsBetweenCarries = 65535;  // sums of 16-bit gradients fit 32 bits as long
constexpr size_t kPrefetchRows = 48;           // ahead, where rows are not neighbours

// `Columns` is known, so that the loop over them is unrolled. The histogram of each has room for
// `Values`: as few as hold them, as what lies far apart shares few places of the first-level cache.
template <size_t Values, size_t Columns>
void AddRows16(const uint8_t* bins, const uint32_t* rows, const uint32_t* gradients, size_t count,
               uint64_t* sums) {
  constexpr size_t kStride = std::bit_ceil(Columns);
  const bool neighbours = count > 0 && rows[count - 1] - rows[0] + 1 == count;
  const size_t fetched = neighbours || count < kPrefetchRows ? 0 : count - kPrefetchRows;
  for (size_t i = 0; i < count; ++i) {
    if (i < fetched) {
      __builtin_prefetch(bins + static_cast<size_t>(rows[i + kPrefetchRows]) * kStride);
    }
    const uint8_t* const row = bins + static_cast<size_t>(rows[i]) * kStride;
    const uint64_t gradient = WidenRow16(gradients[i]);
#pragma GCC unroll 32
    for (size_t c = 0; c < Columns; ++c) sums[c * Values + row[c]] += gradient;
  }
}

using AddRows16Function = void (*)(const uint8_t*, const uint32_t*, const uint32_t*, size_t,
                                   uint64_t*);

template <size_t Values, size_t... Index>
constexpr std::array<AddRows16Function, sizeof...(Index)> AddRows16Table(
    std::index_sequence<Index...> /*of*/) {
  return {&AddRows16<Values, Index + 1>...};
}

// What adds rows to histograms of so many values a column: of 1 column, of 2, ...
struct AddRows16Kernels {
  size_t values;
  std::array<AddRows16Function, BinBlock::kColumnsMax> of_columns;
};

const AddRows16Kernels& KernelsFor(size_t values) {
  constexpr auto kColumns = std::make_index_sequence<BinBlock::kColumnsMax>();
  static constexpr AddRows16Kernels kKernels[] = {
      {16, AddRows16Table<16>(kColumns)},
      {64, AddRows16Table<64>(kColumns)},
      {128, AddRows16Table<128>(kColumns)},
      {kValuesMax, AddRows16Table<kValuesMax>(kColumns)}};
  const AddRows16Kernels* kernels = kKernels;
  while (kernels->values < values) ++kernels;
  return *kernels;
}

// Takes a column's sums over to the histograms of its features. A bundle's features have their
// default bins in the rows in which they have no other.
template <typename Sum>
void TakeOver(const BinMatrix& bins, size_t column, const Sum& sum_at, bool adds,
              std::span<GradientSums> histogram) {
  const auto put = [&](GradientSums* to, const GradientSums& sum) {
    if (adds) {
      *to += sum;
    } else {
      *to = sum;
    }
  };
  const std::span<const uint32_t> features = bins.features_of(column);
  GradientSums all;
  if (features.size() > 1) {
    for (size_t value = 0; value < bins.values_of(column); ++value) all += sum_at(value);
  }
  for (const uint32_t feature : features) {
    GradientSums* const out = histogram.data() + bins.histogram_begin(feature);
    const uint32_t count = bins.bins(feature);
    const BinPlace& place = bins.place(feature);
    if (features.size() == 1) {
      for (uint32_t bin = 0; bin < count; ++bin) put(out + bin, sum_at(bin));
      continue;
    }
    GradientSums rest = all;
    for (uint32_t bin = 0; bin < count; ++bin) {
      if (bin == place.default_bin) continue;
      const GradientSums sum = sum_at(place.ValueOf(bin));
      put(out + bin, sum);
      rest = rest - sum;
    }
    put(out + place.default_bin, rest);
  }
}

void BuildNarrow16(const BinMatrix& bins, const BinBlock& block, std::span<const uint32_t> rows,
                   std::span<const uint32_t> gradients, std::span<GradientSums> histogram) {
  size_t values = 0;
  for (size_t c = block.first_column; c < block.end_column(); ++c) {
    values = std::max(values, bins.values_of(c));
  }
  const AddRows16Kernels& kernels = KernelsFor(values);
  alignas(64) std::array<uint64_t, BinBlock::kColumnsMax * kValuesMax> sums;
  for (size_t begin = 0; begin == 0 || begin < rows.size(); begin += kRowsBetweenCarries) {
    const size_t count = std::min(kRowsBetweenCarries, rows.size() - begin);
    std::memset(sums.data(), 0, block.columns * kernels.values * sizeof(uint64_t));
    kernels.of_columns[block.columns - 1](block.narrow.data(), rows.data() + begin,
                                          gradients.data() + begin, count, sums.data());
    for (size_t c = 0; c < block.columns; ++c) {
      const uint64_t* const in = sums.data() + c * kernels.values;
      const auto at = [in](size_t value) {
        return GradientSums{GradientOf(in[value]), HessianOf(in[value])};
      };
      TakeOver(bins, block.first_column + c, at, begin > 0, histogram);
    }
  }
}

// Straight into the 64-bit sums: 32-bit gradients, or columns with more than 256 values. Bundles
// have sums of their own.
template <typename Bin, typename GradientAt>
void BuildDirectly(const BinMatrix& bins, const BinBlock& block, const Bin* data,
                   std::span<const uint32_t> rows, const GradientAt& gradient_at,
                   std::span<GradientSums> histogram) {
  std::array<GradientSums*, BinBlock::kColumnsMax> out;
  std::vector<GradientSums> of_bundles(bins.has_bundles() ? block.columns * kValuesMax : 0);
  const auto is_bundle = [&](size_t c) {
    return bins.features_of(block.first_column + c).size() > 1;
  };
  for (size_t c = 0; c < block.columns; ++c) {
    if (is_bundle(c)) {
      out[c] = of_bundles.data() + c * kValuesMax;
      continue;
    }
    const size_t feature = bins.features_of(block.first_column + c)[0];
    out[c] = histogram.data() + bins.histogram_begin(feature);
    std::fill_n(out[c], bins.bins(feature), GradientSums{});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchRows < rows.size()) {
      __builtin_prefetch(data + static_cast<size_t>(rows[i + kPrefetchRows]) * block.stride);
    }
    const Bin* const row_bins = data + static_cast<size_t>(rows[i]) * block.stride;
    const GradientSums gradient = gradient_at(i);
    for (size_t c = 0; c < block.columns; ++c) out[c][row_bins[c]] += gradient;
  }
  for (size_t c = 0; c < block.columns; ++c) {
    if (!is_bundle(c)) continue;
    const auto at = [sums = out[c]](size_t value) { return sums[value]; };
    TakeOver(bins, block.first_column + c, at, false, histogram);
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
