// FindCut: the exact k-th largest of many 64-bit keys. Counts are sums of integers, so the cut is
// the same whoever counts which rows. Collective where rows are divided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/key_cut.h"
#include "worker/gbdt/data/row_share.h"

namespace strata {

// `rows` are here; key_of(row, &key): false for those that do not take part. k: 1 to the number of
// rows, on all ranks, that do.
template <typename KeyOf>
KeyCut FindCut(size_t rows, int64_t k, const RowShare& share, WorkPool& pool, const KeyOf& key_of) {
  constexpr size_t kPieceRows = 1 << 16;
  KeyCut cut{.key = 0, .rows = 0, .needed = k};
  std::vector<KeyCut::Counts> pieces((rows + kPieceRows - 1) / kPieceRows);
  for (int shift = KeyCut::kFirstShift; shift >= 0; shift -= KeyCut::kDigitBits) {
    pool.RunPieces(rows, kPieceRows, [&](size_t begin, size_t end) {
      KeyCut::Counts counts{};
      for (size_t row = begin; row < end; ++row) {
        uint64_t key = 0;
        if (!key_of(row, &key) || !KeyCut::IsCounted(key, cut.key, shift)) continue;
        ++counts[KeyCut::DigitOf(key, shift)];
      }
      pieces[begin / kPieceRows] = counts;
    });
    KeyCut::Counts counts{};
    for (const KeyCut::Counts& piece : pieces) {
      for (size_t digit = 0; digit < KeyCut::kDigits; ++digit) counts[digit] += piece[digit];
    }
    share.Sum(counts);
    cut.Take(counts, shift);
  }
  return cut;
}

}  // namespace strata
