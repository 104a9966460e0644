// From samples to thresholds, and from candidates to answers.
#pragma once

#include "kernels/setops/gpu_sets.cuh"
#include "kernels/setops/top_hits.h"

namespace strata::gpu_sets {

// Sets thresholds.at_least and thresholds.overlaps from thresholds.buckets: at least k documents of
// the sample reach them, or they are `at_least`.
cudaError_t SetThresholds(const Ranges& queries, SetMetric metric, uint32_t k, Fraction at_least,
                          const Thresholds& thresholds, cudaStream_t stream);

struct SelectJob {
  const Block* blocks;
  Ranges queries;
  SetMetric metric;
  uint32_t k;                 // at most kMostSelected
  bool equal_keys_are_equal;  // no document has more than 255 tokens
  const Candidate* candidates;
  const uint32_t* found;
  Hit* answers;      // [query][k]
  uint32_t* counts;  // [query]: of the answer, or kTooMany
};
// There were more candidates than room, or more equal ones than can be sorted.
inline constexpr uint32_t kTooMany = UINT32_MAX;

cudaError_t Select(const SelectJob& job, cudaStream_t stream);

}  // namespace strata::gpu_sets
