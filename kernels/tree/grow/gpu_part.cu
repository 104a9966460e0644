#include <algorithm>
#include <bit>

#include "kernels/tree/gradient/exact_sum.h"
#include "kernels/tree/grow/gpu_part.cuh"

namespace strata::gpu_tree {
namespace {

constexpr size_t kSpareSplits = 256;  // that may turn out not to be needed
constexpr size_t kLackingSplits = 8;  // that SendFor may send for
// Leaves that a step splits. Beyond these, splits in vain cost more than the steps that they save;
// sooner so where one leaf's search fills the GPU.
constexpr int32_t kChosenFewFeatures = 20;
constexpr int32_t kChosenManyFeatures = 12;
constexpr size_t kStepsOfGraph = 4;

}  // namespace

GpuPart::GpuPart(int device, size_t number, size_t count, const GpuTreeOptions& options)
    : device_(device), options_(options), slopes_(view_, options.classes, options.query_begins) {
  view_.gpu = static_cast<uint32_t>(number);
  view_.gpus = static_cast<uint32_t>(count);
}

GpuPart::~GpuPart() {
  const DeviceScope scope(device_);
  DropGraph();
  for (const cudaEvent_t mark : marks_) {
    if (mark != nullptr) (void)cudaEventDestroy(mark);
  }
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Status GpuPart::Start(const BinMatrix& bins, const RowRange& rows,
                      std::span<const FeatureShape> shapes, std::shared_ptr<const GpuBins> made) {
  const DeviceScope scope(device_);
  STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
  data_rows_ = bins.rows();
  made_ = std::dynamic_pointer_cast<const HeldBins>(std::move(made));
  if (made_ == nullptr) {
    STRATA_TRY(bins_.Copy(bins, rows, shapes, stream_));
  }
  this->bins().Show(&view_);
  if (made_ != nullptr) STRATA_TRY(RuleFeatures(shapes));
  view_.rules = options_.rules;
  view_.max_depth = static_cast<uint32_t>(options_.max_depth);
  view_.policy = options_.policy;
  view_.bynode = options_.feature_fraction_bynode;
  view_.feature_seed = options_.feature_seed;
  view_.extra_trees = options_.extra_trees;
  view_.extra_seed = options_.extra_seed;
  view_.leaves_max = static_cast<int32_t>(options_.num_leaves);
  view_.keeps_rows = options_.keeps_rows;
  return MakeTree();
}

// Bins that were made before know the data's shapes, and nothing of what these trees may do.
Status GpuPart::RuleFeatures(std::span<const FeatureShape> shapes) {
  std::vector<FeatureView> features = bins().features();
  STRATA_CHECK(features.size() == shapes.size());
  for (size_t f = 0; f < features.size(); ++f) features[f].shape = shapes[f];
  STRATA_TRY(ruled_features_.Make(features.size(), "features on the GPU"));
  STRATA_TRY(ruled_features_.Set(features, stream_));
  view_.feature = ruled_features_.data();
  return Wait("features");
}

Status GpuPart::MakeTree() {
  const auto splits = static_cast<size_t>(view_.leaves_max - 1) +
                      std::min(kSpareSplits, options_.num_leaves) + kLackingSplits;
  const size_t nodes = 1 + 2 * splits;
  view_.node_capacity = static_cast<int32_t>(nodes);
  int processors = 0;
  STRATA_TRY(FromCuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_),
                      "the GPU"));
  processors_ = static_cast<uint32_t>(processors);
  view_.chosen_max = ChosenMax();
  steps_of_graph_ = StepsOfGraph();
  STRATA_TRY(state_.Make(1, "a tree on the GPU"));
  STRATA_TRY(nodes_.Make(nodes, "nodes on the GPU"));
  STRATA_TRY(host_state_.Make(1, "a tree on its way from the GPU"));
  STRATA_TRY(host_nodes_.Make(nodes, "nodes on their way from the GPU"));
  STRATA_TRY(feature_used_.Make(view_.features, "features on the GPU"));
  STRATA_TRY(splittable_.Make(nodes * view_.features, "features of leaves on the GPU"));
  STRATA_TRY(sets_.Make(nodes * view_.set_words, "sets of categories on the GPU"));
  STRATA_TRY(histograms_.Make((splits + 1) * view_.histogram_size, "histograms on the GPU"));
  STRATA_TRY(found_.Make(size_t{kChosenMax} * 2 * view_.groups(), "splits on the GPU"));
  STRATA_TRY(slopes_.Reserve());
  STRATA_TRY(mailbox_.Make(1, "letters on the GPU"));
  STRATA_TRY(FromCuda(cudaMemsetAsync(mailbox_.data(), 0, sizeof(Mailbox), stream_), "letters"));
  for (auto& rows : rows_) STRATA_TRY(rows.Make(view_.rows, "rows of leaves on the GPU"));
  STRATA_TRY(node_of_.Make(view_.rows, "leaves of rows on the GPU"));
  view_.state = state_.data();
  view_.nodes = nodes_.data();
  view_.feature_used = feature_used_.data();
  view_.splittable = splittable_.data();
  view_.sets = sets_.data();
  view_.histograms = histograms_.data();
  view_.found = found_.data();
  view_.node_of = node_of_.data();
  for (int side = 0; side < 2; ++side) view_.row_buffers[side] = rows_[side].data();
  STRATA_TRY(MakeMonotoneFactors());
  STRATA_TRY(PrepareChoice(view_));
  STRATA_TRY(PrepareSearch());
  return Wait("the memory of trees");  // which other parts write to
}

