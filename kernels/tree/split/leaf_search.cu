// The best splits of a step's children. A block of threads takes the two of a leaf (of many
// features one) and a group of features side by side, a warp a child's feature, a lane a range of
// its bins: of several GPUs, all GPUs' sums of a bin are added up as they are loaded. Sums of
// ranges are scanned first, then each bin is judged by itself, in whatever order; which candidate
// of equal ones wins goes by its rank, the order in which the CPU's search meets them. Gains are
// compared as fractions first: divisions are left to the few that may be the best.
#include <algorithm>

#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/grow/meeting.cuh"
#include "kernels/tree/split/best_group.cuh"
#include "kernels/tree/split/split_judge.h"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kChildThreads = kGroupFeatures * 32;
constexpr uint32_t kNearBins = 256;  // a feature with no more is searched in shared memory
constexpr uint32_t kMarks = 16;      // bins of a range that are marked one by one

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

// The child's bins of a group's features.
struct NearBins {
  static constexpr uint32_t kPlaces = kNearBins + kNearBins / 8;
  GradientSums of[kGroupFeatures][kPlaces];

  // So that lanes eight bins apart read from banks of their own.
  static __device__ uint32_t PlaceOf(uint32_t bin) { return bin + bin / 8; }
};

// What the warps have found, in shared memory.
struct FoundSplits {
  DeviceSplit split[kGroupFeatures];
};

// What a block of threads shares, of each child that it searches.
template <unsigned kChildren>
struct SharedRoom {
  NearBins near[kChildren];
  FoundSplits found[2][kChildren];  // by turns: a warp reads what was found while others find more
};

// Which of a lane's candidates may be its feature's best.
struct Marks {
  GainFraction best{-1, 1};  // below all
  uint32_t near = 0;         // not surely less than it
  uint32_t unsure = 0;       // no fractions

  __device__ void Add(const GainFraction& gain, uint32_t bit) {
    if (!(gain.under > 0)) {
      unsure |= bit;
      return;
    }
    if (IsSurelyLess(gain, best)) return;
    near = IsSurelyLess(best, gain) ? bit : near | bit;
    if (IsLess(best, gain)) best = gain;
  }

  // A warp: leaves the marks of those that are near the best of all lanes.
  __device__ uint32_t NearBestOfWarp() const {
    GainFraction of_all = best;
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      const GainFraction other{__shfl_xor_sync(kWholeWarp, of_all.over, lanes),
                               __shfl_xor_sync(kWholeWarp, of_all.under, lanes)};
      if (IsLess(of_all, other)) of_all = other;
    }
    return (IsSurelyLess(best, of_all) ? 0 : near) | unsure;
  }
};

// A feature's numeric search, as one lane does it: a range of its bins.
struct NumericRange {
  const FeatureShape& shape;
  const GradientSums* bins;  // of the feature, in shared memory, or with a stride
  uint64_t stride;           // 0: at NearBins' places
  uint32_t begin;
  uint32_t length;  // of every lane's range; beyond the last bin there is nothing
  bool both_ways;
  int64_t random_bin;

  __device__ const GradientSums& At(uint32_t bin) const {
    return bins[stride == 0 ? NearBins::PlaceOf(bin) : bin * stride];
  }

  // Whether the bin takes part: missing values' bin goes with neither side.
  __device__ bool TakesPart(uint32_t bin) const {
    if (bin >= shape.bins) return false;
    if (!both_ways) return true;
    if (shape.missing == MissingKind::kZero) return bin != shape.default_bin;
    return bin + 1 != shape.bins;
  }

  __device__ bool IsTried(uint32_t threshold) const {
    return random_bin < 0 || threshold == static_cast<uint64_t>(random_bin);
  }

  __device__ SplitSide Sums(const SplitJudge& judge) const {
    SplitSide sums;
    for (uint32_t bin = begin; bin < begin + length; ++bin) {
      if (TakesPart(bin)) judge.Add(At(bin), &sums);
    }
    return sums;
  }

  // Calls visit(mark, is_there, side, side_is_left, rank) for each candidate, the same in all
  // lanes of a warp, but that some have none. `before`: of the bins below the range that take
  // part; `total`: of all.
  template <typename Visit>
  __device__ void ForEach(const SplitJudge& judge, SplitSide before, const SplitSide& total,
                          const Visit& visit) const {
    for (uint32_t i = 0; i < length; ++i) {
      const uint32_t bin = begin + i;
      const bool is_bin = TakesPart(bin);
      const uint32_t mark = i < kMarks ? 1U << (2 * i) : 0;
      visit(mark, is_bin && bin > 0 && IsTried(bin - 1),
            SplitSide{total.sums - before.sums, total.rows - before.rows}, false, shape.bins - bin);
      if (is_bin) judge.Add(At(bin), &before);
      if (!both_ways) continue;
      visit(2 * mark, is_bin && bin + 1 < shape.bins && IsTried(bin), before, true,
            shape.bins + bin);
    }
  }

