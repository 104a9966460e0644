#include "kernels/core/bitonic_sort.cuh"
#include "kernels/setops/gpu_select.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kThresholdThreads = 256;
static_assert(kThresholdThreads == kLengths);
constexpr unsigned kSelectThreads = 512;
constexpr unsigned kDigitValues = 256;
constexpr unsigned kWarp = 32;

// The bucket that the k-th best of the sample is in, 0 if there are fewer. All threads of a block.
__device__ uint32_t BucketOfKth(const uint32_t* buckets, uint32_t k, uint32_t* of_thread) {
  constexpr unsigned kEach = kBuckets / kThresholdThreads;
  uint32_t sum = 0;
  for (unsigned i = 0; i < kEach; ++i) sum += buckets[threadIdx.x * kEach + i];
  of_thread[threadIdx.x] = sum;
  __syncthreads();
  uint32_t above = 0;
  for (int thread = kThresholdThreads - 1; thread >= 0; --thread) {
    const uint32_t here = of_thread[thread];
    if (above + here >= k) {
      for (unsigned i = kEach; i-- > 0;) {
        above += buckets[thread * kEach + i];
        if (above >= k) return thread * kEach + i;
      }
    }
    above += here;
  }
  return 0;
}

__global__ void __launch_bounds__(kThresholdThreads)
    SetThresholdsOf(const __grid_constant__ Ranges queries, SetMetric metric, uint32_t k,
                    Fraction at_least, const __grid_constant__ Thresholds thresholds) {
  __shared__ uint32_t of_thread[kThresholdThreads];
  const uint32_t query = blockIdx.x;
  Fraction least = at_least;
  if (k > 0) {
    const uint32_t bucket = BucketOfKth(thresholds.buckets + query * kBuckets, k, of_thread);
    const Fraction edge = EdgeOf(metric, bucket);
    if (IsLess(least, edge)) least = edge;
  }
  if (threadIdx.x == 0) thresholds.at_least[query] = least;
  const auto tokens = static_cast<uint32_t>(queries.offsets[query + 1] - queries.offsets[query]);
  const uint32_t length = threadIdx.x;
  // Documents of the last length and longer share what the shortest of them needs.
  thresholds.overlaps[query * kLengths + length] =
      static_cast<uint8_t>(LeastOverlap(metric, least, tokens, length));
}

