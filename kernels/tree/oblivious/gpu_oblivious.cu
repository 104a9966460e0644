#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "kernels/tree/oblivious/column_batch.cuh"
#include "kernels/tree/oblivious/gpu_oblivious.h"
#include "kernels/tree/oblivious/resident_rows.cuh"

namespace strata::gpu_tree {
namespace {

class OnGpu : public GpuOblivious {
 public:
  OnGpu(int device, size_t rows, const ScoreRule& rule) : device_(device), rule_(rule) {
    view_.rows = rows;
    view_.l2 = rule.l2;
    view_.is_cosine = rule.is_cosine;
  }
  ~OnGpu() override {
    const DeviceScope scope(device_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status Start() {
    const DeviceScope scope(device_);
    int shared_bytes = 0;
    STRATA_TRY(FromCuda(
        cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_),
        "a GPU"));
    if (shared_bytes < kSharedBytes) {
      return Refused(
          fmt::format("GPU {} has {} KiB of shared memory for a block of threads, and "
                      "CatBoost's trees take {}, as an A100 and an H100 have: use "
                      "device = cpu",
                      device_, shared_bytes / 1024, kSharedBytes / 1024));
    }
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(FromCuda(
        cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_), "a GPU"));
    constexpr char kWhat[] = "rows of training data on the GPU";
    const size_t leaves = size_t{1} << rule_.levels_max;
    const size_t rows = view_.rows + kRowsPadding;
    STRATA_TRY(leaves_.Make(rows, kWhat));
    STRATA_TRY(list_.Make(rows, kWhat));
    STRATA_TRY(counts_.Make(2 * leaves, kWhat));
    STRATA_TRY(picked_.Make(rule_.levels_max, kWhat));
    STRATA_TRY(listed_.Make(leaves, kWhat));
    STRATA_TRY(listed_of_.Make(leaves, kWhat));
    STRATA_TRY(piece_count_.Make(1, kWhat));
    view_.leaves = leaves_.data();
    view_.list = list_.data();
    view_.counts = counts_.data();
    view_.listed = listed_.data();
    view_.listed_of = listed_of_.data();
    view_.piece_count = piece_count_.data();
    STRATA_TRY(PrepareLists());
    return PrepareObliviousHistograms();
  }

  Status Begin(const ObliviousGradients& gradients) override {
    const DeviceScope scope(device_);
    STRATA_TRY(StartTree(gradients.units.size(), gradients.has_unit_weights));
    return SetGradients(gradients);
  }

  Status AddColumns(std::span<const GrowColumn> columns, bool are_fixed) override {
    if (columns.empty()) return {};
    const DeviceScope scope(device_);
    if (batches_used_ == batches_.size()) batches_.push_back(std::make_unique<ColumnBatch>());
    ColumnBatch& batch = *batches_[batches_used_++];
    return batch.Set(columns, are_fixed, view_.outputs << (rule_.levels_max - 1), stream_);
  }

  Status SetGradients(const ObliviousGradients& gradients) override {
    const DeviceScope scope(device_);
    view_.has_unit_weights = gradients.has_unit_weights;
    rows_.ForgetRounding();
    STRATA_TRY(gradients_.memory().Set(gradients.rows, stream_));
    STRATA_TRY(units_.memory().Set(gradients.units, stream_));
    ForgetHistograms();
    return Wait("gradients of rows on the GPU");
  }

  Status Score(LevelScores* scores) override {
    const DeviceScope scope(device_);
    STRATA_TRY(ScoreLevel());
    size_t column = 0;
    for (size_t i = 0; i < batches_used_; ++i) column += batches_[i]->columns();
    scores->resize(column);
    column = 0;
    for (size_t i = 0; i < batches_used_; ++i) {
      ColumnBatch& batch = *batches_[i];
      STRATA_TRY(batch.TakeScores(stream_, std::span(*scores).subspan(column, batch.columns())));
      column += batch.columns();
    }
    return {};
  }

