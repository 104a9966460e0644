// ScanSearch: the scanning engine. All documents of a block are looked at once for up to 32
// queries: a list's word says which of the queries have it, and words are added up in columns (bit
// q of digit p is digit p of query q's overlap). Its time hardly depends on the data, so that it
// wins where most tokens are frequent or queries long.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/setops/instruction_set.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"

namespace strata {

// A group of queries, made ready for any number of blocks. One thread.
class ScanSearch {
 public:
  static constexpr size_t kMostQueries = 32;

  // Queries ascend without repeats and outlive this; at most kMostQueries. The processor has the
  // instruction set.
  explicit ScanSearch(std::span<const std::span<const Token>> queries,
                      InstructionSet set = FastestInstructionSet());

  // As CountSearch::Search, for each query: hits[q] is of queries[q].
  void Search(const SetBlock& block, std::span<const uint64_t> allowed, std::span<TopHits> hits);

 private:
  template <typename Number>
  static const Number* ListsAt(const SetBlock& block, const SetBlock::Run& run, uint32_t place,
                               uint32_t here, std::span<Number> room);
  template <typename Number>
  void SearchRun(const SetBlock& block, const SetBlock::Run& run, std::span<const uint64_t> allowed,
                 std::span<TopHits> hits) const;

  std::vector<std::span<const Token>> queries_;
  InstructionSet set_;
  uint32_t mean_length_ = 0;
  std::vector<uint32_t> words_;  // of the block that is searched, by list
};

}  // namespace strata
