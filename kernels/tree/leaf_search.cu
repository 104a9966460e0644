// The best splits of a step's children. A block of threads takes one child and a group of features
// side by side, a thread a range of one feature's bins: sums of ranges are scanned first, then each
// bin is judged by itself, in whatever order; which candidate of equal ones wins goes by its rank,
// the order in which the CPU's search meets them.
#include "kernels/tree/best_group.cuh"
#include "kernels/tree/device_tree.cuh"
#include "kernels/tree/shuffle.cuh"
#include "kernels/tree/split_judge.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kRanges = 32;
constexpr unsigned kThreads = kGroupFeatures * kRanges;
static_assert(kThreads / 32 == kGroupFeatures);  // a warp a feature

// One feature's histogram of a child.
struct BinsOf {
  GradientSums* own;
  uint64_t stride;

  __device__ GradientSums& operator[](uint32_t bin) const { return own[bin * stride]; }
};

struct Candidate {
  double gain;
  uint32_t rank;
  int64_t left_rows;
  GradientSums left;

  // Whether an allowed split is better, which it then is.
  __device__ bool Takes(const SplitJudge& judge, const SplitSide& side, bool side_is_left,
                        uint32_t its_rank) {
    const double its_gain = judge.GainOf(side, side_is_left);
    if (!(its_gain > judge.gain_to_beat()) || its_gain < gain) return false;
    if (its_gain == gain && its_rank >= rank) return false;
    gain = its_gain;
    rank = its_rank;
    left = side_is_left ? side.sums : judge.leaf().sums - side.sums;
    left_rows = side_is_left ? side.rows : judge.leaf().rows - side.rows;
    return true;
  }
};

__device__ Candidate NoCandidate() { return {-1, ~0U, 0, {}}; }

// What ranges of a group's features hand to each other.
struct Exchanged {
  int64_t gradient[kGroupFeatures][kRanges];
  int64_t hessian[kGroupFeatures][kRanges];
  int64_t rows[kGroupFeatures][kRanges];
  double gain[kGroupFeatures][kRanges];
  uint32_t rank[kGroupFeatures][kRanges];
  SplitSide total[kGroupFeatures];
};
struct FoundSplits {
  DeviceSplit split[kGroupFeatures];
  bool may_use[kGroupFeatures];  // whether the node may be split by it
};

// A feature's numeric search, as one range does it.
struct NumericRange {
  const FeatureShape& shape;
  BinsOf bins;
  uint32_t begin;
  uint32_t end;
  bool both_ways;
  int64_t random_bin;

  // Whether the bin takes part: missing values' bin goes with neither side.
  __device__ bool TakesPart(uint32_t bin) const {
    if (!both_ways) return true;
    if (shape.missing == MissingKind::kZero) return bin != shape.default_bin;
    return bin + 1 != shape.bins;
  }

  __device__ bool IsTried(uint32_t threshold) const {
    return random_bin < 0 || threshold == static_cast<uint64_t>(random_bin);
  }

  // `before`: of the bins below the range that take part; `total`: of all.
  __device__ Candidate Search(const SplitJudge& judge, SplitSide before,
                              const SplitSide& total) const {
    Candidate best = NoCandidate();
    for (uint32_t bin = begin; bin < end; ++bin) {
      if (!TakesPart(bin)) continue;
      if (bin > 0 && IsTried(bin - 1)) {
        const SplitSide right{total.sums - before.sums, total.rows - before.rows};
        if (judge.Judge(right) == SplitVerdict::kAllowed) {
          best.Takes(judge, right, false, shape.bins - bin);
        }
      }
      judge.Add(bins[bin], &before);
      if (both_ways && bin + 1 < shape.bins && IsTried(bin) &&
          judge.Judge(before) == SplitVerdict::kAllowed) {
        best.Takes(judge, before, true, shape.bins + bin);
      }
    }
    return best;
  }
};

__device__ DeviceSplit SplitOf(const SplitJudge& judge, const Candidate& best, int32_t feature) {
  DeviceSplit split;
  if (best.rank == ~0U) return split;
  split.gain = judge.GainAdded(best.gain);
  split.feature = feature;
  split.left = best.left;
  split.left_output = judge.Output(best.left, best.left_rows);
  split.right_output =
      judge.Output(judge.leaf().sums - best.left, judge.leaf().rows - best.left_rows);
  return split;
}

