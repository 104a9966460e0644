#include <bit>

#include "kernels/setops/gpu_count.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kWarps = kCountThreads / kWarp;
constexpr unsigned kCounters = 65'536;
constexpr unsigned kAtOnce = 16;  // counters that a thread looks at together
constexpr unsigned kLooks = kCounters / kAtOnce / kCountThreads;
constexpr unsigned kMostTokens = 256;
constexpr unsigned kDigits = 8;  // of an overlap

struct Shared {
  uint4 counters[kCounters / kAtOnce];  // a byte each
  uint32_t begins[kMostTokens];         // of lists, in postings
  uint32_t ends[kMostTokens];
  uint32_t bits[kMostTokens];  // where frequent lists begin
  uint8_t least[kLengths];
  uint32_t lists;
  uint32_t frequent;
  uint32_t buckets[kBuckets];  // of samples only: not there otherwise
};

template <Purpose purpose>
constexpr size_t SharedBytes() {
  return purpose == Purpose::kSample ? sizeof(Shared) : offsetof(Shared, buckets);
}

// The place of `value` among ascending values, or `count`.
__device__ uint32_t PlaceOf(const uint32_t* values, uint32_t count, uint32_t value) {
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && values[low] == value ? low : count;
}

// Sorts the lists of a query's tokens into plain and frequent ones.
__device__ void FindLists(const Block& block, const Token* tokens, uint32_t count, Shared& shared) {
  for (uint32_t i = threadIdx.x; i < count; i += kCountThreads) {
    const Token token = tokens[i];
    uint32_t list = token;
    if (token >= block.direct) {
      const uint32_t place = PlaceOf(block.rare, block.rare_count, token);
      if (place == block.rare_count) continue;
      list = block.direct + place;
    }
    const uint32_t begin = block.starts[list];
    const uint32_t end = block.starts[list + 1];
    if (begin != end) {
      const uint32_t at = atomicAdd(&shared.lists, 1U);
      shared.begins[at] = begin;
      shared.ends[at] = end;
      continue;
    }
    const uint32_t place = PlaceOf(block.frequent, block.frequent_count, list);
    if (place == block.frequent_count) continue;
    shared.bits[atomicAdd(&shared.frequent, 1U)] = place * block.words;
  }
}

// A warp a list.
__device__ void CountLists(const Block& block, Shared& shared) {
  auto* const words = reinterpret_cast<uint32_t*>(shared.counters);
  for (uint32_t list = threadIdx.x / kWarp; list < shared.lists; list += kWarps) {
    const uint32_t end = shared.ends[list];
    for (uint32_t i = shared.begins[list] + threadIdx.x % kWarp; i < end; i += kWarp) {
      const uint32_t place = block.postings[i];
      atomicAdd(&words[place / 4], 1U << place % 4 * 8);
    }
  }
}

// 32 documents a thread: their bits of all frequent lists are added up in columns, whose digits
// then join the documents' counters.
__device__ void CountFrequent(const Block& block, Shared& shared) {
  auto* const words = reinterpret_cast<uint32_t*>(shared.counters);
  const uint32_t lists = shared.frequent;
  for (uint32_t word = threadIdx.x; word < block.words; word += kCountThreads) {
    uint32_t digits[kDigits] = {};
    for (uint32_t list = 0; list < lists; ++list) {
      uint32_t carry = block.bits[shared.bits[list] + word];
#pragma unroll
      for (unsigned p = 0; p < kDigits; ++p) {
        const uint32_t both = digits[p] & carry;
        digits[p] ^= carry;
        carry = both;
      }
    }
    // Four documents a word of counters; neighbours of a warp begin elsewhere, as their words lie
    // in the same banks.
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned four = (i + threadIdx.x / 4) % 8;
      uint32_t sum = 0;
#pragma unroll
      for (unsigned p = 0; p < kDigits; ++p) {
        sum += ((digits[p] >> four * 4 & 0xF) * 0x0020'4081U & 0x0101'0101U) << p;
      }
      words[word * 8 + four] += sum;
    }
  }
}

// A document with an overlap, which is at least what the lengths from its own 16 on need at least.
template <Purpose purpose>
__device__ void LookAt(const CountJob& job, const Block& block, uint32_t block_number,
                       uint32_t query, uint32_t place, uint32_t overlap, Shared& shared) {
  const auto tokens =
      static_cast<uint32_t>(job.queries.offsets[query + 1] - job.queries.offsets[query]);
  const uint32_t length = block.lengths[place];
  if constexpr (purpose == Purpose::kSample) {
    const Fraction similarity = Similarity(job.metric, overlap, tokens, length);
    atomicAdd(&shared.buckets[BucketOf(job.metric, similarity)], 1U);
  } else {
    const uint32_t least =
        length < kLengths - 1
            ? shared.least[length]
            : LeastOverlap(job.metric, job.thresholds.at_least[query], tokens, length);
    if (overlap < least) return;
    if constexpr (purpose == Purpose::kSharpen) {
      const Fraction similarity = Similarity(job.metric, overlap, tokens, length);
      const uint32_t bucket = BucketOf(job.metric, similarity);
      atomicAdd(&job.thresholds.buckets[query * kBuckets + bucket], 1U);
    }
    const uint32_t at = atomicAdd(&job.found[query], 1U);
    if (at < job.room) {
      job.candidates[size_t{query} * job.room + at] = {block_number * kCounters + place, overlap};
    }
  }
}

