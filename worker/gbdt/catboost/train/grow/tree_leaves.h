// TreeLeaves: which rows are in which leaf of a tree while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/train/grow/fixed_rows.h"

namespace strata {

// A row of a leaf, and what it has of an output.
struct ListedRow {
  uint32_t row = 0;
  Row32 gradient;
};

// The first split without which the same rows are together, by the rows of each leaf, whose
// number's bit k is that of split k.
std::optional<size_t> RedundantSplit(std::span<const uint32_t> counts);

// Bit k of a leaf's number says where its rows go at split k. Each thread has a part of the rows,
// whose leaves are parted by themselves. One thread at a time.
class TreeLeaves {
 public:
  // It outlives this.
  explicit TreeLeaves(WorkPool& pool) : pool_(pool) {}

  // One leaf with all rows.
  void Begin(const FixedRows& rows);
  // Other gradients of the same rows.
  void SetGradients(const FixedRows& rows);
  // Parts all leaves: those to the right get a new bit.
  void Split(const GrowColumn& column, size_t place);

  size_t levels() const { return levels_; }
  size_t leaves() const { return size_t{1} << levels_; }
  // Of a leaf.
  size_t count(size_t leaf) const { return counts_[leaf]; }
  // Its rows of one part, ascending.
  size_t parts() const { return parts_.size(); }
  std::span<const ListedRow> rows(size_t part, size_t leaf, size_t output) const {
    const Range& range = parts_[part].leaves[leaf];
    return std::span(listed_).subspan(output * rows_ + range.begin, range.end - range.begin);
  }

  // Of each leaf.
  std::span<const uint32_t> counts() const { return counts_; }
  // The leaf of each row; without the bit of a split, if one is given.
  std::vector<uint16_t> Numbers(std::optional<size_t> without) const;

 private:
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };
  // Neighbouring rows: those of its leaves, which do not stand in the order of their numbers.
  struct Part {
    Range rows;
    std::vector<Range> leaves;
  };

  void SplitPart(const GrowColumn& column, size_t place, Part* part);

  WorkPool& pool_;
  size_t rows_ = 0;
  size_t outputs_ = 0;
  size_t levels_ = 0;
  std::vector<Part> parts_;
  std::vector<uint32_t> counts_;  // of each leaf
  LargeArray<ListedRow> listed_;  // output after output, of each the parts by leaf
  LargeArray<ListedRow> right_;   // rows of a part that go to the right
};

}  // namespace strata
