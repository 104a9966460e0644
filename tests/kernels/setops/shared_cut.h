// What queries of mixed lengths must not share: the cut by which version 9 of baidu_topk drops
// documents, and a batch for which it drops an answer.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "tests/kernels/setops/search_case.h"

namespace strata::test {

// Of four queries, by overlap / longer length. What a query finds among documents that are near,
// up to 10 tokens shorter and 20 longer, gives its K-th score. The least of the four, times the
// longest of the four queries or the document if that is longer, is the overlap below which any
// other document is dropped for all of them: too much of it for the shorter of the queries.
class SharedCut {
 public:
  static constexpr size_t kTogether = 4;

  static bool IsNear(size_t query_length, size_t length) {
    return length + 10 >= query_length && length <= query_length + 20;
  }
  // best: the query's best k documents of those that are near, or fewer if there are no more.
  void Add(size_t query_length, size_t k, std::span<const Hit> best) {
    longest_ = std::max(longest_, query_length);
    const double score =
        best.size() < k
            ? 0
            : static_cast<double>(best.back().overlap) /
                  static_cast<double>(std::max<size_t>(query_length, best.back().length));
    least_ = std::min(least_, score);
  }
  // Whether an answer of one of the four is dropped; once all were added.
  bool Drops(size_t query_length, const Hit& hit) const {
    return !IsNear(query_length, hit.length) &&
           hit.overlap < least_ * static_cast<double>(std::max<size_t>(longest_, hit.length));
  }

 private:
  double least_ = 1;
  size_t longest_ = 0;
};

// A short query and three long ones, for two documents each. The short one's second best is the
// last document, which is much longer than it, and in a later block than all that are near to one
// of the queries: these are so many that every engine has a threshold for each query by then.
inline SearchCase MixedLengths() {
  const auto tokens = [](Token first, size_t count) {
    Tokens set(count);
    std::iota(set.begin(), set.end(), first);
    return set;
  };
  SearchCase made;
  made.goal = {.metric = SetMetric::kOverlapMax, .k = 2};
  made.queries = {tokens(0, 4), tokens(100, 60), tokens(101, 60), tokens(102, 60)};
  auto& sets = made.documents.sets;
  sets = made.queries;
  for (size_t i = 0; i < 2 * TopHits::RoomFor(made.goal.k); ++i) {
    sets.push_back(tokens(3, 10));    // one of the short query's: 1/10 alike
    sets.push_back(tokens(110, 60));  // most of each long one's
  }
  made.block_size = sets.size();
  sets.push_back(tokens(0, 30));  // all of the short query's: 4/30 alike, but 4 < 1/10 * 60
  made.documents.ids.resize(sets.size());
  std::iota(made.documents.ids.begin(), made.documents.ids.end(), DocumentId{0});
  return made;
}

// The answers to the case that the cut drops, of all queries.
inline std::vector<Hit> LostToSharedCut(const SearchCase& of) {
  SharedCut cut;
  for (const Tokens& query : of.queries) {
    std::vector<bool> is_near;
    for (const Tokens& set : of.documents.sets) {
      is_near.push_back(SharedCut::IsNear(query.size(), set.size()));
    }
    cut.Add(query.size(), of.goal.k, PlainSearch(of.documents, is_near, query, of.goal));
  }
  std::vector<Hit> lost;
  for (const Tokens& query : of.queries) {
    for (const Hit& hit : PlainSearch(of.documents, of.allowed, query, of.goal)) {
      if (cut.Drops(query.size(), hit)) lost.push_back(hit);
    }
  }
  return lost;
}

}  // namespace strata::test
