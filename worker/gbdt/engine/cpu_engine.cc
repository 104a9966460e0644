// Trees on the CPU, of this rank alone or of a group's.
#include "worker/gbdt/engine/engines.h"
#include "worker/gbdt/grower/grower.h"

namespace strata {
namespace {

GrowerOptions GrowerOptionsOf(const TreeParameters& p, const EngineOptions& options) {
  return {.rules = p.rules,
          .num_leaves = static_cast<size_t>(p.num_leaves),
          .max_depth = p.max_depth > 0 ? static_cast<size_t>(p.max_depth) : 0,
          .feature_fraction = p.feature_fraction,
          .feature_fraction_bynode = p.feature_fraction_bynode,
          .feature_seed = static_cast<uint64_t>(p.feature_fraction_seed),
          .extra_trees = p.extra_trees,
          .extra_seed = static_cast<uint64_t>(p.extra_seed),
          .threads = options.threads,
          .phases = options.phases};
}

TreeLearner LearnerOf(const std::string& name) {
  if (name == "data") return TreeLearner::kData;
  if (name == "feature") return TreeLearner::kFeature;
  return name == "voting" ? TreeLearner::kVoting : TreeLearner::kSerial;
}

class CpuEngine : public TreeEngine {
 public:
  CpuEngine(const TreeParameters& p, const TreeDataset& data, WorkPool& pool,
            const EngineOptions& options)
      : exchange_(MakeExchange(options.group, data.bins, data.features->shapes,
                               {.learner = LearnerOf(p.tree_learner),
                                .levels = options.levels,
                                .top_k = static_cast<size_t>(p.top_k),
                                .rules = p.rules})),
        grower_(data.bins, data.features->shapes, GrowerOptionsOf(p, options), pool, *exchange_) {}

  Result<EngineTree> Grow(const FixedGradients& gradients, const GradientUnits& units,
                          std::span<const uint32_t> bag, uint64_t tree_number,
                          bool /*with_rows*/) override {
    const GrownTree& tree = grower_.Grow(gradients, units, bag, tree_number);
    STRATA_TRY(exchange_->status());
    return EngineTree{.tree = &tree, .units = units};
  }

 private:
  std::unique_ptr<Exchange> exchange_;
  LeafWiseGrower grower_;
};

}  // namespace

std::unique_ptr<TreeEngine> MakeCpuEngine(const TreeParameters& parameters, const TreeDataset& data,
                                          WorkPool& pool, const EngineOptions& options) {
  return std::make_unique<CpuEngine>(parameters, data, pool, options);
}

}  // namespace strata
