#include <cstddef>

#include "kernels/setops/gpu_count.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kWarps = kCountThreads / kWarp;
constexpr unsigned kLooks = kCounters / kAtOnce / kCountThreads;
static_assert(kMostTokens <= kCountThreads, "a thread finds a token's list");

constexpr unsigned kStaged = 256;  // candidates of a query and block, before they are written

// What belongs to one query. Two take turns, so that threads that are ready begin with the next
// one.
struct Turn {
  Candidate staged[kStaged];
  uint8_t least[kLengths];
  uint32_t frequent;
  uint32_t candidates;
};

struct Shared {
  Block block;
  alignas(16) uint4 counters[kCounters / kAtOnce];  // a byte each
  Turn turns[2];
  uint32_t begins[kMostTokens];  // of lists, in postings
  uint32_t ends[kMostTokens];
  uint32_t bits[kMostTokens];  // where frequent lists begin
  uint32_t sampled;            // documents
  uint32_t buckets[kBuckets];  // of samples only: not there otherwise
};

template <Purpose purpose>
constexpr size_t SharedBytes() {
  return purpose == Purpose::kSample ? sizeof(Shared) : offsetof(Shared, buckets);
}

// Of token number threadIdx.x, if the query has so many.
__device__ FoundList FindList(const Block& block, const Ranges& queries, uint32_t query) {
  if (threadIdx.x >= kMostTokens || query >= queries.queries) return {};
  const uint64_t at = queries.offsets[query] + threadIdx.x;
  if (at >= queries.offsets[query + 1]) return {};
  return gpu_sets::FindList(block, queries.tokens[at]);
}

// Lists are where their tokens are; those that are bits, together.
__device__ void TellList(const FoundList& list, Shared& shared, Turn& turn) {
  if (threadIdx.x >= kMostTokens) return;
  shared.begins[threadIdx.x] = list.begin;
  shared.ends[threadIdx.x] = list.is_frequent ? list.begin : list.end;
  if (list.is_frequent) shared.bits[atomicAdd(&turn.frequent, 1U)] = list.begin;
}

// Two lists a warp, several places a lane and list at once, as they take long to come.
__device__ void CountLists(const uint16_t* postings, uint32_t lists, Shared& shared) {
  constexpr unsigned kLists = 2;
  constexpr unsigned kPlaces = 3;
  constexpr uint32_t kNone = ~0U;
  auto* const words = reinterpret_cast<uint32_t*>(shared.counters);
  for (uint32_t list = threadIdx.x / kWarp; list < lists; list += kLists * kWarps) {
    uint32_t at[kLists];
    uint32_t end[kLists];
    for (unsigned of = 0; of < kLists; ++of) {
      const uint32_t number = list + of * kWarps;
      end[of] = number < lists ? shared.ends[number] : 0;
      at[of] = number < lists ? shared.begins[number] + threadIdx.x % kWarp : 0;
    }
    while (at[0] < end[0] || at[1] < end[1]) {
      uint32_t places[kLists][kPlaces];
#pragma unroll
      for (unsigned of = 0; of < kLists; ++of) {
#pragma unroll
        for (unsigned i = 0; i < kPlaces; ++i) {
          places[of][i] = at[of] + i * kWarp < end[of] ? postings[at[of] + i * kWarp] : kNone;
        }
        at[of] += kPlaces * kWarp;
      }
#pragma unroll
      for (unsigned of = 0; of < kLists; ++of) {
#pragma unroll
        for (unsigned i = 0; i < kPlaces; ++i) {
          const uint32_t place = places[of][i];
          if (place != kNone) atomicAdd(&words[place / 4], 1U << place % 4 * 8);
        }
      }
    }
  }
}

__device__ void WriteCandidate(const CountJob& job, uint32_t query, uint32_t at,
                               const Candidate& candidate) {
  if (at < job.room) job.candidates[size_t{query} * job.room + at] = candidate;
}

