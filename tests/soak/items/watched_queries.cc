#include "tests/soak/items/watched_queries.h"

#include <algorithm>
#include <array>

#include "base/random.h"

namespace strata::soak {
namespace {

constexpr size_t kLength = 64;
constexpr size_t kBest = 10;

// One common token is seldom enough, so that few of many documents are candidates.
constexpr std::pair<SetMetric, double> kGoalsOf[] = {{SetMetric::kJaccard, 0.03},
                                                     {SetMetric::kOverlapMax, 0.035},
                                                     {SetMetric::kCosine, 0.06},
                                                     {SetMetric::kContainmentQuery, 0.04}};

}  // namespace

bool WatchedQueries::Better::operator()(const Candidate& a, const Candidate& b) const {
  if (IsLess(b.similarity, a.similarity)) return true;
  if (IsLess(a.similarity, b.similarity)) return false;
  return a.hit.id < b.hit.id;
}

WatchedQueries::WatchedQueries(uint64_t seed, Token vocabulary)
    : queries_(kGoals), asked_(vocabulary), candidates_(kAll), answers_(kAll) {
  static_assert(std::size(kGoalsOf) == kGoals && kAll <= 16);
  Random random(seed);
  for (size_t goal = 0; goal < kGoals; ++goal) {
    const auto& [metric, at_least] = kGoalsOf[goal];
    goals_.push_back({.metric = metric, .k = kBest, .at_least = SimilarityOf(metric, at_least)});
    for (size_t i = 0; i < kQueriesEach; ++i) {
      std::vector<Token> tokens(kLength);
      for (Token& token : tokens) token = static_cast<Token>(random.Below(vocabulary));
      queries_[goal].Add(tokens);
      const auto query = queries_[goal].view()[i];
      lengths_.push_back(static_cast<uint32_t>(query.size()));
      for (const Token token : query) {
        asked_[token] = static_cast<uint16_t>(asked_[token] | 1U << (goal * kQueriesEach + i));
      }
    }
  }
  for (auto& answers : answers_) answers.emplace_back();
}

bool WatchedQueries::Remove(DocumentId id, uint32_t* changed) {
  const auto known = known_.find(id);
  if (known == known_.end()) return false;
  for (const auto& [query, candidate] : known->second) {
    candidates_[query].erase(candidate);
    *changed |= 1U << query;
  }
  known_.erase(known);
  return true;
}

void WatchedQueries::Upsert(uint64_t change, const Document& document) {
  uint32_t changed = 0;
  Remove(document.id, &changed);
  std::array<uint32_t, kAll> overlaps{};
  uint32_t any = 0;
  for (const Token token : document.tokens) {
    for (uint32_t left = asked_[token]; left != 0; left &= left - 1) {
      ++overlaps[static_cast<size_t>(__builtin_ctz(left))];
    }
    any |= asked_[token];
  }
  for (; any != 0; any &= any - 1) {
    const auto query = static_cast<size_t>(__builtin_ctz(any));
    const SearchGoal& goal = goals_[query / kQueriesEach];
    const Hit hit{document.id, overlaps[query], static_cast<uint32_t>(document.tokens.size())};
    const Candidate candidate{hit,
                              Similarity(goal.metric, hit.overlap, lengths_[query], hit.length)};
    if (IsLess(candidate.similarity, goal.at_least)) continue;
    candidates_[query].insert(candidate);
    known_[document.id].emplace_back(query, candidate);
    changed |= 1U << query;
  }
  Remember(change, changed);
}

void WatchedQueries::Delete(uint64_t change, DocumentId id) {
  uint32_t changed = 0;
  if (Remove(id, &changed)) Remember(change, changed);
}

void WatchedQueries::Remember(uint64_t change, uint32_t changed) {
  for (; changed != 0; changed &= changed - 1) {
    const auto query = static_cast<size_t>(__builtin_ctz(changed));
    std::vector<Hit> hits;
    for (const Candidate& candidate : candidates_[query]) {
      if (hits.size() == kBest) break;
      hits.push_back(candidate.hit);
    }
    const MutexLock lock(mutex_);
    auto& answers = answers_[query];
    if (hits != answers.back().hits) answers.push_back({change, std::move(hits)});
  }
}

bool WatchedQueries::WasRight(size_t goal, size_t query, const std::vector<Hit>& answer,
                              uint64_t first, uint64_t last) const {
  const MutexLock lock(mutex_);
  const auto& answers = answers_[goal * kQueriesEach + query];
  auto at = std::ranges::upper_bound(answers, first, {}, &Answer::change) - 1;
  for (; at != answers.end() && at->change <= last; ++at) {
    if (at->hits == answer) return true;
  }
  return false;
}

}  // namespace strata::soak