// Looks at all counters, and makes them 0 for the next query.
template <Purpose purpose>
__device__ void LookAtAll(const CountJob& job, const Block& block, uint32_t block_number,
                          uint32_t query, const uint8_t (&first_lengths)[kLooks], Shared& shared) {
#pragma unroll
  for (unsigned look = 0; look < kLooks; ++look) {
    const uint32_t number = look * kCountThreads + threadIdx.x;
    const uint4 all = shared.counters[number];
    if ((all.x | all.y | all.z | all.w) == 0) continue;
    shared.counters[number] = {0, 0, 0, 0};
    // Longer documents need no less.
    const uint32_t least = purpose == Purpose::kSample ? 1 : shared.least[first_lengths[look]];
    const uint32_t four_times = least * 0x0101'0101U;
    const uint32_t words[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
      if (__vcmpgeu4(words[word], four_times) == 0) continue;
      for (unsigned i = 0; i < 4; ++i) {
        const uint32_t overlap = words[word] >> 8 * i & 0xFF;
        if (overlap < least) continue;
        LookAt<purpose>(job, block, block_number, query, number * kAtOnce + word * 4 + i, overlap,
                        shared);
      }
    }
  }
}

template <Purpose purpose>
__global__ void __launch_bounds__(kCountThreads, purpose == Purpose::kSample ? 2 : 3)
    CountBlock(const __grid_constant__ CountJob job) {
  extern __shared__ uint4 dynamic[];
  Shared& shared = *reinterpret_cast<Shared*>(dynamic);
  const uint32_t block_number = job.first_block + blockIdx.x % job.blocks_count;
  const Block& block = job.blocks[block_number];

  uint8_t first_lengths[kLooks];
#pragma unroll
  for (unsigned look = 0; look < kLooks; ++look) {
    const uint32_t number = look * kCountThreads + threadIdx.x;
    shared.counters[number] = {0, 0, 0, 0};
    const uint32_t place = number * kAtOnce;
    const uint32_t length = place < block.size ? block.lengths[place] : 0;
    first_lengths[look] = static_cast<uint8_t>(length < kLengths ? length : kLengths - 1);
  }
  if constexpr (purpose == Purpose::kSample) {
    for (unsigned i = threadIdx.x; i < kBuckets; i += kCountThreads) shared.buckets[i] = 0;
  }

  const uint32_t begin = blockIdx.x / job.blocks_count * job.queries_each;
  const uint32_t last = begin + job.queries_each;
  const uint32_t end = last < job.queries.queries ? last : job.queries.queries;
  for (uint32_t query = begin; query < end; ++query) {
    if (threadIdx.x == 0) {
      shared.lists = 0;
      shared.frequent = 0;
    }
    __syncthreads();
    const uint64_t first = job.queries.offsets[query];
    FindLists(block, job.queries.tokens + first,
              static_cast<uint32_t>(job.queries.offsets[query + 1] - first), shared);
    if (purpose != Purpose::kSample && threadIdx.x < kLengths) {
      shared.least[threadIdx.x] = job.thresholds.overlaps[query * kLengths + threadIdx.x];
    }
    __syncthreads();
    CountLists(block, shared);
    if (shared.frequent > 0) {
      __syncthreads();
      CountFrequent(block, shared);
    }
    __syncthreads();
    LookAtAll<purpose>(job, block, block_number, query, first_lengths, shared);
    __syncthreads();
    if constexpr (purpose == Purpose::kSample) {
      for (unsigned i = threadIdx.x; i < kBuckets; i += kCountThreads) {
        if (shared.buckets[i] == 0) continue;
        atomicAdd(&job.thresholds.buckets[query * kBuckets + i], shared.buckets[i]);
        shared.buckets[i] = 0;
      }
    }
  }
}

template <Purpose purpose>
cudaError_t CountFor(const CountJob& job, cudaStream_t stream) {
  const unsigned parts = (job.queries.queries + job.queries_each - 1) / job.queries_each;
  constexpr int kBytes = static_cast<int>(SharedBytes<purpose>());
  const cudaError_t error = cudaFuncSetAttribute(
      CountBlock<purpose>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  CountBlock<purpose><<<job.blocks_count * parts, kCountThreads, kBytes, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace

cudaError_t Count(Purpose purpose, const CountJob& job, cudaStream_t stream) {
  switch (purpose) {
    case Purpose::kSample:
      return CountFor<Purpose::kSample>(job, stream);
    case Purpose::kSharpen:
      return CountFor<Purpose::kSharpen>(job, stream);
    case Purpose::kSearch:
      return CountFor<Purpose::kSearch>(job, stream);
  }
  return cudaErrorNotSupported;
}

}  // namespace strata::gpu_sets
