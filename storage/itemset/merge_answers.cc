#include "storage/itemset/merge_answers.h"

#include <algorithm>

namespace strata {

std::vector<Hit> MergeAnswers(std::span<const std::vector<Hit>> answers, const SearchGoal& goal,
                              uint32_t query_length) {
  std::vector<Hit> all;
  for (const auto& answer : answers) all.insert(all.end(), answer.begin(), answer.end());
  std::sort(all.begin(), all.end(), [&](const Hit& a, const Hit& b) {
    const Fraction of_a = Similarity(goal.metric, a.overlap, query_length, a.length);
    const Fraction of_b = Similarity(goal.metric, b.overlap, query_length, b.length);
    if (IsLess(of_b, of_a)) return true;
    if (IsLess(of_a, of_b)) return false;
    return a.id < b.id;
  });
  if (all.size() > goal.k) all.resize(goal.k);
  return all;
}

}  // namespace strata
