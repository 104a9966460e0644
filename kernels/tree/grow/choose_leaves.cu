#include "kernels/core/cuda_status.cuh"
#include "kernels/core/math.h"
#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/grow/meeting.cuh"
#include "kernels/tree/split/best_group.cuh"
#include "kernels/tree/split/split_judge.h"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 512;
constexpr int32_t kLanesOfLeaf = 4;  // that rank a leaf together
constexpr uint32_t kFewGroups = 8;

// What orders the splits of nodes, in the place of gains: of level after level, the smaller depth,
// and of one level the gain, but for its last bits (Replay sees to those).
__device__ double OrderOf(const TreeView& view, const TreeNode& node) {
  if (view.policy == GrowPolicy::kLossGuide || !node.best.exists()) return node.best.gain;
  constexpr uint64_t kDepthMax = 8191;
  static_assert(kGpuLeavesMax <= kDepthMax);
  constexpr int kGainBits = 39;  // with the 13 of the depth as many as a double holds
  return static_cast<double>(((kDepthMax - node.depth) << kGainBits) +
                             (math::BitsOf(node.best.gain) >> (63 - kGainBits)));
}

// What is known of the nodes, in shared memory.
struct KnownNodes {
  static constexpr uint8_t kHasSplit = 1;  // a split that is worth it was found
  static constexpr uint8_t kIsSplit = 2;   // its children are there
  static constexpr uint8_t kPopped = 4;    // TreeNode::popped

  double* gain;   // OrderOf
  double* least;  // gain on the way here from where the tree ends for certain
  int32_t* parent;
  int32_t* listed;  // nodes that may still come, in any order; until then, the features they have
  uint8_t* flags;
  int32_t count;

  static __host__ __device__ size_t BytesFor(size_t nodes) {
    return nodes * (2 * sizeof(double) + 2 * sizeof(int32_t) + 1);
  }

  __device__ KnownNodes(const TreeView& view, uint4* shared)
      : gain(reinterpret_cast<double*>(shared)),
        least(gain + view.node_capacity),
        parent(reinterpret_cast<int32_t*>(least + view.node_capacity)),
        listed(parent + view.node_capacity),
        flags(reinterpret_cast<uint8_t*>(listed + view.node_capacity)),
        count(view.state->node_count) {
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count; i += kThreads) {
      const TreeNode& node = view.nodes[i];
      gain[i] = OrderOf(view, node);
      parent[i] = node.parent;
      listed[i] = node.best.feature;
      flags[i] =
          static_cast<uint8_t>((node.best.exists() ? kHasSplit : 0) |
                               (node.children >= 0 ? kIsSplit : 0) | (node.popped ? kPopped : 0));
    }
    __syncthreads();
  }

  __device__ bool MayCome(int32_t i) const {
    return (flags[i] & (kHasSplit | kPopped)) == kHasSplit;
  }
  __device__ bool IsSplit(int32_t i) const { return (flags[i] & kIsSplit) != 0; }
  // Its parent is in the tree for certain: best-first growth may take it next.
  __device__ bool IsNext(int32_t i) const {
    return MayCome(i) && (parent[i] < 0 || (flags[parent[i]] & kPopped) != 0);
  }
};

// What some of the nodes know of which leaf comes next.
struct Front {
  static constexpr uint64_t kNone = ~uint64_t{0};

  double unsplit = 0;    // the largest `least` of leaves
  double gain = 0;       // of the node that best-first growth takes next
  uint64_t tie = kNone;  // of those of that gain, the smallest feature << 32 | node

  __device__ void Take(double its_unsplit, double its_gain, uint64_t its_tie) {
    if (its_unsplit > unsplit) unsplit = its_unsplit;
    if (its_gain < gain || (its_gain == gain && its_tie >= tie)) return;
    gain = its_gain;
    tie = its_tie;
  }
  // Of `lanes` neighbours, in each of them.
  __device__ void TakeOthers(int lanes) {
    for (int other = lanes / 2; other > 0; other /= 2) {
      Take(__shfl_xor_sync(kWholeWarp, unsplit, other), __shfl_xor_sync(kWholeWarp, gain, other),
           __shfl_xor_sync(kWholeWarp, tie, other));
    }
  }
  __device__ int32_t Next() const {
    return tie == kNone ? -1 : static_cast<int32_t>(tie & 0xffffffffU);
  }
};

