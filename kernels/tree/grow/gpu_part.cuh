// GpuPart: one GPU of those that grow trees together, or the only one: a part of the rows with
// their scores and gradients, and the tree, of which every GPU has a copy. What GpuTrees promises
// is cut into pieces here that only enqueue, so that all GPUs can be sent each before one is waited
// for.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/tree/bins/device_bins.cuh"
#include "kernels/tree/gradient/gpu_slopes.cuh"
#include "kernels/tree/gradient/row_kernels.cuh"
#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/grow/grown_from_device.cuh"
#include "kernels/tree/grow/leaf_percentiles.cuh"

namespace strata::gpu_tree {

class GpuPart {
 public:
  // Part `number` of `count`.
  GpuPart(int device, size_t number, size_t count, const GpuTreeOptions& options);
  ~GpuPart();
  GpuPart(const GpuPart&) = delete;
  GpuPart& operator=(const GpuPart&) = delete;

  int device() const { return device_; }
  uint64_t rows() const { return view_.rows; }
  uint64_t first_row() const { return view_.first_row; }
  // Takes these rows. `made`, unless null, are their bins, on this GPU already; there is no other
  // part then.
  Status Start(const BinMatrix& bins, const RowRange& rows, std::span<const FeatureShape> shapes,
               std::shared_ptr<const GpuBins> made = {});
  // Once all have started; they reach each other's memory.
  void Join(std::span<const std::unique_ptr<GpuPart>> parts);

  // --- Rows. Spans are of all rows of the data. ---

  Status SetLabels(std::span<const float> labels, std::span<const float> weights,
                   const GpuRanking& ranking);
  Status SetScores(std::span<const double> scores);
  Status FixScores(std::span<const double> of_classes);
  Status GetScores(std::span<double> scores);
  const double* scores() const { return scores_.data(); }
  // Memory here for scores of all rows; a copy of this part's to such memory of another.
  Result<double*> NeedAllScores();
  Status CopyScores(double* all);
  // The tree that this part has fetched, or any other.
  Status AddFetched(size_t k, std::span<const double> values);
  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values);
  // What gradients are computed of.
  ScoreView gradient_scores() const {
    const bool fixed = fixed_scores_.size() > 0;
    return {.scores = fixed ? fixed_scores_.data() : scores_.data(),
            .row_stride = fixed ? 0U : 1U,
            .class_stride = fixed ? 1 : view_.rows};
  }
  bool has_fixed_scores() const { return fixed_scores_.size() > 0; }
  // The two buffers of rows.
  Status FetchRows(std::vector<uint32_t>* sides);

  // --- Gradients of the next tree. ---

  // Memory for gradients of this width, and what goes with it. No kernel is on its way.
  Status StartGradients(GradientWidth width);
  Status SetGradients(const FixedGradients& by_row, const GradientUnits& units,
                      std::span<const uint32_t> bag);
  Status ComputeSlopes(const GpuLoss& loss, uint64_t round);
  Status SetBag(const GpuBag& bag);
  // Of a sample by gradients: rows are scored, keys counted digit by digit, then rows marked.
  Status ScoreRows();
  Status CountDigits(GossKeys keys, const GossCuts& cuts, uint64_t cut, int shift);
  std::span<const uint32_t> counts() const { return slopes_.counts(); }
  Status MarkRows(const GossCuts& cuts);
  // The next tree's, of class k; before it, once the state is clear, the sizes of its gradients.
  Status TakeSizes(size_t k);
  void RoundSlopes(size_t k, const GpuRounding& rounding, uint64_t tree_number);

  // --- Leaves of the tree that this part has fetched. ---

  // From now on, rows of leaves are in lists, as the next three need them.
  void KeepRows() { view_.keeps_rows = true; }
  // Of all parts' rows, at one of them.
  Status StartPercentiles(const LeafPercentile& what, std::span<const float> labels,
                          std::span<const float> weights);
  uint16_t* percentile_leaves() const { return percentiles_->leaf_of(); }
  Result<std::vector<double>> FindPercentiles(const GrownTree& tree, const ScoreView& scores) {
    const DeviceScope scope(device_);
    return percentiles_->Find(tree, scores, stream_);
  }
  // To such memory of any part: the leaves of this part's rows, and kNoLeaf.
  Status MarkLeaves(uint16_t* of_all);
  // The sums of slopes of class k in the leaves of `sums`, once they have been waited for.
  Status SumLeaves(size_t k, const SlopeSizes& largest, std::span<SlopeHalves> sums);

  // --- A tree. ---

