#include "kernels/setops/gpu_select.cuh"
#include "strata/gpu/bitonic_sort.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kThresholdThreads = 256;
static_assert(kThresholdThreads == kLengths);
constexpr unsigned kSelectThreads = 512;
constexpr unsigned kDigitValues = 256;
constexpr unsigned kWarp = 32;

// The bucket that the k-th best of the sample is in, 0 if there are fewer. All threads of a block.
// Buckets are empty then.
__device__ uint32_t BucketOfKth(uint32_t* buckets, uint32_t k, uint32_t* sums) {
  constexpr unsigned kEach = kBuckets / kThresholdThreads;
  // The first thread has the best.
  const unsigned last = (kThresholdThreads - threadIdx.x) * kEach;
  uint32_t own = 0;
  for (unsigned i = 1; i <= kEach; ++i) own += buckets[last - i];
  sums[threadIdx.x] = own;
  if (threadIdx.x == 0) sums[kThresholdThreads] = 0;
  __syncthreads();
  for (unsigned step = 1; step < kThresholdThreads; step *= 2) {
    const uint32_t better = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += better;
    __syncthreads();
  }
  const uint32_t up_to = sums[threadIdx.x];
  uint32_t above = up_to - own;
  if (above < k && up_to >= k) {
    unsigned bucket = last;
    while (above < k) above += buckets[--bucket];
    sums[kThresholdThreads] = bucket;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kBuckets; i += kThresholdThreads) buckets[i] = 0;
  return sums[kThresholdThreads];
}

// All threads of a block, at least kLengths of them.
__device__ void SetThreshold(const Ranges& queries, SetMetric metric, uint32_t query,
                             Fraction least, const Thresholds& thresholds) {
  if (threadIdx.x == 0) thresholds.at_least[query] = least;
  if (threadIdx.x >= kLengths) return;
  const auto tokens = static_cast<uint32_t>(queries.offsets[query + 1] - queries.offsets[query]);
  // Documents of the last length and longer share what the shortest of them needs.
  thresholds.overlaps[query * kLengths + threadIdx.x] =
      static_cast<uint8_t>(LeastOverlap(metric, least, tokens, threadIdx.x));
}

__global__ void __launch_bounds__(kThresholdThreads)
    SetThresholdsOf(const __grid_constant__ Ranges queries, SetMetric metric, uint32_t k,
                    Fraction at_least, const __grid_constant__ Thresholds thresholds,
                    uint32_t* found) {
  __shared__ uint32_t sums[kThresholdThreads + 1];
  const uint32_t query = blockIdx.x;
  Fraction least = at_least;
  if (k > 0) {
    const uint32_t bucket = BucketOfKth(thresholds.buckets + query * kBuckets, k, sums);
    const Fraction edge = EdgeOf(metric, bucket);
    if (IsLess(least, edge)) least = edge;
  }
  if (threadIdx.x == 0) found[query] = 0;
  SetThreshold(queries, metric, query, least, thresholds);
}

// The least similarity above one, of all that there are: their denominators are at most this.
__device__ Fraction JustAbove(Fraction similarity) {
  constexpr uint64_t kLargestDenominator = 1 << 29;
  return {similarity.num * kLargestDenominator + 1, similarity.den * kLargestDenominator};
}

// A candidate in the order of answers: better ones are less.
struct Ranked {
  Fraction similarity;
  DocumentId id;

  __device__ friend bool operator==(const Ranked& a, const Ranked& b) { return a.id == b.id; }
  __device__ friend bool operator<(const Ranked& a, const Ranked& b) {
    if (IsLess(b.similarity, a.similarity)) return true;
    if (IsLess(a.similarity, b.similarity)) return false;
    return a.id < b.id;
  }
};

