// SplitChoice: which of a level's splits a tree takes, by scores with CatBoost's noise, drawn
// features and rules of features (private/libs/algo/greedy_tensor_search.cpp of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

namespace strata {

// What a column's best split gains: weight * (factor * (score - penalty) - the score of the level
// before), with noise in the score.
struct ColumnRule {
  double weight = 1;
  double penalty = 0;
  double factor = 1;
  bool is_tried = true;  // false: the level does not look at the column
  // The column whose draw by rsm is this one's, too; nothing: it has a draw of its own.
  std::optional<size_t> drawn_with = {};
};

// The standard deviation of the noise of a tree's scores: strength * sqrt(squares / rows) * m / (1
// + m) with ln m = ln(rows) - model_length. `squares` is the sum of g^2 over all rows and outputs,
// where g is a gradient times the row's weight. `model_length` is the learning rate times the trees
// before this one.
double NoiseDeviation(double strength, double squares, size_t rows, double model_length);

// A level of a tree; random numbers depend on both, besides the seed.
struct TreeLevel {
  uint64_t tree = 0;
  uint64_t level = 0;
  double deviation = 0;     // of the noise; 0: there is none
  double score_before = 0;  // of the level before this one, as CatBoost has it: 0 at the first
};

struct ChosenSplit {
  GrowSplit split;
  double score = 0;  // less the column's penalty, times its factor; without noise
};

// Immutable; any number of threads.
class SplitChoice {
 public:
  // The pool outlives it. `rsm` is the probability with which a level looks at a column.
  SplitChoice(uint64_t seed, double rsm, WorkPool& pool) : seed_(seed), rsm_(rsm), pool_(pool) {}

  // Each column offers the split whose score plus a normal number is the largest. Another normal
  // number is then added to the score itself. The column that gains most by its rule is taken; of
  // equal ones the first. `rules` has one for each column. Nothing: no column was drawn, or no
  // score is a number.
  std::optional<ChosenSplit> Choose(const TreeLevel& level, const LevelScores& scores,
                                    std::span<const ColumnRule> rules) const;

 private:
  const uint64_t seed_;
  const double rsm_;
  WorkPool& pool_;
};

}  // namespace strata
