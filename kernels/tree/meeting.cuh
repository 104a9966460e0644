// How GPUs that grow a tree together meet: each writes what it has to tell into all others' memory,
// and waits until all have written to its own. A block of threads does it, no host is asked, so
// that steps of all GPUs run as graphs.
#pragma once

#include "kernels/tree/best_group.cuh"

namespace strata::gpu_tree {

constexpr uint32_t kLooksMax = 1U << 26;  // for one who does not come: half a minute or so

// A step's leaves and children, as places of letters count them.
__device__ inline uint32_t ChildrenOf(const TreeView& view) {
  return static_cast<uint32_t>(view.state->chosen_count) * 2;
}

// The child whose rows are counted at this place.
__device__ inline int32_t CountedChild(const TreeView& view, uint32_t place) {
  return view.state->chosen[place / 2].children + static_cast<int32_t>(place % 2);
}

// Writes this GPU's letter to GPU `to`. Whole warps, one or more GPUs each, for splits.
class LetterWriter {
 public:
  __device__ LetterWriter(const TreeView& view, uint32_t meeting)
      : view_(view), meeting_(meeting) {}

  __device__ void Write(Topic topic) const {
    switch (topic) {
      case Topic::kLargest:
        if (threadIdx.x < view_.gpus) WriteLargest(To(threadIdx.x));
        break;
      case Topic::kRoot:
        if (threadIdx.x < view_.gpus) WriteRoot(To(threadIdx.x));
        break;
      case Topic::kHistograms:
        break;
      case Topic::kSplits:
        WriteSplits();
        break;
      case Topic::kCounts:
        WriteCounts();
        break;
    }
  }

 private:
  __device__ Letter& To(uint32_t gpu) const {
    return view_.mailboxes[gpu]->letters[meeting_ % 2][view_.gpu];
  }
  __device__ void WriteLargest(Letter& letter) const { letter.largest = view_.state->largest; }
  __device__ void WriteRoot(Letter& letter) const {
    const TreeState& state = *view_.state;
    letter.root_gradient = state.root_gradient;
    letter.root_hessian = state.root_hessian;
    letter.bag_count = state.bag_count;
  }
  __device__ void WriteSplits() const {
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t place = threadIdx.x / 32; place < ChildrenOf(view_); place += blockDim.x / 32) {
      if (SearchedChild(view_, place) < 0) continue;
      const uint32_t group = BestGroup(view_, place);
      DeviceSplit best;
      if (group != ~0U) best = view_.found[uint64_t{place} * view_.groups() + group];
      if (lane < view_.gpus) To(lane).splits[place] = best;
    }
  }
  __device__ void WriteCounts() const {
    const uint32_t all = ChildrenOf(view_) * view_.gpus;
    for (uint32_t i = threadIdx.x; i < all; i += blockDim.x) {
      const uint32_t place = i / view_.gpus;
      To(i % view_.gpus).counts[place] = __ldcg(&view_.nodes[CountedChild(view_, place)].count);
    }
  }

  const TreeView& view_;
  const uint32_t meeting_;
};

// Takes in what all GPUs have written, this one among them.
class LetterReader {
 public:
  __device__ LetterReader(const TreeView& view, uint32_t meeting)
      : view_(view), letters_(view.mailboxes[view.gpu]->letters[meeting % 2]) {}

  __device__ void Read(Topic topic) const {
    switch (topic) {
      case Topic::kLargest:
        if (threadIdx.x == 0) ReadLargest();
        break;
      case Topic::kRoot:
        if (threadIdx.x == 0) ReadRoot();
        break;
      case Topic::kHistograms:
        break;
      case Topic::kSplits:
        if (threadIdx.x < ChildrenOf(view_)) ReadSplit(threadIdx.x);
        break;
      case Topic::kCounts:
        if (threadIdx.x < ChildrenOf(view_)) ReadCount(threadIdx.x);
        break;
    }
  }

