#include "worker/gbdt/catboost/train/split_choice.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/hash.h"
#include "kernels/core/initializer.h"
#include "kernels/core/math.h"
#include "kernels/tree/gradient/fixed_point.h"

namespace strata {
namespace {

constexpr uint64_t kSplitSequence = 0x73706c6974;  // tells draws of splits from others
constexpr double kLowest = -std::numeric_limits<double>::infinity();

// Of a column: seeds of the draw of the column and of its noise.
struct ColumnSeeds {
  ColumnSeeds(uint64_t level_seed, size_t column)
      : is_drawn(RowHash(level_seed, 2 * column)), noise(RowHash(level_seed, 2 * column + 1)) {}

  uint64_t is_drawn;
  uint64_t noise;
};

// The normal numbers n and n + 1 of a sequence, where n is even.
math::NormalPair Normals(uint64_t sequence, uint64_t n) {
  return math::NormalsFromBits(SequenceBits(sequence, n), SequenceBits(sequence, n + 1));
}

struct Candidate {
  size_t place = 0;
  double score = kLowest;  // without noise
};

Candidate BestPlace(std::span<const double> scores, uint64_t noise_seed, double deviation) {
  Candidate best;
  double best_score = kLowest;
  math::NormalPair normals = {};
  for (size_t place = 0; place < scores.size(); ++place) {
    double score = scores[place];
    if (deviation > 0) {
      // The first pair is the column's.
      if (place % 2 == 0) normals = Normals(noise_seed, place + 2);
      score += deviation * (place % 2 == 0 ? normals.first : normals.second);
    }
    if (!(score > best_score)) continue;
    best_score = score;
    best = {.place = place, .score = scores[place]};
  }
  return best;
}

}  // namespace

double NoiseDeviation(double strength, double squares, size_t rows, double model_length) {
  const auto count = static_cast<double>(rows);
  return strength * std::sqrt(squares / count) * math::Sigmoid(math::Log(count) - model_length);
}

std::optional<ChosenSplit> SplitChoice::Choose(const TreeLevel& level, const LevelScores& scores,
                                               std::span<const ColumnRule> rules) const {
  const uint64_t level_seed =
      RowHash(RowHash(Mix64(seed_) ^ kSplitSequence, level.tree), level.level);
  std::vector<Candidate> candidates(scores.size());
  pool_.Run(scores.size(), [&](size_t column) {
    if (!rules[column].is_tried) return;
    const size_t drawn = rules[column].drawn_with.value_or(column);
    if (rsm_ < 1 && RowUniform(ColumnSeeds(level_seed, drawn).is_drawn, 0) >= rsm_) return;
    candidates[column] =
        BestPlace(scores[column], ColumnSeeds(level_seed, column).noise, level.deviation);
  });
  std::optional<ChosenSplit> best;
  double best_gain = kLowest;
  for (size_t column = 0; column < candidates.size(); ++column) {
    const Candidate& candidate = candidates[column];
    if (candidate.score == kLowest) continue;
    double noise = 0;
    if (level.deviation > 0) {
      noise = level.deviation * Normals(ColumnSeeds(level_seed, column).noise, 0).first;
    }
    const ColumnRule& rule = rules[column];
    const double score = candidate.score - rule.penalty;
    const double gain = ((score + noise) * rule.factor - level.score_before) * rule.weight;
    if (!(gain > best_gain)) continue;
    best_gain = gain;
    best = {.split = {.column = column, .place = candidate.place}, .score = score * rule.factor};
  }
  return best;
}

}  // namespace strata
