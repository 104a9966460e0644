// GPUs that grow a tree together meet: each writes what it has to tell into all others' memory, and
// waits until all have written to its own. No host is asked, so that steps of all GPUs run as
// graphs.
#include "kernels/tree/best_group.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr uint32_t kLooksMax = 1U << 26;  // for one who does not come
constexpr uint32_t kBinPieces = 4;        // blocks of threads that add up a group of features

// A step's leaves and children, as places of letters count them.
__device__ uint32_t ChildrenOf(const TreeView& view) {
  return static_cast<uint32_t>(view.state->chosen_count) * 2;
}

// The node that the split at this place is of; -1: it cannot be split.
__device__ int32_t SearchedChild(const TreeView& view, uint32_t place) {
  const ChildPair pair(view, view.state->chosen[place / 2]);
  const int32_t child = place % 2 == 0 ? pair.smaller : pair.larger;
  return child >= 0 && view.CanSplit(view.nodes[child]) ? child : -1;
}

__device__ int32_t CountedChild(const TreeView& view, uint32_t place) {
  return view.state->chosen[place / 2].children + static_cast<int32_t>(place % 2);
}

// Writes this GPU's letter to GPU `to`. Whole warps, one or more GPUs each, for splits.
class Writer {
 public:
  __device__ Writer(const TreeView& view, uint32_t meeting) : view_(view), meeting_(meeting) {}

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
  __device__ void WriteLargest(Letter& letter) const {
    const TreeState& state = *view_.state;
    letter.largest_gradient = state.largest_gradient;
    letter.largest_hessian = state.largest_hessian;
    letter.not_finite = state.not_finite;
  }
  __device__ void WriteRoot(Letter& letter) const {
    const TreeState& state = *view_.state;
    letter.root_gradient = state.root_gradient;
    letter.root_hessian = state.root_hessian;
    letter.bag_count = state.bag_count;
  }
  __device__ void WriteSplits() const {
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t place = threadIdx.x / 32; place < ChildrenOf(view_); place += kWarps) {
      if (SearchedChild(view_, place) < 0) continue;
      const uint32_t group = BestGroup(view_, place);
      DeviceSplit best;
      if (group != ~0U) best = view_.found[uint64_t{place} * view_.groups() + group];
      if (lane < view_.gpus) To(lane).splits[place] = best;
    }
  }
  __device__ void WriteCounts() const {
    const uint32_t all = ChildrenOf(view_) * view_.gpus;
    for (uint32_t i = threadIdx.x; i < all; i += kThreads) {
      const uint32_t place = i / view_.gpus;
      To(i % view_.gpus).counts[place] = view_.nodes[CountedChild(view_, place)].count;
    }
  }

  const TreeView& view_;
  const uint32_t meeting_;
};

// Takes in what all GPUs have written, this one among them.
class Reader {
 public:
  __device__ Reader(const TreeView& view, uint32_t meeting)
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
  static_assert(kThreads >= 2 * kChosenMax);

  __device__ void ReadLargest() const {
    TreeState& state = *view_.state;
    state.not_finite = 0;
    for (uint32_t gpu = 0; gpu < view_.gpus; ++gpu) {
      state.largest_gradient = max(state.largest_gradient, letters_[gpu].largest_gradient);
      state.largest_hessian = max(state.largest_hessian, letters_[gpu].largest_hessian);
      state.not_finite += letters_[gpu].not_finite;
    }
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
    const Chosen& chosen = view_.state->chosen[place / 2];
    node.slot = place % 2 == 0 ? chosen.new_slot : chosen.parent_slot;
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

// Whether the GPU has come to the meeting, in time.
__device__ bool HasCome(const TreeView& view, uint32_t gpu, uint32_t meeting) {
  const volatile uint32_t* const told = &view.mailboxes[view.gpu]->told[gpu];
  for (uint32_t looks = 0; looks < kLooksMax; ++looks) {
    if (static_cast<int32_t>(*told - meeting) >= 0) return true;
  }
  return false;
}

__device__ bool IsOfStep(Topic topic) { return topic != Topic::kLargest && topic != Topic::kRoot; }

__global__ void __launch_bounds__(kThreads)
    Meet(const __grid_constant__ TreeView view, Topic topic, MeetingParts parts) {
  __shared__ uint32_t lost;
  TreeState& state = *view.state;
  // As all GPUs choose alike, they are alike here.
  if (state.lost != 0 || (IsOfStep(topic) && state.chosen_count == 0)) return;
  Mailbox& own = *view.mailboxes[view.gpu];
  const uint32_t meeting = own.meetings + (parts.tells ? 1 : 0);
  if (parts.tells) {
    Writer(view, meeting).Write(topic);
    __syncthreads();
    if (threadIdx.x == 0) own.meetings = meeting;
    if (threadIdx.x < view.gpus) {
      __threadfence_system();
      *static_cast<volatile uint32_t*>(&view.mailboxes[threadIdx.x]->told[view.gpu]) = meeting;
    }
  }
  if (!parts.hears) return;
  if (threadIdx.x == 0) lost = 0;
  __syncthreads();
  if (threadIdx.x < view.gpus && !HasCome(view, threadIdx.x, meeting)) {
    atomicMax(&lost, threadIdx.x + 1);
  }
  __threadfence_system();
  __syncthreads();
  if (lost == 0) {
    Reader(view, meeting).Read(topic);
  } else if (threadIdx.x == 0) {
    state.lost = lost;
    state.done = 1;
    state.chosen_count = 0;
  }
}

// Adds the other GPUs' histograms of this one's features to its own. A block of threads takes a
// part of one leaf's bins of a group of features.
__global__ void __launch_bounds__(kThreads) AddPeers(const __grid_constant__ TreeView view) {
  const uint32_t pieces = view.OwnGroups() * kBinPieces;
  const uint32_t jobs = static_cast<uint32_t>(view.state->chosen_count) * pieces;
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
  Meet<<<1, kThreads, 0, stream>>>(view, topic, parts);
  if (topic != Topic::kHistograms || !parts.hears || view.OwnGroups() == 0) return;
  AddPeers<<<kChosenMax * std::min(view.OwnGroups(), 16U) * kBinPieces, kThreads, 0, stream>>>(
      view);
}

}  // namespace strata::gpu_tree