  Status Histograms(size_t column, std::vector<GradientSums>* histograms,
                    GradientUnits* units) override {
    const DeviceScope scope(device_);
    const ColumnBatch& batch = BatchOf(&column);
    batch.Show(&view_);
    const uint32_t bins = batch.column(column).splits + 1;
    histograms->resize(size_t{bins} * view_.leaf_count());
    constexpr char kWhat[] = "histograms of a column";
    STRATA_TRY(gathered_.Reserve(histograms->size(), kWhat));
    GatherHistograms(view_, static_cast<uint32_t>(column), bins, gathered_.data(), stream_);
    STRATA_TRY(gathered_.memory().Get(*histograms, stream_));
    STRATA_TRY(units_.memory().Get(std::span(units, 1), stream_));
    return Wait(kWhat);
  }

  Status Split(const GrowSplit& split, std::vector<uint32_t>* counts) override {
    const DeviceScope scope(device_);
    size_t column = split.column;
    BatchOf(&column).Show(&view_);
    const PickedSplit picked{.column = static_cast<uint32_t>(column),
                             .place = static_cast<uint32_t>(split.place)};
    STRATA_TRY(picked_.Set(std::span(&picked, 1), stream_, view_.level));
    SplitRows(view_, picked_.data() + view_.level, stream_);
    ++view_.level;
    counts->resize(view_.leaf_count());
    STRATA_TRY(counts_.Get(*counts, stream_, view_.leaf_count()));
    return Wait("a split of leaves");
  }

  // The host learns of the splits at the end: a tree that ends before its last level is rare.
  Status Grow(std::vector<GrownLevel>* levels) override {
    const DeviceScope scope(device_);
    levels->clear();
    if (batches_used_ == 0) return {};
    STRATA_CHECK(batches_used_ == 1);
    while (view_.level < rule_.levels_max) {
      STRATA_TRY(ScoreLevel());
      STRATA_TRY(FromCuda(cudaGetLastError(), "scores of splits"));
      STRATA_TRY(picked_of_blocks_.Reserve(view_.blocks, "splits of a tree"));
      PickSplit(view_, picked_of_blocks_.data(), picked_.data() + view_.level, stream_);
      SplitRows(view_, picked_.data() + view_.level, stream_);
      ++view_.level;
    }
    std::vector<PickedSplit> picked(view_.level);
    std::vector<uint32_t> counts(2 * size_t{view_.leaf_count()});
    STRATA_TRY(picked_.Get(picked, stream_));
    STRATA_TRY(counts_.Get(counts, stream_));
    STRATA_TRY(Wait("splits of a tree"));
    for (size_t level = 0; level < picked.size(); ++level) {
      if (picked[level].column == PickedSplit::kNone) break;
      const auto first = counts.begin() + (ptrdiff_t{2} << level);
      levels->push_back({.split = {.column = picked[level].column, .place = picked[level].place},
                         .counts = {first, first + (ptrdiff_t{2} << level)}});
    }
    return {};
  }

  Status EndTree(size_t splits, std::optional<size_t> without) override {
    const DeviceScope scope(device_);
    std::vector<uint32_t> counts(size_t{1} << splits);
    STRATA_TRY(counts_.Get(counts, stream_, counts.size()));
    if (splits < view_.level || without.has_value()) {
      DropSplits(view_, static_cast<uint32_t>(splits),
                 static_cast<uint32_t>(without.value_or(kNoSplit)), stream_);
    }
    STRATA_TRY(Wait("leaves of rows"));
    leaf_counts_.clear();
    const size_t bit = size_t{1} << without.value_or(kNoSplit);
    for (size_t leaf = 0; leaf < counts.size(); ++leaf) {
      if ((leaf & bit) != 0) continue;
      const size_t other = leaf | bit;
      leaf_counts_.push_back(counts[leaf] + (other < counts.size() ? counts[other] : 0));
    }
    if (splits == 0) leaf_counts_ = {static_cast<uint32_t>(view_.rows)};
    return {};
  }

  Status Leaves(std::span<uint16_t> leaves) override {
    const DeviceScope scope(device_);
    STRATA_TRY(leaves_.Get(leaves, stream_));
    return Wait("leaves of rows");
  }