// Of a warp: the candidate that comes first, in all lanes.
__device__ Candidate FirstOfWarp(const Candidate& mine) {
  double gain = mine.gain;
  uint32_t rank = mine.rank;
  uint32_t lane = threadIdx.x % 32;
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const double other_gain = __shfl_xor_sync(kWholeWarp, gain, lanes);
    const uint32_t other_rank = __shfl_xor_sync(kWholeWarp, rank, lanes);
    const uint32_t other_lane = __shfl_xor_sync(kWholeWarp, lane, lanes);
    if (other_gain > gain || (other_gain == gain && other_rank < rank)) {
      gain = other_gain;
      rank = other_rank;
      lane = other_lane;
    }
  }
  const int from = static_cast<int>(lane);
  return {gain,
          rank,
          __shfl_sync(kWholeWarp, mine.left_rows, from),
          {__shfl_sync(kWholeWarp, mine.left.gradient, from),
           __shfl_sync(kWholeWarp, mine.left.hessian, from)}};
}

// A warp: one category against the others.
__device__ DeviceSplit SearchOneHot(const SplitJudge& judge, const FeatureShape& shape,
                                    const BinsOf& bins, int32_t feature, int64_t random_bin) {
  Candidate best = NoCandidate();
  for (uint32_t bin = threadIdx.x % 32; bin < shape.bins; bin += 32) {
    if (bin == 0 || (random_bin >= 0 && bin != static_cast<uint64_t>(random_bin))) continue;
    SplitSide left;
    judge.Add(bins[bin], &left);
    if (judge.Judge(left) == SplitVerdict::kAllowed) best.Takes(judge, left, true, bin);
  }
  best = FirstOfWarp(best);
  DeviceSplit split = SplitOf(judge, best, feature);
  split.threshold = best.rank;
  return split;
}

// A place in the order of a subset's categories.
struct Place {
  double ratio;
  uint32_t bin;

  __device__ bool IsBefore(const Place& other) const {
    return ratio != other.ratio ? ratio < other.ratio : bin < other.bin;
  }
};

// A warp: the category that is next in the order behind `last` (or, from the back, before it).
__device__ Place NextCategory(const SplitJudge& judge, const FeatureShape& shape,
                              const BinsOf& bins, const Place& last, bool is_first,
                              bool from_front) {
  Place next{0, ~0U};
  const auto sooner = [from_front](const Place& a, const Place& b) {
    return from_front ? a.IsBefore(b) : b.IsBefore(a);
  };
  for (uint32_t bin = 1 + threadIdx.x % 32; bin < shape.bins; bin += 32) {
    if (!IsInSubsets(judge, bins[bin])) continue;
    const Place place{SubsetRatio(judge, bins[bin]), bin};
    if (!is_first && !sooner(last, place)) continue;
    if (next.bin == ~0U || sooner(place, next)) next = place;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const Place other{__shfl_xor_sync(kWholeWarp, next.ratio, lanes),
                      __shfl_xor_sync(kWholeWarp, next.bin, lanes)};
    if (other.bin != ~0U && (next.bin == ~0U || sooner(other, next))) next = other;
  }
  return next;
}

