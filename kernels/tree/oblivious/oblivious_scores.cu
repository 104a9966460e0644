// Scores of a level's splits, as SplitScores of the CPU has them: what the leaves of a pair add is
// added up first, then pair after pair in their order, so that bits do not depend on who adds it.
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/oblivious/oblivious_view.cuh"
#include "kernels/tree/oblivious/split_score.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint64_t kPartsMax = uint64_t{16} << 20;  // places of all pairs: 256 MiB

// Where a thread is in a histogram, and which split that is.
struct Place {
  bool exists = false;
  bool is_split = false;
  uint64_t at = 0;        // in a histogram
  uint64_t score_at = 0;  // of the split, whose place is that of its bin
};

__device__ Place PlaceOf(const ObliviousView& view) {
  const ColumnBlock& block = view.block[blockIdx.x];
  const uint32_t cell = blockIdx.y * kThreads + threadIdx.x;
  const uint32_t bin = cell / kBlockColumns;
  Place place;
  if (bin >= block.bins_max) return place;
  place.exists = true;
  place.at = block.histogram + cell;
  place.score_at = place.at;
  const uint32_t column = block.first_column + cell % kBlockColumns;
  if (column >= view.column_count) return place;
  const DeviceColumn& own = view.columns[column];
  if (own.is_value) {  // split b is that of the value with bin b + 1
    place.is_split = bin > 0 && bin <= own.splits;
    place.score_at -= bin > 0 ? kBlockColumns : 0;
  } else {
    place.is_split = bin < own.splits;
  }
  return place;
}

// What a pair of leaves adds for an output. Brings the histograms of both up to date.
__device__ ScoreSums ScoreOfPair(const ObliviousView& view, const Place& place, uint32_t pair,
                                 uint32_t output) {
  ScoreSums score;
  const uint32_t right = pair + view.pairs();
  GradientSums* const of_left = view.HistogramOf(pair, output) + place.at;
  GradientSums side[2] = {*of_left, {}};
  if (view.level > 0) {
    GradientSums* const of_right = view.HistogramOf(right, output) + place.at;
    side[1] = *of_right;
    if (!view.builds_all) {
      const GradientSums larger = side[0] - side[1];
      if (view.listed_of[pair] < 0) {  // the right one is smaller
        side[0] = larger;
      } else {
        side[0] = side[1];
        side[1] = larger;
      }
      *of_left = side[0];
      *of_right = side[1];
    }
  }
  if (!place.is_split) return score;
  const GradientUnits& units = view.units[output];
  const uint64_t outputs = view.outputs;
  AddSides(side[0], view.totals[pair * outputs + output], units, view.l2, &score.gain, &score.norm);
  if (view.level > 0) {
    AddSides(side[1], view.totals[right * outputs + output], units, view.l2, &score.gain,
             &score.norm);
  }
  return score;
}

// A thread has all pairs of a place.
__global__ void __launch_bounds__(kThreads) ScoreAll(const __grid_constant__ ObliviousView view) {
  const Place place = PlaceOf(view);
  if (!place.exists) return;
  ScoreSums score;
  for (uint32_t pair = 0; pair < view.pairs(); ++pair) {
    for (uint32_t output = 0; output < view.outputs; ++output) {
      const ScoreSums more = ScoreOfPair(view, place, pair, output);
      score.gain += more.gain;
      score.norm += more.norm;
    }
  }
  if (place.is_split) {
    view.scores[place.score_at] = SplitScore(score.gain, score.norm, view.is_cosine);
  }
}

// A thread has a pair and an output of a place; another kernel adds them up.
__global__ void __launch_bounds__(kThreads) ScorePairs(const __grid_constant__ ObliviousView view) {
  const Place place = PlaceOf(view);
  if (!place.exists) return;
  const ScoreSums score =
      ScoreOfPair(view, place, blockIdx.z / view.outputs, blockIdx.z % view.outputs);
  view.parts[blockIdx.z * view.histogram_size + place.at] = score;
}

__global__ void __launch_bounds__(kThreads) AddPairs(const __grid_constant__ ObliviousView view) {
  const Place place = PlaceOf(view);
  if (!place.exists || !place.is_split) return;
  ScoreSums score;
  const uint32_t parts = view.pairs() * view.outputs;
#pragma unroll 8
  for (uint32_t part = 0; part < parts; ++part) {
    const ScoreSums more = view.parts[part * view.histogram_size + place.at];
    score.gain += more.gain;
    score.norm += more.norm;
  }
  view.scores[place.score_at] = SplitScore(score.gain, score.norm, view.is_cosine);
}

// A block of threads has a leaf, a thread a bin.
__global__ void __launch_bounds__(kThreads)
    Gather(const __grid_constant__ ObliviousView view, uint32_t column, uint32_t bins,
           GradientSums* histograms) {
  const uint32_t bin = threadIdx.x;
  if (bin >= bins) return;
  const uint64_t first = view.block[column / kBlockColumns].histogram + column % kBlockColumns;
  const GradientSums* const sums = view.HistogramOf(blockIdx.x, 0) + first;
  GradientSums own = sums[bin * kBlockColumns];
  if (!view.columns[column].is_value && bin > 0) own = own - sums[(bin - 1) * kBlockColumns];
  histograms[uint64_t{blockIdx.x} * bins + bin] = own;
}

}  // namespace

void GatherHistograms(const ObliviousView& view, uint32_t column, uint32_t bins,
                      GradientSums* histograms, cudaStream_t stream) {
  Gather<<<view.leaf_count(), kThreads, 0, stream>>>(view, column, bins, histograms);
}

uint64_t PartsFor(const ObliviousView& view) {
  constexpr uint64_t kPlacesMax = 128 << 10;  // more of them keep a GPU busy without
  if (view.histogram_size > kPlacesMax || view.pairs() * view.outputs == 1) return 0;
  const uint64_t parts = view.histogram_size * view.pairs() * view.outputs;
  return parts > kPartsMax || view.pairs() * view.outputs > 65535 ? 0 : parts;
}

void ScoreSplits(const ObliviousView& view, cudaStream_t stream) {
  constexpr uint32_t kBinsMax = 256;
  const dim3 places(view.blocks, kBinsMax * kBlockColumns / kThreads);
  if (PartsFor(view) == 0) {
    ScoreAll<<<places, kThreads, 0, stream>>>(view);
    return;
  }
  const dim3 with_pairs(places.x, places.y, view.pairs() * view.outputs);
  ScorePairs<<<with_pairs, kThreads, 0, stream>>>(view);
  AddPairs<<<places, kThreads, 0, stream>>>(view);
}

}  // namespace strata::gpu_tree
