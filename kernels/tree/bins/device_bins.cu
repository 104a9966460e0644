#include "kernels/tree/bins/device_bins.cuh"

namespace strata::gpu_tree {
namespace {

// What a BinBlock or BinColumn, with so many bins a row, has of some rows, whichever their width.
template <typename Bins>
std::pair<const void*, size_t> BytesOf(const Bins& bins, size_t stride, const RowRange& rows) {
  if (bins.wide.empty()) return {bins.narrow.data() + rows.begin * stride, rows.count * stride};
  return {bins.wide.data() + rows.begin * stride, rows.count * stride * sizeof(uint16_t)};
}

}  // namespace

Status DeviceBins::MakeRoom(size_t bytes, const void** room) {
  rooms_.push_back(std::make_unique<DeviceMemory<std::byte>>());
  STRATA_TRY(rooms_.back()->Make(bytes, "bins of training data on the GPU"));
  *room = rooms_.back()->data();
  return {};
}

// Histograms of narrow features are [bin][lane of the block], of others [bin] one by one.
Status DeviceBins::AddBlock(const BinMatrix& bins, const BinBlock& block,
                            std::span<const FeatureShape> shapes) {
  BlockView view{.histogram = histogram_size_,
                 .first_feature = static_cast<uint32_t>(block.first_column),
                 .features = static_cast<uint32_t>(block.columns),
                 .stride = static_cast<uint32_t>(block.stride),
                 .wide = block.is_wide()};
  const size_t bin_bytes = view.wide ? sizeof(uint16_t) : sizeof(uint8_t);
  STRATA_TRY(MakeRoom(rows_.count * block.stride * bin_bytes, &view.bins));
  for (size_t lane = 0; lane < block.columns; ++lane) {
    const size_t f = block.first_column + lane;
    FeatureView feature{.shape = shapes[f],
                        .histogram = view.wide ? histogram_size_ : view.histogram + lane,
                        .histogram_stride = view.wide ? 1 : view.stride,
                        .row_stride = view.stride,
                        .rows = static_cast<const std::byte*>(view.bins) + lane * bin_bytes,
                        .wide = view.wide};
    if (has_columns_) STRATA_TRY(MakeRoom(rows_.count * bin_bytes, &feature.column));
    features_.push_back(feature);
    view.bins_max = std::max(view.bins_max, bins.bins(f));
    if (view.wide) histogram_size_ += bins.bins(f);
    if (shapes[f].categorical) set_words_ = std::max(set_words_, (bins.bins(f) + 31) / 32);
  }
  if (!view.wide) {
    narrow_bins_max_ = std::max(narrow_bins_max_, view.bins_max);
    histogram_size_ += uint64_t{view.bins_max} * view.stride;
  }
  blocks_.push_back(view);
  return {};
}

Status DeviceBins::Copy(const BinMatrix& bins, const RowRange& rows,
                        std::span<const FeatureShape> shapes, cudaStream_t stream) {
  STRATA_CHECK(shapes.size() == bins.features());
  // Kernels have a lane for each feature.
  if (bins.has_bundles()) return Copy(bins.WithoutBundles(), rows, shapes, stream);
  rows_ = rows;
  const auto copy = [stream](const auto& from, const void* to) {
    return FromCuda(
        cudaMemcpyAsync(const_cast<void*>(to), from.first, from.second, cudaMemcpyDefault, stream),
        "copying bins to the GPU");
  };
  for (const BinBlock& block : bins.blocks()) {
    STRATA_TRY(AddBlock(bins, block, shapes));
    STRATA_TRY(copy(BytesOf(block, block.stride, rows_), blocks_.back().bins));
  }
  for (size_t f = 0; has_columns_ && f < features_.size(); ++f) {
    STRATA_TRY(copy(BytesOf(bins.column(f), 1, rows_), features_[f].column));
  }
  STRATA_TRY(PutViews());
  return FromCuda(cudaStreamSynchronize(stream), "copying bins to the GPU");
}

Status DeviceBins::CopyRows(const BinMatrix& bins, const RowRange& rows,
                            std::span<const FeatureShape> shapes, cudaStream_t stream) {
  has_columns_ = false;
  return Copy(bins, rows, shapes, stream);
}

Status DeviceBins::Reserve(const BinMatrix& layout, std::span<const FeatureShape> shapes) {
  STRATA_CHECK(shapes.size() == layout.features() && !layout.has_bundles());
  rows_ = {.begin = 0, .count = layout.rows()};
  for (const BinBlock& block : layout.blocks()) STRATA_TRY(AddBlock(layout, block, shapes));
  return PutViews();
}

Status DeviceBins::PutViews() {
  STRATA_TRY(device_features_.Make(features_.size(), "features on the GPU"));
  STRATA_TRY(device_blocks_.Make(blocks_.size(), "blocks of features on the GPU"));
  STRATA_TRY(device_features_.Set(features_, nullptr));
  STRATA_TRY(device_blocks_.Set(blocks_, nullptr));
  return FromCuda(cudaStreamSynchronize(nullptr), "copying bins to the GPU");
}

void DeviceBins::Show(TreeView* view) const {
  view->rows = rows_.count;
  view->first_row = rows_.begin;
  view->features = static_cast<uint32_t>(features_.size());
  view->blocks = static_cast<uint32_t>(blocks_.size());
  view->feature = device_features_.data();
  view->block = device_blocks_.data();
  view->histogram_size = histogram_size_;
  view->set_words = set_words_;
}

}  // namespace strata::gpu_tree
