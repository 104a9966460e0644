// Trees that grow on the host, of this rank alone or of a group's; their rows may be on a GPU.
#include "worker/gbdt/engine/engines.h"
#include "worker/gbdt/grower/grower.h"

namespace strata {
namespace {

GrowerOptions GrowerOptionsOf(const TreeParameters& p, const EngineOptions& options,
                              GpuLeaves* gpu) {
  return {.rules = p.rules,
          .num_leaves = static_cast<size_t>(p.num_leaves),
          .max_depth = p.max_depth > 0 ? static_cast<size_t>(p.max_depth) : 0,
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
  CpuEngine(const TreeParameters& p, const TreeDataset& data, WorkPool& pool,
            const EngineOptions& options, std::unique_ptr<GpuLeaves> gpu)
      : gpu_(std::move(gpu)),
        exchange_(MakeExchange(options.group, data.bins, data.features->shapes,
                               {.learner = LearnerOf(p.tree_learner),
                                .levels = options.levels,
                                .top_k = static_cast<size_t>(p.top_k),
                                .rules = p.rules})),
        grower_(data.bins, data.features->shapes, GrowerOptionsOf(p, options, gpu_.get()), pool,
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
  std::unique_ptr<Exchange> exchange_;
  LeafWiseGrower grower_;
};

}  // namespace

std::unique_ptr<TreeEngine> MakeCpuEngine(const TreeParameters& parameters, const TreeDataset& data,
                                          WorkPool& pool, const EngineOptions& options,
                                          std::unique_ptr<GpuLeaves> gpu) {
  return std::make_unique<CpuEngine>(parameters, data, pool, options, std::move(gpu));
}

}  // namespace strata
