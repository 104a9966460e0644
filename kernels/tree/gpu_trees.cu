#include <algorithm>
#include <numeric>

#include "kernels/tree/device_bins.cuh"
#include "kernels/tree/gpu_trees.h"
#include "kernels/tree/grown_from_device.cuh"
#include "kernels/tree/row_kernels.cuh"

namespace strata {

namespace gpu_tree {
namespace {

constexpr int kStepsOfGraph = 4;
constexpr size_t kSpareSplits = 256;  // that may turn out not to be needed
constexpr size_t kLackingSplits = 8;  // that Finish may send for
constexpr size_t kFirstSteps = 16;    // of the first tree, before they are known

class Trees : public GpuTrees {
 public:
  Trees(int device, const GpuTreeOptions& options) : device_(device), options_(options) {}

  ~Trees() override {
    const DeviceScope scope(device_);
    DropGraph();
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status Start(const BinMatrix& bins, std::span<const FeatureShape> shapes) {
    const DeviceScope scope(device_);
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(bins_.Copy(bins, shapes, stream_));
    bins_.Show(&view_);
    view_.rules = options_.rules;
    view_.max_depth = static_cast<uint32_t>(options_.max_depth);
    view_.bynode = options_.feature_fraction_bynode;
    view_.feature_seed = options_.feature_seed;
    view_.extra_trees = options_.extra_trees;
    view_.extra_seed = options_.extra_seed;
    view_.leaves_max = static_cast<int32_t>(options_.num_leaves);
    return MakeTree();
  }

  Status SetGradients(const FixedGradients& by_row, const GradientUnits& units,
                      std::span<const uint32_t> bag) override {
    const DeviceScope scope(device_);
    STRATA_TRY(StartGradients(by_row.rows16.empty() ? GradientWidth::k32 : GradientWidth::k16));
    const void* const source = view_.is_wide ? static_cast<const void*>(by_row.rows32.data())
                                             : static_cast<const void*>(by_row.rows16.data());
    const size_t bytes = view_.rows * (view_.is_wide ? sizeof(Row32) : sizeof(uint32_t));
    STRATA_TRY(FromCuda(cudaMemcpyAsync(slopes_.data(), source, bytes, cudaMemcpyDefault, stream_),
                        "gradients"));
    STRATA_TRY(rows_[0].Set(bag, stream_));
    GatherGradients(view_, slopes_.data(), static_cast<uint32_t>(bag.size()), units, stream_);
    bag_is_all_ = bag.size() == view_.rows;
    return {};
  }

  Status ComputeGradients(size_t k, const GpuLoss& loss, const GpuRounding& rounding,
                          uint64_t tree_number, const GpuBag& bag) override {
    const DeviceScope scope(device_);
    STRATA_CHECK(labels_.size() == view_.rows);
    STRATA_TRY(StartGradients(rounding.width));
    const RowLabels labels{labels_.data(), weights_.size() == 0 ? nullptr : weights_.data()};
    ComputeSlopes(view_, loss, labels, scores_.data() + k * view_.rows, slopes_.data(), stream_);
    RoundSlopes(view_, slopes_.data(), rounding, Mix64(Mix64(rounding.seed) + tree_number), bag,
                stream_);
    bag_is_all_ = bag.share >= 1;
    return {};
  }

  Status SetLabels(std::span<const float> labels, std::span<const float> weights) override {
    const DeviceScope scope(device_);
    STRATA_CHECK(labels.size() == view_.rows && labels_.size() == 0);
    STRATA_TRY(labels_.Make(labels.size(), "labels on the GPU"));
    STRATA_TRY(labels_.Set(labels, stream_));
    if (weights.empty()) return {};
    STRATA_TRY(weights_.Make(weights.size(), "weights on the GPU"));
    return weights_.Set(weights, stream_);
  }

  Status SetScores(std::span<const double> scores) override {
    const DeviceScope scope(device_);
    STRATA_TRY(NeedScores());
    STRATA_CHECK(scores.size() == scores_.size());
    return scores_.Set(scores, stream_);
  }

  Status GetScores(std::span<double> scores) override {
    const DeviceScope scope(device_);
    STRATA_CHECK(scores.size() == scores_.size());
    STRATA_TRY(scores_.Get(scores, stream_));
    return Wait("scores");
  }

  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) override {
    const DeviceScope scope(device_);
    STRATA_TRY(NeedScores());
    STRATA_CHECK(values.size() == tree.leaves.size());
    STRATA_TRY(Upload(values, &values_, "values of leaves"));
    double* const scores = scores_.data() + k * view_.rows;
    if (&tree == last_tree_ && bag_is_all_ && last_nodes_.popped.size() == tree.nodes.size()) {
      return AddLast(scores);
    }
    const WalkTable table = WalkTableOf(tree, bins_.features());
    STRATA_TRY(Upload<WalkNode>(table.nodes, &walk_nodes_, "nodes"));
    STRATA_TRY(Upload<uint32_t>(table.sets, &walk_sets_, "sets of categories"));
    WalkRows(walk_nodes_->data(), walk_sets_->data(), values_->data(), view_.rows, scores, stream_);
    return Wait("adding a tree to the scores");  // what was uploaded is read until then
  }

