#include <algorithm>
#include <bit>

#include "kernels/core/peer_access.cuh"
#include "kernels/tree/grow/gpu_part.cuh"
#include "kernels/tree/grow/gpu_trees.h"

namespace strata {

namespace gpu_tree {
namespace {

constexpr size_t kFirstSteps = 16;  // of the first tree, before they are known

Status CheckReach(std::span<const int> devices) {
  STRATA_ASSIGN(const auto unreachable, FindUnreachable(devices));
  if (!unreachable.has_value()) return {};
  return Failed(
      fmt::format("GPU {} cannot reach the memory of GPU {} ('nvidia-smi topo -p2p r' shows "
                  "which can); grow trees over GPUs that all can, or on one",
                  unreachable->first, unreachable->second));
}

// The rows of part `number` of `count`: equal runs, but that a query's rows stay together.
RowRange RangeOfPart(uint64_t rows, size_t number, size_t count,
                     std::span<const size_t> query_begins) {
  const auto border = [&](size_t before) -> uint64_t {
    const uint64_t even = rows * before / count;
    if (query_begins.empty() || before == count) return even;
    return *std::ranges::lower_bound(query_begins, even);
  };
  return {.begin = border(number), .count = border(number + 1) - border(number)};
}

class Trees : public GpuTrees {
 public:
  explicit Trees(const GpuTreeOptions& options)
      : policy_(options.policy), num_leaves_(options.num_leaves) {}

  ~Trees() override {
    // All of them, before memory goes that others reach.
    for (const auto& part : parts_) (void)part->Wait("the GPU");
  }

  Status Start(std::span<const int> devices, const BinMatrix& bins,
               std::span<const FeatureShape> shapes, const GpuTreeOptions& options,
               const std::shared_ptr<const GpuBins>& made) {
    rows_ = bins.rows();
    const size_t count = std::min(devices.size(), std::max<size_t>(1, rows_));  // a row each
    STRATA_TRY(CheckReach(devices.first(count)));
    STRATA_TRY(LetReachEachOther(devices.first(count)));
    const bool are_there = count == 1 && made != nullptr && made->device() == devices[0];
    for (size_t i = 0; i < count; ++i) {
      parts_.push_back(std::make_unique<GpuPart>(devices[i], i, count, options));
      STRATA_TRY(parts_.back()->Start(bins, RangeOfPart(rows_, i, count, options.query_begins),
                                      shapes, are_there ? made : nullptr));
    }
    for (const auto& part : parts_) part->Join(parts_);
    return {};
  }

  Status SetGradients(const FixedGradients& by_row, const GradientUnits& units,
                      std::span<const uint32_t> bag) override {
    const GradientWidth width = by_row.rows16.empty() ? GradientWidth::k32 : GradientWidth::k16;
    STRATA_TRY(ForParts([&](GpuPart& part) { return part.StartGradients(width); }));
    STRATA_TRY(ForParts([&](GpuPart& part) { return part.SetGradients(by_row, units, bag); }));
    bag_is_all_ = bag.size() == rows_;
    return Meet(Topic::kRoot);
  }

  Status ComputeGradients(const GpuLoss& loss, uint64_t round) override {
    bag_is_all_ = true;
    STRATA_TRY(BeginGradients());
    return ForParts([&](GpuPart& part) { return part.ComputeSlopes(loss, round); });
  }

  Status Sample(const GpuSample& sample) override {
    if (const auto* const goss = std::get_if<GpuGoss>(&sample)) {
      bag_is_all_ = false;
      return SampleByGradient(*goss);
    }
    const auto& bag = std::get<GpuBag>(sample);
    bag_is_all_ = bag.is_all();
    return ForParts([&](GpuPart& part) { return part.SetBag(bag); });
  }

  Status RoundGradients(size_t k, const GpuRounding& rounding, uint64_t tree_number) override {
    if (!gradients_have_begun_) STRATA_TRY(BeginGradients());
    STRATA_TRY(ForParts([&](GpuPart& part) { return part.StartGradients(rounding.width); }));
    STRATA_TRY(ForParts([&](GpuPart& part) { return part.TakeSizes(k); }));
    STRATA_TRY(Meet(Topic::kLargest));
    for (const auto& part : parts_) part->RoundSlopes(k, rounding, tree_number);
    STRATA_TRY(Meet(Topic::kRoot));
    gradients_have_begun_ = false;
    gradients_have_ended_ = true;
    return ForParts([](GpuPart& part) { return part.Mark(1); });
  }