// Memory of a block of threads, for so many that are sorted.
struct Layout {
  uint32_t sorted;
  __host__ __device__ size_t ranked() const { return kRoom * sizeof(uint32_t); }
  __host__ __device__ size_t order() const { return ranked() + sorted * sizeof(Ranked); }
  __host__ __device__ size_t numbers() const { return order() + sorted * sizeof(uint32_t); }
  __host__ __device__ size_t bytes() const { return numbers() + sorted * sizeof(uint32_t); }
};

// The search for the k-th largest of some values, eight bits at a time from the top.
struct Rank {
  uint64_t prefix;  // the digits found so far
  uint32_t left;    // which of the values with that prefix it is, from 1
};

// One digit. `visit(see)` calls see(value) for the values of a thread.
template <typename Visit>
__device__ void NextDigit(int shift, bool is_first, uint32_t* of_digit, Rank* rank,
                          const Visit& visit) {
  for (unsigned i = threadIdx.x; i < kDigitValues; i += kSelectThreads) of_digit[i] = 0;
  __syncthreads();
  const uint64_t known = is_first ? 0 : ~uint64_t{0} << (shift + 8);
  const Rank before = *rank;
  visit([&](uint64_t value) {
    if ((value & known) == before.prefix) atomicAdd(&of_digit[value >> shift & 0xFF], 1U);
  });
  __syncthreads();
  if (threadIdx.x < kWarp) {
    // A lane has some digits, the first lane the largest; before it come those of lanes below.
    constexpr unsigned kEach = kDigitValues / kWarp;
    const unsigned top = kDigitValues - threadIdx.x * kEach;
    uint32_t sum = 0;
    for (unsigned i = 1; i <= kEach; ++i) sum += of_digit[top - i];
    uint32_t up_to = sum;
    for (unsigned step = 1; step < kWarp; step *= 2) {
      const uint32_t of_lower =
          __shfl_sync(~0U, up_to, static_cast<int>((threadIdx.x - step) % kWarp));
      if (threadIdx.x >= step) up_to += of_lower;
    }
    uint32_t left = before.left - (up_to - sum);
    // Unsigned: where lanes before have enough, `left` is huge or 0.
    if (left >= 1 && left <= sum) {
      unsigned digit = top - 1;
      while (of_digit[digit] < left) left -= of_digit[digit--];
      *rank = {before.prefix | uint64_t{digit} << shift, left};
    }
  }
  __syncthreads();
}

// What a block of threads works with.
struct Selection {
  const SelectJob& job;
  uint32_t query;
  uint32_t tokens;  // of the query
  uint32_t count;   // candidates
  Candidate* candidates;
  uint32_t* keys;  // of candidates, if they have room
  Layout layout;

  __device__ Fraction SimilarityTo(const Candidate& candidate) const {
    const Block& block = job.blocks[candidate.document >> 16];
    return Similarity(job.metric, candidate.overlap, tokens,
                      block.lengths[candidate.document & 0xFFFF]);
  }
  __device__ DocumentId IdOf(const Candidate& candidate) const {
    return job.blocks[candidate.document >> 16].ids[candidate.document & 0xFFFF];
  }
  // Many keys are computed whenever they are needed.
  __device__ uint32_t Key(uint32_t i) const {
    return count <= kRoom ? keys[i] : KeyOf(job.metric, SimilarityTo(candidates[i]));
  }
};

struct SelectMemory {
  uint32_t values[kDigitValues];
  Rank rank;
  uint32_t kept;
  uint32_t differing;  // bits of keys
};

