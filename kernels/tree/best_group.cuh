// The best of splits that groups of features have found.
#pragma once

#include "kernels/tree/device_tree.cuh"
#include "kernels/tree/shuffle.cuh"

namespace strata::gpu_tree {

// The larger gain, then the smaller feature.
__device__ inline bool IsBetter(const DeviceSplit& a, const DeviceSplit& b) {
  if (a.gain != b.gain) return a.gain > b.gain;
  return a.exists() && a.feature < b.feature;
}

// A warp: the group that has the best split of a child, of those that this GPU searches; ~0: it
// searches none.
__device__ inline uint32_t BestGroup(const TreeView& view, uint32_t place) {
  const DeviceSplit* const found = view.found + uint64_t{place} * view.groups();
  const uint32_t end = view.FirstGroupOf(view.gpu + 1);
  uint32_t mine = ~0U;
  for (uint32_t group = view.FirstGroupOf(view.gpu) + threadIdx.x % 32; group < end; group += 32) {
    if (mine == ~0U || IsBetter(found[group], found[mine])) mine = group;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const uint32_t other = __shfl_xor_sync(kWholeWarp, mine, lanes);
    if (other != ~0U && (mine == ~0U || IsBetter(found[other], found[mine]))) mine = other;
  }
  return mine;
}

}  // namespace strata::gpu_tree
