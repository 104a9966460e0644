#include "worker/gbdt/catboost/train/grow/tree_leaves.h"

#include <algorithm>
#include <numeric>

#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

void TreeLeaves::Begin(const FixedRows& rows) {
  rows_ = &rows;
  levels_ = 0;
  leaf_of_row_.assign(rows.rows(), 0);
  counts_ = {static_cast<uint32_t>(rows.rows())};
  begins_ = {0};
  const size_t piece = FitPiece(rows.rows());
  counts_of_piece_.clear();
  for (size_t begin = 0; begin < rows.rows(); begin += piece) {
    counts_of_piece_.push_back(static_cast<uint32_t>(std::min(piece, rows.rows() - begin)));
  }
  listed_.resize(rows.rows() * rows.outputs());
}

void TreeLeaves::Split(const GrowColumn& column, size_t place) {
  const size_t level = levels_++;
  const size_t rows = leaf_of_row_.size();
  const size_t piece = FitPiece(rows);
  counts_of_piece_.assign((rows + piece - 1) / piece * leaves(), 0);
  pool_.RunPieces(rows, piece, [&](size_t begin, size_t end) {
    uint32_t* const counts = counts_of_piece_.data() + begin / piece * leaves();
    for (size_t row = begin; row < end; ++row) {
      const uint32_t bit = (column.GoesRight(place, column.bins[row]) ? 1U : 0U) << level;
      leaf_of_row_[row] = static_cast<uint16_t>(leaf_of_row_[row] | bit);
      ++counts[leaf_of_row_[row]];
    }
  });
  counts_.assign(leaves(), 0);
  for (size_t i = 0; i < counts_of_piece_.size(); ++i) counts_[i % leaves()] += counts_of_piece_[i];
}

void TreeLeaves::List() {
  begins_.resize(leaves());
  std::exclusive_scan(counts_.begin(), counts_.end(), begins_.begin(), 0U);
  const size_t rows = leaf_of_row_.size();
  const size_t piece = FitPiece(rows);
  // Counts become the places where the piece's rows of a leaf go.
  std::vector<uint32_t> next = begins_;
  for (size_t i = 0; i < counts_of_piece_.size(); ++i) {
    const uint32_t count = counts_of_piece_[i];
    counts_of_piece_[i] = next[i % leaves()];
    next[i % leaves()] += count;
  }
  for (size_t output = 0; output < rows_->outputs(); ++output) {
    const std::span<const Row32> gradients = rows_->of(output);
    ListedRow* const listed = listed_.data() + output * rows;
    pool_.RunPieces(rows, piece, [&](size_t begin, size_t end) {
      const uint32_t* const first = counts_of_piece_.data() + begin / piece * leaves();
      std::vector<uint32_t> places(first, first + leaves());
      for (size_t row = begin; row < end; ++row) {
        listed[places[leaf_of_row_[row]]++] = {static_cast<uint32_t>(row), gradients[row]};
      }
    });
  }
}

std::optional<size_t> TreeLeaves::RedundantSplit() const {
  for (size_t k = 0; k < levels_; ++k) {
    const size_t bit = size_t{1} << k;
    bool parts = false;
    for (size_t leaf = 0; leaf < leaves() && !parts; ++leaf) {
      parts = counts_[leaf] > 0 && counts_[leaf ^ bit] > 0;
    }
    if (!parts) return k;
  }
  return std::nullopt;
}

void TreeLeaves::Drop(size_t split) {
  const uint32_t below = (1U << split) - 1;
  for (uint16_t& leaf : leaf_of_row_) {
    const uint32_t above = static_cast<uint32_t>(leaf) >> (split + 1);
    leaf = static_cast<uint16_t>((leaf & below) | (above << split));
  }
  --levels_;
}

}  // namespace strata
