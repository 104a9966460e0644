// TreeSearch: which splits the trees of a training take, one level after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/bootstrap_sampler.h"
#include "worker/gbdt/catboost/train/feature_rules.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/fit_statistics.h"
#include "worker/gbdt/catboost/train/grow/tree_grower.h"
#include "worker/gbdt/catboost/train/oblivious_tree.h"
#include "worker/gbdt/catboost/train/split_choice.h"
#include "worker/gbdt/catboost/train/tree_columns.h"
#include "worker/gbdt/catboost/train/tree_ctrs.h"

namespace strata {

// One thread at a time. Trees have the same bits for any number of threads of the pool.
class TreeSearch {
 public:
  // All outlive it. `check` is asked before each level, or tree, and an error ends the search. `l2`
  // is added to the weights of leaves. The model's trees are those before the one that is searched
  // for.
  TreeSearch(const FitParameters& parameters, const FitRows& learn, double l2, double learning_rate,
             const CatBoostModel& model, FitStatistics* statistics, WorkPool& pool,
             const std::function<Status()>& check);

  // Reads the rules of features and opens the device, before the first tree. kInvalid: rules name
  // a feature that is not there; kNotFound, kRefused: as TreeGrower says.
  Status Begin();
  // Of a GPU, what grows trees there; null: the CPU does.
  GpuGrower* gpu() { return grower_->gpu(); }
  // The next tree, by the statistics of a fold and the rows' raw values there (output * rows +
  // row); of none by those that stay on the GPU. kInvalid: a sample without rows. A GPU may fail,
  // too, and `check` may say no.
  Result<ObliviousTree> Grow(size_t fold, std::span<const double> raw);

 private:
  // What splits are searched with; leaves go by all rows.
  struct SplitRows {
    std::span<const double> gradients;
    std::span<const double> weights;
  };

  // Whether each level takes the split with the largest score, of columns that come at once.
  bool TakesLargest() const;
  // Begin a tree; return the sum of the gradients' squares, where the noise of scores takes it.
  Result<double> Begin(std::span<const double> raw);
  Result<double> BeginOnGpu();
  std::span<const double> LastLeaves() const;
  Result<RowDraw> SampleOnGpu(size_t level);
  Status Resample(size_t level, bool is_on_gpu);
  Result<SplitRows> SampleRows(size_t level);
  // The columns of features come first, then those of the tree's statistics.
  bool IsFixed(size_t column) const { return column < columns_.columns.size(); }
  std::vector<uint32_t> FeaturesOf(size_t column, const TreeCtrs& ctrs) const;
  uint32_t ModelSplit(const GrowSplit& split, TreeCtrs* ctrs) const;
  std::vector<ColumnRule> LevelRules(const TreeCtrs& ctrs) const;
  Result<ObliviousTree> Finish(TreeCtrs* ctrs);

  const FitParameters& p_;
  const FitRows& learn_;
  const double learning_rate_;
  const CatBoostModel& model_;
  FitStatistics& statistics_;
  WorkPool& pool_;
  const std::function<Status()>& check_;
  const BootstrapSampler sampler_;
  const SplitChoice choice_;
  TreeColumns columns_;
  std::optional<ColumnRules> rules_;
  const ScoreRule score_rule_;
  std::unique_ptr<TreeGrower> grower_;
  std::vector<double> gradients_;
  std::vector<double> weights_;
  // Of a sample: the factors of rows, and what they make of gradients and weights.
  std::vector<float> factors_;
  std::vector<double> sampled_gradients_;
  std::vector<double> sampled_weights_;
};

}  // namespace strata