// A document with an overlap, which is at least what the length of the first of its 16 needs.
template <Purpose purpose>
__device__ void LookAt(const CountJob& job, const Block& block, uint32_t block_number,
                       uint32_t query, uint32_t place, uint32_t length, uint32_t overlap,
                       Shared& shared, Turn& turn) {
  if (job.allowed != nullptr) {
    const uint32_t document = block_number * kCounters + place;
    if ((job.allowed[document / 32] >> document % 32 & 1) == 0) return;
  }
  const auto tokens =
      static_cast<uint32_t>(job.queries.offsets[query + 1] - job.queries.offsets[query]);
  if constexpr (purpose == Purpose::kSample) {
    const Fraction similarity = Similarity(job.metric, overlap, tokens, length);
    atomicAdd(&shared.buckets[BucketOf(job.metric, similarity)], 1U);
  } else {
    const uint32_t least =
        length < kLengths - 1
            ? turn.least[length]
            : LeastOverlap(job.metric, job.thresholds.at_least[query], tokens, length);
    if (overlap < least) return;
    const Candidate candidate{block_number * kCounters + place, overlap};
    if (const uint32_t at = atomicAdd(&turn.candidates, 1U); at < kStaged) {
      turn.staged[at] = candidate;
    } else {
      WriteCandidate(job, query, atomicAdd(&job.found[query], 1U), candidate);
    }
  }
}

// A query's candidates that have been staged. One warp.
__device__ void WriteStaged(const CountJob& job, uint32_t query, const Turn& turn) {
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t count = turn.candidates < kStaged ? turn.candidates : kStaged;
  uint32_t first = 0;
  if (lane == 0 && count > 0) first = atomicAdd(&job.found[query], count);
  first = __shfl_sync(~0U, first, 0);
  for (uint32_t i = lane; i < count; i += kWarp) {
    WriteCandidate(job, query, first + i, turn.staged[i]);
  }
}

// What a thread knows of the documents whose counters it looks at, 16 at a time.
struct Looks {
  uint8_t first_lengths[kLooks];
  uint8_t mixed = 0;  // bit i: lengths of look i are to be looked up
};

// Whether one of 16 bytes is at least `least`, from 1 on.
__device__ bool HasOne(const uint4& all, uint32_t least) {
  constexpr uint32_t kTops = 0x8080'8080U;
  const uint32_t any = all.x | all.y | all.z | all.w;
  if (((any & kTops) | (least >> 7)) == 0) {
    // Bytes below 128 are carried into their top bits, and no further.
    const uint32_t up = (128 - least) * 0x0101'0101U;
    return (((all.x + up) | (all.y + up) | (all.z + up) | (all.w + up)) & kTops) != 0;
  }
  return (AsLarge(all.x, least) | AsLarge(all.y, least) | AsLarge(all.z, least) |
          AsLarge(all.w, least)) != 0;
}

// Looks at all counters, and makes them 0 for the next query.
template <Purpose purpose>
__device__ void LookAtAll(const CountJob& job, const Block& block, uint32_t block_number,
                          uint32_t query, const Looks& looks, Shared& shared, Turn& turn) {
#pragma unroll
  for (unsigned look = 0; look < kLooks; ++look) {
    const uint32_t number = look * kCountThreads + threadIdx.x;
    const uint4 all = shared.counters[number];
    shared.counters[number] = {0, 0, 0, 0};
    const uint32_t first_length = looks.first_lengths[look];
    // Longer documents need no less.
    const uint32_t least = turn.least[first_length];
    if (!HasOne(all, least)) continue;
    const bool is_mixed = (looks.mixed >> look & 1) != 0;
    for (uint32_t found = PlacesAsLarge(all, least); found != 0; found &= found - 1) {
      const auto i = static_cast<unsigned>(__ffs(static_cast<int>(found)) - 1);
      const uint32_t overlap = ByteOf(all, i);
      const uint32_t place = number * kAtOnce + i;
      const uint32_t length = is_mixed ? block.lengths[place] : first_length;
      LookAt<purpose>(job, block, block_number, query, place, length, overlap, shared, turn);
    }
  }
}