// A warp: prefixes of the categories in their order, from both ends.
__device__ DeviceSplit SearchSubsets(const SplitJudge& judge, const FeatureShape& shape,
                                     const BinsOf& bins, int32_t feature, int64_t random_prefix) {
  int32_t used = 0;
  for (uint32_t bin = 1 + threadIdx.x % 32; bin < shape.bins; bin += 32) {
    used += IsInSubsets(judge, bins[bin]) ? 1 : 0;
  }
  used = ShuffleReduce(used, PlusOf{});
  const int64_t most = SubsetMost(used, judge.rules());
  Candidate best = NoCandidate();
  uint32_t best_last = 0;
  for (uint32_t back = 0; back < 2; ++back) {
    SubsetWalk walk;
    Place last{0, 0};
    for (int64_t i = 0; i < used && i < most; ++i) {
      last = NextCategory(judge, shape, bins, last, i == 0, back == 0);
      const SplitVerdict verdict = walk.Take(judge, bins[last.bin]);
      if (verdict == SplitVerdict::kOtherShort) break;
      if (verdict == SplitVerdict::kShort) continue;
      if (random_prefix >= 0 && i != random_prefix % most) continue;
      if (judge.Judge(walk.left) != SplitVerdict::kAllowed) continue;
      if (best.Takes(judge, walk.left, true, back)) best_last = last.bin;
    }
  }
  DeviceSplit split = SplitOf(judge, best, feature);
  split.threshold = best_last;
  split.is_subset = true;
  split.from_front = best.rank == 0;
  return split;
}

__device__ DeviceSplit SearchCategorical(const SplitJudge& judge, const FeatureShape& shape,
                                         const BinsOf& bins, int32_t feature, int64_t random_bin) {
  DeviceSplit split;
  if (shape.bins < 2) return split;
  if (shape.bins <= static_cast<uint32_t>(judge.rules().max_cat_to_onehot)) {
    split = SearchOneHot(judge, shape, bins, feature, random_bin);
  } else {
    const SplitJudge more = judge.WithMoreL2(judge.rules().cat_l2);
    split = SearchSubsets(more, shape, bins, feature, random_bin);
  }
  split.categorical = true;
  return split;
}

// What a block of threads searches: a child and a group of features.
struct Job {
  const TreeView& view;
  const Chosen& chosen;
  int32_t child;   // its node
  bool subtracts;  // its histogram is what is left of its parent's
  uint32_t group;
  uint32_t place;  // chosen * 2 + child

  __device__ int32_t Slot() const { return subtracts ? chosen.parent_slot : chosen.new_slot; }
  __device__ GradientSums* Histogram(int32_t slot) const {
    return view.histograms + static_cast<uint64_t>(slot) * view.histogram_size;
  }
  __device__ uint8_t* Splittable(int32_t node) const {
    return view.splittable + static_cast<uint64_t>(node) * view.features;
  }
  // Features that no split of the parent could use are left out below it.
  __device__ bool MayBeSplit(uint32_t feature) const {
    return feature < view.features &&
           Splittable(chosen.parent < 0 ? child : chosen.parent)[feature] != 0;
  }
  __device__ int64_t BinToTry(uint32_t feature, const FeatureShape& shape) const {
    if (!view.extra_trees) return -1;
    return RandomBin(NodeSeed(view.extra_seed, view.nodes[child].path), feature, shape);
  }
};

// Draws the features of the node; a warp says it of one of the group: whether fewer of the tree's
// features than the node may use are drawn before it.
__device__ void DrawFeatures(const Job& job, FoundSplits* found) {
  const TreeView& view = job.view;
  const unsigned of_group = threadIdx.x / 32;
  const uint32_t f = job.group * kGroupFeatures + of_group;
  uint32_t before = 0;
  if (view.bynode < 1 && f < view.features) {
    const uint64_t seed = NodeSeed(view.feature_seed, view.nodes[job.child].path);
    const uint64_t own = FeatureDraw(seed, f);
    for (uint32_t other = threadIdx.x % 32; other < view.features; other += 32) {
      before += view.feature_used[other] != 0 && FeatureDraw(seed, other) < own ? 1 : 0;
    }
    before = ShuffleReduce(before, PlusOf{});
  }
  if (threadIdx.x % 32 == 0) {
    found->may_use[of_group] = view.bynode >= 1 || before < view.state->features_of_node;
  }
}

// Makes the bins of the thread's range the child's own; their sums, of those that take part.
__device__ SplitSide OwnSums(const Job& job, const NumericRange& range, const SplitJudge& judge,
                             const GradientSums* smaller) {
  constexpr uint32_t kAtOnce = 4;  // loads on their way together
  SplitSide sums;
  for (uint32_t first = range.begin; first < range.end; first += kAtOnce) {
    GradientSums own[kAtOnce];
    GradientSums other[kAtOnce];
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      if (first + i >= range.end) continue;
      own[i] = range.bins[first + i];
      if (job.subtracts) other[i] = smaller[(first + i) * range.bins.stride];
    }
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      if (first + i >= range.end) continue;
      if (job.subtracts) range.bins[first + i] = own[i] = own[i] - other[i];
      if (range.TakesPart(first + i)) judge.Add(own[i], &sums);
    }
  }
  return sums;
}