  // A warp: the lane's best candidate, where it may be the feature's.
  __device__ Candidate Search(const SplitJudge& judge) const {
    const SplitSide own = Sums(judge);
    const SplitSide until{{ShufflePrefixSum(own.sums.gradient), ShufflePrefixSum(own.sums.hessian)},
                          ShufflePrefixSum(own.rows)};
    const SplitSide before{until.sums - own.sums, until.rows - own.rows};
    const SplitSide total{{__shfl_sync(kWholeWarp, until.sums.gradient, 31),
                           __shfl_sync(kWholeWarp, until.sums.hessian, 31)},
                          __shfl_sync(kWholeWarp, until.rows, 31)};
    uint32_t marks = ~0U;
    if (judge.has_fractions()) {
      Marks found;
      ForEach(judge, before, total,
              [&](uint32_t mark, bool is_there, const SplitSide& side, bool, uint32_t) {
                if (is_there && judge.Judge(side) == SplitVerdict::kAllowed) {
                  found.Add(judge.FractionOf(side), mark);
                }
              });
      marks = found.NearBestOfWarp();
    }
    Candidate best = NoCandidate();
    ForEach(judge, before, total,
            [&](uint32_t mark, bool is_there, const SplitSide& side, bool is_left, uint32_t rank) {
              if (!is_there || (mark != 0 && (marks & mark) == 0)) return;
              if (judge.Judge(side) == SplitVerdict::kAllowed) {
                best.Takes(judge, side, is_left, rank);
              }
            });
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

// What the threads of a child search: its group of features.
struct Job {
  const TreeView& view;
  const Chosen& chosen;
  int32_t child;   // its node; -1: it is not searched
  uint32_t place;  // chosen * 2 + child
  uint32_t group;

  __device__ uint8_t* Splittable(int32_t node) const {
    return view.splittable + static_cast<uint64_t>(node) * view.features;
  }
  // Features that no split of the parent could use are left out below it.
  __device__ bool MayBeSplit(uint32_t feature) const {
    return feature < view.features &&
           Splittable(chosen.parent < 0 ? chosen.children : chosen.parent)[feature] != 0;
  }
  __device__ int64_t BinToTry(uint32_t feature, const FeatureShape& shape) const {
    if (!view.extra_trees) return -1;
    return RandomBin(NodeSeed(view.extra_seed, view.nodes[child].path), feature, shape);
  }
};

// A warp: draws the features of the node, of those of the tree that stand together with all
// features above it; whether fewer than it may use are drawn before this one.
__device__ bool MayUse(const Job& job, uint32_t f) {
  const TreeView& view = job.view;
  const TreeNode& node = view.nodes[job.child];
  const auto is_candidate = [&](uint32_t feature) {
    return (view.feature[feature].shape.interactions & node.interactions) != 0;
  };
  if (view.bynode >= 1 || !is_candidate(f)) return is_candidate(f);
  const uint64_t seed = NodeSeed(view.feature_seed, node.path);
  const uint64_t own = FeatureDraw(seed, f);
  uint32_t before = 0;
  for (uint32_t other = threadIdx.x % 32; other < view.features; other += 32) {
    if (view.feature_used[other] == 0 || !is_candidate(other)) continue;
    before += FeatureDraw(seed, other) < own ? 1 : 0;
  }
  return ShuffleReduce(before, PlusOf{}) < view.state->features_of_node;
}

__device__ GradientSums Load(const GradientSums* from) {  // at once
  const auto bits = *reinterpret_cast<const ulonglong2*>(from);
  return {static_cast<int64_t>(bits.x), static_cast<int64_t>(bits.y)};
}
__device__ void Store(const GradientSums& sums, GradientSums* to) {
  *reinterpret_cast<ulonglong2*>(to) = ulonglong2{static_cast<unsigned long long>(sums.gradient),
                                                  static_cast<unsigned long long>(sums.hessian)};
}

// Where a GPU has a feature's bins of a histogram.
__device__ GradientSums* BinsAt(const TreeView& view, GradientSums* histograms, int32_t slot,
                                const FeatureView& feature) {
  return histograms + static_cast<uint64_t>(slot) * view.histogram_size + feature.histogram;
}

// Makes the bins of the group's features the children's own: all GPUs' sums of the smaller one,
// and what is left of the parent's for the larger one; each, unless null, near as well. Neighbours
// in the block take neighbours in memory: one feature after the other.
template <unsigned kChildren>
__device__ void TakeBins(const Job& job, NearBins* near_smaller, NearBins* near_larger) {
  constexpr uint32_t kAtOnce = 4;  // loads on their way together
  constexpr uint32_t kStep = kChildren * kChildThreads / kGroupFeatures;
  const bool has_larger = near_larger != nullptr;
  const TreeView& view = job.view;
  const unsigned of_group = threadIdx.x % kGroupFeatures;
  const uint32_t f = job.group * kGroupFeatures + of_group;
  if (!job.MayBeSplit(f)) return;
  const FeatureView& feature = view.feature[f];
  const uint32_t bins = feature.shape.bins;
  const uint64_t stride = feature.histogram_stride;
  const int32_t slot = job.chosen.new_slot;
  GradientSums* const smaller = BinsAt(view, view.histograms, slot, feature);
  GradientSums* const larger =
      has_larger ? BinsAt(view, view.histograms, job.chosen.parent_slot, feature) : nullptr;
  const bool is_near = bins <= kNearBins;
  const bool of_several = kChildren == 2 && view.gpus > 1;
  if (!is_near && !has_larger && !of_several) return;
  for (uint32_t first = threadIdx.x / kGroupFeatures; first < bins; first += kAtOnce * kStep) {
    GradientSums sums[kAtOnce];
    GradientSums rest[kAtOnce];
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const uint32_t bin = first + i * kStep;
      if (bin >= bins) continue;
      sums[i] = Load(smaller + bin * stride);
      if (has_larger) rest[i] = Load(larger + bin * stride);
    }
    for (uint32_t gpu = 0; of_several && gpu < view.gpus; ++gpu) {
      if (gpu == view.gpu) continue;
      const GradientSums* const there = BinsAt(view, view.histograms_of[gpu], slot, feature);
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        const uint32_t bin = first + i * kStep;
        if (bin < bins) sums[i] += Load(there + bin * stride);
      }
    }
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const uint32_t bin = first + i * kStep;
      if (bin >= bins) continue;
      if (of_several) Store(sums[i], smaller + bin * stride);
      const uint32_t place = NearBins::PlaceOf(bin);
      if (is_near && near_smaller != nullptr) Store(sums[i], &near_smaller->of[of_group][place]);
      if (!has_larger) continue;
      rest[i] = rest[i] - sums[i];
      Store(rest[i], larger + bin * stride);
      if (is_near) Store(rest[i], &near_larger->of[of_group][place]);
    }
  }
}

