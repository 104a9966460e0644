// How alike two sets are, as an exact fraction of their overlap and their sizes. All metrics grow
// with the overlap when both sizes stay as they are, so searches compare overlaps alone, with the
// least one that is good enough for a document's size.
//
// Tversky, Features of Similarity, 1977 (ratio models); Ochiai's coefficient is the cosine of sets.
#pragma once

#include <cstdint>

#include "strata/host_device.h"
#include "strata/set_search.h"

namespace strata {

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

}  // namespace strata