// The least overlaps of the similarities from a bucket on.
__device__ void SetLeast(const CountJob& job, uint32_t tokens, uint32_t bucket, Turn& turn) {
  if (threadIdx.x >= kLengths) return;
  const Fraction edge = EdgeOf(job.metric, bucket);
  turn.least[threadIdx.x] =
      static_cast<uint8_t>(LeastOverlap(job.metric, edge, tokens, threadIdx.x));
}

// Whether a block has enough documents of the similarities from a bucket on, about; turn.least
// becomes that of the bucket.
__device__ bool HasEnough(const CountJob& job, uint32_t tokens, uint32_t bucket, const Looks& looks,
                          Shared& shared, Turn& turn) {
  SetLeast(job, tokens, bucket, turn);
  if (threadIdx.x == 0) shared.sampled = 0;
  __syncthreads();
  uint32_t here = 0;
#pragma unroll
  for (unsigned look = 0; look < kLooks; ++look) {
    const uint4 all = shared.counters[look * kCountThreads + threadIdx.x];
    const uint32_t least = turn.least[looks.first_lengths[look]];
    if (!HasOne(all, least)) continue;
    here += __popc(AsLarge(all.x, least)) + __popc(AsLarge(all.y, least)) +
            __popc(AsLarge(all.z, least)) + __popc(AsLarge(all.w, least));
  }
  if (here > 0) atomicAdd(&shared.sampled, here);
  __syncthreads();
  const bool has_enough = shared.sampled >= job.enough;
  __syncthreads();
  return has_enough;
}

// Sets turn.least so that the sample has enough documents, and few that are worth nothing:
// whichever documents it has, the k-th best of them is a threshold.
__device__ void ChooseSample(const CountJob& job, uint32_t tokens, const Looks& looks,
                             Shared& shared, Turn& turn) {
  uint32_t bucket = job.metric == SetMetric::kOverlap ? 1 : kBuckets / 64;
  uint32_t chosen = 0;
  while (bucket < kBuckets && HasEnough(job, tokens, bucket, looks, shared, turn)) {
    chosen = bucket;
    bucket *= 2;
  }
  // To look again takes less than to count what is in between.
  constexpr uint32_t kFinest = 8;
  for (uint32_t step = chosen / 2; step > chosen / kFinest && step > 0; step /= 2) {
    if (HasEnough(job, tokens, chosen + step, looks, shared, turn)) chosen += step;
  }
  SetLeast(job, tokens, chosen, turn);
  __syncthreads();
}

// The least overlap of a thread's length.
template <Purpose purpose>
__device__ uint8_t LeastFor(const CountJob& job, uint32_t query) {
  if (purpose == Purpose::kSample || threadIdx.x >= kLengths) return 0;
  return job.thresholds.overlaps[query * kLengths + threadIdx.x];
}

