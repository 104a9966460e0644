#include "worker/gbdt/catboost/train/oblivious_grower.h"

#include <cmath>
#include <limits>
#include <optional>

namespace strata {
namespace {

struct Sums {
  double gradient = 0;
  double weight = 0;
};

// What the leaves of one candidate add up to.
struct Score {
  double numerator = 0;
  double denominator = 1e-100;

  void Add(const Sums& leaf, double l2) {
    if (leaf.weight <= 0) return;
    const double value = leaf.gradient / (leaf.weight + l2);
    numerator += value * leaf.gradient;
    denominator += value * value * leaf.weight;
  }
};

// The first split without which the same rows are together.
std::optional<size_t> RedundantSplit(const std::vector<uint8_t>& has_rows, size_t splits) {
  for (size_t k = 0; k < splits; ++k) {
    const size_t bit = size_t{1} << k;
    bool parts = false;
    for (size_t leaf = 0; leaf < has_rows.size() && !parts; ++leaf) {
      parts = has_rows[leaf] != 0 && has_rows[leaf ^ bit] != 0;
    }
    if (!parts) return k;
  }
  return std::nullopt;
}

}  // namespace

ObliviousGrower::ObliviousGrower(const CatBoostModel& model, const FitRows& rows,
                                 const FitParameters& parameters, double l2, WorkPool& pool)
    : rows_(rows),
      depth_(parameters.depth),
      is_cosine_(parameters.score == ScoreFunction::kCosine ||
                 parameters.score == ScoreFunction::kNewtonCosine),
      l2_(l2),
      pool_(pool) {
  uint32_t split = 0;
  for (const CatBoostNumber& number : model.numbers) {
    if (number.borders.empty()) continue;
    columns_.push_back({.borders = number.borders.size(), .first_split = split});
    split += static_cast<uint32_t>(number.borders.size());
  }
}

ObliviousTree ObliviousGrower::Grow(std::span<const double> gradients,
                                    std::span<const double> weights) const {
  ObliviousTree tree;
  tree.leaves.assign(rows_.rows(), 0);
  while (tree.splits.size() < depth_) {
    std::vector<Candidate> candidates(columns_.size());
    pool_.Run(columns_.size(), [&](size_t column) {
      candidates[column] = BestOf(column, tree, gradients, weights);
    });
    std::optional<size_t> best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (size_t column = 0; column < candidates.size(); ++column) {
      if (!(candidates[column].score > best_score)) continue;
      best = column;
      best_score = candidates[column].score;
    }
    if (!best.has_value()) break;
    const size_t border = candidates[*best].border;
    const std::vector<uint8_t> has_rows = Split(*best, border, &tree);
    tree.splits.push_back(columns_[*best].first_split + static_cast<uint32_t>(border));
    if (const auto redundant = RedundantSplit(has_rows, tree.splits.size())) {
      Drop(*redundant, &tree);
      break;
    }
  }
  return tree;
}

ObliviousGrower::Candidate ObliviousGrower::BestOf(size_t column, const ObliviousTree& tree,
                                                   std::span<const double> gradients,
                                                   std::span<const double> weights) const {
  const size_t borders = columns_[column].borders;
  const size_t bins = borders + 1;
  std::vector<Sums> histogram(tree.leaf_count() * bins);
  const std::span<const uint8_t> bin = rows_.Column(column);
  for (size_t row = 0; row < bin.size(); ++row) {
    Sums& sums = histogram[tree.leaves[row] * bins + bin[row]];
    sums.gradient += gradients[row];
    sums.weight += weights[row];
  }
  std::vector<Score> scores(borders);
  for (size_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    const std::span<const Sums> of_leaf = std::span(histogram).subspan(leaf * bins, bins);
    Sums all;
    for (const Sums& sums : of_leaf) {
      all.gradient += sums.gradient;
      all.weight += sums.weight;
    }
    Sums left;
    for (size_t border = 0; border < borders; ++border) {
      left.gradient += of_leaf[border].gradient;
      left.weight += of_leaf[border].weight;
      scores[border].Add(left, l2_);
      scores[border].Add({all.gradient - left.gradient, all.weight - left.weight}, l2_);
    }
  }
  Candidate best = {.score = -std::numeric_limits<double>::infinity()};
  for (size_t border = 0; border < borders; ++border) {
    const Score& sums = scores[border];
    const double score = is_cosine_ ? sums.numerator / std::sqrt(sums.denominator) : sums.numerator;
    if (score > best.score) best = {.score = score, .border = border};
  }
  return best;
}

std::vector<uint8_t> ObliviousGrower::Split(size_t column, size_t border,
                                            ObliviousTree* tree) const {
  const std::span<const uint8_t> bin = rows_.Column(column);
  const size_t level = tree->splits.size();
  const size_t leaves = size_t{2} << level;
  const size_t piece = FitPiece(bin.size());
  std::vector<uint8_t> has_rows((bin.size() + piece - 1) / piece * leaves);
  pool_.RunPieces(bin.size(), piece, [&](size_t begin, size_t end) {
    uint8_t* const of_piece = has_rows.data() + begin / piece * leaves;
    for (size_t row = begin; row < end; ++row) {
      const auto bit = static_cast<uint16_t>((bin[row] > border ? 1U : 0U) << level);
      tree->leaves[row] = static_cast<uint16_t>(tree->leaves[row] | bit);
      of_piece[tree->leaves[row]] = 1;
    }
  });
  for (size_t i = leaves; i < has_rows.size(); ++i) {
    has_rows[i % leaves] = static_cast<uint8_t>(has_rows[i % leaves] | has_rows[i]);
  }
  has_rows.resize(leaves);
  return has_rows;
}

void ObliviousGrower::Drop(size_t split, ObliviousTree* tree) {
  tree->splits.erase(tree->splits.begin() + static_cast<ptrdiff_t>(split));
  const uint32_t below = (1U << split) - 1;
  for (uint16_t& leaf : tree->leaves) {
    const uint32_t above = static_cast<uint32_t>(leaf) >> (split + 1);
    leaf = static_cast<uint16_t>((leaf & below) | (above << split));
  }
}

}  // namespace strata
