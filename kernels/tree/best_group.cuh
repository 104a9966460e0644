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

// What a place of a step is: place / 2 says which leaf was split, place % 2 is 1 for the larger
// child. The child that is searched there; -1: none.
__device__ inline int32_t SearchedChild(const TreeView& view, uint32_t place) {
  const ChildPair pair(view, view.state->chosen[place / 2]);
  const int32_t child = place % 2 == 0 ? pair.smaller : pair.larger;
  return child >= 0 && view.CanSplit(view.nodes[child]) ? child : -1;
}
// Where its histogram is: the larger child's is what is left of its parent's.
__device__ inline int32_t SlotOf(const Chosen& chosen, uint32_t place) {
  return place % 2 == 0 ? chosen.new_slot : chosen.parent_slot;
}

// A warp: the group that has the best split of a child, of those that this GPU searches; ~0: it
// searches none.
__device__ inline uint32_t BestGroup(const TreeView& view, uint32_t place) {
  const DeviceSplit* const found = view.found + uint64_t{place} * view.groups();
  const uint32_t end = view.FirstGroupOf(view.gpu + 1);
  uint32_t mine = ~0U;
  double gain = -1;
  int32_t feature = 0;
  const auto take = [&](uint32_t group, double its_gain, int32_t its_feature) {
    if (its_gain < gain || (its_gain == gain && its_feature >= feature)) return;
    mine = group;
    gain = its_gain;
    feature = its_feature;
  };
  for (uint32_t group = view.FirstGroupOf(view.gpu) + threadIdx.x % 32; group < end; group += 32) {
    take(group, found[group].gain, found[group].feature);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    take(__shfl_xor_sync(kWholeWarp, mine, lanes), __shfl_xor_sync(kWholeWarp, gain, lanes),
         __shfl_xor_sync(kWholeWarp, feature, lanes));
  }
  return mine;
}

}  // namespace strata::gpu_tree
