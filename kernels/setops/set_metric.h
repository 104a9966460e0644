// How alike two sets are, as an exact fraction of their overlap and their sizes. All metrics grow
// with the overlap when both sizes stay as they are, so searches compare overlaps alone, with the
// least one that is good enough for a document's size.
//
// Tversky, Features of Similarity, 1977 (ratio models); Ochiai's coefficient is the cosine of sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/host_device.h"

namespace strata {

// With c common tokens of a query of q and a document of d:
enum class SetMetric : uint8_t {
  kOverlap = 0,              // c
  kOverlapMax = 1,           // c / max(q, d)
  kJaccard = 2,              // c / (q + d - c), also called Tanimoto
  kDice = 3,                 // 2 c / (q + d)
  kCosine = 4,               // c / sqrt(q d)
  kContainmentQuery = 5,     // c / q: how much of the query is in the document
  kContainmentDocument = 6,  // c / d
};
inline constexpr int kSetMetrics = 7;

// "overlap", "overlap_max", "jaccard", "dice", "cosine", "containment_query",
// "containment_document".
std::string_view NameOf(SetMetric metric);
std::optional<SetMetric> SetMetricNamed(std::string_view name);

// num / den, den above 0. That of a cosine is its square, which is a fraction and in the same
// order.
struct Fraction {
  uint64_t num = 0;
  uint64_t den = 1;
};

// Exact: by products of 128 bits, unless 64 suffice.
STRATA_HD bool IsLess(Fraction a, Fraction b) {
  if ((a.num | a.den | b.num | b.den) >> 32 == 0) return a.num * b.den < b.num * a.den;
  using Wide = unsigned __int128;
  return static_cast<Wide>(a.num) * b.den < static_cast<Wide>(b.num) * a.den;
}

// overlap <= min(query, document); both below 2^32 - 1. Sets without a token are like nothing: 0.
STRATA_HD Fraction Similarity(SetMetric metric, uint32_t overlap, uint32_t query,
                              uint32_t document) {
  if (overlap == 0) return {0, 1};
  const uint64_t c = overlap;
  const uint64_t q = query;
  const uint64_t d = document;
  switch (metric) {
    case SetMetric::kOverlap:
      return {c, 1};
    case SetMetric::kOverlapMax:
      return {c, q > d ? q : d};
    case SetMetric::kJaccard:
      return {c, q + d - c};
    case SetMetric::kDice:
      return {2 * c, q + d};
    case SetMetric::kCosine:
      return {c * c, q * d};
    case SetMetric::kContainmentQuery:
      return {c, q};
    case SetMetric::kContainmentDocument:
      return {c, d};
  }
  return {0, 1};
}

// The least overlap, from 1 on, that is at least as alike as `at_least`; min(query, document) + 1
// if none is.
STRATA_HD uint32_t LeastOverlap(SetMetric metric, Fraction at_least, uint32_t query,
                                uint32_t document) {
  uint32_t low = 1;
  uint32_t high = (query < document ? query : document) + 1;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (IsLess(Similarity(metric, middle, query, document), at_least)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// What a person reads: of a cosine its root.
double ScoreOf(SetMetric metric, Fraction similarity);
// The same with six digits, rounded down.
std::string ScoreText(SetMetric metric, Fraction similarity);
// What is at least as alike as a person's score says. It is a little less than the score, by 2^-49
// of it or so: every similarity whose ScoreOf or ScoreText this is, is not less. A score of 0 or
// less is 0, and an overlap's is rounded up. Scores up to 10^9, but for overlaps up to 2.
Fraction SimilarityOf(SetMetric metric, double score);

}  // namespace strata
