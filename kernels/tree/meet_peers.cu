// Meetings of GPUs by themselves, and what they add up of each other's.
#include <algorithm>

#include "kernels/tree/meeting.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint32_t kBinPieces = 4;  // blocks of threads that add up a group of features
static_assert(kThreads >= 2 * kChosenMax);

__global__ void __launch_bounds__(kThreads)
    Meet(const __grid_constant__ TreeView view, Topic topic, MeetingParts parts) {
  MeetInBlock(view, topic, parts);
}

// Meets for histograms, and adds the other GPUs' of this one's features to its own. A block of
// threads takes a part of one leaf's bins of a group of features; the first one tells.
__global__ void __launch_bounds__(kThreads)
    AddPeers(const __grid_constant__ TreeView view, bool tells) {
  if (!IsHeld(view, Topic::kHistograms)) return;
  const uint32_t meeting = MeetingOf(view, Topic::kHistograms, {});
  if (tells && blockIdx.x == 0) SayIsHere(view, meeting);
  const uint32_t pieces = view.OwnGroups() * kBinPieces;
  const uint32_t jobs = static_cast<uint32_t>(view.state->chosen_count) * pieces;
  if (!HaveAllCome(view, meeting)) return;
  for (uint32_t number = blockIdx.x; number < jobs; number += gridDim.x) {
    const Chosen& chosen = view.state->chosen[number / pieces];
    if (!ChildPair(view, chosen).any_can_split) continue;
    const uint32_t group = view.FirstGroupOf(view.gpu) + number % pieces / kBinPieces;
    const uint32_t f = group * kGroupFeatures + threadIdx.x % kGroupFeatures;
    if (f >= view.features) continue;
    const FeatureView& feature = view.feature[f];
    constexpr uint32_t kBinsAtOnce = kThreads / kGroupFeatures;
    const uint32_t first = number % kBinPieces * kBinsAtOnce + threadIdx.x / kGroupFeatures;
    for (uint32_t bin = first; bin < feature.shape.bins; bin += kBinPieces * kBinsAtOnce) {
      const uint64_t at = static_cast<uint64_t>(chosen.new_slot) * view.histogram_size +
                          feature.histogram + uint64_t{bin} * feature.histogram_stride;
      GradientSums sum = view.histograms[at];
      for (uint32_t gpu = 0; gpu < view.gpus; ++gpu) {
        if (gpu != view.gpu) sum += view.histograms_of[gpu][at];
      }
      view.histograms[at] = sum;
    }
  }
}

}  // namespace

void MeetPeers(const TreeView& view, Topic topic, MeetingParts parts, cudaStream_t stream) {
  if (topic != Topic::kHistograms || !parts.hears) {
    Meet<<<1, kThreads, 0, stream>>>(view, topic, parts);
    return;
  }
  const uint32_t blocks = kChosenMax * std::clamp(view.OwnGroups(), 1U, 16U) * kBinPieces;
  AddPeers<<<blocks, kThreads, 0, stream>>>(view, parts.tells);
}

}  // namespace strata::gpu_tree