// Whether a tree may have all leaves that its depth allows: none is split in vain.
bool GpuPart::MayBeFull() const {
  return options_.max_depth > 0 && options_.max_depth < 32 &&
         uint64_t{1} << options_.max_depth <= options_.num_leaves;
}

// A whole tree's, where that is known and not many.
size_t GpuPart::StepsOfGraph() const {
  constexpr size_t kMost = 8;
  size_t steps = 0;
  for (size_t depth = 0; MayBeFull() && depth < options_.max_depth; ++depth) {
    steps += ((size_t{1} << depth) + kChosenMax - 1) / kChosenMax;
  }
  return steps > 0 && steps <= kMost ? steps : kStepsOfGraph;
}

int32_t GpuPart::ChosenMax() const {
  if (MayBeFull()) return kChosenMax;
  return view_.groups() < processors_ ? kChosenFewFeatures : kChosenManyFeatures;
}

Status GpuPart::MakeMonotoneFactors() {
  if (options_.monotone_penalty <= 0) return {};
  std::vector<double> factors(options_.num_leaves);  // no leaf is deeper
  for (size_t depth = 0; depth < factors.size(); ++depth) {
    factors[depth] = MonotoneFactor(options_.monotone_penalty, depth);
  }
  STRATA_TRY(monotone_factors_.Make(factors.size(), "factors of gains on the GPU"));
  STRATA_TRY(monotone_factors_.Set(factors, stream_));
  view_.monotone_factors = monotone_factors_.data();
  return Wait("factors of gains");
}

void GpuPart::Join(std::span<const std::unique_ptr<GpuPart>> parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    view_.mailboxes[i] = parts[i]->mailbox_.data();
    view_.histograms_of[i] = parts[i]->histograms_.data();
    view_.found_of[i] = parts[i]->found_.data();
  }
}

Status GpuPart::SetLabels(std::span<const float> labels, std::span<const float> weights,
                          const GpuRanking& ranking) {
  const DeviceScope scope(device_);
  STRATA_CHECK(labels.size() == data_rows_);
  return slopes_.SetLabels(Own(labels), weights.empty() ? weights : Own(weights), ranking, stream_);
}

