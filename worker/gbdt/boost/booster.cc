#include "worker/gbdt/boost/booster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "worker/gbdt/boost/to_model_tree.h"
#include "worker/gbdt/engine/score_engine.h"

namespace strata {
namespace {

constexpr size_t kRowsOf16Bits = 1 << 17;  // from here on rounding to 16 bits does not show

GradientWidth WidthOf(const BoostingParameters& p, uint64_t rows) {
  if (p.use_quantized_grad) return GradientWidth::k16;
  if (p.gradient_bits == 0) return rows < kRowsOf16Bits ? GradientWidth::k32 : GradientWidth::k16;
  return p.gradient_bits == 32 ? GradientWidth::k32 : GradientWidth::k16;
}

Tree ConstantTree(double value, uint64_t rows) {
  Tree tree;
  tree.leaves.push_back({.value = value, .weight = 0, .rows = static_cast<int64_t>(rows)});
  return tree;
}

}  // namespace

Booster::Booster(const TreeParameters& parameters, const TreeDataset& train, WorkPool& pool)
    : parameters_(parameters), train_(train), pool_(pool) {}

Result<std::unique_ptr<Booster>> Booster::Make(const TreeParameters& p, const TreeDataset& train,
                                               std::span<const TreeDataset* const> valid,
                                               WorkPool& pool, size_t threads, PhaseTimes* phases,
                                               Group* group, BoosterStart start) {
  std::unique_ptr<Booster> booster(new Booster(p, train, pool));
  booster->phases_ = phases;
  STRATA_TRY(booster->Start(valid, threads, group, std::move(start)));
  STRATA_TRY(train.share.status());
  return booster;
}

Status Booster::Start(std::span<const TreeDataset* const> valid, size_t threads, Group* group,
                      BoosterStart start) {
  const TreeParameters& p = parameters_;
  objective_ = std::move(start.objective);
  if (objective_ == nullptr) {
    STRATA_ASSIGN(objective_, MakeObjective(p.objective, train_));
  }
  StartModel(std::move(start.model));
  mode_ = MakeBoostingMode(p.boosting, first_round_);
  STRATA_ASSIGN(sampler_, MakeRowSampler(p.boosting, train_));
  const QuantiseOptions quantise = {
      .width = WidthOf(p.boosting, train_.all_rows()),
      .bins = p.boosting.use_quantized_grad ? p.boosting.num_grad_quant_bins : 0,
      .seed = static_cast<uint64_t>(p.data.data_random_seed),
      .stochastic = p.boosting.stochastic_rounding};
  STRATA_ASSIGN(engine_, MakeTreeEngine(train_, pool_,
                                        {.growth = p.growth,
                                         .machine = p.machine,
                                         .threads = threads,
                                         .phases = phases_,
                                         .group = group,
                                         .classes = model_.classes,
                                         .levels = quantise.LargestLevel(),
                                         .renews_leaves = p.boosting.renews_leaves(),
                                         .forced_splits = start.forced_splits}));
  return StartScores(valid, quantise);
}

void Booster::StartModel(TreeModel model) {
  model_ = std::move(model);
  model_.classes = objective_->classes();
  model_.trees_per_iteration = model_.classes;
  model_.objective = objective_->ModelText();
  model_.average_output = parameters_.boosting.mode == "rf";
  model_.feature_names = train_.features->names;
  model_.feature_infos.clear();
  for (const BinMapper& mapper : train_.features->mappers) {
    model_.feature_infos.push_back(mapper.InfoText());
  }
  model_.monotone_constraints.assign(parameters_.growth.monotone_constraints.begin(),
                                     parameters_.growth.monotone_constraints.end());
  model_.parameters = parameters_.set;
  const CategoryTexts& categories = train_.features->categories;
  if (!categories.empty()) model_.pandas_categorical = WriteCategoryTexts(categories);
  first_round_ = model_.iterations();
}

Status Booster::StartScores(std::span<const TreeDataset* const> valid,
                            const QuantiseOptions& quantise) {
  STRATA_ASSIGN(DataMetrics metrics, MakeMetricsOf(train_));
  // They are made in any case, as they look at the labels.
  if (!parameters_.metric.is_provide_training_metric) metrics.Clear();
  for (const TreeDataset* data : valid) {
    STRATA_ASSIGN(Valid one, StartValid(*data));
    valid_.push_back(std::move(one));
  }
  const bool averages = mode_->averages();
  if (averages && first_round_ == 0) {
    STRATA_TRY(train_.CheckNoInitScores());
    for (const TreeDataset* data : valid) STRATA_TRY(data->CheckNoInitScores());
  }
  DataScores scores(train_, model_.classes, pool_);
  start_scores_.assign(model_.classes, 0);
  const bool starts_here = averages || train_.init_scores.empty();
  for (size_t k = 0; k < model_.classes && starts_here; ++k) {
    if (parameters_.boosting.boost_from_average) start_scores_[k] = objective_->StartScore(k);
    if (averages) continue;
    STRATA_TRY(scores.AddConstant(k, start_scores_[k]));
    for (Valid& one : valid_) STRATA_TRY(one.scores.AddConstant(k, start_scores_[k]));
  }
  const RoundParts parts = {.data = train_,
                            .objective = *objective_,
                            .sampler = *sampler_,
                            .engine = *engine_,
                            .pool = pool_,
                            .phases = phases_,
                            .quantise = quantise,
                            .renews_from_gradients = renews_from_gradients(),
                            .fixed_scores = averages ? std::span<const double>(start_scores_)
                                                     : std::span<const double>()};
  STRATA_ASSIGN(training_, MakeTrainingScores(parts, std::move(scores), std::move(metrics)));
  return {};
}

Result<DataMetrics> Booster::MakeMetricsOf(const TreeDataset& data) const {
  return DataMetrics::Make(parameters_.metric, parameters_.objective, data, pool_);
}

// Where trees grow, if they grow on a GPU and there is memory left.
Result<Booster::Valid> Booster::StartValid(const TreeDataset& data) {
  STRATA_ASSIGN(DataMetrics metrics, MakeMetricsOf(data));
  Valid valid = {DataScores(data, model_.classes, pool_), std::move(metrics)};
  const ScoreEngine* const engine = engine_->score_engine();
  if (engine == nullptr || data.rows() == 0) return valid;
  const Status moved = valid.scores.MoveToGpu(engine->gpu());
  if (moved.ok()) {
    valid.metrics.MoveToGpu(engine->gpu());
  } else {
    Log(LogLevel::kInfo, "scores of validation data are kept on the CPU: {}", moved.message());
  }
  return valid;
}

Result<std::vector<MetricValue>> Booster::Valid::Measure(double divisor) const {
  if (metrics.on_gpu()) {
    return metrics.MeasureOnGpu(scores.on_gpu()->data(), scores.all().size(), divisor);
  }
  std::vector<double> made;
  STRATA_ASSIGN(const std::span<const double> fetched, scores.Fetch(&made));
  return metrics.Measure(fetched, divisor);
}

Result<std::vector<double>> Booster::training_scores() const {
  std::vector<double> made;
  STRATA_ASSIGN(const std::span<const double> scores, training_->Fetch(&made));
  return std::vector<double>(scores.begin(), scores.end());
}

Result<bool> Booster::Round() {
  const uint64_t round = rounds();
  const size_t classes = model_.classes;
  const RoundPlan plan = mode_->Plan(round);
  STRATA_TRY(Drop(plan));
  STRATA_TRY(training_->StartRound(round));
  bool any = false;
  bool needed = false;
  for (size_t k = 0; k < classes; ++k) {
    bool grew = false;
    if (objective_->NeedsTrees(k)) {
      needed = true;
      STRATA_ASSIGN(grew, GrowTree(k, plan.shrinkage));
    }
    if (!grew) STRATA_TRY(AddConstant(k));
    any = any || grew;
  }
  STRATA_TRY(train_.share.status());
  // A tree of a forest may be constant for its bag alone.
  const bool goes_on = any || mode_->averages();
  STRATA_TRY(TakeBack(plan, goes_on ? plan.dropped_factor : 1));
  if (!any && (!goes_on || round == first_round_)) WarnOfConstants(needed, goes_on);
  if (!goes_on && round > 0) TruncateTo(round);
  return goes_on;
}

// Of a round in which no tree was split. `needed`: trees could have had something to learn.
void Booster::WarnOfConstants(bool needed, bool goes_on) const {
  const std::string what =
      goes_on  ? "the first tree of the forest is a constant"
      : needed ? fmt::format("training ends after {} rounds", rounds() - (rounds() > 0 ? 1 : 0))
               : "training ends with a constant for each class";
  if (!needed) {
    Log(LogLevel::kWarning, "{}: all {} rows are of one class", what, train_.all_rows());
    return;
  }
  Log(LogLevel::kWarning,
      "{}: no leaf can be split any more within min_data_in_leaf = {}, min_sum_hessian_in_leaf = "
      "{} and min_gain_to_split = {}",
      what, parameters_.growth.rules.min_data_in_leaf,
      parameters_.growth.rules.min_sum_hessian_in_leaf, parameters_.growth.rules.min_gain_to_split);
}

// Out of the scores that gradients are of; validation scores keep them.
Status Booster::Drop(const RoundPlan& plan) {
  for (const size_t iteration : plan.dropped) {
    for (size_t k = 0; k < model_.classes; ++k) {
      const size_t at = iteration * model_.classes + k;
      std::vector<double> values = model_.trees[at].LeafValues();
      for (double& value : values) value = -value;
      STRATA_TRY(training_->AddTree(k, grown_[at - first_round_ * model_.classes], values));
    }
  }
  return {};
}

Status Booster::TakeBack(const RoundPlan& plan, double factor) {
  for (const size_t iteration : plan.dropped) {
    for (size_t k = 0; k < model_.classes; ++k) {
      const size_t at = iteration * model_.classes + k;
      const GrownTree& grown = grown_[at - first_round_ * model_.classes];
      std::vector<double> change = model_.trees[at].LeafValues();
      if (factor != 1) model_.trees[at].Scale(factor);
      const std::vector<double> values = model_.trees[at].LeafValues();
      for (size_t leaf = 0; leaf < change.size(); ++leaf)
        change[leaf] = values[leaf] - change[leaf];
      STRATA_TRY(training_->AddTree(k, grown, values));
      for (Valid& valid : valid_) STRATA_TRY(valid.scores.AddTree(k, grown, change));
    }
  }
  return {};
}

// False: its root could not be split.
Result<bool> Booster::GrowTree(size_t k, double shrinkage) {
  STRATA_ASSIGN(const EngineTree grown, training_->Grow(k, rounds() * model_.classes + k));
  if (grown.not_finite > 0) {
    return train_.share.FailEverywhere(Failed(fmt::format(
        "round {}: the gradients of {} of {} rows are not finite: labels or scores are too large "
        "for objective = {}",
        rounds() + 1, grown.not_finite, train_.all_rows(), parameters_.objective.name)));
  }
  if (grown.tree->nodes.empty()) return false;
  STRATA_TRY(AddTree(k, grown, shrinkage));
  return true;
}

// Outputs from the sums of unrounded gradients; not smoothed, as LightGBM has it.
Status Booster::RenewFromGradients(size_t k, const GrownTree& grown, Tree* tree) {
  const PhaseScope scope(phases_, TreePhase::kScores);
  STRATA_ASSIGN(const std::vector<ExactSlopes> sums, training_->SumsOfLeaves(k, grown));
  SplitRules rules = parameters_.growth.rules;
  rules.path_smooth = 0;
  for (size_t leaf = 0; leaf < sums.size(); ++leaf) {
    const SplitLeaf& grown_leaf = grown.leaves[leaf].leaf;
    const double output =
        LeafOutput(sums[leaf].gradient.Value(), sums[leaf].hessian.Value() + kHessianEpsilon,
                   rules.lambda_l2, grown_leaf.rows, rules, 0);
    tree->leaves[leaf].value = Clamped(output, grown_leaf.bounds);
  }
  return {};
}

Status Booster::AddConstant(size_t k) {
  // As LightGBM has it: a class without a first tree gets the constant that it did not start from.
  const bool starts_here =
      !parameters_.boosting.boost_from_average && bakes_start() && train_.init_scores.empty();
  double value = bakes_start() ? start_scores_[k] : 0;
  if (starts_here) value = objective_->StartScore(k);
  const GrownTree one_leaf = {.nodes = {}, .leaves = std::vector<GrownLeaf>(1), .rows = {}};
  if (mode_->averages() || starts_here) {
    STRATA_TRY(training_->AddTree(k, one_leaf, std::span(&value, 1)));
    for (Valid& valid : valid_) STRATA_TRY(valid.scores.AddConstant(k, value));
  }
  if (mode_->drops()) grown_.push_back(one_leaf);
  model_.trees.push_back(ConstantTree(value, train_.all_rows()));
  return {};
}

Status Booster::AddTree(size_t k, const EngineTree& engine_tree, double shrinkage) {
  const GrownTree& grown = *engine_tree.tree;
  Tree tree = ToModelTree(grown, *train_.features, engine_tree.units,
                          parameters_.growth.rules.min_gain_to_split);
  if (objective_->renews_outputs()) {
    const PhaseScope scope(phases_, TreePhase::kScores);
    STRATA_ASSIGN(const std::vector<double> outputs, training_->RenewedOutputs(k, grown));
    for (size_t leaf = 0; leaf < outputs.size(); ++leaf) tree.leaves[leaf].value = outputs[leaf];
  }
  if (renews_from_gradients()) STRATA_TRY(RenewFromGradients(k, grown, &tree));
  tree.Scale(shrinkage);
  if (mode_->averages()) tree.AddBias(start_scores_[k]);
  STRATA_TRY(AddScores(k, grown, tree.LeafValues()));
  if (mode_->drops()) grown_.push_back({.nodes = grown.nodes, .leaves = grown.leaves, .rows = {}});
  // What scores began with becomes part of the model.
  if (!mode_->averages() && rounds() == 0) tree.AddBias(start_scores_[k]);
  model_.trees.push_back(std::move(tree));
  return {};
}

Status Booster::AddScores(size_t k, const GrownTree& grown, std::span<const double> leaf_values) {
  const PhaseScope scope(phases_, TreePhase::kScores);
  STRATA_TRY(training_->AddGrown(k, grown, leaf_values));
  for (Valid& valid : valid_) STRATA_TRY(valid.scores.AddTree(k, grown, leaf_values));
  return {};
}

void Booster::TruncateTo(size_t rounds) {
  model_.trees.resize(std::min(model_.trees.size(), rounds * model_.trees_per_iteration));
}

Result<std::vector<Evaluation>> Booster::Evaluate() const {
  const PhaseScope scope(phases_, TreePhase::kMetrics);
  const double divisor = mode_->averages() ? static_cast<double>(std::max<size_t>(1, rounds())) : 1;
  std::vector<Evaluation> evaluations;
  if (parameters_.metric.is_provide_training_metric) {
    STRATA_ASSIGN(std::vector<MetricValue> values, training_->Measure(divisor));
    STRATA_TRY(train_.share.status());
    evaluations.push_back({.data = "training", .metrics = std::move(values)});
  }
  for (size_t i = 0; i < valid_.size(); ++i) {
    STRATA_ASSIGN(std::vector<MetricValue> values, valid_[i].Measure(divisor));
    STRATA_TRY(valid_[i].scores.data().share.status());
    evaluations.push_back({.data = fmt::format("valid_{}", i + 1), .metrics = std::move(values)});
  }
  return evaluations;
}

}  // namespace strata
