#include <algorithm>

#include "kernels/tree/oblivious/column_batch.cuh"

namespace strata::gpu_tree {
namespace {

constexpr size_t kColumnAlignment = 16;

}  // namespace

Status ColumnBatch::Set(std::span<const GrowColumn> columns, bool are_fixed, size_t histograms,
                        cudaStream_t stream) {
  has_kept = false;
  if (!are_fixed || !are_fixed_ || !std::ranges::equal(columns, columns_, IsSameColumn)) {
    are_fixed_ = false;
    columns_.assign(columns.begin(), columns.end());
    STRATA_TRY(Copy(stream));
    are_fixed_ = are_fixed;
  }
  STRATA_TRY(scores_.Reserve(histogram_size_, "scores of splits on the GPU"));
  return histograms_.Reserve(histogram_size_ * histograms,
                             "histograms of a tree's leaves on the GPU: use a smaller depth, fewer "
                             "borders or device = cpu");
}

Status ColumnBatch::Copy(cudaStream_t stream) {
  const size_t rows = columns_[0].bins.size();
  const size_t column_bytes = (rows + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
  const size_t block_bytes = rows * kBlockColumns;
  const size_t blocks = (columns_.size() + kBlockColumns - 1) / kBlockColumns;
  constexpr char kWhat[] = "bins of training data on the GPU";
  STRATA_TRY(by_column_.Reserve(column_bytes * columns_.size(), kWhat));
  STRATA_TRY(by_row_.Reserve(block_bytes * blocks, kWhat));
  STRATA_TRY(column_views_.Reserve(columns_.size(), kWhat));
  STRATA_TRY(block_views_.Reserve(blocks, kWhat));
  // Kernels read columns up to their alignment.
  STRATA_TRY(FromCuda(cudaMemsetAsync(by_column_.data(), 0, column_bytes * columns_.size(), stream),
                      kWhat));
  device_columns_.clear();
  blocks_.clear();
  histogram_size_ = 0;
  bins_max_ = 0;
  for (const GrowColumn& column : columns_) {
    const size_t begin = column_bytes * device_columns_.size();
    STRATA_TRY(by_column_.memory().Set(column.bins, stream, begin));
    device_columns_.push_back({.bins = by_column_.data() + begin,
                               .splits = static_cast<uint32_t>(column.splits),
                               .is_value = column.is_value});
  }
  for (size_t i = 0; i < blocks; ++i) {
    ColumnBlock block{.bins = by_row_.data() + i * block_bytes,
                      .histogram = histogram_size_,
                      .first_column = static_cast<uint32_t>(i * kBlockColumns)};
    const size_t end = std::min(columns_.size(), (i + 1) * kBlockColumns);
    for (size_t c = block.first_column; c < end; ++c) {
      block.bins_max = std::max(block.bins_max, device_columns_[c].splits + 1);
    }
    histogram_size_ += uint64_t{block.bins_max} * kBlockColumns;
    bins_max_ = std::max(bins_max_, block.bins_max);
    blocks_.push_back(block);
  }
  STRATA_TRY(column_views_.memory().Set(device_columns_, stream));
  STRATA_TRY(block_views_.memory().Set(blocks_, stream));
  for (size_t i = 0; i < blocks; ++i) {
    const size_t first = i * kBlockColumns;
    const size_t count = std::min<size_t>(kBlockColumns, columns_.size() - first);
    InterleaveColumns(column_views_.data() + first, static_cast<uint32_t>(count), rows,
                      by_row_.data() + i * block_bytes, stream);
  }
  // The columns may change from now on.
  STRATA_TRY(FromCuda(cudaGetLastError(), kWhat));
  return FromCuda(cudaStreamSynchronize(stream), kWhat);
}

void ColumnBatch::Show(ObliviousView* view) const {
  view->blocks = static_cast<uint32_t>(blocks_.size());
  view->block = block_views_.data();
  view->columns = column_views_.data();
  view->column_count = static_cast<uint32_t>(columns_.size());
  view->histogram_size = histogram_size_;
  view->histograms = histograms_.data();
  view->scores = scores_.data();
}

Status ColumnBatch::TakeScores(cudaStream_t stream, std::span<std::vector<double>> scores) {
  taken_.resize(histogram_size_);
  STRATA_TRY(scores_.memory().Get(taken_, stream));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "scores of splits"));
  for (size_t c = 0; c < columns_.size(); ++c) {
    const double* const of_column =
        taken_.data() + blocks_[c / kBlockColumns].histogram + c % kBlockColumns;
    scores[c].resize(columns_[c].splits);
    for (size_t split = 0; split < scores[c].size(); ++split) {
      scores[c][split] = of_column[split * kBlockColumns];
    }
  }
  return {};
}

}  // namespace strata::gpu_tree