  Status SetRows(const TrainedRows& rows) override {
    const DeviceScope scope(device_);
    has_unit_weights_ = rows.weight_unit.is_only_weight;
    STRATA_TRY(gradients_.Reserve(view_.rows, "rows of training data on the GPU"));
    STRATA_TRY(units_.Reserve(1, "rows of training data on the GPU"));
    return rows_.Set(rows, stream_);
  }

  Status BeginFromRows() override {
    const DeviceScope scope(device_);
    STRATA_TRY(StartTree(1, has_unit_weights_));
    return rows_.Round({gradients_.data(), units_.data()}, stream_);
  }

  Result<bool> BeginFromSample(const RowDraw& sample) override {
    const DeviceScope scope(device_);
    STRATA_TRY(StartTree(1, false));
    return Resample(sample);
  }

  Result<bool> Resample(const RowDraw& sample) override {
    const DeviceScope scope(device_);
    STRATA_ASSIGN(const SampledRows sampled,
                  rows_.RoundSample(sample, {gradients_.data(), units_.data()}, stream_));
    view_.has_unit_weights = sampled.weight_unit.is_only_weight;
    ForgetHistograms();
    return sampled.has_rows;
  }

  Result<double> SumSquares() override {
    const DeviceScope scope(device_);
    return rows_.SumSquares(stream_);
  }
  Result<double> SumSizes() override {
    const DeviceScope scope(device_);
    return rows_.SumSizes(stream_);
  }
  Result<double> SumLosses() override {
    const DeviceScope scope(device_);
    return rows_.SumLosses({gradients_.data(), units_.data()}, stream_);
  }
  Result<std::vector<double>> SumLeafWeights() override {
    const DeviceScope scope(device_);
    return rows_.SumWeights(leaves_.data(), leaf_counts_, stream_);
  }
  Result<LeafSums> SumLeaves() override {
    const DeviceScope scope(device_);
    return rows_.SumLeaves(leaves_.data(), leaf_counts_.size(), stream_);
  }
  Status TryStep(std::span<const double> step) override {
    const DeviceScope scope(device_);
    return rows_.Try(leaves_.data(), step, stream_);
  }
  Result<double> SumTriedLosses() override {
    const DeviceScope scope(device_);
    return rows_.SumTriedLosses(stream_);
  }
  void KeepStep() override { rows_.Keep(); }
  Status AddValues(std::span<const double> values) override {
    const DeviceScope scope(device_);
    return rows_.Add(leaves_.data(), values, stream_);
  }

 private:
  static constexpr int kSharedBytes = 128 << 10;  // that kernels ask for at most
  static constexpr size_t kRowsPadding = 16;
  static constexpr size_t kNoSplit = 16;  // numbers of leaves have no such bit

  // The next level's histograms do not come from this one's.
  void ForgetHistograms() {
    for (size_t i = 0; i < batches_used_; ++i) batches_[i]->has_kept = false;
  }

  // The batch of a column of the tree, whose number becomes that in the batch.
  const ColumnBatch& BatchOf(size_t* column) const {
    size_t batch = 0;
    while (*column >= batches_[batch]->columns()) *column -= batches_[batch++]->columns();
    return *batches_[batch];
  }

  // Batches whose histograms come from those of the level before are scored first, then those for
  // which all rows are added up.
  Status ScoreLevel() {
    view_.sets_totals = true;
    view_.totals = totals_[view_.level % 2].data();
    view_.totals_before = totals_[(view_.level + 1) % 2].data();
    for (const bool builds_all : {false, true}) STRATA_TRY(ScoreBatches(builds_all));
    for (size_t i = 0; i < batches_used_; ++i) batches_[i]->has_kept = true;
    return {};
  }

