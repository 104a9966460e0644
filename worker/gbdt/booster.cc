#include "worker/gbdt/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/log.h"
#include "worker/gbdt/to_model_tree.h"

namespace strata {
namespace {

constexpr size_t kRowsOf16Bits = 1 << 17;  // from here on rounding to 16 bits does not show

GrowerOptions GrowerOptionsOf(const TreeParameters& p, size_t threads, PhaseTimes* phases) {
  return {.rules = p.rules,
          .num_leaves = static_cast<size_t>(p.num_leaves),
          .max_depth = p.max_depth > 0 ? static_cast<size_t>(p.max_depth) : 0,
          .feature_fraction = p.feature_fraction,
          .feature_fraction_bynode = p.feature_fraction_bynode,
          .feature_seed = static_cast<uint64_t>(p.feature_fraction_seed),
          .extra_trees = p.extra_trees,
          .extra_seed = static_cast<uint64_t>(p.extra_seed),
          .threads = threads,
          .phases = phases};
}

GradientWidth WidthOf(const TreeParameters& p, uint64_t rows) {
  if (p.use_quantized_grad) return GradientWidth::k16;
  if (p.gradient_bits == 0) return rows < kRowsOf16Bits ? GradientWidth::k32 : GradientWidth::k16;
  return p.gradient_bits == 32 ? GradientWidth::k32 : GradientWidth::k16;
}

TreeLearner LearnerOf(const std::string& name) {
  if (name == "data") return TreeLearner::kData;
  if (name == "feature") return TreeLearner::kFeature;
  return name == "voting" ? TreeLearner::kVoting : TreeLearner::kSerial;
}

Tree ConstantTree(double value, uint64_t rows) {
  Tree tree;
  tree.leaves.push_back({.value = value, .weight = 0, .rows = static_cast<int64_t>(rows)});
  return tree;
}

// Averages of sums over rounds.
std::vector<double> Averaged(std::span<const double> sums, size_t rounds) {
  std::vector<double> means(sums.begin(), sums.end());
  for (double& mean : means) mean /= static_cast<double>(std::max<size_t>(1, rounds));
  return means;
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
    STRATA_ASSIGN(objective_, MakeObjective(p, train_));
  }
  StartModel(std::move(start.model));
  mode_ = MakeBoostingMode(p, first_round_);
  STRATA_ASSIGN(sampler_, MakeRowSampler(p, train_));
  quantise_options_ = {.width = WidthOf(p, train_.all_rows()),
                       .bins = p.use_quantized_grad ? p.num_grad_quant_bins : 0,
                       .seed = static_cast<uint64_t>(p.data_random_seed)};
  exchange_ = MakeExchange(group, train_.bins, train_.features->shapes,
                           {.learner = LearnerOf(p.tree_learner),
                            .levels = quantise_options_.LargestLevel(),
                            .top_k = static_cast<size_t>(p.top_k),
                            .rules = p.rules});
  grower_ =
      std::make_unique<LeafWiseGrower>(train_.bins, train_.features->shapes,
                                       GrowerOptionsOf(p, threads, phases_), pool_, *exchange_);
  gradients_.resize(train_.rows() * model_.classes);
  hessians_.resize(train_.rows() * model_.classes);
  bag_.resize(train_.rows());
  std::iota(bag_.begin(), bag_.end(), 0U);
  return StartScores(valid);
}

void Booster::StartModel(TreeModel model) {
  model_ = std::move(model);
  model_.classes = objective_->classes();
  model_.trees_per_iteration = model_.classes;
  model_.objective = objective_->ModelText();
  model_.average_output = parameters_.boosting == "rf";
  model_.feature_names = train_.features->names;
  model_.feature_infos.clear();
  for (const BinMapper& mapper : train_.features->mappers) {
    model_.feature_infos.push_back(mapper.InfoText());
  }
  model_.parameters = parameters_.set;
  const CategoryTexts& categories = train_.features->categories;
  model_.pandas_categorical = categories.empty() ? "" : WriteCategoryTexts(categories);
  first_round_ = model_.iterations();
}

Status Booster::StartScores(std::span<const TreeDataset* const> valid) {
  const size_t classes = model_.classes;
  std::vector<const TreeDataset*> all = {&train_};
  all.insert(all.end(), valid.begin(), valid.end());
  for (const TreeDataset* data : all) {
    STRATA_ASSIGN(std::vector<std::unique_ptr<TreeMetric>> metrics,
                  MakeMetrics(parameters_, *data));
    scored_.push_back({DataScores(*data, classes, pool_), std::move(metrics)});
  }
  const bool averages = mode_->averages();
  if (averages && !train_.init_scores.empty() && first_round_ == 0) {
    return Invalid("boosting = rf cannot begin with init scores: remove the .init file");
  }
  start_scores_.assign(classes, 0);
  if (!averages && !train_.init_scores.empty()) return {};
  for (size_t k = 0; k < classes; ++k) {
    start_scores_[k] = objective_->StartScore(k);
    if (averages) {
      start_of_rows_.resize((k + 1) * train_.rows(), start_scores_[k]);
      continue;
    }
    for (Scored& scored : scored_) scored.scores.AddConstant(k, start_scores_[k]);
  }
  return {};
}

std::span<const double> Booster::GradientScores() const {
  return mode_->averages() ? std::span<const double>(start_of_rows_) : training_scores();
}

Result<bool> Booster::Round() {
  const uint64_t round = rounds();
  const size_t classes = model_.classes;
  const RoundPlan plan = mode_->Plan(round);
  Drop(plan);
  {
    const PhaseScope scope(phases_, TreePhase::kGradients);
    objective_->Gradients(GradientScores(), round, pool_, gradients_, hessians_);
    sampler_->Sample(round, pool_, gradients_, hessians_, &bag_);
  }
  bool any = mode_->averages();  // a tree may be constant for its bag alone
  for (size_t k = 0; k < classes; ++k) {
    bool grew = false;
    if (objective_->NeedsTrees(k)) {
      STRATA_ASSIGN(grew, GrowTree(k, plan.shrinkage));
    }
    if (!grew) AddConstant(k);
    any = any || grew;
  }
  STRATA_TRY(train_.share.status());
  TakeBack(plan, any ? plan.dropped_factor : 1);
  if (any) return true;
  Log(LogLevel::kWarning,
      "training ends after {} rounds: no leaf can be split any more within min_data_in_leaf = {}, "
      "min_sum_hessian_in_leaf = {} and min_gain_to_split = {}",
      round, parameters_.rules.min_data_in_leaf, parameters_.rules.min_sum_hessian_in_leaf,
      parameters_.rules.min_gain_to_split);
  if (round > 0) TruncateTo(round);
  return false;
}

// Out of the scores that gradients are of; validation scores keep them.
void Booster::Drop(const RoundPlan& plan) {
  for (const size_t iteration : plan.dropped) {
    for (size_t k = 0; k < model_.classes; ++k) {
      const size_t at = iteration * model_.classes + k;
      std::vector<double> values = model_.trees[at].LeafValues();
      for (double& value : values) value = -value;
      scored_[0].scores.AddTree(k, grown_[at - first_round_ * model_.classes], values);
    }
  }
}

void Booster::TakeBack(const RoundPlan& plan, double factor) {
  for (const size_t iteration : plan.dropped) {
    for (size_t k = 0; k < model_.classes; ++k) {
      const size_t at = iteration * model_.classes + k;
      const GrownTree& grown = grown_[at - first_round_ * model_.classes];
      std::vector<double> change = model_.trees[at].LeafValues();
      if (factor != 1) model_.trees[at].Scale(factor);
      const std::vector<double> values = model_.trees[at].LeafValues();
      for (size_t leaf = 0; leaf < change.size(); ++leaf)
        change[leaf] = values[leaf] - change[leaf];
      for (Scored& scored : scored_) {
        scored.scores.AddTree(k, grown, &scored == scored_.data() ? values : change);
      }
    }
  }
}

// False: its root could not be split.
Result<bool> Booster::GrowTree(size_t k, double shrinkage) {
  const uint64_t tree_number = rounds() * model_.classes + k;
  const uint64_t not_finite = Quantise(k, tree_number);
  if (not_finite > 0) {
    return Failed(fmt::format(
        "round {}: the gradients of {} of {} rows are not finite: labels or scores are too large "
        "for objective = {}",
        rounds() + 1, not_finite, train_.all_rows(), parameters_.objective));
  }
  const GrownTree& grown = grower_->Grow(quantised_.view(), quantised_.units(), bag_, tree_number);
  STRATA_TRY(exchange_->status());
  if (grown.nodes.empty()) return false;
  AddTree(k, grown, shrinkage);
  return true;
}

// Returns how many gradients are not finite.
uint64_t Booster::Quantise(size_t k, uint64_t tree_number) {
  const PhaseScope scope(phases_, TreePhase::kGradients);
  const size_t rows = train_.rows();
  return quantised_.Quantise(std::span(gradients_).subspan(k * rows, rows),
                             std::span(hessians_).subspan(k * rows, rows), quantise_options_,
                             tree_number, train_.share, pool_);
}

void Booster::RenewOutputs(const GrownTree& grown, std::span<const double> scores, Tree* tree) {
  if (!objective_->renews_outputs()) return;
  std::vector<std::vector<Residual>> residuals(grown.leaves.size());
  pool_.Run(grown.leaves.size(), [&](size_t leaf) {
    residuals[leaf] = objective_->Residuals(grown.RowsOf(grown.leaves[leaf]), scores);
  });
  const std::vector<double> outputs = train_.share.Compute<Residual>(
      residuals,
      [&](size_t /*leaf*/, std::vector<Residual>& all) { return objective_->RenewedOutput(all); },
      &pool_);
  for (size_t leaf = 0; leaf < outputs.size(); ++leaf) tree->leaves[leaf].value = outputs[leaf];
}

void Booster::AddConstant(size_t k) {
  const double value = bakes_start() ? start_scores_[k] : 0;
  if (mode_->averages()) {
    for (Scored& scored : scored_) scored.scores.AddConstant(k, value);
  }
  if (mode_->drops())
    grown_.push_back({.nodes = {}, .leaves = std::vector<GrownLeaf>(1), .rows = {}});
  model_.trees.push_back(ConstantTree(value, train_.all_rows()));
}

void Booster::AddTree(size_t k, const GrownTree& grown, double shrinkage) {
  Tree tree = ToModelTree(grown, *train_.features, quantised_.units());
  const std::span<const double> scores = GradientScores().subspan(k * train_.rows(), train_.rows());
  RenewOutputs(grown, scores, &tree);
  tree.Scale(shrinkage);
  if (mode_->averages()) tree.AddBias(start_scores_[k]);
  AddScores(k, grown, tree.LeafValues());
  if (mode_->drops()) grown_.push_back({.nodes = grown.nodes, .leaves = grown.leaves, .rows = {}});
  // What scores began with becomes part of the model.
  if (!mode_->averages() && rounds() == 0) tree.AddBias(start_scores_[k]);
  model_.trees.push_back(std::move(tree));
}

void Booster::AddScores(size_t k, const GrownTree& grown, std::span<const double> leaf_values) {
  const PhaseScope scope(phases_, TreePhase::kScores);
  for (Scored& scored : scored_) {
    if (&scored == scored_.data() && bag_.size() == train_.rows()) {
      scored.scores.AddGrown(k, grown, leaf_values);
    } else {
      scored.scores.AddTree(k, grown, leaf_values);
    }
  }
}

void Booster::TruncateTo(size_t rounds) {
  model_.trees.resize(std::min(model_.trees.size(), rounds * model_.trees_per_iteration));
}

Result<std::vector<Evaluation>> Booster::Evaluate() const {
  const PhaseScope scope(phases_, TreePhase::kMetrics);
  std::vector<Evaluation> evaluations;
  for (size_t i = 0; i < scored_.size(); ++i) {
    if (i == 0 && !parameters_.is_provide_training_metric) continue;
    Evaluation evaluation{.data = i == 0 ? "training" : fmt::format("valid_{}", i), .metrics = {}};
    std::vector<double> means;
    std::span<const double> scores = scored_[i].scores.all();
    if (mode_->averages()) scores = means = Averaged(scores, rounds());
    for (const auto& metric : scored_[i].metrics) {
      for (MetricValue& value : metric->Evaluate(scores)) {
        evaluation.metrics.push_back(std::move(value));
      }
    }
    STRATA_TRY(scored_[i].scores.data().share.status());
    evaluations.push_back(std::move(evaluation));
  }
  return evaluations;
}

}  // namespace strata