Status GpuPart::SetScores(std::span<const double> scores) {
  const DeviceScope scope(device_);
  STRATA_TRY(NeedScores());
  STRATA_CHECK(scores.size() == data_rows_ * options_.classes);
  for (size_t k = 0; k < options_.classes; ++k) {
    const std::span<const double> of_class = scores.subspan(k * data_rows_, data_rows_);
    STRATA_TRY(scores_.Set(Own(of_class), stream_, k * view_.rows));
  }
  return {};
}

Status GpuPart::FixScores(std::span<const double> of_classes) {
  const DeviceScope scope(device_);
  STRATA_CHECK(of_classes.size() == options_.classes);
  STRATA_TRY(fixed_scores_.Make(of_classes.size(), "scores on the GPU"));
  STRATA_TRY(fixed_scores_.Set(of_classes, stream_));
  return Wait("scores");
}

Status GpuPart::GetScores(std::span<double> scores) {
  const DeviceScope scope(device_);
  STRATA_CHECK(scores.size() == data_rows_ * options_.classes);
  for (size_t k = 0; k < options_.classes; ++k) {
    const std::span<double> own = scores.subspan(k * data_rows_ + view_.first_row, view_.rows);
    STRATA_TRY(scores_.Get(own, stream_, k * view_.rows));
  }
  return {};
}

Result<double*> GpuPart::NeedAllScores() {
  const DeviceScope scope(device_);
  if (all_scores_.size() == 0) {
    STRATA_TRY(all_scores_.Make(data_rows_ * options_.classes, "scores on the GPU"));
  }
  return all_scores_.data();
}

Status GpuPart::CopyScores(double* all) {
  const DeviceScope scope(device_);
  STRATA_TRY(NeedScores());
  for (size_t k = 0; k < options_.classes; ++k) {
    STRATA_TRY(FromCuda(
        cudaMemcpyAsync(all + k * data_rows_ + view_.first_row, scores_.data() + k * view_.rows,
                        view_.rows * sizeof(double), cudaMemcpyDefault, stream_),
        "scores"));
  }
  return {};
}

Status GpuPart::AddTree(size_t k, const GrownTree& tree, std::span<const double> values) {
  const DeviceScope scope(device_);
  STRATA_TRY(NeedScores());
  STRATA_TRY(Upload(values, &values_, "values of leaves"));
  const WalkTable table = WalkTableOf(tree, bins().features());
  STRATA_TRY(Upload<WalkNode>(table.nodes, &walk_nodes_, "nodes"));
  STRATA_TRY(Upload<uint32_t>(table.sets, &walk_sets_, "sets of categories"));
  WalkRows(walk_nodes_->data(), walk_sets_->data(), values_->data(), view_.rows,
           scores_.data() + k * view_.rows, stream_);
  return FromCuda(cudaGetLastError(), "adding a tree to the scores");
}

Status GpuPart::AddFetched(size_t k, std::span<const double> values) {
  const DeviceScope scope(device_);
  STRATA_TRY(NeedScores());
  const std::vector<double> of_nodes = ValuesOfNodes(fetched_, values);
  STRATA_TRY(Upload<double>(of_nodes, &values_, "values of leaves"));
  STRATA_TRY(NeedSegments());
  AddSegments(view_, segments_->data(), segment_count_, segment_tiles_, values_->data(),
              scores_.data() + k * view_.rows, stream_);
  return FromCuda(cudaGetLastError(), "adding a tree to the scores");
}

// Of the fetched tree.
Status GpuPart::NeedSegments() {
  const std::vector<LeafSegment> segments = SegmentsOf(fetched_);
  segment_count_ = static_cast<uint32_t>(segments.size());
  segment_tiles_ = 0;
  if (!segments.empty()) {
    const LeafSegment& last = segments.back();
    segment_tiles_ = last.first_tile + (last.count + kSegmentTile - 1) / kSegmentTile;
  }
  return Upload<LeafSegment>(segments, &segments_, "leaves");
}

Status GpuPart::StartPercentiles(const LeafPercentile& what, std::span<const float> labels,
                                 std::span<const float> weights) {
  const DeviceScope scope(device_);
  STRATA_CHECK(labels.size() == data_rows_);
  percentiles_ = std::make_unique<LeafPercentiles>(what);
  const Status started = percentiles_->Start(labels, weights, options_.num_leaves, stream_);
  if (!started.ok()) percentiles_ = nullptr;
  return started;
}

