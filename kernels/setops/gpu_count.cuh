// Counting on a GPU: a block of threads for a block of documents and some queries.
#pragma once

#include "kernels/setops/gpu_counters.cuh"

namespace strata::gpu_sets {

inline constexpr unsigned kCountThreads = 512;

// What is done with a document that has a token in common with a query.
enum class Purpose : uint8_t {
  kSample,  // its similarity is counted in the query's buckets
  kSearch,  // it becomes a candidate, if it reaches the threshold
};

struct CountJob {
  const Block* blocks;
  const LengthRange* lengths;  // [block][kLengthRanges]
  uint32_t first_block;
  uint32_t blocks_count;  // from there on
  Ranges queries;
  uint32_t queries_each;  // of a block of threads
  SetMetric metric;
  uint32_t enough;          // documents of a block in a sample
  const uint32_t* allowed;  // by block and place; null: all
  Thresholds thresholds;
  Candidate* candidates;  // [query][room]
  uint32_t room;
  uint32_t* found;  // [query]: candidates, those without room, too
};

// Blocks of threads that a processor runs at a time.
constexpr unsigned CountBlocksAtOnce(Purpose purpose) {
  return purpose == Purpose::kSample ? 2 : 3;
}

// Writes the lengths of so many blocks' documents, [block][kLengthRanges].
cudaError_t WriteLengths(const Block* blocks, uint32_t count, LengthRange* lengths,
                         cudaStream_t stream);

cudaError_t Count(Purpose purpose, const CountJob& job, cudaStream_t stream);

}  // namespace strata::gpu_sets