  Status SetLabels(std::span<const float> labels, std::span<const float> weights,
                   const GpuRanking& ranking) override {
    return ForParts([&](GpuPart& part) { return part.SetLabels(labels, weights, ranking); });
  }

  Status FixScores(std::span<const double> of_classes) override {
    return ForParts([&](GpuPart& part) { return part.FixScores(of_classes); });
  }

  Status SetScores(std::span<const double> scores) override {
    return ForParts([&](GpuPart& part) { return part.SetScores(scores); });
  }

  Status GetScores(std::span<double> scores) override {
    STRATA_TRY(ForParts([&](GpuPart& part) { return part.GetScores(scores); }));
    return Wait("scores");
  }

  Result<const double*> ScoresOnFirst() override {
    STRATA_TRY(Wait("scores"));
    GpuPart& first = *parts_[0];
    if (parts_.size() == 1) return first.scores();
    STRATA_ASSIGN(double* const all, first.NeedAllScores());
    STRATA_TRY(ForParts([all](GpuPart& part) { return part.CopyScores(all); }));
    STRATA_TRY(Wait("scores"));
    return all;
  }

  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) override {
    STRATA_CHECK(values.size() == tree.leaves.size());
    const bool is_fetched = &tree == last_tree_ && bag_is_all_ && !tree.nodes.empty() &&
                            parts_[0]->fetched().popped.size() == tree.nodes.size();
    STRATA_TRY(ForParts([&](GpuPart& part) {
      return is_fetched ? part.AddFetched(k, values) : part.AddTree(k, tree, values);
    }));
    if (is_fetched) return {};  // little was uploaded, and has left its memory
    return Wait("adding a tree to the scores");
  }

  Status StartPercentiles(const LeafPercentile& what, std::span<const float> labels,
                          std::span<const float> weights) override {
    for (const auto& part : parts_) part->KeepRows();
    return parts_[0]->StartPercentiles(what, labels, weights);
  }

  Result<std::vector<double>> LeafPercentiles(size_t k, const GrownTree& tree) override {
    STRATA_CHECK(&tree == last_tree_);
    GpuPart& first = *parts_[0];
    ScoreView scores = first.gradient_scores();
    if (parts_.size() > 1 && !first.has_fixed_scores()) {
      STRATA_ASSIGN(scores.scores, ScoresOnFirst());
      scores.class_stride = rows_;
    }
    scores.scores += k * scores.class_stride;
    uint16_t* const leaves = first.percentile_leaves();
    STRATA_TRY(ForParts([leaves](GpuPart& part) { return part.MarkLeaves(leaves); }));
    if (parts_.size() > 1) STRATA_TRY(Wait("leaves of rows"));
    return first.FindPercentiles(tree, scores);
  }

  Result<std::vector<ExactSlopes>> SumLeaves(size_t k, const GrownTree& tree) override {
    STRATA_CHECK(&tree == last_tree_);
    const SlopeSizes& largest = parts_[0]->fetched().state.largest;
    const size_t leaves = tree.leaves.size();
    std::vector<SlopeHalves> halves(leaves * parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i) {
      STRATA_TRY(parts_[i]->SumLeaves(k, largest, std::span(halves).subspan(i * leaves, leaves)));
    }
    STRATA_TRY(Wait("sums of leaves"));
    const ExactSlopes none = {ExactSum(std::bit_cast<float>(largest.gradient)),
                              ExactSum(std::bit_cast<float>(largest.hessian))};
    std::vector<ExactSlopes> sums(leaves, none);
    for (size_t i = 0; i < halves.size(); ++i) {
      ExactSlopes part = none;
      part.gradient.SetHalves(halves[i].gradient_upper, halves[i].gradient_lower);
      part.hessian.SetHalves(halves[i].hessian_upper, halves[i].hessian_lower);
      sums[i % leaves].gradient.Add(part.gradient);
      sums[i % leaves].hessian.Add(part.hessian);
    }
    return sums;
  }