// Room to exchange between warps.
struct BlockRoom {
  double unsplit[kThreads / 32];
  double gain[kThreads / 32];
  uint64_t tie[kThreads / 32];
};

__device__ void FindLeast(const KnownNodes& nodes) {
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < nodes.count; i += kThreads) {
    if (!nodes.MayCome(i)) continue;
    double least = nodes.gain[i];
    for (int32_t up = nodes.parent[i]; up >= 0 && nodes.MayCome(up); up = nodes.parent[up]) {
      if (nodes.gain[up] < least) least = nodes.gain[up];
    }
    nodes.least[i] = least;
  }
}

// Of all nodes: the leaf that best-first growth takes next has the largest gain, then the smaller
// feature.
__device__ Front LookAtFront(const KnownNodes& nodes, BlockRoom* room) {
  constexpr unsigned kWarps = kThreads / 32;
  Front front;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < nodes.count; i += kThreads) {
    if (!nodes.MayCome(i)) continue;
    const bool is_next = nodes.IsNext(i);
    const uint64_t tie = static_cast<uint64_t>(nodes.listed[i]) << 32 | static_cast<uint32_t>(i);
    front.Take(nodes.IsSplit(i) ? 0 : nodes.least[i], is_next ? nodes.gain[i] : 0,
               is_next ? tie : Front::kNone);
  }
  front.TakeOthers(32);
  __syncthreads();  // the last call's values have been read
  if (threadIdx.x % 32 == 0) {
    const unsigned warp = threadIdx.x / 32;
    room->unsplit[warp] = front.unsplit;
    room->gain[warp] = front.gain;
    room->tie[warp] = front.tie;
  }
  __syncthreads();
  const unsigned warp = threadIdx.x % kWarps;
  front.Take(room->unsplit[warp], room->gain[warp], room->tie[warp]);
  front.TakeOthers(kWarps);
  return front;
}

// Takes splits into the tree for certain: those with no leaf before them whose children are not
// known. `least` is the gain on the way to a leaf: what has more than all unsplit leaves comes
// before them, and so do all that come before it (on the way to any of those, gains are larger
// still). Returns the leaf that comes next, -1 if the tree is done.
__device__ int32_t TakeCertain(const TreeView& view, const KnownNodes& nodes, BlockRoom* room,
                               uint32_t* popped) {
  int32_t pops = view.state->pop_count;
  for (;;) {
    FindLeast(nodes);
    const Front front = LookAtFront(nodes, room);
    const int32_t next = front.Next();
    if (threadIdx.x == 0) view.state->pop_count = pops;
    if (pops + 1 >= view.leaves_max || next < 0) return -1;
    if (!nodes.IsSplit(next)) return next;
    if (threadIdx.x == 0) *popped = 0;
    __syncthreads();
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < nodes.count; i += kThreads) {
      if (!nodes.MayCome(i) || !nodes.IsSplit(i)) continue;
      if (i != next && !(nodes.least[i] > front.unsplit)) continue;
      nodes.flags[i] |= KnownNodes::kPopped;
      view.nodes[i].popped = true;
      atomicAdd(popped, 1U);
    }
    __syncthreads();
    pops += static_cast<int32_t>(*popped);
  }
}

// The nodes that may still come: leaves from the front of the list, splits from its end.
struct Listed {
  int32_t leaves;
  int32_t splits;
};

// Of the list's places from `begin` on, every kLanesOfLeaf-th: how many come before a node. Equal
// gains come by number.
__device__ int32_t CountBefore(const KnownNodes& nodes, const double* listed_least, int32_t begin,
                               int32_t end, double least, int32_t node) {
  int32_t before = 0;
#pragma unroll 8
  for (int32_t k = begin; k < end; k += kLanesOfLeaf) {
    const double others = listed_least[k];
    before += others > least || (others == least && nodes.listed[k] < node) ? 1 : 0;
  }
  return before;
}

