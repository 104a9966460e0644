// The best of splits that groups of features have found.
#pragma once

#include "kernels/tree/grow/device_tree.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {

constexpr int kSplitWords = sizeof(DeviceSplit) / sizeof(uint4);

// Which of some splits is the best: the largest gain, then the smallest feature.
struct BestOf {
  double gain = -1;
  int32_t feature = 0;
  uint32_t number = 0;

  __device__ void Take(double its_gain, int32_t its_feature, uint32_t its_number) {
    if (its_gain < gain || (its_gain == gain && its_feature >= feature)) return;
    gain = its_gain;
    feature = its_feature;
    number = its_number;
  }
  // Of `lanes` neighbours, a power of two, all of which call, in each of them.
  __device__ void TakeOthers(int lanes) {
    for (int other = lanes / 2; other > 0; other /= 2) {
      Take(__shfl_xor_sync(kWholeWarp, gain, other), __shfl_xor_sync(kWholeWarp, feature, other),
           __shfl_xor_sync(kWholeWarp, number, other));
    }
  }
};

// One of a split's kSplitWords words.
__device__ inline void CopyWord(const DeviceSplit& from, int word, DeviceSplit* to) {
  reinterpret_cast<uint4*>(to)[word] = reinterpret_cast<const uint4*>(&from)[word];
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

}  // namespace strata::gpu_tree