// Puts the numbers of the best candidates, k or more, anywhere in `numbers`; says how many there
// are, which is more than layout.sorted if there was no room for all of them. shared.rank.prefix is
// the key of the k-th best. There are more than k.
__device__ uint32_t FindBest(const Selection& of, SelectMemory& shared, uint32_t* numbers) {
  const uint32_t first = of.Key(0);
  uint32_t differing = 0;
  for (uint32_t i = threadIdx.x; i < of.count; i += kSelectThreads) differing |= of.Key(i) ^ first;
  if (threadIdx.x == 0) shared.differing = 0;
  __syncthreads();
  if (differing != 0) atomicOr(&shared.differing, differing);
  __syncthreads();
  int shift = 24;
  while (shift > 0 && shared.differing >> shift == 0) shift -= 8;
  const uint64_t above = ~uint64_t{0} << (shift + 8);
  if (threadIdx.x == 0) shared.rank = {first & above, of.job.k};
  __syncthreads();
  for (; shift >= 0; shift -= 8) {
    NextDigit(shift, false, shared.values, &shared.rank, [&](const auto& see) {
      for (uint32_t i = threadIdx.x; i < of.count; i += kSelectThreads) see(of.Key(i));
    });
  }
  const auto key = static_cast<uint32_t>(shared.rank.prefix);
  const auto keep = [&](bool all, uint64_t least_id) {
    if (threadIdx.x == 0) shared.kept = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < of.count; i += kSelectThreads) {
      const uint32_t own = of.Key(i);
      if (own < key) continue;
      if (!all && own == key && ~of.IdOf(of.candidates[i]) < least_id) continue;
      const uint32_t at = atomicAdd(&shared.kept, 1U);
      if (at < of.layout.sorted) numbers[at] = i;
    }
    __syncthreads();
  };
  keep(true, 0);
  if (shared.kept <= of.layout.sorted || !of.job.equal_keys_are_equal) return shared.kept;
  // More equally alike ones than there is room for: of those the smallest ids, the largest
  // inverses.
  if (threadIdx.x == 0) shared.rank.prefix = 0;
  __syncthreads();
  for (int digit = 56; digit >= 0; digit -= 8) {
    NextDigit(digit, digit == 56, shared.values, &shared.rank, [&](const auto& see) {
      for (uint32_t i = threadIdx.x; i < of.count; i += kSelectThreads) {
        if (of.Key(i) == key) see(~of.IdOf(of.candidates[i]));
      }
    });
  }
  keep(false, shared.rank.prefix);
  if (threadIdx.x == 0) shared.rank.prefix = key;
  __syncthreads();
  return shared.kept;
}

// Keeps the best candidates alone, and sets the threshold by them.
__device__ void Keep(const Selection& of, uint32_t kept, const SelectMemory& shared,
                     const uint32_t* numbers, Candidate* moved) {
  const auto key = static_cast<uint32_t>(shared.rank.prefix);
  // The last of those that are least alike: they are as alike as one another, but not the same two
  // numbers, which several threads would mix.
  __shared__ uint32_t worst;
  if (threadIdx.x == 0) worst = 0;
  for (uint32_t i = threadIdx.x; i < kept; i += kSelectThreads) {
    moved[i] = of.candidates[numbers[i]];
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kept; i += kSelectThreads) {
    of.candidates[i] = moved[i];
    const Fraction similarity = of.SimilarityTo(moved[i]);
    if (KeyOf(of.job.metric, similarity) == key) atomicMax(&worst, i);
  }
  __syncthreads();
  if (threadIdx.x == 0) of.job.found[of.query] = kept;
  Fraction least = of.SimilarityTo(moved[worst]);
  if (!of.job.equal_keys_are_equal) {
    least = {key, KeyUnit(of.job.metric)};  // no larger than any with that key
  } else if (of.job.later_ids_are_larger) {
    least = JustAbove(least);
  }
  SetThreshold(of.job.queries, of.job.metric, of.query, least, of.job.thresholds);
}

