// Booster: one round after another adds trees to a model (J. Friedman, "Greedy function
// approximation: a gradient boosting machine", Annals of Statistics 2001; LightGBM's gbdt.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/exact_sum.h"
#include "strata/status.h"
#include "worker/gbdt/boost/data_scores.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/engine/quantise.h"
#include "worker/gbdt/engine/tree_engine.h"
#include "worker/gbdt/metric/metric.h"
#include "worker/gbdt/mode/boosting_mode.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/objective/objective.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/gbdt/phase_times.h"
#include "worker/gbdt/sampler/row_sampler.h"

namespace strata {

// A data set's metrics after a round.
struct Evaluation {
  std::string data;  // "training", "valid_1"
  std::vector<MetricValue> metrics;
};

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
  // Of the training data, class * rows + row: the sum of all trees, and what it began with. Stays
  // at that where an engine keeps scores, which one does not for a caller's own objective.
  std::span<const double> training_scores() const { return scored_[0].scores.all(); }

 private:
  struct Scored {
    DataScores scores;
    std::vector<std::unique_ptr<TreeMetric>> metrics;
    std::unique_ptr<GpuMetrics> on_gpu;  // where the scores are, unless null
  };

  Booster(const TreeParameters& parameters, const TreeDataset& train, WorkPool& pool);
  Status Start(std::span<const TreeDataset* const> valid, size_t threads, Group* group,
               BoosterStart start);
  void StartModel(TreeModel model);
  void MoveToGpu(DataScores* scores);
  void MoveMetricsToGpu(Scored* scored);
  Status TryMetricsOnGpu(Scored* scored);
  Result<std::vector<MetricValue>> Measure(const Scored& scored) const;
  Result<std::vector<MetricValue>> MeasureOnGpu(const Scored& scored) const;
  Status StartScores(std::span<const TreeDataset* const> valid);
  std::span<const double> GradientScores() const;
  Status Drop(const RoundPlan& plan);
  Status TakeBack(const RoundPlan& plan, double factor);
  Status AddToTraining(size_t k, const GrownTree& grown, std::span<const double> values);
  Status KeepScores(Group* group);
  Result<bool> GrowTree(size_t k, double shrinkage);
  Result<EngineTree> Grow(size_t k);
  uint64_t Quantise(size_t k, uint64_t tree_number);
  bool renews_from_gradients() const {
    return parameters_.boosting.renews_leaves() && !objective_->renews_outputs();
  }
  Result<std::vector<double>> RenewedOutputs(size_t k, const GrownTree& grown);
  Result<std::vector<ExactSlopes>> SumsOfLeaves(size_t k, const GrownTree& grown);
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
  bool keeps_scores_ = false;  // the engine, of the training data
  QuantisedGradients quantised_;
  QuantiseOptions quantise_options_;
  TreeModel model_;
  size_t first_round_ = 0;
  std::vector<GrownTree> grown_;       // of this run, where the mode drops trees
  std::vector<Scored> scored_;         // training data first
  std::vector<double> start_scores_;   // of each class
  std::vector<double> start_of_rows_;  // the same for each row, where the mode averages
  std::vector<float> gradients_;
  std::vector<float> hessians_;
  std::vector<uint32_t> bag_;
};

}  // namespace strata