  Result<uint64_t> Grow(std::span<const uint8_t> feature_used, uint64_t tree_number,
                        GrownTree* tree) override {
    times_ = {};
    if (timed_) STRATA_TRY(TakeGradientTime());  // marks are used for other phases
    STRATA_TRY(ForParts([&](GpuPart& part) { return part.Begin(feature_used, tree_number); }));
    STRATA_ASSIGN(const bool as_graphs, HaveGraphs());
    STRATA_TRY(Run(kStepPhases[2]));
    STRATA_TRY(Run(kStepPhases[3]));
    size_t steps = last_steps_;
    do {
      STRATA_TRY(Steps(steps, as_graphs));
      STRATA_TRY(Fetch());
      steps = parts_[0]->steps_of_graph();
      if (IsDone()) STRATA_TRY(Finish());
    } while (!IsDone());
    STRATA_TRY(TakeGradientTime());
    const FetchedNodes& first = parts_[0]->fetched();
    last_steps_ = first.state.choices;
    times_.steps = first.state.steps;
    times_.splits = first.nodes.size() / 2;
    units_ = first.state.units;
    last_tree_ = tree;
    MakeGrownTree(first, parts_[0]->bins().set_words(), tree);
    return first.state.largest.not_finite;
  }

  Status FetchRows(GrownTree* tree, std::vector<uint32_t>* rows) override {
    std::vector<RowsOfPart> of_parts;
    for (const auto& part : parts_) {
      STRATA_CHECK(part->fetched().state.rows_are_all == 0);
      RowsOfPart& own = of_parts.emplace_back();
      own.fetched = &part->fetched();
      own.first_row = static_cast<uint32_t>(part->first_row());
      STRATA_TRY(part->FetchRows(own.sides));
    }
    PutRows(of_parts, tree, rows);
    return {};
  }

  const GradientUnits& units() const override { return units_; }
  void TimePhases(bool on) override { timed_ = on; }
  const GpuTreeTimes& times() const override { return times_; }

 private:
  template <typename F>
  Status ForParts(const F& visit) {
    for (const auto& part : parts_) STRATA_TRY(visit(*part));
    return {};
  }

  // The k-th largest key.
  Result<KeyCut> FindCut(GossKeys keys, const GossCuts& cuts, int64_t k) {
    KeyCut cut{.key = 0, .rows = 0, .needed = k};
    for (int shift = KeyCut::kFirstShift; shift >= 0; shift -= KeyCut::kDigitBits) {
      STRATA_TRY(
          ForParts([&](GpuPart& part) { return part.CountDigits(keys, cuts, cut.key, shift); }));
      STRATA_TRY(Wait("a sample"));
      KeyCut::Counts counts{};
      for (const auto& part : parts_) {
        for (size_t digit = 0; digit < counts.size(); ++digit)
          counts[digit] += part->counts()[digit];
      }
      cut.Take(counts, shift);
    }
    return cut;
  }

  Status SampleByGradient(const GpuGoss& goss) {
    STRATA_TRY(ForParts([](GpuPart& part) { return part.ScoreRows(); }));
    GossCuts cuts{.tie_seed = goss.tie_seed, .other_seed = goss.other_seed, .factor = goss.factor};
    STRATA_ASSIGN(const KeyCut top, FindCut(GossKeys::kScores, cuts, goss.top));
    cuts.top_key = top.key;
    if (top.needed < top.rows) {
      STRATA_ASSIGN(const KeyCut tie, FindCut(GossKeys::kTies, cuts, top.needed));
      cuts.tie_key = tie.key;
    }
    STRATA_ASSIGN(const KeyCut other, FindCut(GossKeys::kOthers, cuts, goss.other));
    cuts.other_key = other.key;
    return ForParts([&](GpuPart& part) { return part.MarkRows(cuts); });
  }

  Status Wait(const char* what) {
    return ForParts([what](GpuPart& part) { return part.Wait(what); });
  }

  // Those that tell wait for none, so that those that hear wait for what is on its way already.
  Status Meet(Topic topic) {
    for (const auto& part : parts_) part->Meet(topic, {.tells = true, .hears = false});
    for (const auto& part : parts_) part->Meet(topic, {.tells = false, .hears = true});
    return FromCuda(cudaGetLastError(), "a step of a tree");
  }

  Status Run(const StepPhase& phase) {
    return Timed(phase.time, [&]() -> Status {
      for (const auto& part : parts_) ((*part).*phase.enqueue)();
      return FromCuda(cudaGetLastError(), "a step of a tree");
    });
  }