  Result<uint64_t> Grow(std::span<const uint8_t> feature_used, uint64_t tree_number,
                        GrownTree* tree) override {
    const DeviceScope scope(device_);
    STRATA_TRY(feature_used_.Set(feature_used, stream_));
    times_ = {};
    BeginTree(view_, tree_number, stream_);
    STRATA_TRY(Timed(&times_.histogram, [&] { BuildHistograms(view_, shared_bytes_, stream_); }));
    STRATA_TRY(Timed(&times_.search, [&] { SearchLeaves(view_, search_blocks_, stream_); }));
    size_t steps = last_steps_;
    do {
      STRATA_TRY(timed_ ? StepTimed(steps) : Step(steps));
      STRATA_TRY(Fetch());
      steps = kStepsOfGraph;
      if (last_nodes_.state.done != 0) STRATA_TRY(Finish());
    } while (last_nodes_.state.done == 0);
    last_steps_ = last_nodes_.state.steps + 1;
    times_.steps = last_nodes_.state.steps;
    units_ = last_nodes_.state.units;
    last_tree_ = tree;
    MakeGrownTree(last_nodes_, bins_.set_words(), tree);
    return last_nodes_.state.not_finite;
  }

  Status FetchRows(GrownTree* tree, std::vector<uint32_t>* rows) override {
    const DeviceScope scope(device_);
    std::vector<uint32_t> sides[2];
    for (int side = 0; side < 2; ++side) {
      sides[side].resize(view_.rows);
      STRATA_TRY(rows_[side].Get(sides[side], stream_));
    }
    STRATA_TRY(Wait("rows of leaves"));
    PutRows(last_nodes_, sides, tree, rows);
    return {};
  }

  const GradientUnits& units() const override { return units_; }
  void TimePhases(bool on) override { timed_ = on; }
  const GpuTreeTimes& times() const override { return times_; }

 private:
  Status MakeTree() {
    const auto splits = static_cast<size_t>(view_.leaves_max - 1) +
                        std::min(kSpareSplits, options_.num_leaves) + kLackingSplits;
    const size_t nodes = 1 + 2 * splits;
    view_.node_capacity = static_cast<int32_t>(nodes);
    int processors = 0;
    STRATA_TRY(FromCuda(
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_), "the GPU"));
    processors_ = static_cast<uint32_t>(processors);
    search_blocks_ = processors_ * 4;
    STRATA_TRY(state_.Make(1, "a tree on the GPU"));
    STRATA_TRY(nodes_.Make(nodes, "nodes on the GPU"));
    STRATA_TRY(feature_used_.Make(view_.features, "features on the GPU"));
    STRATA_TRY(splittable_.Make(nodes * view_.features, "features of leaves on the GPU"));
    STRATA_TRY(sets_.Make(nodes * view_.set_words, "sets of categories on the GPU"));
    STRATA_TRY(histograms_.Make((splits + 1) * view_.histogram_size, "histograms on the GPU"));
    STRATA_TRY(found_.Make(size_t{kChosenMax} * 2 * view_.groups(), "splits on the GPU"));
    STRATA_TRY(slopes_.Make(view_.rows, "gradients on the GPU"));
    for (auto& rows : rows_) STRATA_TRY(rows.Make(view_.rows, "rows of leaves on the GPU"));
    view_.state = state_.data();
    view_.nodes = nodes_.data();
    view_.feature_used = feature_used_.data();
    view_.splittable = splittable_.data();
    view_.sets = sets_.data();
    view_.histograms = histograms_.data();
    view_.found = found_.data();
    for (int side = 0; side < 2; ++side) view_.row_buffers[side] = rows_[side].data();
    return PrepareChoice(view_);
  }

