#include "worker/gbdt/boost/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/log.h"
#include "kernels/tree/gradient/exact_sum.h"
#include "worker/gbdt/boost/to_model_tree.h"

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

double RoundsOf(size_t rounds) { return static_cast<double>(std::max<size_t>(1, rounds)); }

// Averages of sums over rounds.
std::vector<double> Averaged(std::span<const double> sums, size_t rounds) {
  std::vector<double> means(sums.begin(), sums.end());
  for (double& mean : means) mean /= RoundsOf(rounds);
  return means;
}

// One metric's values, of which the last one decides.
void Append(std::vector<MetricValue> values, std::vector<MetricValue>* all) {
  for (MetricValue& value : values) {
    value.decides = &value == &values.back();
    all->push_back(std::move(value));
  }
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
  quantise_options_ = {.width = WidthOf(p.boosting, train_.all_rows()),
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
                                         .levels = quantise_options_.LargestLevel(),
                                         .renews_leaves = p.boosting.renews_leaves(),
                                         .forced_splits = start.forced_splits}));
  STRATA_TRY(StartScores(valid));
  STRATA_TRY(KeepScores(group));
  if (keeps_scores_) return {};
  gradients_.resize(train_.rows() * model_.classes);
  hessians_.resize(train_.rows() * model_.classes);
  bag_.resize(train_.rows());
  std::iota(bag_.begin(), bag_.end(), 0U);
  return {};
}

// Hands the training data's scores to the engine, if it takes them.
Status Booster::KeepScores(Group* group) {
  const std::optional<OwnLoss> loss = objective_->own_loss();
  const bool is_alone = group == nullptr || group->world() == 1;
  if (!loss.has_value() || !is_alone) return {};
  OwnRounds rounds = {.loss = *loss, .weights = train_.weights, .quantise = quantise_options_};
  if (mode_->averages()) rounds.fixed_scores = start_scores_;
  STRATA_ASSIGN(keeps_scores_, engine_->KeepScores(rounds, scored_[0].scores.all()));
  if (keeps_scores_ && parameters_.metric.is_provide_training_metric) MoveMetricsToGpu(&scored_[0]);
  return {};
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

Status Booster::StartScores(std::span<const TreeDataset* const> valid) {
  const size_t classes = model_.classes;
  std::vector<const TreeDataset*> all = {&train_};
  all.insert(all.end(), valid.begin(), valid.end());
  for (const TreeDataset* data : all) {
    STRATA_ASSIGN(std::vector<std::unique_ptr<TreeMetric>> metrics,
                  MakeMetrics(parameters_.metric, parameters_.objective, *data, pool_));
    scored_.push_back({DataScores(*data, classes, pool_), std::move(metrics), nullptr});
    if (data == &train_) continue;
    MoveToGpu(&scored_.back().scores);
    if (scored_.back().scores.on_gpu() != nullptr) MoveMetricsToGpu(&scored_.back());
  }
  const bool averages = mode_->averages();
  for (const TreeDataset* data : all) {
    if (averages && first_round_ == 0) STRATA_TRY(data->CheckNoInitScores());
  }
  start_scores_.assign(classes, 0);
  if (!averages && !train_.init_scores.empty()) return {};
  for (size_t k = 0; k < classes; ++k) {
    if (parameters_.boosting.boost_from_average) start_scores_[k] = objective_->StartScore(k);
    if (averages) {
      start_of_rows_.resize((k + 1) * train_.rows(), start_scores_[k]);
      continue;
    }
    for (Scored& scored : scored_) STRATA_TRY(scored.scores.AddConstant(k, start_scores_[k]));
  }
  return {};
}

// Of a validation set, to where trees grow.
void Booster::MoveToGpu(DataScores* scores) {
  const std::optional<int> gpu = engine_->gpu();
  if (!gpu.has_value() || scores->data().rows() == 0) return;
  const Status moved = scores->MoveToGpu(*gpu);
  if (moved.ok()) return;
  Log(LogLevel::kInfo, "scores of validation data are kept on the CPU: {}", moved.message());
}

// To where the scores are.
void Booster::MoveMetricsToGpu(Scored* scored) {
  // Values of several ranks' rows are found together, on the CPU.
  if (scored->metrics.empty() || !scored->scores.data().share.is_whole()) return;
  const Status moved = TryMetricsOnGpu(scored);
  if (moved.ok()) return;
  scored->on_gpu = nullptr;
  Log(LogLevel::kInfo, "metrics are computed on the CPU: {}", moved.message());
}

Status Booster::TryMetricsOnGpu(Scored* scored) {
  const TreeDataset& data = scored->scores.data();
  const int gpu = engine_->gpu().value();
  STRATA_ASSIGN(scored->on_gpu, GpuMetrics::Open(gpu, {.labels = data.labels,
                                                       .weights = data.weights,
                                                       .query_begins = data.query_begins}));
  for (const auto& metric : scored->metrics) STRATA_TRY(metric->MoveToGpu(scored->on_gpu.get()));
  if (scored->scores.on_gpu() != nullptr) return {};
  return engine_->ScoresOnGpu().status();  // memory for a copy, if they lie on several
}

std::span<const double> Booster::GradientScores() const {
  return mode_->averages() ? std::span<const double>(start_of_rows_) : training_scores();
}

Result<bool> Booster::Round() {
  const uint64_t round = rounds();
  const size_t classes = model_.classes;
  const RoundPlan plan = mode_->Plan(round);
  STRATA_TRY(Drop(plan));
  if (keeps_scores_) {
    STRATA_TRY(engine_->StartRound(round, sampler_->OnGpu(round)));
  } else {
    const PhaseScope scope(phases_, TreePhase::kGradients);
    objective_->Gradients(GradientScores(), round, pool_, gradients_, hessians_);
    sampler_->Sample(round, pool_, gradients_, hessians_, &bag_);
  }
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
      STRATA_TRY(AddToTraining(k, grown_[at - first_round_ * model_.classes], values));
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
      STRATA_TRY(AddToTraining(k, grown, values));
      for (Scored& scored : std::span(scored_).subspan(1)) {
        STRATA_TRY(scored.scores.AddTree(k, grown, change));
      }
    }
  }
  return {};
}

