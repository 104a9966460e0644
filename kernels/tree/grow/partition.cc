#include "kernels/tree/grow/partition.h"

#include <algorithm>
#include <array>
#include <bit>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace strata {
namespace {

constexpr size_t kGroup = 8;           // rows of one byte of marks
constexpr size_t kLineBytes = 64;      // of a cache
constexpr size_t kPrefetchRows = 128;  // ahead: a line takes as long as so many rows
constexpr size_t kChunkRows = 2048;    // marked, then distributed, while they are in the cache

// How many ones a byte has: not every processor that we are built for has an instruction for it.
constexpr std::array<uint8_t, 256> MakeOnes() {
  std::array<uint8_t, 256> ones{};
  for (unsigned byte = 0; byte < 256; ++byte)
    ones[byte] = static_cast<uint8_t>(std::popcount(byte));
  return ones;
}
constexpr std::array<uint8_t, 256> kOnes = MakeOnes();

// Where rows are `Sparse`, nearly each is on a cache line of its own.
template <bool Sparse, typename Bin>
size_t MarkRows(const Bin* bins, const uint8_t* is_left, std::span<const uint32_t> rows,
                uint8_t* marks) {
  size_t count = 0;
  size_t i = 0;
  for (; i + kGroup <= rows.size(); i += kGroup) {
    if (Sparse && i + kPrefetchRows + kGroup <= rows.size()) {
#pragma GCC unroll 8
      for (size_t k = 0; k < kGroup; ++k) __builtin_prefetch(bins + rows[i + kPrefetchRows + k]);
    }
    unsigned mark = 0;
#pragma GCC unroll 8
    for (size_t k = 0; k < kGroup; ++k) {
      mark |= static_cast<unsigned>(is_left[bins[rows[i + k]]]) << k;
    }
    marks[i / kGroup] = static_cast<uint8_t>(mark);
    count += kOnes[mark];
  }
  if (i == rows.size()) return count;
  unsigned mark = 0;
  for (size_t k = 0; i + k < rows.size(); ++k) {
    mark |= static_cast<unsigned>(is_left[bins[rows[i + k]]]) << k;
  }
  marks[i / kGroup] = static_cast<uint8_t>(mark);
  return count + kOnes[mark];
}

template <typename Bin>
size_t Mark(const Bin* bins, const uint8_t* is_left, std::span<const uint32_t> rows,
            uint8_t* marks) {
  const bool sparse =
      !rows.empty() && rows.back() - rows.front() > rows.size() * (kLineBytes / sizeof(Bin) / 2);
  return sparse ? MarkRows<true>(bins, is_left, rows, marks)
                : MarkRows<false>(bins, is_left, rows, marks);
}

// Where the next row of either side goes.
template <typename Gradient>
struct Ends {
  OrderedRows<Gradient> left;
  OrderedRows<Gradient> right;
  size_t lefts = 0;
  size_t rights = 0;

  void Put(uint32_t row, const Gradient& gradient, bool goes_left) {
    OrderedRows<Gradient>& side = goes_left ? left : right;
    size_t& at = goes_left ? lefts : rights;
    side.rows[at] = row;
    side.gradients[at] = gradient;
    ++at;
  }
};

template <typename Gradient>
void DistributeFrom(size_t begin, const OrderedRows<Gradient>& leaf, const uint8_t* marks,
                    Ends<Gradient>* ends) {
  for (size_t i = begin; i < leaf.size(); ++i) {
    ends->Put(leaf.rows[i], leaf.gradients[i], (marks[i / kGroup] >> (i % kGroup) & 1) != 0);
  }
}

#if defined(__x86_64__)
// For each byte of marks the places of its ones, then of its zeros.
constexpr std::array<uint64_t, 256> MakeOrders() {
  std::array<uint64_t, 256> orders{};
  for (unsigned mark = 0; mark < 256; ++mark) {
    unsigned to = 0;
    for (const unsigned wanted : {1U, 0U}) {
      for (unsigned k = 0; k < kGroup; ++k) {
        if ((mark >> k & 1) != wanted) continue;
        orders[mark] |= uint64_t{k} << (8 * to++);
      }
    }
  }
  return orders;
}
constexpr std::array<uint64_t, 256> kOrders = MakeOrders();

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i LoadEight(const uint32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i OrderOf(uint8_t mark) {
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(kOrders[mark])));
}

// Eight values in a new order to `to`, of which `count` are wanted and only `room` may be written.
[[gnu::target("avx2"), gnu::always_inline]] inline void StoreOrdered(__m256i values, __m256i order,
                                                                     size_t count, size_t room,
                                                                     uint32_t* to) {
  const __m256i ordered = _mm256_permutevar8x32_epi32(values, order);
  if (room >= kGroup) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), ordered);
    return;
  }
  alignas(32) std::array<uint32_t, kGroup> few;
  _mm256_store_si256(reinterpret_cast<__m256i*>(few.data()), ordered);
  for (size_t k = 0; k < count; ++k) to[k] = few[k];
}