// A warp: the best split by a feature of a child whose bins are there.
__device__ DeviceSplit SearchFeature(const Job& job, const NearBins& near, uint32_t f) {
  const TreeView& view = job.view;
  const FeatureView& feature = view.feature[f];
  const FeatureShape& shape = feature.shape;
  const SplitJudge judge(shape, view.nodes[job.child].AsLeaf(), view.state->units, view.rules);
  const auto number = static_cast<int32_t>(f);
  const BinsOf bins{BinsAt(view, view.histograms, SlotOf(job.chosen, job.place), feature),
                    feature.histogram_stride};
  const int64_t random_bin = job.BinToTry(f, shape);
  if (shape.categorical) return SearchCategorical(judge, shape, bins, number, random_bin);
  if (shape.bins < 2) return {};
  const bool is_near = shape.bins <= kNearBins;
  const uint32_t length = (shape.bins + 31) / 32;
  const NumericRange range{shape,
                           is_near ? near.of[f % kGroupFeatures] : bins.own,
                           is_near ? 0 : bins.stride,
                           threadIdx.x % 32 * length,
                           length,
                           shape.bins > 2 && shape.missing != MissingKind::kNone,
                           random_bin};
  const Candidate best = FirstOfWarp(range.Search(judge));
  DeviceSplit split = SplitOf(judge, best, number);
  const bool is_down = best.rank < shape.bins;
  split.threshold = is_down ? shape.bins - best.rank - 1 : best.rank - shape.bins;
  split.default_left = is_down && !(shape.missing == MissingKind::kNaN && shape.bins <= 2);
  split.monotone = shape.monotone;
  if (shape.monotone != 0 && view.monotone_factors != nullptr) {
    split.gain *= view.monotone_factors[view.nodes[job.child].depth];
  }
  return split;
}

// A warp a feature of the group.
__device__ void SearchGroup(const Job& job, const NearBins& near, FoundSplits* found) {
  const unsigned of_group = threadIdx.x / 32 % kGroupFeatures;
  const uint32_t f = job.group * kGroupFeatures + of_group;
  const bool is_used = job.MayBeSplit(f);
  const bool is_searched = is_used && MayUse(job, f);
  DeviceSplit split;
  if (is_searched) split = SearchFeature(job, near, f);
  if (threadIdx.x % 32 != 0) return;
  found->split[of_group] = split;
  if (f >= job.view.features) return;
  const uint8_t before = is_used ? 1 : 0;
  job.Splittable(job.child)[f] = is_searched ? (split.exists() ? 1 : 0) : before;
}