// Each range's sums become those before it. A warp a feature.
__device__ void SumRanges(Exchanged* exchanged) {
  const unsigned feature = threadIdx.x / 32;
  const unsigned range = threadIdx.x % 32;
  const auto sum = [&](int64_t(&of_range)[kRanges]) {
    const int64_t own = of_range[range];
    const int64_t until = ShufflePrefixSum(own);
    of_range[range] = until - own;
    return until;
  };
  const int64_t gradient = sum(exchanged->gradient[feature]);
  const int64_t hessian = sum(exchanged->hessian[feature]);
  const int64_t rows = sum(exchanged->rows[feature]);
  if (range == kRanges - 1) exchanged->total[feature] = {{gradient, hessian}, rows};
}

// The best candidate of each range of the features of the group.
__device__ void SearchGroup(const Job& job, Exchanged* exchanged, FoundSplits* found) {
  const TreeView& view = job.view;
  const TreeNode& node = view.nodes[job.child];
  const SplitLeaf leaf = node.AsLeaf();
  const unsigned of_group = threadIdx.x % kGroupFeatures;
  const unsigned range_number = threadIdx.x / kGroupFeatures;
  const uint32_t f = job.group * kGroupFeatures + of_group;
  const bool is_used = job.MayBeSplit(f);
  const FeatureView& feature = view.feature[is_used ? f : 0];
  const FeatureShape& shape = feature.shape;
  const SplitJudge judge(shape, leaf, view.state->units, view.rules);
  const uint32_t bins_of_range = (shape.bins + kRanges - 1) / kRanges;
  const uint32_t begin = min(range_number * bins_of_range, shape.bins);
  const NumericRange range{
      shape,
      {job.Histogram(job.Slot()) + feature.histogram, feature.histogram_stride},
      begin,
      min(begin + bins_of_range, shape.bins),
      shape.bins > 2 && shape.missing != MissingKind::kNone && !shape.categorical,
      job.BinToTry(f, shape)};
  DrawFeatures(job, found);
  SplitSide before;
  if (is_used) {
    before = OwnSums(job, range, judge, job.Histogram(job.chosen.new_slot) + feature.histogram);
  }
  exchanged->gradient[of_group][range_number] = before.sums.gradient;
  exchanged->hessian[of_group][range_number] = before.sums.hessian;
  exchanged->rows[of_group][range_number] = before.rows;
  __syncthreads();
  SumRanges(exchanged);
  __syncthreads();
  Candidate best = NoCandidate();
  const bool is_searched = is_used && found->may_use[of_group];
  if (is_searched && !shape.categorical && shape.bins >= 2) {
    before = {
        {exchanged->gradient[of_group][range_number], exchanged->hessian[of_group][range_number]},
        exchanged->rows[of_group][range_number]};
    best = range.Search(judge, before, exchanged->total[of_group]);
  }
  __syncthreads();
  exchanged->gain[of_group][range_number] = best.gain;
  exchanged->rank[of_group][range_number] = best.rank;
  exchanged->gradient[of_group][range_number] = best.left.gradient;
  exchanged->hessian[of_group][range_number] = best.left.hessian;
  exchanged->rows[of_group][range_number] = best.left_rows;
  __syncthreads();
}