  // Memory for gradients of this width, and what goes with it.
  Status StartGradients(GradientWidth width) {
    const bool wide = width == GradientWidth::k32;
    if (view_.gradients16[0] == nullptr || wide != view_.is_wide) {
      view_.is_wide = wide;
      for (int side = 0; side < 2; ++side) {
        gradients_[side] = std::make_unique<DeviceMemory<Row32>>();
        STRATA_TRY(gradients_[side]->Make(wide ? view_.rows : (view_.rows + 1) / 2,
                                          "gradients of leaves on the GPU"));
        view_.gradients32[side] = gradients_[side]->data();
        view_.gradients16[side] = reinterpret_cast<uint32_t*>(gradients_[side]->data());
      }
      shared_bytes_ = HistogramSharedBytes(view_, bins_.narrow_bins_max());
      STRATA_TRY(PrepareHistograms(shared_bytes_));
      view_.histogram_grid = processors_ * HistogramBlocks(view_);
      DropGraph();
    }
    return FromCuda(cudaMemsetAsync(state_.data(), 0, sizeof(TreeState), stream_), "a tree");
  }

  void Launch() {
    ChooseLeaves(view_, stream_);
    PartitionLeaves(view_, processors_ * 6, stream_);
    BuildHistograms(view_, shared_bytes_, stream_);
    SearchLeaves(view_, search_blocks_, stream_);
  }

  // Enqueues steps, and a few more than that: those behind the last one do nothing.
  Status Step(size_t steps) {
    STRATA_TRY(NeedGraph());
    for (size_t i = 0; i < steps; i += graph_ == nullptr ? 1 : kStepsOfGraph) {
      if (graph_ == nullptr) {
        Launch();
      } else {
        STRATA_TRY(FromCuda(cudaGraphLaunch(graph_, stream_), "steps of a tree"));
      }
    }
    return FromCuda(cudaGetLastError(), "steps of a tree");
  }

  Status StepTimed(size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
      STRATA_TRY(Timed(&times_.choose, [&] { ChooseLeaves(view_, stream_); }));
      STRATA_TRY(
          Timed(&times_.partition, [&] { PartitionLeaves(view_, processors_ * 6, stream_); }));
      STRATA_TRY(Timed(&times_.histogram, [&] { BuildHistograms(view_, shared_bytes_, stream_); }));
      STRATA_TRY(Timed(&times_.search, [&] { SearchLeaves(view_, search_blocks_, stream_); }));
    }
    return {};
  }

  template <typename F>
  Status Timed(double* ms, const F& launch) {
    if (!timed_) {
      launch();
      return FromCuda(cudaGetLastError(), "a step of a tree");
    }
    cudaEvent_t events[2] = {};
    for (cudaEvent_t& event : events) {
      STRATA_TRY(FromCuda(cudaEventCreateWithFlags(&event, 0), "an event"));
    }
    (void)cudaEventRecord(events[0], stream_);
    launch();
    (void)cudaEventRecord(events[1], stream_);
    STRATA_TRY(FromCuda(cudaEventSynchronize(events[1]), "a step of a tree"));
    float took = 0;
    (void)cudaEventElapsedTime(&took, events[0], events[1]);
    *ms += took;
    for (const cudaEvent_t event : events) (void)cudaEventDestroy(event);
    return {};
  }

