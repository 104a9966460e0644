#include "worker/gbdt/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/log.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 16;
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

// Adds the bits of the categories that these bins hold as one more set of the tree.
void AddSet(const std::vector<uint32_t>& bins, std::span<const int32_t> categories, Tree* tree) {
  const size_t begin = tree->set_words.size();
  for (const uint32_t bin : bins) {
    const auto category = static_cast<uint32_t>(categories[bin]);
    const size_t word = begin + category / 32;
    if (tree->set_words.size() <= word) tree->set_words.resize(word + 1, 0);
    tree->set_words[word] |= 1U << (category % 32);
  }
  tree->set_begins.push_back(static_cast<uint32_t>(tree->set_words.size()));
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
                                               Group* group) {
  std::unique_ptr<Booster> booster(new Booster(p, train, pool));
  booster->phases_ = phases;
  STRATA_ASSIGN(booster->objective_, MakeObjective(p, train));
  const size_t classes = booster->objective_->classes();
  TreeModel& model = booster->model_;
  model.classes = classes;
  model.trees_per_iteration = classes;
  model.objective = booster->objective_->ModelText();
  model.feature_names = train.features->names;
  for (const BinMapper& mapper : train.features->mappers) {
    model.feature_infos.push_back(mapper.InfoText());
  }
  model.parameters = p.set;
  booster->quantise_options_ = {.width = WidthOf(p, train.all_rows()),
                                .bins = p.use_quantized_grad ? p.num_grad_quant_bins : 0,
                                .seed = static_cast<uint64_t>(p.data_random_seed)};
  booster->exchange_ = MakeExchange(group, train.bins, train.features->shapes,
                                    {.learner = LearnerOf(p.tree_learner),
                                     .levels = booster->quantise_options_.LargestLevel(),
                                     .top_k = static_cast<size_t>(p.top_k),
                                     .rules = p.rules});
  booster->grower_ = std::make_unique<LeafWiseGrower>(train.bins, train.features->shapes,
                                                      GrowerOptionsOf(p, threads, phases), pool,
                                                      *booster->exchange_);
  std::vector<const TreeDataset*> all = {&train};
  all.insert(all.end(), valid.begin(), valid.end());
  for (const TreeDataset* data : all) {
    Scored scored{.data = data, .scores = data->init_scores, .metrics = {}};
    if (scored.scores.empty()) scored.scores.resize(data->rows() * classes);
    STRATA_ASSIGN(scored.metrics, MakeMetrics(p, *data));
    booster->scored_.push_back(std::move(scored));
  }
  booster->gradients_.resize(train.rows() * classes);
  booster->hessians_.resize(train.rows() * classes);
  booster->bag_.resize(train.rows());
  std::iota(booster->bag_.begin(), booster->bag_.end(), 0U);
  booster->StartScores();
  STRATA_TRY(train.share.status());
  return booster;
}

void Booster::StartScores() {
  const size_t classes = objective_->classes();
  start_scores_.assign(classes, 0);
  if (!train_.init_scores.empty()) return;
  for (size_t k = 0; k < classes; ++k) {
    start_scores_[k] = objective_->StartScore(k);
    if (start_scores_[k] == 0) continue;
    for (Scored& scored : scored_) {
      const size_t rows = scored.data->rows();
      for (size_t row = 0; row < rows; ++row) scored.scores[k * rows + row] += start_scores_[k];
    }
  }
}

// Row by row, from the seed, the round and the row's number alone.
void Booster::ChooseBag() {
  if (parameters_.bagging_freq <= 0 || parameters_.bagging_fraction >= 1) return;
  if (rounds() % static_cast<size_t>(parameters_.bagging_freq) != 0) return;
  const uint64_t seed = Mix64(Mix64(static_cast<uint64_t>(parameters_.bagging_seed)) + rounds());
  bag_.clear();
  bag_is_all_ = false;
  for (size_t row = 0; row < train_.rows(); ++row) {
    if (RowUniform(seed, train_.share.first_row() + row) < parameters_.bagging_fraction)
      bag_.push_back(static_cast<uint32_t>(row));
  }
}