// Leaves to split now, the surest first, into of_rank. Uses up the nodes' gains.
__device__ void RankLeaves(const TreeView& view, const KnownNodes& nodes, int32_t next,
                           int32_t wanted, Listed* listed, int32_t* of_rank) {
  double* const listed_least = nodes.gain;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < nodes.count; i += kThreads) {
    if (!nodes.MayCome(i)) continue;
    const int32_t place = nodes.IsSplit(i) ? view.node_capacity - 1 - atomicAdd(&listed->splits, 1)
                                           : atomicAdd(&listed->leaves, 1);
    nodes.listed[place] = i;
    listed_least[place] = i == next ? math::Infinity() : nodes.least[i];
  }
  __syncthreads();
  const int32_t leaves = listed->leaves;
  const int32_t first_split = view.node_capacity - listed->splits;
  const int32_t left = view.leaves_max - 1 - view.state->pop_count;
  const auto lane = static_cast<int32_t>(threadIdx.x % kLanesOfLeaf);
  for (int32_t first = 0; first < leaves; first += kThreads / kLanesOfLeaf) {
    const int32_t j = first + static_cast<int32_t>(threadIdx.x / kLanesOfLeaf);
    int32_t leaves_before = 0;
    int32_t splits_before = 0;
    if (j < leaves) {
      const double least = listed_least[j];
      const int32_t node = nodes.listed[j];
      leaves_before = CountBefore(nodes, listed_least, lane, leaves, least, node);
      splits_before =
          CountBefore(nodes, listed_least, first_split + lane, view.node_capacity, least, node);
    }
    for (int lanes = kLanesOfLeaf / 2; lanes > 0; lanes /= 2) {
      leaves_before += __shfl_xor_sync(kWholeWarp, leaves_before, lanes);
      splits_before += __shfl_xor_sync(kWholeWarp, splits_before, lanes);
    }
    if (j < leaves && lane == 0 && leaves_before < wanted && leaves_before + splits_before < left) {
      of_rank[leaves_before] = nodes.listed[j];
    }
  }
  __syncthreads();
}

// What the children of a leaf begin as; their rows are still to be counted.
__device__ void MakeChildren(const TreeView& view, const TreeNode& parent, int32_t parent_at,
                             int32_t at) {
  const DeviceSplit& split = parent.best;
  TreeNode left;
  left.leaf = {split.left, 0, split.left_output, parent.leaf.bounds};
  left.anchor = parent.begin();
  left.parent = parent_at;
  left.depth = parent.depth + 1;
  left.side = static_cast<uint8_t>(1 - parent.side);
  left.is_left = true;
  left.path = ChildPath(parent.path, true);
  // Nobody asks for the rows of such a tree, but for their scores.
  left.marked = view.state->rows_are_all != 0 && view.IsTooDeep(left);
  left.interactions = parent.interactions & view.feature[split.feature].shape.interactions;
  TreeNode right = left;
  right.leaf.sums = parent.leaf.sums - split.left;
  right.leaf.output = split.right_output;
  right.anchor = parent.begin() + parent.count;
  right.ends_at_anchor = true;
  right.is_left = false;
  right.path = ChildPath(parent.path, false);
  if (split.monotone != 0) {
    const double middle = (split.left_output + split.right_output) / 2;
    (split.monotone > 0 ? left : right).leaf.bounds.max = middle;
    (split.monotone > 0 ? right : left).leaf.bounds.min = middle;
  }
  view.nodes[at] = left;
  view.nodes[at + 1] = right;
}