 private:
  __device__ void ReadLargest() const {
    SlopeSizes all;
    for (uint32_t gpu = 0; gpu < view_.gpus; ++gpu) {
      const SlopeSizes& own = letters_[gpu].largest;
      all.gradient = max(all.gradient, own.gradient);
      all.hessian = max(all.hessian, own.hessian);
      all.not_finite += own.not_finite;
    }
    view_.state->largest = all;
  }
  __device__ void ReadRoot() const {
    TreeState& state = *view_.state;
    state.root_gradient = 0;
    state.root_hessian = 0;
    for (uint32_t gpu = 0; gpu < view_.gpus; ++gpu) {
      state.root_gradient += letters_[gpu].root_gradient;
      state.root_hessian += letters_[gpu].root_hessian;
      if (gpu != view_.gpu) state.bag_others += letters_[gpu].bag_count;
    }
  }
  __device__ void ReadSplit(uint32_t place) const {
    const int32_t child = SearchedChild(view_, place);
    if (child < 0) return;
    TreeNode& node = view_.nodes[child];
    for (uint32_t gpu = 0; gpu < view_.gpus; ++gpu) {
      const DeviceSplit& split = letters_[gpu].splits[place];
      if (gpu == 0 || IsBetter(split, node.best)) node.best = split;
    }
    node.slot = SlotOf(view_.state->chosen[place / 2], place);
  }
  __device__ void ReadCount(uint32_t place) const {
    TreeNode& node = view_.nodes[CountedChild(view_, place)];
    for (uint32_t gpu = 0; gpu < view_.gpus; ++gpu) {
      if (gpu != view_.gpu) node.others += letters_[gpu].counts[place];
    }
  }

  const TreeView& view_;
  const Letter* const letters_;
};

// The number of a meeting: of a step, that of the tree's begin and three a step, so that it is
// known before it comes.
__device__ inline uint32_t MeetingOf(const TreeView& view, Topic topic, MeetingParts parts) {
  const TreeState& state = *view.state;
  switch (topic) {
    case Topic::kLargest:
    case Topic::kRoot:
      break;
    case Topic::kCounts:
      return state.first_meeting + 3 * state.steps;
    case Topic::kHistograms:
      return state.first_meeting + 3 * state.steps + 1;
    case Topic::kSplits:
      return state.first_meeting + 3 * state.steps + 2;
  }
  return view.mailboxes[view.gpu]->meetings + (parts.tells ? 1 : 0);
}

// Whether there is something to meet for. As all GPUs choose alike, they are alike here.
__device__ inline bool IsHeld(const TreeView& view, Topic topic) {
  const bool of_step = topic != Topic::kLargest && topic != Topic::kRoot;
  return view.state->lost == 0 && (!of_step || view.state->chosen_count > 0);
}

// All threads of a block, once what they tell is written: says so to all GPUs.
__device__ inline void SayIsHere(const TreeView& view, uint32_t meeting) {
  __syncthreads();
  if (threadIdx.x >= view.gpus) return;
  __threadfence_system();
  *static_cast<volatile uint32_t*>(&view.mailboxes[threadIdx.x]->told[view.gpu]) = meeting;
}

// Whether the GPU has come to the meeting, in time.
__device__ inline bool HasCome(const TreeView& view, uint32_t gpu, uint32_t meeting) {
  const volatile uint32_t* const told = &view.mailboxes[view.gpu]->told[gpu];
  for (uint32_t looks = 0; looks < kLooksMax; ++looks) {
    if (static_cast<int32_t>(*told - meeting) >= 0) return true;
  }
  return false;
}

// All threads of a block: waits until all GPUs have come. If one does not, the tree ends, and this
// is false.
__device__ inline bool HaveAllCome(const TreeView& view, uint32_t meeting) {
  __shared__ uint32_t lost;
  if (threadIdx.x == 0) lost = 0;
  __syncthreads();
  if (threadIdx.x < view.gpus && !HasCome(view, threadIdx.x, meeting)) {
    atomicMax(&lost, threadIdx.x + 1);
  }
  __threadfence_system();
  __syncthreads();
  if (lost == 0) return true;
  if (threadIdx.x == 0) {
    view.state->lost = lost;
    view.state->done = 1;
    view.state->chosen_count = 0;
  }
  return false;
}

// A block of threads, at least as many as a step has children.
__device__ inline void MeetInBlock(const TreeView& view, Topic topic, MeetingParts parts) {
  if (!IsHeld(view, topic)) return;
  const uint32_t meeting = MeetingOf(view, topic, parts);
  if (parts.tells) {
    LetterWriter(view, meeting).Write(topic);
    SayIsHere(view, meeting);
    if (threadIdx.x == 0) view.mailboxes[view.gpu]->meetings = meeting;
  }
  if (parts.hears && HaveAllCome(view, meeting)) LetterReader(view, meeting).Read(topic);
  __syncthreads();
}

// The same by the last block of threads that comes here, of all of the grid: what they all have
// written is told. All call it at their end.
__device__ inline void MeetAtEnd(const TreeView& view, Topic topic) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&view.state->blocks_at_end, 1U) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  if (threadIdx.x == 0) view.state->blocks_at_end = 0;
  MeetInBlock(view, topic, {});
}

}  // namespace strata::gpu_tree