// A warp, once the group is searched: its best split, for all GPUs.
__device__ void FinishGroup(const Job& job, const FoundSplits& found) {
  const TreeView& view = job.view;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const DeviceSplit& own = found.split[lane % kGroupFeatures];
  BestOf best{own.gain, own.feature, static_cast<uint32_t>(lane % kGroupFeatures)};
  best.TakeOthers(kGroupFeatures);
  const DeviceSplit& split = found.split[__shfl_sync(kWholeWarp, best.number, 0)];
  const uint64_t at = uint64_t{job.place} * view.groups() + job.group;
  for (int i = lane; i < static_cast<int>(view.gpus) * kSplitWords; i += 32) {
    CopyWord(split, i % kSplitWords, view.found_of[i / kSplitWords] + at);
  }
}

// A block of threads searches both children of a leaf, or one.
template <unsigned kChildren, unsigned kBlocksOfProcessor>
__global__ void __launch_bounds__(kChildren* kChildThreads, kBlocksOfProcessor)
    Search(const __grid_constant__ TreeView view) {
  extern __shared__ uint4 shared[];
  auto* const room = reinterpret_cast<SharedRoom<kChildren>*>(shared);
  if (!Hear(view, StepTopic::kHistograms)) return;
  const TreeState& state = *view.state;
  const uint32_t own_groups = view.OwnGroups();
  constexpr uint32_t kJobsOfLeaf = 2 / kChildren;  // and group
  const uint32_t jobs = static_cast<uint32_t>(state.chosen_count) * kJobsOfLeaf * own_groups;
  unsigned turn = 0;
  for (uint32_t number = blockIdx.x; number < jobs; number += gridDim.x) {
    const uint32_t leaf = number / (kJobsOfLeaf * own_groups);
    const Chosen& chosen = state.chosen[leaf];
    const ChildPair pair(view, chosen);
    const bool has_smaller = view.CanSplit(view.nodes[pair.smaller]);
    const bool has_larger = pair.larger >= 0 && view.CanSplit(view.nodes[pair.larger]);
    const unsigned of_block = threadIdx.x / kChildThreads;
    const unsigned side = kChildren == 2 ? of_block : number / own_groups % 2;  // 1: the larger
    const bool is_searched = side == 0 ? has_smaller : has_larger;
    if (kChildren == 2 ? !has_smaller && !has_larger : !is_searched) continue;
    const Job job{view, chosen, side == 0 ? pair.smaller : pair.larger, leaf * 2 + side,
                  view.FirstGroupOf(view.gpu) + number % own_groups};
    const bool takes_smaller = kChildren == 2 || side == 0;
    const bool takes_larger = has_larger && (kChildren == 2 || side == 1);
    TakeBins<kChildren>(job, takes_smaller ? room->near : nullptr,
                        takes_larger ? room->near + (kChildren - 1) : nullptr);
    __syncthreads();
    FoundSplits& found = room->found[turn][of_block];
    if (is_searched) SearchGroup(job, room->near[of_block], &found);
    __syncthreads();
    if (is_searched && threadIdx.x % kChildThreads < 32) FinishGroup(job, found);
    turn = 1 - turn;
  }
  TellAtEnd(view, StepTopic::kSplits);
}

template <typename Kernel>
Status Prepare(const Kernel& kernel, size_t shared_bytes) {
  return FromCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_bytes)),
                  "shared memory of the search");
}

// How blocks of threads are launched. Of few features one an SM is enough, and has registers for
// all it needs.
constexpr unsigned kFew = 1;
constexpr unsigned kMany = 4;
// Of several GPUs a block takes both children: it replaces the sums that both are made of.
constexpr unsigned kManyOfSeveral = 2;

}  // namespace

Status PrepareSearch() {
  STRATA_TRY(Prepare(Search<2, kFew>, sizeof(SharedRoom<2>)));
  STRATA_TRY(Prepare(Search<2, kManyOfSeveral>, sizeof(SharedRoom<2>)));
  return Prepare(Search<1, kMany>, sizeof(SharedRoom<1>));
}

void SearchLeaves(const TreeView& view, uint32_t processors, cudaStream_t stream) {
  const uint32_t jobs = kChosenMax * view.OwnGroups();
  constexpr size_t kBytes = sizeof(SharedRoom<2>);
  if (jobs <= processors * kFew) {
    Search<2, kFew><<<std::max(1U, jobs), 2 * kChildThreads, kBytes, stream>>>(view);
  } else if (view.gpus > 1) {
    Search<2, kManyOfSeveral>
        <<<processors * kManyOfSeveral, 2 * kChildThreads, kBytes, stream>>>(view);
  } else {
    Search<1, kMany><<<processors * kMany, kChildThreads, sizeof(SharedRoom<1>), stream>>>(view);
  }
}

}  // namespace strata::gpu_tree
