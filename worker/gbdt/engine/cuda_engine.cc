// Trees on one GPU, or on several of this machine.
#include <fmt/format.h>

#include "base/log.h"
#include "worker/gbdt/engine/engines.h"
#include "worker/gbdt/engine/feature_rules.h"
#include "worker/gbdt/engine/score_engine.h"
#include "worker/gbdt/grower/feature_choice.h"

namespace strata {
namespace {

class CudaEngine : public TreeEngine, public ScoreEngine {
 public:
  CudaEngine(int device, const GrowthParameters& p, const TreeDataset& data, PhaseTimes* phases,
             std::unique_ptr<GpuTrees> trees)
      : device_(device),
        phases_(phases),
        feature_fraction_(p.feature_fraction),
        feature_seed_(static_cast<uint64_t>(p.feature_fraction_seed)),
        features_(data.bins.features()),
        trees_(std::move(trees)) {}

  ScoreEngine* score_engine() override { return this; }
  int gpu() const override { return device_; }

  Result<EngineTree> Grow(const FixedGradients& gradients, const GradientUnits& units,
                          std::span<const uint32_t> bag, uint64_t tree_number,
                          bool with_rows) override {
    STRATA_TRY(trees_->SetGradients(gradients, units, bag));
    STRATA_ASSIGN(const EngineTree tree, GrowNow(tree_number));
    if (with_rows) STRATA_TRY(trees_->FetchRows(&tree_, &rows_));
    return tree;
  }

  Result<bool> KeepScores(const OwnRounds& rounds, std::span<const double> scores) override {
    loss_ = rounds.loss.loss;
    rounding_ = {.width = rounds.quantise.width,
                 .bins = rounds.quantise.bins,
                 .seed = rounds.quantise.seed,
                 .stochastic = rounds.quantise.stochastic};
    if (rounds.loss.renewal.has_value()) {
      const Status started =
          trees_->StartPercentiles(*rounds.loss.renewal, rounds.loss.labels, rounds.weights);
      if (started.code() == StatusCode::kRefused) {
        Log(LogLevel::kInfo, "gradients and outputs of leaves are computed on the CPU: {}",
            started.message());
        return false;
      }
      STRATA_TRY(started);
    }
    STRATA_TRY(trees_->SetLabels(rounds.loss.labels, rounds.weights, rounds.loss.ranking));
    if (!rounds.fixed_scores.empty()) STRATA_TRY(trees_->FixScores(rounds.fixed_scores));
    STRATA_TRY(trees_->SetScores(scores));
    return true;
  }

  Status StartRound(uint64_t round, const GpuSample& sample) override {
    STRATA_TRY(trees_->ComputeGradients(loss_, round));
    return trees_->Sample(sample);
  }

  Result<EngineTree> GrowFromScores(size_t k, uint64_t tree_number) override {
    STRATA_TRY(trees_->RoundGradients(k, rounding_, tree_number));
    return GrowNow(tree_number);
  }

  Status AddToScores(size_t k, const GrownTree& tree, std::span<const double> values) override {
    return trees_->AddTree(k, tree, values);
  }

  Result<std::vector<double>> RenewLeaves(size_t k, const GrownTree& tree) override {
    return trees_->LeafPercentiles(k, tree);
  }
  Result<std::vector<ExactSlopes>> SumLeaves(size_t k, const GrownTree& tree) override {
    return trees_->SumLeaves(k, tree);
  }

  Status FetchScores(std::span<double> scores) override { return trees_->GetScores(scores); }
  Result<const double*> ScoresOnGpu() override { return trees_->ScoresOnFirst(); }

 private:
  Result<EngineTree> GrowNow(uint64_t tree_number) {
    const std::vector<uint8_t> used =
        FeaturesOfTree(features_, feature_fraction_, feature_seed_, tree_number);
    STRATA_ASSIGN(const uint64_t not_finite, trees_->Grow(used, tree_number, &tree_));
    if (phases_ != nullptr) {
      phases_->Add(TreePhase::kGradients,
                   static_cast<TimeNs>(trees_->times().gradients * 1e-3 * kSecond));
    }
    return EngineTree{.tree = &tree_, .units = trees_->units(), .not_finite = not_finite};
  }

  const int device_;  // the first
  PhaseTimes* const phases_;
  const double feature_fraction_;
  const uint64_t feature_seed_;
  const size_t features_;
  const std::unique_ptr<GpuTrees> trees_;
  GpuLoss loss_;
  GpuRounding rounding_;
  GrownTree tree_;
  std::vector<uint32_t> rows_;
};

}  // namespace

Result<std::unique_ptr<TreeEngine>> MakeCudaEngine(std::span<const int> devices,
                                                   const TreeDataset& data,
                                                   const EngineOptions& options) {
  const GrowthParameters& p = options.growth;
  STRATA_ASSIGN(const std::vector<FeatureShape> shapes, RuledShapes(p, *data.features));
  const GpuTreeOptions of_trees = {
      .rules = p.rules,
      .num_leaves = static_cast<size_t>(p.num_leaves),
      .max_depth = p.max_depth > 0 ? static_cast<size_t>(p.max_depth) : 0,
      .policy = GrowPolicyOf(p),
      .monotone_penalty = p.monotone_penalty,
      .feature_fraction_bynode = p.feature_fraction_bynode,
      .feature_seed = static_cast<uint64_t>(p.feature_fraction_seed),
      .extra_trees = p.extra_trees,
      .extra_seed = static_cast<uint64_t>(p.extra_seed),
      .classes = options.classes,
      .keeps_rows = options.renews_leaves,
      .query_begins = data.query_begins};
  Result<std::unique_ptr<GpuTrees>> trees =
      GpuTrees::Open(devices, data.bins, shapes, of_trees, data.gpu_bins);
  if (!trees.ok() && devices.size() > 1) {
    return trees.status().Prefixed(fmt::format("num_gpu = {}", devices.size()));
  }
  STRATA_TRY(trees.status());
  return std::unique_ptr<TreeEngine>(
      std::make_unique<CudaEngine>(devices[0], p, data, options.phases, std::move(*trees)));
}

}  // namespace strata
