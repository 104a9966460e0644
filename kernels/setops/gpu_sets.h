// GpuSets: blocks of documents in a GPU's memory, and exact searches in them by counting
// (count_search.h tells how): a block of threads keeps the counters of one block of documents in
// shared memory and has queries pass over them.
//
//   sample     a few blocks are counted whole; the k-th best there is a threshold for the rest
//   count      documents that reach it become candidates, some thousands a query
//   select     of those the best k, by similarity and then id
//
// In a build without CUDA, Open says so.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"

namespace strata {

class GpuSets {
 public:
  static constexpr size_t kLongestQuery = 254;  // an overlap fits a byte
  static constexpr size_t kMostBlocks = 65'536;

  // What a search has done.
  struct Counts {
    uint64_t candidates = 0;   // that were selected from
    uint64_t asked_again = 0;  // queries with more candidates than there was room for
  };

  // Blocks stay where they are while this lives. kNotFound: no such GPU; kRefused: no memory.
  static Result<std::unique_ptr<GpuSets>> Open(int device, std::span<const SetBlock> blocks);
  virtual ~GpuSets() = default;

  // The answer to each query, best first, as CountSearch and AppendStrangers give it. kInvalid: a
  // query of more than kLongestQuery tokens. One thread at a time.
  virtual Result<std::vector<std::vector<Hit>>> Search(const SetList& queries,
                                                       const SearchGoal& goal) = 0;
  // Of the last search.
  virtual Counts counts() const = 0;
  // Of GPU memory for the blocks.
  virtual size_t bytes() const = 0;
};

}  // namespace strata
