// From samples to thresholds, and from candidates to better thresholds and to answers.
#pragma once

#include "kernels/setops/gpu_sets.cuh"
#include "kernels/setops/top_hits.h"

namespace strata::gpu_sets {

// Sets thresholds.at_least and thresholds.overlaps from thresholds.buckets: at least k documents of
// the sample reach them, or they are `at_least`. Unless k is 0 buckets are empty then; `found`, the
// candidates of each query, are none.
cudaError_t SetThresholds(const Ranges& queries, SetMetric metric, uint32_t k, Fraction at_least,
                          const Thresholds& thresholds, uint32_t* found, cudaStream_t stream);

struct SelectJob {
  const Block* blocks;
  Ranges queries;
  SetMetric metric;
  uint32_t k;                 // at most kMostSelected
  bool equal_keys_are_equal;  // no document has more than 255 tokens
  bool later_ids_are_larger;  // than those of all candidates
  Thresholds thresholds;
  Candidate* candidates;  // [query][room]
  uint32_t room;
  uint32_t* found;
  Hit* answers;                // [query][k]
  uint32_t* counts;            // [query]: of the answer, or kTooMany
  uint32_t* candidates_found;  // [query]
};
// There were more candidates than room, or more equal ones than can be sorted.
inline constexpr uint32_t kTooMany = UINT32_MAX;

// Keeps of each query's candidates the best k, or about as many, and sets its threshold so that
// documents that are no better are none: documents that come later, if their ids are larger, have
// to be more alike than the k-th best, otherwise as much.
cudaError_t Tighten(const SelectJob& job, cudaStream_t stream);
cudaError_t Select(const SelectJob& job, cudaStream_t stream);

}  // namespace strata::gpu_sets