// Whole groups; returns how many rows these were.
[[gnu::target("avx2,popcnt")]] size_t DistributeGroupsAvx2(const OrderedRows<uint32_t>& leaf,
                                                           const uint8_t* marks,
                                                           Ends<uint32_t>* ends) {
  const size_t groups = leaf.size() / kGroup;
  size_t lefts = ends->lefts;
  size_t rights = ends->rights;
  for (size_t group = 0; group < groups; ++group) {
    const uint8_t mark = marks[group];
    const auto count = static_cast<size_t>(std::popcount(mark));
    const __m256i to_left = OrderOf(mark);
    const __m256i to_right = OrderOf(static_cast<uint8_t>(~mark));
    const __m256i rows = LoadEight(leaf.rows.data() + group * kGroup);
    const __m256i gradients = LoadEight(leaf.gradients.data() + group * kGroup);
    const size_t left_room = ends->left.size() - lefts;
    const size_t right_room = ends->right.size() - rights;
    StoreOrdered(rows, to_left, count, left_room, ends->left.rows.data() + lefts);
    StoreOrdered(gradients, to_left, count, left_room, ends->left.gradients.data() + lefts);
    StoreOrdered(rows, to_right, kGroup - count, right_room, ends->right.rows.data() + rights);
    StoreOrdered(gradients, to_right, kGroup - count, right_room,
                 ends->right.gradients.data() + rights);
    lefts += count;
    rights += kGroup - count;
  }
  ends->lefts = lefts;
  ends->rights = rights;
  return groups * kGroup;
}
#endif

size_t DistributeGroups(const OrderedRows<uint32_t>& leaf, const uint8_t* marks,
                        Ends<uint32_t>* ends) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return DistributeGroupsAvx2(leaf, marks, ends);
#endif
  static_cast<void>(leaf);
  static_cast<void>(marks);
  static_cast<void>(ends);
  return 0;
}

size_t DistributeGroups(const OrderedRows<Row32>& /*leaf*/, const uint8_t* /*marks*/,
                        Ends<Row32>* /*ends*/) {
  return 0;
}

}  // namespace

SplitSides::SplitSides(const FeatureShape& shape, const Split& split) : left_(shape.bins, 0) {
  if (split.categorical) {
    for (const uint32_t bin : split.left_bins) left_[bin] = 1;
    return;
  }
  for (uint32_t bin = 0; bin < shape.bins && bin <= split.threshold; ++bin) left_[bin] = 1;
  if (shape.missing == MissingKind::kNaN) left_[shape.bins - 1] = split.default_left ? 1 : 0;
  if (shape.missing == MissingKind::kZero) left_[shape.default_bin] = split.default_left ? 1 : 0;
}

SplitSides SplitSides::OfColumn(const BinMatrix& bins, size_t feature) const {
  const BinPlace& place = bins.place(feature);
  std::vector<uint8_t> left(bins.values_of(place.column));
  for (uint32_t value = 0; value < left.size(); ++value) left[value] = left_[place.BinOf(value)];
  return SplitSides(std::move(left));
}

size_t MarkLeft(const BinColumn& column, const SplitSides& sides, std::span<const uint32_t> rows,
                std::span<uint8_t> marks) {
  const uint8_t* const is_left = sides.left().data();
  if (column.narrow.empty()) return Mark(column.wide.data(), is_left, rows, marks.data());
  return Mark(column.narrow.data(), is_left, rows, marks.data());
}

template <typename Gradient>
void DistributeRows(OrderedRows<Gradient> leaf, std::span<const uint8_t> marks,
                    OrderedRows<Gradient> left, OrderedRows<Gradient> right) {
  Ends<Gradient> ends{.left = left, .right = right};
  const size_t done = DistributeGroups(leaf, marks.data(), &ends);
  DistributeFrom(done, leaf, marks.data(), &ends);
}

template <typename Gradient>
size_t PartitionRows(const BinColumn& column, const SplitSides& sides, OrderedRows<Gradient> leaf,
                     OrderedRows<Gradient> spare) {
  std::array<uint8_t, kChunkRows / kGroup> marks;
  size_t lefts = 0;
  size_t rights = 0;
  for (size_t begin = 0; begin < leaf.size(); begin += kChunkRows) {
    const OrderedRows<Gradient> chunk = leaf.Part(begin, std::min(kChunkRows, leaf.size() - begin));
    const size_t left = MarkLeft(column, sides, chunk.rows, marks);
    const size_t right = chunk.size() - left;
    DistributeRows(chunk, marks, leaf.Part(lefts, left), spare.Part(rights, right));
    lefts += left;
    rights += right;
  }
  std::copy_n(spare.rows.begin(), rights, leaf.rows.begin() + static_cast<ptrdiff_t>(lefts));
  std::copy_n(spare.gradients.begin(), rights,
              leaf.gradients.begin() + static_cast<ptrdiff_t>(lefts));
  return lefts;
}

template void DistributeRows(OrderedRows<uint32_t>, std::span<const uint8_t>, OrderedRows<uint32_t>,
                             OrderedRows<uint32_t>);
template void DistributeRows(OrderedRows<Row32>, std::span<const uint8_t>, OrderedRows<Row32>,
                             OrderedRows<Row32>);
template size_t PartitionRows(const BinColumn&, const SplitSides&, OrderedRows<uint32_t>,
                              OrderedRows<uint32_t>);
template size_t PartitionRows(const BinColumn&, const SplitSides&, OrderedRows<Row32>,
                              OrderedRows<Row32>);

}  // namespace strata
