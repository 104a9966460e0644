// Queries whose answers are known at each moment: beside each change of a collection it is looked
// what the change means for them, so that a search that ran beside changes can be judged.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/thread/mutex.h"
#include "kernels/setops/top_hits.h"
#include "strata/document.h"

namespace strata::soak {

// Changes have numbers, from 1, and one thread makes them known; any may ask.
class WatchedQueries {
 public:
  static constexpr size_t kGoals = 4;  // metrics, each with so many queries
  static constexpr size_t kQueriesEach = 4;

  // Tokens are below `vocabulary`.
  WatchedQueries(uint64_t seed, Token vocabulary);

  const SearchGoal& GoalOf(size_t goal) const { return goals_[goal]; }
  SetList QueriesOf(size_t goal) const { return queries_[goal].view(); }

  // Before the change is made. The tokens ascend without repeats.
  void Upsert(uint64_t change, const Document& document);
  void Delete(uint64_t change, DocumentId id);

  // Whether that was the answer to a query at some moment from behind change `first` to behind
  // change `last`.
  bool WasRight(size_t goal, size_t query, const std::vector<Hit>& answer, uint64_t first,
                uint64_t last) const;

 private:
  struct Candidate {
    Hit hit;
    Fraction similarity;
  };
  struct Better {
    bool operator()(const Candidate& a, const Candidate& b) const;
  };
  struct Answer {
    uint64_t change = 0;  // behind which it holds
    std::vector<Hit> hits;
  };
  static constexpr size_t kAll = kGoals * kQueriesEach;

  bool Remove(DocumentId id, uint32_t* changed);
  void Remember(uint64_t change, uint32_t changed);

  std::vector<SearchGoal> goals_;
  std::vector<SetLists> queries_;                        // by goal
  std::vector<uint16_t> asked_;                          // by token: which queries have it
  std::vector<uint32_t> lengths_;                        // by query
  std::vector<std::set<Candidate, Better>> candidates_;  // by query: all that are alike enough
  std::unordered_map<DocumentId, std::vector<std::pair<size_t, Candidate>>> known_;

  mutable Mutex mutex_;
  // By query, in the order of changes.
  std::vector<std::vector<Answer>> answers_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata::soak
