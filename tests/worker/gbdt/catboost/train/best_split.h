// The split that trees of tests take, and where it sends rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

namespace strata {

// The split with the largest score, of equal ones the first. Nothing: no score is a number.
inline std::optional<GrowSplit> BestSplit(const LevelScores& scores) {
  std::optional<GrowSplit> best;
  double best_score = -std::numeric_limits<double>::infinity();
  for (size_t column = 0; column < scores.size(); ++column) {
    for (size_t place = 0; place < scores[column].size(); ++place) {
      if (!(scores[column][place] > best_score)) continue;
      best = {.column = column, .place = place};
      best_score = scores[column][place];
    }
  }
  return best;
}

inline bool GoesRight(const GrowColumn& column, size_t place, uint8_t bin) {
  return column.is_value ? bin == place + 1 : bin > place;
}

}  // namespace strata