  Status StartTree(size_t outputs, bool has_unit_weights) {
    view_.level = 0;
    view_.outputs = static_cast<uint32_t>(outputs);
    view_.has_unit_weights = has_unit_weights;
    batches_used_ = 0;
    constexpr char kWhat[] = "gradients of rows on the GPU";
    STRATA_TRY(gradients_.Reserve(outputs * view_.rows, kWhat));
    STRATA_TRY(units_.Reserve(outputs, kWhat));
    for (ResizedMemory<GradientSums>& totals : totals_) {
      STRATA_TRY(totals.Reserve(outputs << rule_.levels_max, kWhat));
    }
    view_.gradients = gradients_.data();
    view_.units = units_.data();
    STRATA_TRY(FromCuda(
        cudaMemsetAsync(counts_.data(), 0, counts_.size() * sizeof(uint32_t), stream_), kWhat));
    return FromCuda(cudaMemsetAsync(leaves_.data(), 0, leaves_.size() * sizeof(uint16_t), stream_),
                    kWhat);
  }

  Status ScoreBatches(bool builds_all) {
    bool is_listed = false;
    bool is_packed = false;
    for (size_t i = 0; i < batches_used_; ++i) {
      const ColumnBatch& batch = *batches_[i];
      if (batch.has_kept == builds_all) continue;
      view_.builds_all = builds_all;
      batch.Show(&view_);
      const uint32_t grid = static_cast<uint32_t>(processors_) * (view_.has_unit_weights ? 2 : 1);
      // Memory is taken before anything is launched, as that forgets errors of launches.
      STRATA_TRY(parts_.Reserve(PartsFor(view_), "scores of splits on the GPU"));
      view_.parts = parts_.data();
      view_.list_gradients = nullptr;
      if (view_.blocks > 1) {
        STRATA_TRY(list_gradients_.Reserve(view_.outputs * view_.rows, "gradients on the GPU"));
        view_.list_gradients = list_gradients_.data();
      }
      if (!is_listed) ListRows(view_, grid, stream_);
      is_listed = true;
      if (view_.list_gradients != nullptr && !is_packed) {
        ListGradients(view_, stream_);
        is_packed = true;
      }
      BuildObliviousHistograms(view_, grid, batch.bins_max(), stream_);
      view_.sets_totals = false;
      ScoreSplits(view_, stream_);
      STRATA_TRY(FromCuda(cudaGetLastError(), "scores of splits"));
    }
    return {};
  }

  // Tells of launches that have failed, too.
  Status Wait(const char* what) {
    STRATA_TRY(FromCuda(cudaGetLastError(), what));
    return FromCuda(cudaStreamSynchronize(stream_), what);
  }

  const int device_;
  const ScoreRule rule_;
  int processors_ = 0;
  cudaStream_t stream_ = nullptr;
  ObliviousView view_;
  DeviceMemory<uint16_t> leaves_;
  DeviceMemory<uint32_t> list_;
  DeviceMemory<uint32_t> counts_;
  DeviceMemory<PickedSplit> picked_;  // of each level
  ResizedMemory<PickedSplit> picked_of_blocks_;
  DeviceMemory<ListedLeaf> listed_;
  DeviceMemory<int32_t> listed_of_;
  DeviceMemory<uint32_t> piece_count_;
  ResizedMemory<Row32> gradients_;
  ResizedMemory<Row32> list_gradients_;
  ResizedMemory<GradientUnits> units_;
  ResizedMemory<GradientSums> totals_[2];  // of even levels and of odd ones
  ResizedMemory<ScoreSums> parts_;
  ResizedMemory<GradientSums> gathered_;
  std::vector<std::unique_ptr<ColumnBatch>> batches_;  // the first batches_used_ are this tree's
  size_t batches_used_ = 0;
  std::vector<uint32_t> leaf_counts_;  // of a complete tree its leaves' rows
  bool has_unit_weights_ = false;      // of rows that stay
  ResidentRows rows_;
};

}  // namespace
}  // namespace strata::gpu_tree

namespace strata {

Result<std::unique_ptr<GpuOblivious>> GpuOblivious::Open(int device, size_t rows,
                                                         const ScoreRule& rule) {
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_unique<gpu_tree::OnGpu>(device, rows, rule);
  STRATA_TRY(made->Start());
  return std::unique_ptr<GpuOblivious>(std::move(made));
}

}  // namespace strata
