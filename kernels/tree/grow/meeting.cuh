// How GPUs that grow a tree together meet: each writes what it has to tell into all others' memory,
// and then that it has come; who needs it waits until all have. Kernels do it, no host is asked, so
// that steps of all GPUs run as graphs. In a step, the last block of threads of a kernel tells, and
// all blocks of the next kernel hear, so that words are on their way while that one is launched.
#pragma once

#include "kernels/tree/grow/device_tree.cuh"

namespace strata::gpu_tree {

constexpr uint32_t kLooksMax = 1U << 26;  // for one who does not come: half a minute or so

// Whether there is something to meet for. As all GPUs choose alike, they are alike here.
__device__ inline bool IsHeld(const TreeView& view, StepTopic topic) {
  const TreeState& state = *view.state;
  if (view.gpus == 1 || state.lost != 0 || state.chosen_count == 0) return false;
  return topic != StepTopic::kCounts || state.steps > 0;  // the root's rows were told before
}

// The number of a step's meeting: all of a tree have theirs before it begins.
__device__ inline uint32_t MeetingOf(const TreeView& view, StepTopic topic) {
  return view.state->first_meeting + kStepMeetings * view.state->steps +
         static_cast<uint32_t>(topic);
}

// What GPU `from` has told GPU `to` at a meeting.
__device__ inline Letter& LetterOf(const TreeView& view, uint32_t meeting, uint32_t from,
                                   uint32_t to) {
  return view.mailboxes[to]->letters[meeting % 2][from];
}

// All threads of a block, once what they tell is written: says so to all GPUs.
__device__ inline void SayIsHere(const TreeView& view, uint32_t meeting) {
  __syncthreads();
  if (threadIdx.x == 0) view.mailboxes[view.gpu]->meetings = meeting;
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
  if (threadIdx.x < view.gpus) {
    if (!HasCome(view, threadIdx.x, meeting)) atomicMax(&lost, threadIdx.x + 1);
    __threadfence_system();
  }
  __syncthreads();
  if (lost == 0) return true;
  if (threadIdx.x == 0) {
    view.state->lost = lost;
    view.state->done = 1;
    view.state->chosen_count = 0;
  }
  return false;
}

// All threads of any block: waits for what has been told. False: the tree has ended.
__device__ inline bool Hear(const TreeView& view, StepTopic topic) {
  return !IsHeld(view, topic) || HaveAllCome(view, MeetingOf(view, topic));
}

// All threads of a block: to all GPUs, this one's rows of the step's children.
__device__ inline void WriteCounts(const TreeView& view, uint32_t meeting) {
  const uint32_t children = static_cast<uint32_t>(view.state->chosen_count) * 2;
  for (uint32_t i = threadIdx.x; i < children * view.gpus; i += blockDim.x) {
    const uint32_t place = i / view.gpus;
    const int32_t child = view.state->chosen[place / 2].children + static_cast<int32_t>(place % 2);
    LetterOf(view, meeting, view.gpu, i % view.gpus).counts[place] =
        __ldcg(&view.nodes[child].count);
  }
}

// All threads of all blocks of a kernel, at their end: the last block that comes here tells what
// they all have written.
__device__ inline void TellAtEnd(const TreeView& view, StepTopic topic) {
  if (!IsHeld(view, topic)) return;
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
  const uint32_t meeting = MeetingOf(view, topic);
  if (topic == StepTopic::kCounts) WriteCounts(view, meeting);
  SayIsHere(view, meeting);
}

// Once the step's counts are heard: rows of a child on the other GPUs; its place is chosen * 2 + 1
// if right.
__device__ inline uint32_t OthersOf(const TreeView& view, uint32_t place) {
  const uint32_t meeting = MeetingOf(view, StepTopic::kCounts);
  uint32_t others = 0;
  for (uint32_t gpu = 0; gpu < view.gpus; ++gpu) {
    if (gpu != view.gpu) others += LetterOf(view, meeting, gpu, view.gpu).counts[place];
  }
  return others;
}

}  // namespace strata::gpu_tree
