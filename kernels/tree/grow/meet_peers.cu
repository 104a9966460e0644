// Meetings of GPUs between trees.
#include "kernels/tree/grow/meeting.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 32;
static_assert(kThreads >= kGpusMax);

__device__ void Write(const TreeState& state, Topic topic, Letter* letter) {
  if (topic == Topic::kLargest) {
    letter->largest = state.largest;
    return;
  }
  letter->root_gradient = state.root_gradient;
  letter->root_hessian = state.root_hessian;
  letter->bag_count = state.bag_count;
}

// One thread: takes in what all GPUs have written, this one among them.
__device__ void Read(const TreeView& view, Topic topic, uint32_t meeting) {
  TreeState& state = *view.state;
  SlopeSizes largest;
  unsigned long long gradient = 0;
  unsigned long long hessian = 0;
  for (uint32_t gpu = 0; gpu < view.gpus; ++gpu) {
    const Letter& letter = LetterOf(view, meeting, gpu, view.gpu);
    if (topic == Topic::kLargest) {
      largest.gradient = max(largest.gradient, letter.largest.gradient);
      largest.hessian = max(largest.hessian, letter.largest.hessian);
      largest.not_finite += letter.largest.not_finite;
      continue;
    }
    gradient += letter.root_gradient;
    hessian += letter.root_hessian;
    if (gpu != view.gpu) state.bag_others += letter.bag_count;
  }
  if (topic == Topic::kLargest) {
    state.largest = largest;
  } else {
    state.root_gradient = gradient;
    state.root_hessian = hessian;
  }
}

__global__ void __launch_bounds__(kThreads)
    Meet(const __grid_constant__ TreeView view, Topic topic, MeetingParts parts) {
  if (view.state->lost != 0) return;
  const uint32_t meeting = view.mailboxes[view.gpu]->meetings + (parts.tells ? 1 : 0);
  if (parts.tells) {
    if (threadIdx.x < view.gpus) {
      Write(*view.state, topic, &LetterOf(view, meeting, view.gpu, threadIdx.x));
    }
    SayIsHere(view, meeting);
  }
  if (parts.hears && HaveAllCome(view, meeting) && threadIdx.x == 0) Read(view, topic, meeting);
}

}  // namespace

void MeetPeers(const TreeView& view, Topic topic, MeetingParts parts, cudaStream_t stream) {
  Meet<<<1, kThreads, 0, stream>>>(view, topic, parts);
}

}  // namespace strata::gpu_tree