// A warp a feature: the first of its ranges' candidates; its categories.
__device__ void FinishFeature(const Job& job, const Exchanged& exchanged, FoundSplits* found) {
  const TreeView& view = job.view;
  const unsigned of_group = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const uint32_t f = job.group * kGroupFeatures + of_group;
  const bool is_used = job.MayBeSplit(f);
  const bool is_searched = is_used && found->may_use[of_group];
  DeviceSplit split;
  if (is_searched) {
    const FeatureView& feature = view.feature[f];
    const FeatureShape& shape = feature.shape;
    const SplitJudge judge(shape, view.nodes[job.child].AsLeaf(), view.state->units, view.rules);
    if (shape.categorical) {
      const BinsOf bins{job.Histogram(job.Slot()) + feature.histogram, feature.histogram_stride};
      split =
          SearchCategorical(judge, shape, bins, static_cast<int32_t>(f), job.BinToTry(f, shape));
    } else {
      const Candidate best =
          FirstOfWarp({exchanged.gain[of_group][lane],
                       exchanged.rank[of_group][lane],
                       exchanged.rows[of_group][lane],
                       {exchanged.gradient[of_group][lane], exchanged.hessian[of_group][lane]}});
      split = SplitOf(judge, best, static_cast<int32_t>(f));
      const bool is_down = best.rank < shape.bins;
      split.threshold = is_down ? shape.bins - best.rank - 1 : best.rank - shape.bins;
      split.default_left = is_down && !(shape.missing == MissingKind::kNaN && shape.bins <= 2);
      split.monotone = shape.monotone;
    }
  }
  if (lane != 0) return;
  found->split[of_group] = split;
  if (f >= view.features) return;
  const uint8_t before = is_used ? 1 : 0;
  job.Splittable(job.child)[f] = is_searched ? (split.exists() ? 1 : 0) : before;
}

// Warp 0, once all groups of a child are searched: its best split.
__device__ void FinishChild(const Job& job) {
  const TreeView& view = job.view;
  const uint32_t best = BestGroup(view, job.place);
  if (threadIdx.x != 0) return;
  TreeNode& node = view.nodes[job.child];
  node.best = view.found[uint64_t{job.place} * view.groups() + best];
  node.slot = job.Slot();
}

__global__ void __launch_bounds__(kThreads, 3) Search(const __grid_constant__ TreeView view) {
  extern __shared__ uint4 shared[];
  auto* const exchanged = reinterpret_cast<Exchanged*>(shared);
  auto* const found =
      reinterpret_cast<FoundSplits*>(reinterpret_cast<unsigned char*>(shared) + sizeof(Exchanged));
  __shared__ uint32_t arrived;
  TreeState& state = *view.state;
  const uint32_t groups = view.groups();
  const uint32_t first_group = view.FirstGroupOf(view.gpu);
  const uint32_t own_groups = view.OwnGroups();
  const uint32_t jobs = static_cast<uint32_t>(state.chosen_count) * 2 * own_groups;
  for (uint32_t number = blockIdx.x; number < jobs; number += gridDim.x) {
    const uint32_t place = number / own_groups;
    const Chosen& chosen = state.chosen[place / 2];
    const ChildPair pair(view, chosen);
    const bool is_larger = place % 2 != 0;
    const int32_t child = is_larger ? pair.larger : pair.smaller;
    if (child < 0 || !view.CanSplit(view.nodes[child])) continue;
    const Job job{view, chosen, child, is_larger, first_group + number % own_groups, place};
    SearchGroup(job, exchanged, found);
    FinishFeature(job, *exchanged, found);
    __syncthreads();
    if (threadIdx.x == 0) {
      const DeviceSplit* best = &found->split[0];
      for (int i = 1; i < kGroupFeatures; ++i) {
        if (IsBetter(found->split[i], *best)) best = &found->split[i];
      }
      view.found[uint64_t{place} * groups + job.group] = *best;
      __threadfence();
      arrived = atomicAdd(&state.arrivals[place], 1U);
      __threadfence();
    }
    __syncthreads();
    // Of several GPUs, a meeting finds the best of all.
    if (view.gpus == 1 && arrived + 1 == groups && threadIdx.x < 32) FinishChild(job);
    __syncthreads();
  }
}

}  // namespace

void SearchLeaves(const TreeView& view, uint32_t blocks, cudaStream_t stream) {
  constexpr size_t kBytes = sizeof(Exchanged) + sizeof(FoundSplits);
  static_assert(kBytes <= 48 << 10);
  Search<<<blocks, kThreads, kBytes, stream>>>(view);
}

}  // namespace strata::gpu_tree