  Status Begin(std::span<const uint8_t> feature_used, uint64_t tree_number);
  void Choose();
  void Partition();
  void Histograms();
  void Search();
  // Nothing where there is one part alone.
  void Meet(Topic topic, MeetingParts parts);

  // Steps as a CUDA graph, each with its meetings; false: there are no graphs here.
  Result<bool> NeedGraph();
  size_t steps_of_graph() const { return steps_of_graph_; }
  Status RunGraph();

  // Enqueues copies of the tree's state and nodes, which are there after Wait and CheckFetched.
  // kFailed: a part was lost.
  Status Fetch();
  Status Wait(const char* what);
  Status CheckFetched();
  FetchedNodes& fetched() { return fetched_; }
  // Sets the fetched tree going again, with a split that it lacks.
  Status SendFor(int32_t node);

  const DeviceBins& bins() const { return made_ == nullptr ? bins_ : made_->bins(); }

  // --- Steps that the host makes. What is put is read until Wait. ---

  Status Put(const TreeState& state, std::span<const TreeNode> nodes,
             std::span<const uint32_t> sets);
  // Of the first so many slots.
  Status ClearHistograms(size_t slots);
  Status GetHistograms(std::span<GradientSums> histograms);

  // Milliseconds between two marks, once the second one is there.
  Status Mark(size_t which);
  Result<double> BetweenMarks();

 private:
  Status RuleFeatures(std::span<const FeatureShape> shapes);
  Status MakeTree();
  bool MayBeFull() const;
  int32_t ChosenMax() const;
  size_t StepsOfGraph() const;
  Status MakeMonotoneFactors();
  void DropGraph();
  void EnqueueStep();
  Status NeedScores();
  Status NeedSegments();
  template <typename T>
  std::span<const T> Own(std::span<const T> of_all) const {
    return of_all.subspan(view_.first_row, view_.rows);
  }
  template <typename T>
  Status Upload(std::span<const T> values, std::unique_ptr<DeviceMemory<T>>* memory,
                const char* what);

  const int device_;
  const GpuTreeOptions options_;
  uint64_t data_rows_ = 0;  // of all parts
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 2> marks_ = {};
  uint32_t processors_ = 1;
  uint32_t shared_bytes_ = 0;
  TreeView view_;
  DeviceBins bins_;
  std::shared_ptr<const HeldBins> made_;      // in their place, unless null
  DeviceMemory<FeatureView> ruled_features_;  // with made_
  DeviceMemory<TreeState> state_;
  DeviceMemory<TreeNode> nodes_;
  PinnedMemory<TreeState> host_state_;
  PinnedMemory<TreeNode> host_nodes_;
  DeviceMemory<uint8_t> feature_used_;
  DeviceMemory<uint8_t> splittable_;
  DeviceMemory<uint32_t> sets_;
  DeviceMemory<double> monotone_factors_;
  DeviceMemory<GradientSums> histograms_;
  DeviceMemory<DeviceSplit> found_;
  DeviceMemory<Mailbox> mailbox_;
  DeviceMemory<uint32_t> rows_[2];
  std::unique_ptr<DeviceMemory<Row32>> gradients_[2];
  GpuSlopes slopes_;
  DeviceMemory<double> scores_;
  DeviceMemory<double> all_scores_;    // of all parts' rows, at one of several
  DeviceMemory<double> fixed_scores_;  // of classes; none: gradients are of scores_
  DeviceMemory<uint16_t> node_of_;
  std::unique_ptr<DeviceMemory<double>> values_;
  std::unique_ptr<DeviceMemory<WalkNode>> walk_nodes_;
  std::unique_ptr<DeviceMemory<uint32_t>> walk_sets_;
  std::unique_ptr<DeviceMemory<LeafSegment>> segments_;
  uint32_t segment_count_ = 0;
  uint32_t segment_tiles_ = 0;
  std::unique_ptr<LeafPercentiles> percentiles_;  // at one part alone
  DeviceMemory<SlopeHalves> leaf_sums_;
  size_t steps_of_graph_ = 1;
  cudaGraphExec_t graph_ = nullptr;
  bool has_no_graphs_ = false;
  FetchedNodes fetched_;
};

// What a step consists of, in its order.
using PhaseTime = double GpuTreeTimes::*;
struct StepPhase {
  PhaseTime time;
  void (GpuPart::*enqueue)();
};
constexpr std::array<StepPhase, 4> kStepPhases = {{
    {&GpuTreeTimes::choose, &GpuPart::Choose},
    {&GpuTreeTimes::partition, &GpuPart::Partition},
    {&GpuTreeTimes::histogram, &GpuPart::Histograms},
    {&GpuTreeTimes::search, &GpuPart::Search},
}};

}  // namespace strata::gpu_tree