template <Purpose purpose>
__global__ void __launch_bounds__(kCountThreads, CountBlocksAtOnce(purpose))
    CountBlock(const __grid_constant__ CountJob job) {
  extern __shared__ uint4 dynamic[];
  Shared& shared = *reinterpret_cast<Shared*>(dynamic);
  // Neighbours work on the same documents, so that what is at work fits the second-level cache.
  const uint32_t parts = (job.queries.queries + job.queries_each - 1) / job.queries_each;
  const uint32_t block_number = job.first_block + blockIdx.x / parts;
  if (threadIdx.x == 0) shared.block = job.blocks[block_number];
  __syncthreads();
  const Block& block = shared.block;

  Looks looks;
#pragma unroll
  for (unsigned look = 0; look < kLooks; ++look) {
    const uint32_t number = look * kCountThreads + threadIdx.x;
    shared.counters[number] = {0, 0, 0, 0};
    const LengthRange lengths = job.lengths[block_number * kLengthRanges + number];
    looks.first_lengths[look] = lengths.least;
    if (lengths.is_mixed()) looks.mixed |= 1U << look;
  }
  if constexpr (purpose == Purpose::kSample) {
    for (unsigned i = threadIdx.x; i < kBuckets; i += kCountThreads) shared.buckets[i] = 0;
  }

  if (threadIdx.x < 2) {
    Turn& turn = shared.turns[threadIdx.x];
    turn.frequent = 0;
    turn.candidates = 0;
  }
  const uint32_t begin = blockIdx.x % parts * job.queries_each;
  const uint32_t last = begin + job.queries_each;
  const uint32_t end = last < job.queries.queries ? last : job.queries.queries;
  FoundList list = FindList(block, job.queries, begin);
  uint8_t least = LeastFor<purpose>(job, begin);
  __syncthreads();
  for (uint32_t query = begin; query < end; ++query) {
    Turn& turn = shared.turns[query % 2];
    Turn& other = shared.turns[(query + 1) % 2];
    TellList(list, shared, turn);
    if (threadIdx.x < kLengths) turn.least[threadIdx.x] = least;
    const auto tokens =
        static_cast<uint32_t>(job.queries.offsets[query + 1] - job.queries.offsets[query]);
    __syncthreads();  // lists are known; counters are 0; the query before has been looked at
    CountLists(block.postings, tokens, shared);
    if (query + 1 < end) {
      list = FindList(block, job.queries, query + 1);
      least = LeastFor<purpose>(job, query + 1);
    }
    if (threadIdx.x / kWarp == kWarps - 1) {
      if (purpose != Purpose::kSample && query > begin) WriteStaged(job, query - 1, other);
      __syncwarp();
      if (threadIdx.x % kWarp == 0) {
        other.frequent = 0;
        other.candidates = 0;
      }
    }
    if (turn.frequent > 0) {
      __syncthreads();
      CountFrequent<1>(block, shared.bits, turn.frequent, shared.counters);
    }
    __syncthreads();
    if constexpr (purpose == Purpose::kSample) ChooseSample(job, tokens, looks, shared, turn);
    LookAtAll<purpose>(job, block, block_number, query, looks, shared, turn);
    if constexpr (purpose == Purpose::kSample) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < kBuckets; i += kCountThreads) {
        if (shared.buckets[i] == 0) continue;
        atomicAdd(&job.thresholds.buckets[query * kBuckets + i], shared.buckets[i]);
        shared.buckets[i] = 0;
      }
    }
  }
  __syncthreads();
  if (purpose != Purpose::kSample && end > begin && threadIdx.x < kWarp) {
    WriteStaged(job, end - 1, shared.turns[(end - 1) % 2]);
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

__global__ void __launch_bounds__(kCountThreads)
    WriteLengthsOf(const Block* blocks, LengthRange* lengths) {
  const Block& block = blocks[blockIdx.x];
  for (uint32_t i = threadIdx.x; i < kLengthRanges; i += kCountThreads) {
    const uint32_t place = i * kAtOnce;
    const uint32_t end = min(place + kAtOnce, block.size);
    LengthRange range{0, 0};
    if (place < end) {
      range.least = static_cast<uint8_t>(min(block.lengths[place], kLengths - 1));
      range.most = static_cast<uint8_t>(min(block.lengths[end - 1], kLengths - 1));
    }
    lengths[blockIdx.x * kLengthRanges + i] = range;
  }
}

}  // namespace

cudaError_t WriteLengths(const Block* blocks, uint32_t count, LengthRange* lengths,
                         cudaStream_t stream) {
  WriteLengthsOf<<<count, kCountThreads, 0, stream>>>(blocks, lengths);
  return cudaGetLastError();
}

cudaError_t Count(Purpose purpose, const CountJob& job, cudaStream_t stream) {
  return purpose == Purpose::kSample ? CountFor<Purpose::kSample>(job, stream)
                                     : CountFor<Purpose::kSearch>(job, stream);
}

}  // namespace strata::gpu_sets
