// Trees that grow on the host, of this rank alone or of a group's; their rows may be on a GPU.
#include "worker/gbdt/engine/engines.h"
#include "worker/gbdt/engine/feature_rules.h"
#include "worker/gbdt/engine/forced_splits.h"
#include "worker/gbdt/grower/grower.h"

namespace strata {
namespace {

MonotoneMethod MonotoneMethodOf(const GrowthParameters& p) {
  if (p.monotone_constraints_method == "intermediate") return MonotoneMethod::kIntermediate;
  const bool is_advanced = p.monotone_constraints_method == "advanced";
  return is_advanced ? MonotoneMethod::kAdvanced : MonotoneMethod::kBasic;
}

GrowerOptions GrowerOptionsOf(const EngineOptions& options, std::vector<ForcedSplit> forced,
                              UnmadeSplits* unmade, GpuLeaves* gpu) {
  const GrowthParameters& p = options.growth;
  return {.rules = p.rules,
          .num_leaves = static_cast<size_t>(p.num_leaves),
          .max_depth = p.max_depth > 0 ? static_cast<size_t>(p.max_depth) : 0,
          .policy = GrowPolicyOf(p),
          .monotone_method = MonotoneMethodOf(p),
          .monotone_penalty = p.monotone_penalty,
          .forced = std::move(forced),
          .unmade = [unmade](size_t split, std::string_view why) { unmade->Warn(split, why); },
          .feature_fraction = p.feature_fraction,
          .feature_fraction_bynode = p.feature_fraction_bynode,
          .feature_seed = static_cast<uint64_t>(p.feature_fraction_seed),
          .extra_trees = p.extra_trees,
          .extra_seed = static_cast<uint64_t>(p.extra_seed),
          .threads = options.threads,
          .phases = options.phases,
          .gpu = gpu};
}

TreeLearner LearnerOf(const std::string& name) {
  if (name == "data") return TreeLearner::kData;
  if (name == "feature") return TreeLearner::kFeature;
  return name == "voting" ? TreeLearner::kVoting : TreeLearner::kSerial;
}

class CpuEngine : public TreeEngine {
 public:
  CpuEngine(const TreeDataset& data, std::vector<FeatureShape> shapes,
            std::vector<ForcedSplit> forced, WorkPool& pool, const EngineOptions& options,
            std::unique_ptr<GpuLeaves> gpu)
      : gpu_(std::move(gpu)),
        unmade_(forced),
        shapes_(std::move(shapes)),
        exchange_(MakeExchange(options.group, data.bins, shapes_,
                               {.learner = LearnerOf(options.machine.tree_learner),
                                .levels = options.levels,
                                .top_k = static_cast<size_t>(options.machine.top_k),
                                .rules = options.growth.rules})),
        grower_(data.bins, shapes_,
                GrowerOptionsOf(options, std::move(forced), &unmade_, gpu_.get()), pool,
                *exchange_) {}

  Result<EngineTree> Grow(const FixedGradients& gradients, const GradientUnits& units,
                          std::span<const uint32_t> bag, uint64_t tree_number,
                          bool /*with_rows*/) override {
    const GrownTree& tree = grower_.Grow(gradients, units, bag, tree_number);
    STRATA_TRY(grower_.status());
    STRATA_TRY(exchange_->status());
    return EngineTree{.tree = &tree, .units = units};
  }

 private:
  std::unique_ptr<GpuLeaves> gpu_;
  UnmadeSplits unmade_;
  const std::vector<FeatureShape> shapes_;
  std::unique_ptr<Exchange> exchange_;
  LeafWiseGrower grower_;
};

}  // namespace

Result<std::unique_ptr<TreeEngine>> MakeCpuEngine(const TreeDataset& data, WorkPool& pool,
                                                  const EngineOptions& options,
                                                  std::unique_ptr<GpuLeaves> gpu) {
  STRATA_ASSIGN(std::vector<FeatureShape> shapes, RuledShapes(options.growth, *data.features));
  STRATA_ASSIGN(std::vector<ForcedSplit> forced,
                ReadForcedSplits(options.forced_splits, options.growth, *data.features, shapes));
  return std::unique_ptr<TreeEngine>(std::make_unique<CpuEngine>(
      data, std::move(shapes), std::move(forced), pool, options, std::move(gpu)));
}

}  // namespace strata