// Which bins of a categorical split go left: from the histogram that it was found in.
__device__ void MakeSet(const TreeView& view, int32_t at) {
  const TreeNode& node = view.nodes[at];
  const DeviceSplit& split = node.best;
  if (!split.categorical) return;
  const FeatureView& feature = view.feature[split.feature];
  uint32_t* const set = view.sets + static_cast<uint64_t>(at) * view.set_words;
  const GradientSums* const bins = view.histograms_of[view.OwnerOf(split.feature)] +
                                   static_cast<uint64_t>(node.slot) * view.histogram_size +
                                   feature.histogram;
  const SplitJudge judge(feature.shape, node.AsLeaf(), view.state->units, view.rules);
  const uint64_t stride = feature.histogram_stride;
  const double last = SubsetRatio(judge, bins[split.threshold * stride]);
  for (uint32_t word = threadIdx.x; word < view.set_words; word += kThreads) {
    uint32_t bits = 0;
    for (uint32_t bit = 0; bit < 32; ++bit) {
      const uint32_t bin = word * 32 + bit;
      if (bin == 0 || bin >= feature.shape.bins) continue;
      bool left = bin == split.threshold;
      if (!left && split.is_subset && IsInSubsets(judge, bins[bin * stride])) {
        const double ratio = SubsetRatio(judge, bins[bin * stride]);
        const bool before = ratio < last || (ratio == last && bin < split.threshold);
        left = before == split.from_front;
      }
      bits |= (left ? 1U : 0U) << bit;
    }
    set[word] = bits;
  }
}

// Splits the leaves of of_rank, the first of which comes next for certain.
__device__ void SplitLeaves(const TreeView& view, const int32_t* of_rank) {
  TreeState& state = *view.state;
  // One look at a node after the other takes its time: not where no feature is categorical.
  for (int32_t i = 0; view.set_words > 0 && i < kChosenMax && of_rank[i] >= 0; ++i) {
    MakeSet(view, of_rank[i]);
  }
  if (threadIdx.x == 0) {
    ++state.pop_count;
    view.nodes[of_rank[0]].popped = true;
  }
  __syncthreads();
  if (threadIdx.x < kChosenMax && of_rank[threadIdx.x] >= 0) {
    const auto i = static_cast<int32_t>(threadIdx.x);
    const int32_t at = of_rank[i];
    TreeNode& node = view.nodes[at];
    const int32_t children = state.node_count + 2 * i;
    MakeChildren(view, node, at, children);
    state.chosen[i] = {at, children, node.slot, state.slot_count + i};
    node.children = children;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t chosen = 0;
    while (chosen < kChosenMax && of_rank[chosen] >= 0) ++chosen;
    state.chosen_count = chosen;
    state.node_count += 2 * chosen;
    state.slot_count += chosen;
    ++state.steps;
  }
}

// A warp: whether a step splits all leaves that are left, and their children are too deep.
__device__ bool IsLastStep(const TreeView& view, const Listed& listed) {
  const TreeState& state = *view.state;
  if (view.max_depth == 0 || state.chosen_count != listed.leaves) return false;
  const auto i = static_cast<int32_t>(threadIdx.x);
  return __all_sync(kWholeWarp, i >= state.chosen_count ||
                                    view.IsTooDeep(view.nodes[state.chosen[i].children])) != 0;
}

// The best splits that the last step's search has found, of all GPUs. So many lanes look at one
// child's.
template <int kLanesOfChild>
__device__ void TakeFound(const TreeView& view) {
  static_assert(kLanesOfChild >= kSplitWords);
  constexpr uint32_t kAtOnce = kThreads / kLanesOfChild;
  const auto lane = static_cast<int>(threadIdx.x % kLanesOfChild);
  const auto places = static_cast<uint32_t>(view.state->chosen_count) * 2;
  for (uint32_t first = 0; first < places; first += kAtOnce) {
    const uint32_t place = first + threadIdx.x / kLanesOfChild;
    const int32_t child = place < places ? SearchedChild(view, place) : -1;
    const DeviceSplit* const found = view.found + uint64_t{place} * view.groups();
    BestOf best;
    for (auto group = static_cast<uint32_t>(lane); child >= 0 && group < view.groups();
         group += kLanesOfChild) {
      best.Take(found[group].gain, found[group].feature, group);
    }
    best.TakeOthers(kLanesOfChild);
    const uint32_t number = __shfl_sync(kWholeWarp, best.number, 0, kLanesOfChild);
    if (child < 0) continue;
    TreeNode& node = view.nodes[child];
    if (lane < kSplitWords) CopyWord(found[number], lane, &node.best);
    if (lane == 0) node.slot = SlotOf(view.state->chosen[place / 2], place);
  }
}

