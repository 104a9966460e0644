#include "kernels/setops/merge_answers.h"

#include <algorithm>

namespace strata {

std::vector<Hit> MergeAnswers(std::span<const std::vector<Hit>> answers, const SearchGoal& goal,
                              uint32_t query_length) {
  struct Rest {
    std::span<const Hit> hits;
    Fraction similarity;  // of the first
  };
  const auto is_worse = [](const Rest& a, const Rest& b) {
    if (IsLess(a.similarity, b.similarity)) return true;
    if (IsLess(b.similarity, a.similarity)) return false;
    return a.hits[0].id > b.hits[0].id;
  };
  std::vector<Rest> rests;  // a heap, the one with the best first hit in front
  const auto add = [&](std::span<const Hit> hits) {
    if (hits.empty()) return;
    rests.push_back({hits, Similarity(goal.metric, hits[0].overlap, query_length, hits[0].length)});
    std::push_heap(rests.begin(), rests.end(), is_worse);
  };
  for (const auto& answer : answers) add(answer);
  std::vector<Hit> merged;
  while (!rests.empty() && merged.size() < goal.k) {
    std::pop_heap(rests.begin(), rests.end(), is_worse);
    const std::span<const Hit> hits = rests.back().hits;
    rests.pop_back();
    merged.push_back(hits[0]);
    add(hits.subspan(1));
  }
  return merged;
}

}  // namespace strata
