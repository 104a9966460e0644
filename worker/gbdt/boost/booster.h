// Booster: one round after another adds trees to a model (J. Friedman, "Greedy function
// approximation: a gradient boosting machine", Annals of Statistics 2001; LightGBM's gbdt.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/boost/data_metrics.h"
#include "worker/gbdt/boost/data_scores.h"
#include "worker/gbdt/boost/training_scores.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/engine/tree_engine.h"
#include "worker/gbdt/metric/metric.h"
#include "worker/gbdt/mode/boosting_mode.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/objective/objective.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/gbdt/phase_times.h"
#include "worker/gbdt/sampler/row_sampler.h"

namespace strata {

// What training may begin with.
struct BoosterStart {
  // Trees that are there already, to which rounds are added. The data's init scores hold what they
  // predict.
  TreeModel model;
  // The caller's own; nullptr: the parameters'.
  std::unique_ptr<TreeObjective> objective;
  // What forcedsplits_filename holds, where that is given.
  std::string forced_splits = {};
};

// One thread at a time; works on all of the pool's.
class Booster {
 public:
  // All but the parameters outlives it. `valid` have the bins of `train`. `phases`, unless null,
  // hears what the rounds' time goes to. With a group, its ranks train one model together, as
  // tree_learner says; they make the same calls.
  static Result<std::unique_ptr<Booster>> Make(const TreeParameters& parameters,
                                               const TreeDataset& train,
                                               std::span<const TreeDataset* const> valid,
                                               WorkPool& pool, size_t threads,
                                               PhaseTimes* phases = nullptr, Group* group = nullptr,
                                               BoosterStart start = {});

  // Adds one tree a class. False: no leaf could be split any more, and nothing was added but, in
  // the first round, constants.
  Result<bool> Round();
  // Takes the trees of the last rounds back until so many are left.
  void TruncateTo(size_t rounds);
  // kLost: a rank is.
  Result<std::vector<Evaluation>> Evaluate() const;

  const TreeModel& model() const { return model_; }
  // Those of the model that training began with are among them.
  size_t rounds() const { return model_.iterations(); }
  // Of the training data, class * rows + row: the sum of all trees, and what it began with.
  // Trees that were truncated stay in it.
  Result<std::vector<double>> training_scores() const;

 private:
  // Validation data.
  struct Valid {
    DataScores scores;
    DataMetrics metrics;
    Result<std::vector<MetricValue>> Measure(double divisor) const;
  };

  Booster(const TreeParameters& parameters, const TreeDataset& train, WorkPool& pool);
  Status Start(std::span<const TreeDataset* const> valid, size_t threads, Group* group,
               BoosterStart start);
  void StartModel(TreeModel model);
  Status StartScores(std::span<const TreeDataset* const> valid, const QuantiseOptions& quantise);
  Result<Valid> StartValid(const TreeDataset& data);
  Result<DataMetrics> MakeMetricsOf(const TreeDataset& data) const;
  Status Drop(const RoundPlan& plan);
  Status TakeBack(const RoundPlan& plan, double factor);
  Result<bool> GrowTree(size_t k, double shrinkage);
  bool renews_from_gradients() const {
    return parameters_.boosting.renews_leaves() && !objective_->renews_outputs();
  }
  Status RenewFromGradients(size_t k, const GrownTree& grown, Tree* tree);
  Status AddConstant(size_t k);
  void WarnOfConstants(bool needed, bool goes_on) const;
  Status AddTree(size_t k, const EngineTree& engine_tree, double shrinkage);
  Status AddScores(size_t k, const GrownTree& grown, std::span<const double> leaf_values);
  bool bakes_start() const { return mode_->averages() || rounds() == 0; }

  const TreeParameters parameters_;
  const TreeDataset& train_;
  WorkPool& pool_;
  PhaseTimes* phases_ = nullptr;
  std::unique_ptr<TreeObjective> objective_;
  std::unique_ptr<BoostingMode> mode_;
  std::unique_ptr<RowSampler> sampler_;
  std::unique_ptr<TreeEngine> engine_;
  TreeModel model_;
  size_t first_round_ = 0;
  std::vector<GrownTree> grown_;      // of this run, where the mode drops trees
  std::vector<double> start_scores_;  // of each class
  std::unique_ptr<TrainingScores> training_;
  std::vector<Valid> valid_;
};

}  // namespace strata