  // Steps as a CUDA graph; none where there are no graphs.
  Status NeedGraph() {
    if (graph_ != nullptr || has_no_graphs_) return {};
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) ==
        cudaErrorNotSupported) {
      (void)cudaGetLastError();
      has_no_graphs_ = true;
      return {};
    }
    for (int i = 0; i < kStepsOfGraph; ++i) Launch();
    cudaGraph_t captured = nullptr;
    STRATA_TRY(FromCuda(cudaStreamEndCapture(stream_, &captured), "capturing a step"));
    const Status made = FromCuda(cudaGraphInstantiate(&graph_, captured, 0), "a graph of a step");
    (void)cudaGraphDestroy(captured);
    return made;
  }

  void DropGraph() {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
  }

  // The tree's state and nodes, once what was enqueued has run.
  Status Fetch() {
    last_nodes_.nodes.resize(nodes_.size());
    last_nodes_.sets.resize(sets_.size());
    STRATA_TRY(state_.Get(std::span(&last_nodes_.state, 1), stream_));
    STRATA_TRY(nodes_.Get(last_nodes_.nodes, stream_));
    if (sets_.size() > 0) STRATA_TRY(sets_.Get(last_nodes_.sets, stream_));
    STRATA_TRY(Wait("growing a tree"));
    last_nodes_.nodes.resize(static_cast<size_t>(last_nodes_.state.node_count));
    return {};
  }

  // The tree's order; where that lacks a split after all (gains that are the same, and the kernels
  // took another first), sends for it.
  Status Finish() {
    const int32_t lacking = Replay(options_.num_leaves, &last_nodes_);
    if (lacking < 0) return {};
    last_nodes_.state.done = 0;
    last_nodes_.state.needed = lacking + 1;
    return state_.Set(std::span(&last_nodes_.state, 1), stream_);
  }

  Status AddLast(double* scores) {
    if (leaf_of_.size() == 0) STRATA_TRY(leaf_of_.Make(view_.rows, "leaves of rows on the GPU"));
    const std::vector<LeafSegment> segments = SegmentsOf(last_nodes_);
    STRATA_TRY(Upload<LeafSegment>(segments, &segments_, "leaves"));
    const LeafSegment& last = segments.back();
    const uint32_t tiles = last.first_tile + (last.count + kSegmentTile - 1) / kSegmentTile;
    AddSegments(view_, segments_->data(), static_cast<uint32_t>(segments.size()), tiles,
                values_->data(), leaf_of_.data(), scores, stream_);
    return Wait("adding a tree to the scores");
  }

  Status NeedScores() {
    if (scores_.size() > 0) return {};
    STRATA_TRY(scores_.Make(view_.rows * options_.classes, "scores on the GPU"));
    return FromCuda(cudaMemsetAsync(scores_.data(), 0, scores_.size() * sizeof(double), stream_),
                    "scores");
  }

  // Makes *memory larger where that is needed.
  template <typename T>
  Status Upload(std::span<const T> values, std::unique_ptr<DeviceMemory<T>>* memory,
                const char* what) {
    if (*memory == nullptr || (*memory)->size() < values.size()) {
      *memory = std::make_unique<DeviceMemory<T>>();
      STRATA_TRY((*memory)->Make(values.size(), what));
    }
    return (*memory)->Set(values, stream_);
  }

  Status Wait(const char* what) { return FromCuda(cudaStreamSynchronize(stream_), what); }

  const int device_;
  const GpuTreeOptions options_;
  cudaStream_t stream_ = nullptr;
  uint32_t processors_ = 1;
  uint32_t search_blocks_ = 1;
  uint32_t shared_bytes_ = 0;
  TreeView view_;
  DeviceBins bins_;
  DeviceMemory<TreeState> state_;
  DeviceMemory<TreeNode> nodes_;
  DeviceMemory<uint8_t> feature_used_;
  DeviceMemory<uint8_t> splittable_;
  DeviceMemory<uint32_t> sets_;
  DeviceMemory<GradientSums> histograms_;
  DeviceMemory<DeviceSplit> found_;
  DeviceMemory<uint32_t> rows_[2];
  std::unique_ptr<DeviceMemory<Row32>> gradients_[2];
  DeviceMemory<Slope> slopes_;
  DeviceMemory<float> labels_;
  DeviceMemory<float> weights_;
  DeviceMemory<double> scores_;
  DeviceMemory<uint16_t> leaf_of_;
  std::unique_ptr<DeviceMemory<double>> values_;
  std::unique_ptr<DeviceMemory<WalkNode>> walk_nodes_;
  std::unique_ptr<DeviceMemory<uint32_t>> walk_sets_;
  std::unique_ptr<DeviceMemory<LeafSegment>> segments_;
  cudaGraphExec_t graph_ = nullptr;
  bool has_no_graphs_ = false;
  bool timed_ = false;
  bool bag_is_all_ = true;
  size_t last_steps_ = kFirstSteps;
  const GrownTree* last_tree_ = nullptr;
  FetchedNodes last_nodes_;
  GradientUnits units_;
  GpuTreeTimes times_;
};

}  // namespace
}  // namespace gpu_tree

Result<std::unique_ptr<GpuTrees>> GpuTrees::Open(int device, const BinMatrix& bins,
                                                 std::span<const FeatureShape> shapes,
                                                 const GpuTreeOptions& options) {
  if (options.num_leaves < 1 || options.num_leaves > kGpuLeavesMax) {
    return Refused(fmt::format("a tree of {} leaves on a GPU: expected 1 to {}; use the CPU",
                               options.num_leaves, kGpuLeavesMax));
  }
  STRATA_TRY(CheckDevice(device));
  const DeviceScope scope(device);
  auto trees = std::make_unique<gpu_tree::Trees>(device, options);
  STRATA_TRY(trees->Start(bins, shapes));
  return std::unique_ptr<GpuTrees>(std::move(trees));
}

}  // namespace strata
