// FindCut: the exact k-th largest of many 64-bit keys by counting digits from the top (radix
// selection). Counts are sums of integers, so the cut is the same whoever counts which rows.
// Collective where rows are divided.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/work_pool.h"
#include "worker/gbdt/data/row_share.h"

namespace strata {

struct RowCut {
  uint64_t key = 0;    // the k-th largest
  int64_t rows = 0;    // how many rows have just this key
  int64_t needed = 0;  // how many of those are among the k
};

// `rows` are here; key_of(row, &key): false for those that do not take part. k: 1 to the number of
// rows, on all ranks, that do.
template <typename KeyOf>
RowCut FindCut(size_t rows, int64_t k, const RowShare& share, WorkPool& pool, const KeyOf& key_of) {
  constexpr int kDigitBits = 11;
  constexpr size_t kDigits = size_t{1} << kDigitBits;
  constexpr size_t kPieceRows = 1 << 16;
  using Counts = std::array<int64_t, kDigits>;
  RowCut cut{.key = 0, .rows = 0, .needed = k};
  std::vector<Counts> pieces((rows + kPieceRows - 1) / kPieceRows);
  for (int shift = 66 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    pool.RunPieces(rows, kPieceRows, [&](size_t begin, size_t end) {
      Counts counts{};
      for (size_t row = begin; row < end; ++row) {
        uint64_t key = 0;
        if (!key_of(row, &key)) continue;
        // Only those that agree with the cut in all digits found so far.
        if (shift + kDigitBits < 64 && (key ^ cut.key) >> (shift + kDigitBits) != 0) continue;
        ++counts[(key >> shift) % kDigits];
      }
      pieces[begin / kPieceRows] = counts;
    });
    Counts counts{};
    for (const Counts& piece : pieces) {
      for (size_t digit = 0; digit < kDigits; ++digit) counts[digit] += piece[digit];
    }
    share.Sum(counts);
    size_t digit = kDigits - 1;
    while (digit > 0 && counts[digit] < cut.needed) cut.needed -= counts[digit--];
    cut.rows = counts[digit];
    cut.key |= static_cast<uint64_t>(digit) << shift;
  }
  return cut;
}

}  // namespace strata