Status GpuPart::MarkLeaves(uint16_t* of_all) {
  const DeviceScope scope(device_);
  STRATA_CHECK(fetched_.state.rows_are_all == 0);
  STRATA_TRY(NeedSegments());
  const size_t bytes = view_.rows * sizeof(uint16_t);
  constexpr const char* kLeaves = "leaves of rows on the GPU";
  STRATA_TRY(FromCuda(cudaMemsetAsync(node_of_.data(), 0xff, bytes, stream_), kLeaves));
  MarkSegments(view_, segments_->data(), segment_count_, segment_tiles_, SegmentMark::kLeaf,
               stream_);
  STRATA_TRY(FromCuda(cudaGetLastError(), kLeaves));
  return FromCuda(
      cudaMemcpyAsync(of_all + view_.first_row, node_of_.data(), bytes, cudaMemcpyDefault, stream_),
      kLeaves);
}

Status GpuPart::SumLeaves(size_t k, const SlopeSizes& largest, std::span<SlopeHalves> sums) {
  const DeviceScope scope(device_);
  constexpr const char* kSums = "sums of leaves on the GPU";
  STRATA_CHECK(fetched_.state.rows_are_all == 0);
  if (leaf_sums_.size() == 0) STRATA_TRY(leaf_sums_.Make(options_.num_leaves, kSums));
  STRATA_TRY(NeedSegments());
  STRATA_TRY(FromCuda(
      cudaMemsetAsync(leaf_sums_.data(), 0, sums.size() * sizeof(SlopeHalves), stream_), kSums));
  SumSegments(view_, segments_->data(), segment_count_, segment_tiles_, slopes_.OfClass(k),
              ExactSum::UnitExponentFor(std::bit_cast<float>(largest.gradient)),
              ExactSum::UnitExponentFor(std::bit_cast<float>(largest.hessian)), leaf_sums_.data(),
              stream_);
  STRATA_TRY(FromCuda(cudaGetLastError(), kSums));
  return leaf_sums_.Get(sums, stream_);
}

Status GpuPart::FetchRows(std::vector<uint32_t>* sides) {
  const DeviceScope scope(device_);
  for (int side = 0; side < 2; ++side) {
    sides[side].resize(view_.rows);
    STRATA_TRY(rows_[side].Get(sides[side], stream_));
  }
  return Wait("rows of leaves");
}

Status GpuPart::StartGradients(GradientWidth width) {
  const DeviceScope scope(device_);
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
    shared_bytes_ = HistogramSharedBytes(view_, bins().narrow_bins_max());
    STRATA_TRY(PrepareHistograms(shared_bytes_));
    view_.histogram_grid = processors_ * kHistogramBlocks;
    DropGraph();
  }
  return FromCuda(cudaMemsetAsync(state_.data(), 0, sizeof(TreeState), stream_), "a tree");
}

Status GpuPart::SetGradients(const FixedGradients& by_row, const GradientUnits& units,
                             std::span<const uint32_t> bag) {
  const DeviceScope scope(device_);
  const FixedGradients own = by_row.Part(view_.first_row, view_.rows);
  const void* const source = view_.is_wide ? static_cast<const void*>(own.rows32.data())
                                           : static_cast<const void*>(own.rows16.data());
  const size_t bytes = view_.rows * (view_.is_wide ? sizeof(Row32) : sizeof(uint32_t));
  Slope* const by_row_here = slopes_.OfClass(0);
  STRATA_TRY(FromCuda(cudaMemcpyAsync(by_row_here, source, bytes, cudaMemcpyDefault, stream_),
                      "gradients"));
  const auto begin = std::ranges::lower_bound(bag, view_.first_row);
  const auto end = std::ranges::lower_bound(bag, view_.first_row + view_.rows);
  const std::span<const uint32_t> own_bag(begin, end);
  STRATA_TRY(rows_[0].Set(own_bag, stream_));
  GatherGradients(view_, by_row_here, static_cast<uint32_t>(own_bag.size()), units, stream_);
  return FromCuda(cudaGetLastError(), "gradients");
}