// Of a tree that need not be the last one.
Status Booster::AddToTraining(size_t k, const GrownTree& grown, std::span<const double> values) {
  if (keeps_scores_) return engine_->AddToScores(k, grown, values);
  return scored_[0].scores.AddTree(k, grown, values);
}

// False: its root could not be split.
Result<bool> Booster::GrowTree(size_t k, double shrinkage) {
  STRATA_ASSIGN(const EngineTree grown, Grow(k));
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

Result<EngineTree> Booster::Grow(size_t k) {
  const uint64_t tree_number = rounds() * model_.classes + k;
  if (keeps_scores_) return engine_->GrowFromScores(k, tree_number);
  const uint64_t not_finite = Quantise(k, tree_number);
  if (not_finite > 0) return EngineTree{.not_finite = not_finite};
  const bool with_rows =
      objective_->renews_outputs() || renews_from_gradients() || bag_.size() == train_.rows();
  return engine_->Grow(quantised_.view(), quantised_.units(), bag_, tree_number, with_rows);
}

// Returns how many gradients are not finite.
uint64_t Booster::Quantise(size_t k, uint64_t tree_number) {
  const PhaseScope scope(phases_, TreePhase::kGradients);
  const size_t rows = train_.rows();
  return quantised_.Quantise(std::span(gradients_).subspan(k * rows, rows),
                             std::span(hessians_).subspan(k * rows, rows), quantise_options_,
                             tree_number, train_.share, pool_);
}

// Of each leaf, what the objective makes of its rows' residuals.
Result<std::vector<double>> Booster::RenewedOutputs(size_t k, const GrownTree& grown) {
  const PhaseScope scope(phases_, TreePhase::kScores);
  if (keeps_scores_) return engine_->RenewLeaves(k, grown);
  const std::span<const double> scores = GradientScores().subspan(k * train_.rows(), train_.rows());
  std::vector<std::vector<Residual>> residuals(grown.leaves.size());
  pool_.Run(grown.leaves.size(), [&](size_t leaf) {
    residuals[leaf] = objective_->Residuals(grown.RowsOf(grown.leaves[leaf]), scores);
  });
  return train_.share.Compute<Residual>(
      residuals,
      [&](size_t /*leaf*/, std::vector<Residual>& all) { return objective_->RenewedOutput(all); },
      &pool_);
}

// Of each leaf, the sums of its rows' gradients as they were before they were rounded.
Result<std::vector<ExactSlopes>> Booster::SumsOfLeaves(size_t k, const GrownTree& grown) {
  const PhaseScope scope(phases_, TreePhase::kScores);
  if (keeps_scores_) return engine_->SumLeaves(k, grown);
  const size_t rows = train_.rows();
  const auto gradients = std::span<const float>(gradients_).subspan(k * rows, rows);
  const auto hessians = std::span<const float>(hessians_).subspan(k * rows, rows);
  const auto largest_of = [&](std::span<const float> numbers) {
    double largest = 0;
    for (const float number : numbers) largest = std::max<double>(largest, std::fabs(number));
    return train_.share.Max(largest);
  };
  const ExactSlopes none = {ExactSum(largest_of(gradients)), ExactSum(largest_of(hessians))};
  std::vector<ExactSlopes> sums(grown.leaves.size(), none);
  std::vector<std::array<ExactSum::Parts, 2>> parts(grown.leaves.size());
  pool_.Run(parts.size(), [&](size_t leaf) {
    ExactSlopes& sum = sums[leaf];
    for (const uint32_t row : grown.RowsOf(grown.leaves[leaf])) {
      sum.gradient.Add(gradients[row]);
      sum.hessian.Add(hessians[row]);
    }
    parts[leaf] = {sum.gradient.parts(), sum.hessian.parts()};
  });
  train_.share.Sum(std::span(parts[0][0].data(), parts.size() * 6));
  for (size_t leaf = 0; leaf < parts.size(); ++leaf) {
    sums[leaf].gradient.SetParts(parts[leaf][0]);
    sums[leaf].hessian.SetParts(parts[leaf][1]);
  }
  return sums;
}

// Outputs from such sums; not smoothed, as LightGBM has it.
Status Booster::RenewFromGradients(size_t k, const GrownTree& grown, Tree* tree) {
  STRATA_ASSIGN(const std::vector<ExactSlopes> sums, SumsOfLeaves(k, grown));
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
    STRATA_TRY(AddToTraining(k, one_leaf, std::span(&value, 1)));
    for (Scored& scored : std::span(scored_).subspan(1)) {
      STRATA_TRY(scored.scores.AddConstant(k, value));
    }
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
    STRATA_ASSIGN(const std::vector<double> outputs, RenewedOutputs(k, grown));
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
  for (Scored& scored : scored_) {
    const bool is_training = &scored == scored_.data();
    if (is_training && keeps_scores_) {
      STRATA_TRY(engine_->AddToScores(k, grown, leaf_values));
    } else if (is_training && bag_.size() == train_.rows()) {
      scored.scores.AddGrown(k, grown, leaf_values);
    } else {
      STRATA_TRY(scored.scores.AddTree(k, grown, leaf_values));
    }
  }
  return {};
}

void Booster::TruncateTo(size_t rounds) {
  model_.trees.resize(std::min(model_.trees.size(), rounds * model_.trees_per_iteration));
}

Result<std::vector<Evaluation>> Booster::Evaluate() const {
  const PhaseScope scope(phases_, TreePhase::kMetrics);
  std::vector<Evaluation> evaluations;
  for (size_t i = 0; i < scored_.size(); ++i) {
    if (i == 0 && !parameters_.metric.is_provide_training_metric) continue;
    const Scored& scored = scored_[i];
    Evaluation evaluation{.data = i == 0 ? "training" : fmt::format("valid_{}", i), .metrics = {}};
    STRATA_ASSIGN(evaluation.metrics,
                  scored.on_gpu == nullptr ? Measure(scored) : MeasureOnGpu(scored));
    STRATA_TRY(scored.scores.data().share.status());
    evaluations.push_back(std::move(evaluation));
  }
  return evaluations;
}

Result<std::vector<MetricValue>> Booster::Measure(const Scored& scored) const {
  std::vector<double> made;
  STRATA_ASSIGN(std::span<const double> scores, scored.scores.Fetch(&made));
  if (&scored == scored_.data() && keeps_scores_) {
    made.resize(scores.size());
    STRATA_TRY(engine_->FetchScores(made));
    scores = made;
  }
  if (mode_->averages()) scores = made = Averaged(scores, rounds());
  std::vector<MetricValue> all;
  for (const auto& metric : scored.metrics) Append(metric->Evaluate(scores), &all);
  return all;
}

Result<std::vector<MetricValue>> Booster::MeasureOnGpu(const Scored& scored) const {
  const double* scores = nullptr;
  if (scored.scores.on_gpu() != nullptr) {
    scores = scored.scores.on_gpu()->data();
  } else {
    STRATA_ASSIGN(scores, engine_->ScoresOnGpu());
  }
  if (mode_->averages()) {
    STRATA_ASSIGN(scores, scored.on_gpu->Divided(scores, model_.classes, RoundsOf(rounds())));
  }
  std::vector<MetricValue> all;
  for (const auto& metric : scored.metrics) {
    STRATA_ASSIGN(std::vector<MetricValue> values, metric->EvaluateOnGpu(*scored.on_gpu, scores));
    Append(std::move(values), &all);
  }
  return all;
}

}  // namespace strata
