// TreeLeaves: which rows are in which leaf of a tree while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/train/grow/fixed_rows.h"
#include "worker/gbdt/catboost/train/grow/grow_column.h"

namespace strata {

// A row of a leaf, and what it has of an output.
struct ListedRow {
  uint32_t row = 0;
  Row32 gradient;
};

// Bit k of a leaf's number says where its rows go at split k. One thread at a time.
class TreeLeaves {
 public:
  // It outlives this.
  explicit TreeLeaves(WorkPool& pool) : pool_(pool) {}

  // One leaf with all rows, which outlive the tree.
  void Begin(const FixedRows& rows);
  // Parts all leaves: those to the right get a new bit. List() lists their rows.
  void Split(const GrowColumn& column, size_t place);
  void List();

  size_t levels() const { return levels_; }
  size_t leaves() const { return size_t{1} << levels_; }
  size_t count(size_t leaf) const { return counts_[leaf]; }
  // The rows of a leaf, ascending.
  std::span<const ListedRow> rows(size_t leaf, size_t output) const {
    return std::span(listed_).subspan(output * rows_->rows() + begins_[leaf], counts_[leaf]);
  }

  // The first split without which the same rows are together.
  std::optional<size_t> RedundantSplit() const;
  // Takes that split's bit out of the leaves' numbers. The tree is at its end.
  void Drop(size_t split);
  // The leaf of each row.
  std::vector<uint16_t> Take() { return std::move(leaf_of_row_); }

 private:
  WorkPool& pool_;
  const FixedRows* rows_ = nullptr;
  size_t levels_ = 0;
  std::vector<uint16_t> leaf_of_row_;
  std::vector<uint32_t> counts_;           // of each leaf
  std::vector<uint32_t> counts_of_piece_;  // of each leaf, piece after piece
  std::vector<uint32_t> begins_;
  LargeArray<ListedRow> listed_;  // by leaf, output after output
};

}  // namespace strata
