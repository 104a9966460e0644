// A few queries on a GPU, each as soon as can be. A block of threads has a block of documents; all
// of a query are at work at the same time, count once, and keep their counters meanwhile:
//
//   tell    each tells the best document of each part of its documents. When all have told, the
//           k-th best of these is a threshold, as so many documents are at least as good
//   find    documents that reach it are candidates, some more than k
//   sort    of whichever block of threads is the last. The best k go to the host's memory, where
//           it waits for them
//
// Where they are too many to be at work at the same time, one launch tells, and the next one counts
// again and finds.
#pragma once

#include "kernels/setops/gpu_counters.cuh"
#include "kernels/setops/top_hits.h"

namespace strata::gpu_sets {

inline constexpr unsigned kFewThreads = 512;
inline constexpr uint32_t kFewAtOnce = 3;  // queries of a launch
inline constexpr uint32_t kFewMostK = 1024;
inline constexpr uint32_t kFewMostParts = 4096;  // of a query's documents
inline constexpr uint32_t kFewMostFound = 2048;
inline constexpr uint32_t kFewLongest = (1U << 24) - 1;  // document
inline constexpr uint32_t kFewMostTokens = 254;          // of a query

// A candidate; it can be compared without a look at its document.
struct alignas(16) FewFound {
  DocumentId id;
  uint32_t key;  // KeyOf its similarity
  uint32_t overlap_and_length;

  __device__ FewFound(DocumentId of, uint32_t key_of, uint32_t overlap, uint32_t length)
      : id(of), key(key_of), overlap_and_length(overlap << 24 | length) {}
  __device__ uint32_t overlap() const { return overlap_and_length >> 24; }
  __device__ uint32_t length() const { return overlap_and_length & kFewLongest; }
};

// The best documents of a part, all equally good.
struct FewBest {
  uint32_t key;  // 0: there is none
  uint32_t count;
};

// How far a query's blocks of threads are; all 0 between searches.
struct FewState {
  uint32_t told;  // blocks
  uint32_t done;
  uint32_t found;  // candidates
};

// In the host's memory; the hits are behind it.
struct alignas(16) FewAnswer {
  uint32_t is_there;  // 1 when all else is, which the host waits for
  uint32_t count;     // of hits, or kTooMany (gpu_select.cuh)
  uint32_t found;     // candidates
};

// Of a launch.
struct FewJob {
  const Block* blocks;
  uint32_t blocks_count;
  uint32_t parts;              // of a block's documents: a power of two, at most kFewThreads
  const LengthRange* lengths;  // [block][kLengthRanges]
  const uint32_t* allowed;     // by block and place; null: all
  FewState* states;            // [query]
  FewBest* bests;              // [query][kFewMostParts]
  FewFound* found;             // [query][kFewMostFound]
  std::byte* answers;          // of the host: a FewAnswer each
  uint32_t answer_bytes;       // of a query
  uint32_t k;                  // at most kFewMostK
  Fraction at_least;
  SetMetric metric;
  bool equal_keys_are_equal;  // no document has more than 255 tokens
  bool ids_ascend;            // and blocks' ids are larger than those of the blocks before
  uint32_t queries;
  uint32_t offsets[kFewAtOnce + 1];  // of tokens
  Token tokens[kFewAtOnce * kFewMostTokens];
};
static_assert(sizeof(FewJob) <= 4096, "what a kernel is given");

// How many blocks of threads can be at work at the same time; 0: none may wait for others.
struct FewAtOnce {
  uint32_t apart = 0;     // each on a processor of its own
  uint32_t together = 0;  // several on a processor, where each takes longer
};
// Makes the current device ready for SearchFew.
cudaError_t PrepareFew(int device, FewAtOnce* at_once);
cudaError_t SearchFew(const FewJob& job, const FewAtOnce& at_once, cudaStream_t stream);

}  // namespace strata::gpu_sets
