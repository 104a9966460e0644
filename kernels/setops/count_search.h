// CountSearch: the inverted engine. A counter for each document of a block; each token of the query
// adds one to those of the documents that have it. Tokens that many documents have are bits, which
// are added up in columns, 64 documents a word, before they join the counters. So the time is that
// of the documents that share something with the query, not of all tokens there are. Places are in
// the order of lengths, so documents too short or too long to be answers are left out of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"

namespace strata {

// One for each thread; its memory is used again and again.
class CountSearch {
 public:
  // Offers to `hits` the documents of the block that have at least hits.LeastOverlap(length) common
  // tokens with the query, and, if `allowed` is not empty, whose bit is set there (block.words()
  // words, by place). `query` ascends without repeats and has hits.query_length() tokens.
  void Search(const SetBlock& block, std::span<const Token> query,
              std::span<const uint64_t> allowed, TopHits& hits);

 private:
  template <typename Counter>
  void SearchCounting(const SetBlock& block, std::span<const SetBlock::Run> runs,
                      std::span<const uint64_t> allowed, TopHits& hits,
                      LargeArray<Counter>& counters);

  std::vector<std::span<const uint16_t>> lists_;
  std::vector<std::span<const uint64_t>> bits_;
  // All zero between calls.
  LargeArray<uint8_t> small_;
  LargeArray<uint16_t> medium_;
  LargeArray<uint32_t> large_;
};

}  // namespace strata