Result<bool> Booster::Round() {
  const uint64_t round = rounds();
  const size_t classes = objective_->classes();
  ChooseBag();
  {
    const PhaseScope scope(phases_, TreePhase::kGradients);
    objective_->Gradients(scored_[0].scores, round, pool_, gradients_, hessians_);
  }
  bool any = false;
  for (size_t k = 0; k < classes; ++k) {
    if (!objective_->NeedsTrees(k)) {
      model_.trees.push_back(ConstantTree(round == 0 ? start_scores_[k] : 0, train_.all_rows()));
      continue;
    }
    const uint64_t tree_number = round * classes + k;
    const uint64_t not_finite = Quantise(k, tree_number);
    if (not_finite > 0) {
      return Failed(fmt::format(
          "round {}: the gradients of {} of {} rows are not finite: labels or scores are too large "
          "for objective = {}",
          round + 1, not_finite, train_.all_rows(), parameters_.objective));
    }
    const GrownTree& grown =
        grower_->Grow(quantised_.view(), quantised_.units(), bag_, tree_number);
    STRATA_TRY(exchange_->status());
    any = any || !grown.nodes.empty();
    if (grown.nodes.empty()) {
      model_.trees.push_back(ConstantTree(round == 0 ? start_scores_[k] : 0, train_.all_rows()));
    } else {
      AddTree(k, grown);
    }
  }
  STRATA_TRY(train_.share.status());
  if (any) return true;
  Log(LogLevel::kWarning,
      "training ends after {} rounds: no leaf can be split any more within min_data_in_leaf = {}, "
      "min_sum_hessian_in_leaf = {} and min_gain_to_split = {}",
      round, parameters_.rules.min_data_in_leaf, parameters_.rules.min_sum_hessian_in_leaf,
      parameters_.rules.min_gain_to_split);
  if (round > 0) model_.trees.resize(model_.trees.size() - classes);
  return false;
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

void Booster::AddTree(size_t k, const GrownTree& grown) {
  Tree tree = ToTree(grown);
  const size_t rows = train_.rows();
  RenewOutputs(grown, std::span(scored_[0].scores).subspan(k * rows, rows), &tree);
  tree.shrinkage = parameters_.learning_rate;
  for (TreeLeaf& leaf : tree.leaves) leaf.value *= tree.shrinkage;
  for (TreeNode& node : tree.nodes) node.value *= tree.shrinkage;
  AddScores(grown, tree, k);
  if (rounds() == 0) {
    for (TreeLeaf& leaf : tree.leaves) leaf.value += start_scores_[k];
    for (TreeNode& node : tree.nodes) node.value += start_scores_[k];
  }
  model_.trees.push_back(std::move(tree));
}

void Booster::AddScores(const GrownTree& grown, const Tree& tree, size_t k) {
  const PhaseScope scope(phases_, TreePhase::kScores);
  const BinnedTraversal traversal(grown, train_.features->shapes);
  for (Scored& scored : scored_) {
    const size_t rows = scored.data->rows();
    const std::span<double> scores = std::span(scored.scores).subspan(k * rows, rows);
    if (scored.data == &train_ && bag_is_all_) {
      pool_.Run(grown.leaves.size(), [&](size_t leaf) {
        const double value = tree.leaves[leaf].value;
        for (const uint32_t row : grown.RowsOf(grown.leaves[leaf])) scores[row] += value;
      });
      continue;
    }
    pool_.RunPieces(rows, kPieceRows, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        scores[row] += tree.leaves[traversal.LeafOf(scored.data->bins, row)].value;
      }
    });
  }
}

Tree Booster::ToTree(const GrownTree& grown) const {
  const FeatureBinning& features = *train_.features;
  const GradientUnits& units = quantised_.units();
  Tree tree;
  for (const GrownNode& grown_node : grown.nodes) {
    const Split& split = grown_node.split;
    const auto used = static_cast<size_t>(split.feature);
    const BinMapper& mapper = features.mapper(used);
    TreeNode node = {.feature = static_cast<int32_t>(features.used[used]),
                     .categorical = split.categorical,
                     .default_left = split.default_left && !split.categorical,
                     .missing = mapper.shape().missing,
                     .left = grown_node.left,
                     .right = grown_node.right,
                     .gain = split.gain,
                     .value = grown_node.leaf.output,
                     .weight = static_cast<double>(grown_node.leaf.sums.hessian) * units.hessian,
                     .rows = grown_node.leaf.rows};
    if (split.categorical) {
      node.threshold = static_cast<double>(tree.set_begins.size() - 1);
      AddSet(split.left_bins, mapper.categories(), &tree);
    } else {
      node.threshold = std::min(mapper.UpperBound(split.threshold), 1e300);
    }
    tree.nodes.push_back(node);
  }
  for (const GrownLeaf& leaf : grown.leaves) {
    tree.leaves.push_back({.value = leaf.leaf.output,
                           .weight = static_cast<double>(leaf.leaf.sums.hessian) * units.hessian,
                           .rows = leaf.leaf.rows});
  }
  return tree;
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
    for (const auto& metric : scored_[i].metrics) {
      for (MetricValue& value : metric->Evaluate(scored_[i].scores)) {
        evaluation.metrics.push_back(std::move(value));
      }
    }
    STRATA_TRY(scored_[i].data->share.status());
    evaluations.push_back(std::move(evaluation));
  }
  return evaluations;
}

}  // namespace strata