// Of the same query, larger is more alike; equally alike documents of up to 255 tokens alone have
// the same.
__device__ uint32_t KeyOf(SetMetric metric, Fraction similarity) {
  if (metric == SetMetric::kOverlap) return static_cast<uint32_t>(similarity.num);
  return static_cast<uint32_t>((similarity.num << 31) / similarity.den);
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

__global__ void __launch_bounds__(kSelectThreads)
    SelectBest(const __grid_constant__ SelectJob job, Layout layout) {
  extern __shared__ uint4 dynamic[];
  auto* const memory = reinterpret_cast<unsigned char*>(dynamic);
  auto* const keys = reinterpret_cast<uint32_t*>(memory);
  auto* const ranked = reinterpret_cast<Ranked*>(memory + layout.ranked());
  auto* const order = reinterpret_cast<uint32_t*>(memory + layout.order());
  auto* const numbers = reinterpret_cast<uint32_t*>(memory + layout.numbers());
  __shared__ uint32_t values[kDigitValues];
  __shared__ Rank rank;
  __shared__ uint32_t kept;

  const uint32_t query = blockIdx.x;
  const uint32_t count = job.found[query];
  if (count > kRoom) {
    if (threadIdx.x == 0) job.counts[query] = kTooMany;
    return;
  }
  const auto tokens =
      static_cast<uint32_t>(job.queries.offsets[query + 1] - job.queries.offsets[query]);
  const Candidate* const candidates = job.candidates + size_t{query} * kRoom;
  const auto similarity_of = [&](const Candidate& candidate) {
    const Block& block = job.blocks[candidate.document >> 16];
    return Similarity(job.metric, candidate.overlap, tokens,
                      block.lengths[candidate.document & 0xFFFF]);
  };
  for (uint32_t i = threadIdx.x; i < count; i += kSelectThreads) {
    keys[i] = KeyOf(job.metric, similarity_of(candidates[i]));
  }
  if (threadIdx.x == 0) rank = {0, job.k};
  __syncthreads();
  if (count > job.k) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      NextDigit(shift, shift == 24, values, &rank, [&](const auto& see) {
        for (uint32_t i = threadIdx.x; i < count; i += kSelectThreads) see(keys[i]);
      });
    }
  }
  const auto key = static_cast<uint32_t>(rank.prefix);  // of the k-th best
  const auto id_of = [&](uint32_t i) {
    return job.blocks[candidates[i].document >> 16].ids[candidates[i].document & 0xFFFF];
  };
  const auto keep = [&](bool all, uint64_t least_id) {
    if (threadIdx.x == 0) kept = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += kSelectThreads) {
      if (keys[i] < key || (!all && keys[i] == key && ~id_of(i) < least_id)) continue;
      const uint32_t at = atomicAdd(&kept, 1U);
      if (at < layout.sorted) numbers[at] = i;
    }
    __syncthreads();
  };
  keep(true, 0);
  // More equally alike ones than can be sorted: of those the smallest ids, the largest inverses.
  if (kept > layout.sorted && job.equal_keys_are_equal) {
    if (threadIdx.x == 0) rank.prefix = 0;
    __syncthreads();
    for (int shift = 56; shift >= 0; shift -= 8) {
      NextDigit(shift, shift == 56, values, &rank, [&](const auto& see) {
        for (uint32_t i = threadIdx.x; i < count; i += kSelectThreads) {
          if (keys[i] == key) see(~id_of(i));
        }
      });
    }
    keep(false, rank.prefix);
  }
  if (kept > layout.sorted) {
    if (threadIdx.x == 0) job.counts[query] = kTooMany;
    return;
  }
  for (uint32_t i = threadIdx.x; i < kept; i += kSelectThreads) {
    const Candidate candidate = candidates[numbers[i]];
    const Block& block = job.blocks[candidate.document >> 16];
    ranked[i] = {similarity_of(candidate), block.ids[candidate.document & 0xFFFF]};
  }
  __syncthreads();
  BitonicArgSort<true>(ranked, order, kept);
  const uint32_t answers = kept < job.k ? kept : job.k;
  for (uint32_t i = threadIdx.x; i < answers; i += kSelectThreads) {
    const Candidate candidate = candidates[numbers[order[i]]];
    const Block& block = job.blocks[candidate.document >> 16];
    job.answers[size_t{query} * job.k + i] = {ranked[order[i]].id, candidate.overlap,
                                              block.lengths[candidate.document & 0xFFFF]};
  }
  if (threadIdx.x == 0) job.counts[query] = answers;
}

}  // namespace

cudaError_t SetThresholds(const Ranges& queries, SetMetric metric, uint32_t k, Fraction at_least,
                          const Thresholds& thresholds, cudaStream_t stream) {
  SetThresholdsOf<<<queries.queries, kThresholdThreads, 0, stream>>>(queries, metric, k, at_least,
                                                                     thresholds);
  return cudaGetLastError();
}

cudaError_t Select(const SelectJob& job, cudaStream_t stream) {
  constexpr uint32_t kLeastSorted = 1024;
  constexpr uint32_t kMostSorted = 3072;
  Layout layout{job.k * 4};
  if (layout.sorted < kLeastSorted) layout.sorted = kLeastSorted;
  if (layout.sorted > kMostSorted) layout.sorted = kMostSorted;
  const cudaError_t error =
      cudaFuncSetAttribute(SelectBest, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(Layout{kMostSorted}.bytes()));
  if (error != cudaSuccess) return error;
  SelectBest<<<job.queries.queries, kSelectThreads, layout.bytes(), stream>>>(job, layout);
  return cudaGetLastError();
}

}  // namespace strata::gpu_sets