Status GpuPart::ComputeSlopes(const GpuLoss& loss, uint64_t round) {
  const DeviceScope scope(device_);
  return slopes_.Compute(loss, round, gradient_scores(), stream_);
}

Status GpuPart::SetBag(const GpuBag& bag) {
  const DeviceScope scope(device_);
  return slopes_.SetBag(bag, stream_);
}

Status GpuPart::ScoreRows() {
  const DeviceScope scope(device_);
  return slopes_.ScoreRows(stream_);
}

Status GpuPart::CountDigits(GossKeys keys, const GossCuts& cuts, uint64_t cut, int shift) {
  const DeviceScope scope(device_);
  return slopes_.CountDigits(keys, cuts, cut, shift, stream_);
}

Status GpuPart::MarkRows(const GossCuts& cuts) {
  const DeviceScope scope(device_);
  return slopes_.Mark(cuts, stream_);
}

Status GpuPart::TakeSizes(size_t k) {
  const DeviceScope scope(device_);
  return slopes_.TakeSizes(k, stream_);
}

void GpuPart::RoundSlopes(size_t k, const GpuRounding& rounding, uint64_t tree_number) {
  const DeviceScope scope(device_);
  gpu_tree::RoundSlopes(view_, slopes_.OfClass(k), rounding,
                        Mix64(Mix64(rounding.seed) + tree_number), slopes_.bag(), stream_);
}

Status GpuPart::Begin(std::span<const uint8_t> feature_used, uint64_t tree_number) {
  const DeviceScope scope(device_);
  STRATA_TRY(feature_used_.Set(feature_used, stream_));
  BeginTree(view_, tree_number, stream_);
  return {};
}

void GpuPart::Choose() {
  const DeviceScope scope(device_);
  ChooseLeaves(view_, stream_);
}
void GpuPart::Partition() {
  const DeviceScope scope(device_);
  PartitionLeaves(view_, processors_ * kPartitionBlocks, stream_);
}
void GpuPart::Histograms() {
  const DeviceScope scope(device_);
  BuildHistograms(view_, shared_bytes_, stream_);
}
void GpuPart::Search() {
  const DeviceScope scope(device_);
  SearchLeaves(view_, processors_, stream_);
}
void GpuPart::Meet(Topic topic, MeetingParts parts) {
  if (view_.gpus == 1) return;
  const DeviceScope scope(device_);
  MeetPeers(view_, topic, parts, stream_);
}

void GpuPart::EnqueueStep() {
  for (const StepPhase& phase : kStepPhases) (this->*phase.enqueue)();
}

Result<bool> GpuPart::NeedGraph() {
  if (graph_ != nullptr) return true;
  if (has_no_graphs_) return false;
  const DeviceScope scope(device_);
  if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) == cudaErrorNotSupported) {
    (void)cudaGetLastError();
    has_no_graphs_ = true;
    return false;
  }
  for (size_t i = 0; i < steps_of_graph_; ++i) EnqueueStep();
  cudaGraph_t captured = nullptr;
  STRATA_TRY(FromCuda(cudaStreamEndCapture(stream_, &captured), "capturing a step"));
  const Status made = FromCuda(cudaGraphInstantiate(&graph_, captured, 0), "a graph of a step");
  (void)cudaGraphDestroy(captured);
  STRATA_TRY(made);
  // Now: while a kernel of another part waits for this one, nothing is to wait for that part.
  STRATA_TRY(FromCuda(cudaGraphUpload(graph_, stream_), "a graph of a step"));
  STRATA_TRY(Wait("a graph of a step"));
  return true;
}

Status GpuPart::RunGraph() {
  const DeviceScope scope(device_);
  return FromCuda(cudaGraphLaunch(graph_, stream_), "steps of a tree");
}