__global__ void __launch_bounds__(kThreads) Choose(const __grid_constant__ TreeView view) {
  extern __shared__ uint4 shared[];
  __shared__ BlockRoom room;
  __shared__ int32_t of_rank[kChosenMax];
  __shared__ Listed listed;
  __shared__ uint32_t popped;
  TreeState& state = *view.state;
  if (!Hear(view, StepTopic::kSplits)) return;
  if (state.done != 0) {
    if (threadIdx.x == 0) state.chosen_count = 0;
    return;
  }
  if (view.groups() <= kFewGroups) {
    TakeFound<kFewGroups>(view);
  } else {
    TakeFound<32>(view);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    listed = {};
    ++state.choices;
  }
  if (threadIdx.x < kChosenMax) of_rank[threadIdx.x] = -1;
  const KnownNodes nodes(view, shared);
  const int32_t needed = state.needed - 1;
  const int32_t next = needed >= 0 ? needed : TakeCertain(view, nodes, &room, &popped);
  __syncthreads();
  if (next < 0) {
    if (threadIdx.x == 0) {
      state.done = 1;
      state.chosen_count = 0;
    }
    return;
  }
  if (needed >= 0) {
    if (threadIdx.x == 0) {
      of_rank[0] = needed;
      state.needed = 0;
    }
    __syncthreads();
  } else {
    // Nodes for splits that may turn out not to be needed, beyond those that will be.
    const int32_t spare =
        (view.node_capacity - state.node_count) / 2 - (view.leaves_max - 1 - state.pop_count);
    const int32_t wanted = max(1, min(view.chosen_max, spare + 1));
    RankLeaves(view, nodes, next, wanted, &listed, of_rank);
  }
  SplitLeaves(view, of_rank);
  __syncthreads();
  if (threadIdx.x < 32 && needed < 0 && IsLastStep(view, listed)) state.done = 1;
}

__global__ void __launch_bounds__(kThreads)
    Begin(const __grid_constant__ TreeView view, uint64_t tree_number) {
  __shared__ uint32_t used;
  TreeState& state = *view.state;
  if (threadIdx.x == 0) used = 0;
  __syncthreads();
  for (uint32_t f = threadIdx.x; f < view.features; f += kThreads) {
    view.splittable[f] = view.feature_used[f];
    if (view.feature_used[f] != 0) atomicAdd(&used, 1U);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  TreeNode root;
  root.leaf.sums = {static_cast<int64_t>(state.root_gradient),
                    static_cast<int64_t>(state.root_hessian)};
  root.count = state.bag_count;
  root.path = RootPath(tree_number);
  root.others = state.bag_others;
  SplitRules plain = view.rules;
  plain.path_smooth = 0;
  root.leaf.output = LeafOutput(
      static_cast<double>(root.leaf.sums.gradient) * state.units.gradient,
      static_cast<double>(root.leaf.sums.hessian) * state.units.hessian + kHessianEpsilon,
      plain.lambda_l2, root.rows(), plain, 0);
  view.nodes[0] = root;
  state.chosen[0] = Chosen{};
  state.chosen_count = view.leaves_max > 1 ? 1 : 0;
  state.node_count = 1;
  state.slot_count = 1;
  state.pop_count = 0;
  state.needed = 0;
  state.done = 0;
  state.steps = 0;
  state.choices = 0;
  state.first_meeting = view.mailboxes[view.gpu]->meetings;
  state.features_of_node = static_cast<uint32_t>(ShareOfFeatures(used, view.bynode));
}

size_t SharedBytes(const TreeView& view) {
  return KnownNodes::BytesFor(static_cast<size_t>(view.node_capacity));
}

}  // namespace

Status PrepareChoice(const TreeView& view) {
  return FromCuda(cudaFuncSetAttribute(Choose, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(SharedBytes(view))),
                  "shared memory of nodes");
}

void BeginTree(const TreeView& view, uint64_t tree_number, cudaStream_t stream) {
  (void)cudaMemsetAsync(view.histograms, 0, view.histogram_size * sizeof(GradientSums), stream);
  Begin<<<1, kThreads, 0, stream>>>(view, tree_number);
}

void ChooseLeaves(const TreeView& view, cudaStream_t stream) {
  Choose<<<1, kThreads, SharedBytes(view), stream>>>(view);
}

}  // namespace strata::gpu_tree
