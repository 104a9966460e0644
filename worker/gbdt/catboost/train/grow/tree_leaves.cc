#include "worker/gbdt/catboost/train/grow/tree_leaves.h"

#include <algorithm>

#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {
namespace {

// Moves rows that go to the right after the others, both in their order; returns how many stay.
// `right` has room for all. There is no branch, as nobody could foresee it.
template <typename GoesRight>
size_t PartRows(std::span<ListedRow> rows, ListedRow* right, const GoesRight& goes_right) {
  size_t stayed = 0;
  size_t moved = 0;
  for (const ListedRow row : rows) {
    rows[stayed] = row;
    right[moved] = row;
    const size_t moves = goes_right(row.row) ? 1 : 0;
    stayed += 1 - moves;
    moved += moves;
  }
  std::copy_n(right, moved, rows.begin() + static_cast<ptrdiff_t>(stayed));
  return stayed;
}

}  // namespace

void TreeLeaves::Begin(const FixedRows& rows) {
  rows_ = rows.rows();
  outputs_ = rows.outputs();
  levels_ = 0;
  counts_ = {static_cast<uint32_t>(rows_)};
  listed_.resize(rows_ * outputs_);
  right_.resize(rows_);
  const size_t part_rows =
      std::max(FitPiece(rows_), (rows_ + pool_.threads() - 1) / pool_.threads());
  parts_.clear();
  for (size_t begin = 0; begin < rows_; begin += part_rows) {
    const Range all = {begin, std::min(begin + part_rows, rows_)};
    parts_.push_back({.rows = all, .leaves = {all}});
  }
  for (size_t output = 0; output < outputs_; ++output) {
    ListedRow* const listed = listed_.data() + output * rows_;
    const std::span<const Row32> gradients = rows.of(output);
    pool_.RunPieces(rows_, FitPiece(rows_), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        listed[row] = {.row = static_cast<uint32_t>(row), .gradient = gradients[row]};
      }
    });
  }
}

void TreeLeaves::SetGradients(const FixedRows& rows) {
  for (size_t output = 0; output < outputs_; ++output) {
    const std::span<ListedRow> listed = std::span(listed_).subspan(output * rows_, rows_);
    pool_.RunPieces(rows_, FitPiece(rows_), [&](size_t begin, size_t end) {
      for (ListedRow& row : listed.subspan(begin, end - begin)) {
        row.gradient = rows.of(output)[row.row];
      }
    });
  }
}

void TreeLeaves::Split(const GrowColumn& column, size_t place) {
  pool_.Run(parts_.size(), [&](size_t part) { SplitPart(column, place, &parts_[part]); });
  ++levels_;
  counts_.assign(leaves(), 0);
  for (const Part& part : parts_) {
    for (size_t leaf = 0; leaf < leaves(); ++leaf) {
      counts_[leaf] += static_cast<uint32_t>(part.leaves[leaf].end - part.leaves[leaf].begin);
    }
  }
}

void TreeLeaves::SplitPart(const GrowColumn& column, size_t place, Part* part) {
  const size_t half = leaves();
  const uint8_t* const bins = column.bins.data();
  const auto limit = static_cast<uint8_t>(place);
  part->leaves.resize(2 * half);
  for (size_t leaf = 0; leaf < half; ++leaf) {
    Range& left = part->leaves[leaf];
    size_t stayed = 0;
    for (size_t output = 0; output < outputs_; ++output) {
      const std::span<ListedRow> rows =
          std::span(listed_).subspan(output * rows_ + left.begin, left.end - left.begin);
      ListedRow* const right = right_.data() + part->rows.begin;
      stayed = column.is_value
                   ? PartRows(rows, right, [=](uint32_t row) { return bins[row] == limit + 1; })
                   : PartRows(rows, right, [=](uint32_t row) { return bins[row] > limit; });
    }
    part->leaves[leaf + half] = {left.begin + stayed, left.end};
    left.end = left.begin + stayed;
  }
}

std::optional<size_t> RedundantSplit(std::span<const uint32_t> counts) {
  for (size_t bit = 1, k = 0; bit < counts.size(); bit *= 2, ++k) {
    bool parts = false;
    for (size_t leaf = 0; leaf < counts.size() && !parts; ++leaf) {
      parts = counts[leaf] > 0 && counts[leaf ^ bit] > 0;
    }
    if (!parts) return k;
  }
  return std::nullopt;
}

std::vector<uint16_t> TreeLeaves::Numbers(std::optional<size_t> without) const {
  std::vector<uint16_t> numbers(rows_);
  pool_.Run(parts_.size(), [&](size_t part) {
    for (size_t leaf = 0; leaf < leaves(); ++leaf) {
      size_t number = leaf;
      if (without.has_value()) {
        const size_t below = leaf & ((size_t{1} << *without) - 1);
        number = below | (leaf >> (*without + 1) << *without);
      }
      for (const ListedRow& row : rows(part, leaf, 0)) {
        numbers[row.row] = static_cast<uint16_t>(number);
      }
    }
  });
  return numbers;
}

}  // namespace strata