template <bool kIsLast>
__global__ void __launch_bounds__(kSelectThreads)
    SelectBest(const __grid_constant__ SelectJob job, Layout layout) {
  extern __shared__ uint4 dynamic[];
  auto* const memory = reinterpret_cast<unsigned char*>(dynamic);
  auto* const keys = reinterpret_cast<uint32_t*>(memory);
  auto* const ranked = reinterpret_cast<Ranked*>(memory + layout.ranked());
  auto* const order = reinterpret_cast<uint32_t*>(memory + layout.order());
  auto* const numbers = reinterpret_cast<uint32_t*>(memory + layout.numbers());
  __shared__ SelectMemory shared;

  const uint32_t query = blockIdx.x;
  const uint32_t count = job.found[query];
  if (count > job.room) {
    if (kIsLast && threadIdx.x == 0) job.counts[query] = kTooMany;
    return;
  }
  if (!kIsLast && count <= job.k) return;
  const Selection of{
      job,
      query,
      static_cast<uint32_t>(job.queries.offsets[query + 1] - job.queries.offsets[query]),
      count,
      job.candidates + size_t{query} * job.room,
      keys,
      layout};
  uint32_t kept = count;
  if (kIsLast && count <= layout.sorted) {
    for (uint32_t i = threadIdx.x; i < count; i += kSelectThreads) numbers[i] = i;
  } else {
    if (count <= kRoom) {
      for (uint32_t i = threadIdx.x; i < count; i += kSelectThreads) {
        keys[i] = KeyOf(job.metric, of.SimilarityTo(of.candidates[i]));
      }
      __syncthreads();
    }
    kept = FindBest(of, shared, numbers);
  }
  __syncthreads();
  if constexpr (!kIsLast) {
    if (kept <= layout.sorted) {
      Keep(of, kept, shared, numbers, reinterpret_cast<Candidate*>(ranked));
    }
  } else {
    if (threadIdx.x == 0) job.candidates_found[query] = count;
    if (kept > layout.sorted) {
      if (threadIdx.x == 0) job.counts[query] = kTooMany;
      return;
    }
    for (uint32_t i = threadIdx.x; i < kept; i += kSelectThreads) {
      const Candidate candidate = of.candidates[numbers[i]];
      ranked[i] = {of.SimilarityTo(candidate), of.IdOf(candidate)};
    }
    __syncthreads();
    BitonicArgSort<true>(ranked, order, kept);
    const uint32_t answers = kept < job.k ? kept : job.k;
    for (uint32_t i = threadIdx.x; i < answers; i += kSelectThreads) {
      const Candidate candidate = of.candidates[numbers[order[i]]];
      const Block& block = job.blocks[candidate.document >> 16];
      job.answers[size_t{query} * job.k + i] = {ranked[order[i]].id, candidate.overlap,
                                                block.lengths[candidate.document & 0xFFFF]};
    }
    if (threadIdx.x == 0) job.counts[query] = answers;
  }
}

template <bool kIsLast>
cudaError_t SelectFor(const SelectJob& job, cudaStream_t stream) {
  constexpr uint32_t kLeastSorted = 1024;
  constexpr uint32_t kMostSorted = 3072;
  Layout layout{job.k * 4};
  if (layout.sorted < kLeastSorted) layout.sorted = kLeastSorted;
  if (layout.sorted > kMostSorted) layout.sorted = kMostSorted;
  const cudaError_t error =
      cudaFuncSetAttribute(SelectBest<kIsLast>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(Layout{kMostSorted}.bytes()));
  if (error != cudaSuccess) return error;
  SelectBest<kIsLast><<<job.queries.queries, kSelectThreads, layout.bytes(), stream>>>(job, layout);
  return cudaGetLastError();
}

}  // namespace

cudaError_t SetThresholds(const Ranges& queries, SetMetric metric, uint32_t k, Fraction at_least,
                          const Thresholds& thresholds, uint32_t* found, cudaStream_t stream) {
  SetThresholdsOf<<<queries.queries, kThresholdThreads, 0, stream>>>(queries, metric, k, at_least,
                                                                     thresholds, found);
  return cudaGetLastError();
}

cudaError_t Tighten(const SelectJob& job, cudaStream_t stream) {
  return SelectFor<false>(job, stream);
}

cudaError_t Select(const SelectJob& job, cudaStream_t stream) {
  return SelectFor<true>(job, stream);
}

}  // namespace strata::gpu_sets