  // The slowest part's time counts.
  template <typename F>
  Status Timed(PhaseTime time, const F& enqueue) {
    if (!timed_) return enqueue();
    STRATA_TRY(ForParts([](GpuPart& part) { return part.Mark(0); }));
    STRATA_TRY(enqueue());
    STRATA_TRY(ForParts([](GpuPart& part) { return part.Mark(1); }));
    return AddTime(time);
  }
  // Between all parts' marks.
  Status AddTime(PhaseTime time) {
    double longest = 0;
    for (const auto& part : parts_) {
      STRATA_ASSIGN(const double ms, part->BetweenMarks());
      longest = std::max(longest, ms);
    }
    times_.*time += longest;
    return {};
  }

  Status BeginGradients() {
    gradients_have_begun_ = true;
    return ForParts([](GpuPart& part) { return part.Mark(0); });
  }
  // Once they are there nobody has to wait for the marks.
  Status TakeGradientTime() {
    if (!gradients_have_ended_) return {};
    gradients_have_ended_ = false;
    return AddTime(&GpuTreeTimes::gradients);
  }

  // Before anything is on its way that a part waits for.
  Result<bool> HaveGraphs() {
    bool have = !timed_;
    for (size_t i = 0; have && i < parts_.size(); ++i) {
      STRATA_ASSIGN(have, parts_[i]->NeedGraph());
    }
    return have;
  }

  // Enqueues steps, and a few more than that: those behind the last one do nothing. In graphs, the
  // GPUs meet by themselves; a step's last meeting is at the next one's begin.
  Status Steps(size_t steps, bool as_graphs) {
    for (size_t i = 0; i < steps; i += as_graphs ? parts_[0]->steps_of_graph() : 1) {
      if (as_graphs) {
        STRATA_TRY(ForParts([](GpuPart& part) { return part.RunGraph(); }));
        continue;
      }
      for (const StepPhase& phase : kStepPhases) STRATA_TRY(Run(phase));
    }
    return {};
  }

  // The tree's state and nodes, once what was enqueued has run.
  Status Fetch() {
    STRATA_TRY(ForParts([](GpuPart& part) { return part.Fetch(); }));
    STRATA_TRY(Wait("growing a tree"));
    return ForParts([](GpuPart& part) { return part.CheckFetched(); });
  }

  bool IsDone() const { return parts_[0]->fetched().state.done != 0; }

  // The tree's order; where that lacks a split after all (gains that are the same, and the kernels
  // took another first), sends for it. All parts have the same splits.
  Status Finish() {
    FetchedNodes& first = parts_[0]->fetched();
    const int32_t lacking = Replay(policy_, num_leaves_, &first);
    if (lacking >= 0) return ForParts([=](GpuPart& part) { return part.SendFor(lacking); });
    for (size_t i = 1; i < parts_.size(); ++i) TakeOrder(first, &parts_[i]->fetched());
    return {};
  }

  const GrowPolicy policy_;
  const size_t num_leaves_;
  size_t rows_ = 0;
  std::vector<std::unique_ptr<GpuPart>> parts_;
  bool timed_ = false;
  bool bag_is_all_ = true;
  bool gradients_have_begun_ = false;  // and are marked
  bool gradients_have_ended_ = false;
  size_t last_steps_ = kFirstSteps;
  const GrownTree* last_tree_ = nullptr;
  GradientUnits units_;
  GpuTreeTimes times_;
};

}  // namespace
}  // namespace gpu_tree

Result<std::unique_ptr<GpuTrees>> GpuTrees::Open(std::span<const int> devices,
                                                 const BinMatrix& bins,
                                                 std::span<const FeatureShape> shapes,
                                                 const GpuTreeOptions& options,
                                                 const std::shared_ptr<const GpuBins>& made) {
  if (options.num_leaves < 1 || options.num_leaves > kGpuLeavesMax) {
    return Refused(fmt::format("a tree of {} leaves on a GPU: expected 1 to {}; use the CPU",
                               options.num_leaves, kGpuLeavesMax));
  }
  if (devices.empty() || devices.size() > gpu_tree::kGpusMax) {
    return Invalid(
        fmt::format("trees over {} GPUs: expected 1 to {}", devices.size(), gpu_tree::kGpusMax));
  }
  for (const int device : devices) STRATA_TRY(CheckDevice(device));
  auto trees = std::make_unique<gpu_tree::Trees>(options);
  STRATA_TRY(trees->Start(devices, bins, shapes, options, made));
  return std::unique_ptr<GpuTrees>(std::move(trees));
}

}  // namespace strata