void GpuPart::DropGraph() {
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  graph_ = nullptr;
}

Status GpuPart::Fetch() {
  const DeviceScope scope(device_);
  fetched_.sets.resize(sets_.size());
  STRATA_TRY(state_.Get(host_state_.values(), stream_));
  STRATA_TRY(nodes_.Get(host_nodes_.values(), stream_));
  if (sets_.size() > 0) STRATA_TRY(sets_.Get(fetched_.sets, stream_));
  return {};
}

Status GpuPart::Wait(const char* what) {
  const DeviceScope scope(device_);
  return FromCuda(cudaStreamSynchronize(stream_), what);
}

Status GpuPart::CheckFetched() {
  fetched_.state = host_state_.values()[0];
  if (fetched_.state.lost == 0) {
    fetched_.nodes = host_nodes_.values().first(static_cast<size_t>(fetched_.state.node_count));
    return {};
  }
  return Failed(
      fmt::format("growing a tree over {} GPUs: part {} (GPU {}) waited for part {} in vain; its "
                  "GPU has failed, or is busy with something else",
                  view_.gpus, view_.gpu, device_, fetched_.state.lost - 1));
}

Status GpuPart::SendFor(int32_t node) {
  const DeviceScope scope(device_);
  fetched_.state.done = 0;
  fetched_.state.needed = node + 1;
  return state_.Set(std::span(&fetched_.state, 1), stream_);
}

Status GpuPart::Put(const TreeState& state, std::span<const TreeNode> nodes,
                    std::span<const uint32_t> sets) {
  const DeviceScope scope(device_);
  STRATA_TRY(state_.Set(std::span(&state, 1), stream_));
  STRATA_TRY(nodes_.Set(nodes, stream_));
  return sets.empty() ? Status() : sets_.Set(sets, stream_);
}

Status GpuPart::ClearHistograms(size_t slots) {
  const DeviceScope scope(device_);
  return FromCuda(cudaMemsetAsync(histograms_.data(), 0,
                                  slots * view_.histogram_size * sizeof(GradientSums), stream_),
                  "histograms on the GPU");
}

Status GpuPart::GetHistograms(std::span<GradientSums> histograms) {
  const DeviceScope scope(device_);
  return histograms_.Get(histograms, stream_);
}

Status GpuPart::Mark(size_t which) {
  const DeviceScope scope(device_);
  cudaEvent_t& mark = marks_[which];
  if (mark == nullptr) STRATA_TRY(FromCuda(cudaEventCreateWithFlags(&mark, 0), "an event"));
  return FromCuda(cudaEventRecord(mark, stream_), "an event");
}

Result<double> GpuPart::BetweenMarks() {
  const DeviceScope scope(device_);
  STRATA_TRY(FromCuda(cudaEventSynchronize(marks_[1]), "a step of a tree"));
  float took = 0;
  STRATA_TRY(FromCuda(cudaEventElapsedTime(&took, marks_[0], marks_[1]), "an event"));
  return took;
}

Status GpuPart::NeedScores() {
  if (scores_.size() > 0) return {};
  STRATA_TRY(scores_.Make(view_.rows * options_.classes, "scores on the GPU"));
  return FromCuda(cudaMemsetAsync(scores_.data(), 0, scores_.size() * sizeof(double), stream_),
                  "scores");
}

// Makes *memory larger where that is needed. Returns once the values are there: the caller's may go
// then, and a copy from pageable memory may read them after cudaMemcpyAsync has returned.
template <typename T>
Status GpuPart::Upload(std::span<const T> values, std::unique_ptr<DeviceMemory<T>>* memory,
                       const char* what) {
  if (*memory == nullptr || (*memory)->size() < values.size()) {
    *memory = std::make_unique<DeviceMemory<T>>();
    STRATA_TRY((*memory)->Make(values.size(), what));
  }
  STRATA_TRY((*memory)->Set(values, stream_));
  return Wait(what);
}

}  // namespace strata::gpu_tree
