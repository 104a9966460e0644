#include "kernels/setops/add_bits.h"
#include "kernels/setops/gpu_scan.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kTableThreads = 1024;
constexpr unsigned kScanThreads = 640;  // as many as there are registers for
constexpr unsigned kWords = kScanQueries / 32;
constexpr uint32_t kNoMark = UINT32_MAX;
static_assert(kRankWords == 2 * kTableThreads);
static_assert(kTile == kWarp);

struct TableMemory {
  uint32_t bits[kRankWords];    // ranks that a query has
  uint32_t before[kRankWords];  // how many are in words before
  uint32_t sums[kTableThreads];
  uint32_t direct_words;
};

__device__ uint16_t RankOf(const ScanJob& job, Token token) {
  return token < 65'536 ? job.ranks[token] : kNoRank;
}

// A block of threads a pass.
__global__ void __launch_bounds__(kTableThreads) MakeTable(const __grid_constant__ ScanJob job) {
  __shared__ TableMemory shared;
  const Pass pass = job.passes[blockIdx.x];
  ScanTable& table = job.tables[blockIdx.x];
  const uint64_t begin = job.queries.offsets[pass.first];
  const uint64_t end = job.queries.offsets[pass.first + pass.count];
  for (unsigned i = threadIdx.x; i < kRankWords; i += kTableThreads) shared.bits[i] = 0;
  if (threadIdx.x == 0) shared.direct_words = 0;
  __syncthreads();
  for (uint64_t at = begin + threadIdx.x; at < end; at += kTableThreads) {
    const uint32_t rank = RankOf(job, job.queries.tokens[at]);
    if (rank != kNoRank) atomicOr(&shared.bits[rank / 32], 1U << rank % 32);
  }
  __syncthreads();
  const unsigned word = 2 * threadIdx.x;
  const uint32_t first = __popc(shared.bits[word]);
  const uint32_t own = first + __popc(shared.bits[word + 1]);
  shared.sums[threadIdx.x] = own;
  __syncthreads();
  for (unsigned step = 1; step < kTableThreads; step *= 2) {
    const uint32_t lower = threadIdx.x >= step ? shared.sums[threadIdx.x - step] : 0;
    __syncthreads();
    shared.sums[threadIdx.x] += lower;
    __syncthreads();
  }
  shared.before[word] = shared.sums[threadIdx.x] - own;
  shared.before[word + 1] = shared.before[word] + first;
  __syncthreads();
  // As many direct slots as leave room for the others: the more there are, the fewer these.
  const uint32_t all = shared.sums[kTableThreads - 1];
  const uint32_t most = (job.ranked + 31) / 32;
  for (unsigned of = word; of < word + 2; ++of) {
    if (of <= most && of * 32 + all - shared.before[of] <= kSlots) {
      atomicMax(&shared.direct_words, of);
    }
  }
  __syncthreads();
  const uint32_t direct_words = shared.direct_words;
  const auto slot_of_first = [&](unsigned of) {
    return direct_words * 32 + shared.before[of] - shared.before[direct_words];
  };
  for (unsigned of = word; of < word + 2; ++of) {
    table.others[of] = of < direct_words ? uint2{0, 0} : uint2{shared.bits[of], slot_of_first(of)};
  }
  if (threadIdx.x == 0) table.direct = direct_words * 32;
  for (uint32_t query = threadIdx.x / kWarp; query < pass.count; query += kTableThreads / kWarp) {
    const uint64_t last = job.queries.offsets[pass.first + query + 1];
    for (uint64_t at = job.queries.offsets[pass.first + query] + threadIdx.x % kWarp; at < last;
         at += kWarp) {
      const uint32_t rank = RankOf(job, job.queries.tokens[at]);
      uint32_t slot = rank;
      if (rank >= direct_words * 32) {
        const uint32_t below = (1U << rank % 32) - 1;
        slot = slot_of_first(rank / 32) + __popc(shared.bits[rank / 32] & below);
      }
      job.marks[at] = rank == kNoRank ? kNoMark : slot * kScanQueries + query;
    }
  }
}

// A thread a query of a pass: bit q of digit p of a length's least overlap is that of query q.
__global__ void __launch_bounds__(kScanQueries) SpreadLeast(const __grid_constant__ ScanJob job) {
  const uint32_t number = blockIdx.x / kLengths;
  const uint32_t length = blockIdx.x % kLengths;
  const Pass pass = job.passes[number];
  // Queries that are not there reach nothing: an overlap is at most 254.
  const uint32_t least =
      threadIdx.x < pass.count
          ? job.thresholds.overlaps[size_t{pass.first + threadIdx.x} * kLengths + length]
          : kLengths - 1;
  auto* const out =
      reinterpret_cast<uint32_t*>(job.least + (size_t{number} * kLengths + length) * kScanDigits);
  for (unsigned p = 0; p < kScanDigits; ++p) {
    const uint32_t digit = __ballot_sync(~0U, static_cast<int>(least >> p & 1));
    if (threadIdx.x % kWarp == 0) out[p * kWords + threadIdx.x / kWarp] = digit;
  }
}

// A bit for each of a pass's queries.
struct Bits {
  uint32_t of[kWords];
};

__device__ Bits AddBits(Bits& sum, const Bits& a, const Bits& b) {
  Bits carry;
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) carry.of[w] = strata::AddBits(sum.of[w], a.of[w], b.of[w]);
  return carry;
}

struct ScanMemory {
  uint4 slots[kSlots];
  uint2 others[kRankWords];
};

// Which queries have a token. kIsDirect: its rank has a slot of its own.
template <bool kIsDirect>
__device__ Bits Lookup(const ScanMemory& shared, uint32_t direct, uint32_t rank) {
  if constexpr (kIsDirect) {
    const uint4 words = shared.slots[rank];
    return {{words.x, words.y, words.z, words.w}};
  }
  uint32_t slot = rank;
  bool has_slot = true;
  if (rank >= direct) {
    const uint2 other = shared.others[rank / 32];
    const uint32_t bit = 1U << rank % 32;
    has_slot = (other.x & bit) != 0;
    slot = other.y + __popc(other.x & (bit - 1));
  }
  Bits bits{};
  if (has_slot) {
    const uint4 words = shared.slots[slot];
    bits = {{words.x, words.y, words.z, words.w}};
  }
  return bits;
}

// Adds eight tokens to the digits below 8; what is carried.
template <bool kAreDirect>
__device__ Bits AddGroup(const ScanMemory& shared, uint32_t direct, const uint4& group,
                         Bits* digits) {
  const auto pair = [&](uint32_t ranks) {
    const Bits low = Lookup<kAreDirect>(shared, direct, ranks & 0xFFFF);
    return AddBits(digits[0], low, Lookup<kAreDirect>(shared, direct, ranks >> 16));
  };
  const Bits two_a = pair(group.x);
  const Bits four_a = AddBits(digits[1], two_a, pair(group.y));
  const Bits two_b = pair(group.z);
  return AddBits(digits[2], four_a, AddBits(digits[1], two_b, pair(group.w)));
}

// Which queries the overlaps suffice for.
__device__ Bits Reached(const Bits* digits, const uint4* least) {
  Bits reached;
  for (unsigned w = 0; w < kWords; ++w) reached.of[w] = ~0U;
#pragma unroll
  for (unsigned p = 0; p < kScanDigits; ++p) {
    const uint4 of = least[p];
    const uint32_t words[kWords] = {of.x, of.y, of.z, of.w};
#pragma unroll
    for (unsigned w = 0; w < kWords; ++w) {
      const uint32_t overlap = digits[p].of[w];
      const uint32_t differs = overlap ^ words[w];
      reached.of[w] = (differs & overlap) | (~differs & reached.of[w]);
    }
  }
  return reached;
}

__device__ void Offer(const ScanJob& job, uint32_t query, uint32_t document, uint32_t length,
                      uint32_t overlap) {
  const auto tokens =
      static_cast<uint32_t>(job.queries.offsets[query + 1] - job.queries.offsets[query]);
  if (length >= kLengths - 1 &&
      overlap < LeastOverlap(job.metric, job.thresholds.at_least[query], tokens, length)) {
    return;
  }
  const uint32_t at = atomicAdd(&job.found[query], 1U);
  if (at < job.room) job.candidates[size_t{query} * job.room + at] = {document, overlap};
}

__device__ void ScanTile(const ScanJob& job, const ScanMemory& shared, uint32_t direct,
                         const TileInfo& tile, const uint4* least, uint32_t first_query) {
  const unsigned lane = threadIdx.x % kWarp;
  const uint4* group = job.forward + size_t{tile.group} * kTile + lane;
  constexpr uint4 kNobody = {~0U, ~0U, ~0U, ~0U};
  Bits digits[kScanDigits] = {};
  const Bits none{};
  const uint32_t hot = direct >= kHotRanks ? tile.hot : 0;
  // Two groups at a time, the next two being fetched.
  uint4 a = tile.groups > 0 ? group[0] : kNobody;
  uint4 b = tile.groups > 1 ? group[kTile] : kNobody;
  for (uint32_t i = 0; i < tile.groups; i += 2) {
    const uint4 here_a = a;
    const uint4 here_b = b;
    const bool has_second = i + 1 < tile.groups;
    if (i + 2 < tile.groups) a = group[(i + 2) * kTile];
    if (i + 3 < tile.groups) b = group[(i + 3) * kTile];
    Bits eight_a;
    Bits eight_b{};
    if (i + 1 < hot) {
      eight_a = AddGroup<true>(shared, direct, here_a, digits);
      eight_b = AddGroup<true>(shared, direct, here_b, digits);
    } else {
      eight_a = AddGroup<false>(shared, direct, here_a, digits);
      if (has_second) eight_b = AddGroup<false>(shared, direct, here_b, digits);
    }
    Bits carry = AddBits(digits[3], eight_a, eight_b);
#pragma unroll
    for (unsigned p = 4; p < kScanDigits; ++p) carry = AddBits(digits[p], carry, none);
  }
  if (lane >= tile.count) return;
  const uint32_t document = tile.document + lane;
  uint32_t length = tile.length;
  if (length == TileInfo::kMixed) {
    length = job.blocks[document >> 16].lengths[document & 0xFFFF];
  }
  const Bits reached = Reached(digits, least + min(length, kLengths - 1) * kScanDigits);
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) {
    for (uint32_t queries = reached.of[w]; queries != 0; queries &= queries - 1) {
      if (job.allowed != nullptr && (job.allowed[document / 32] >> document % 32 & 1) == 0) break;
      const auto q = static_cast<unsigned>(__ffs(static_cast<int>(queries)) - 1);
      uint32_t overlap = 0;
#pragma unroll
      for (unsigned p = 0; p < kScanDigits; ++p) overlap |= (digits[p].of[w] >> q & 1) << p;
      Offer(job, first_query + w * 32 + q, document, length, overlap);
    }
  }
}

__global__ void __launch_bounds__(kScanThreads, 1) ScanTiles(const __grid_constant__ ScanJob job) {
  extern __shared__ uint4 dynamic[];
  ScanMemory& shared = *reinterpret_cast<ScanMemory*>(dynamic);
  const uint32_t warps = gridDim.x * (kScanThreads / kWarp);
  // Warps of all processors take turns, so that documents of all lengths come to each.
  const uint32_t warp = threadIdx.x / kWarp * gridDim.x + blockIdx.x;
  for (uint32_t number = 0; number < job.passes_count; ++number) {
    const Pass pass = job.passes[number];
    const ScanTable& table = job.tables[number];
    for (unsigned i = threadIdx.x; i < kSlots; i += kScanThreads) shared.slots[i] = {0, 0, 0, 0};
    for (unsigned i = threadIdx.x; i < kRankWords; i += kScanThreads) {
      shared.others[i] = table.others[i];
    }
    __syncthreads();
    auto* const words = reinterpret_cast<uint32_t*>(shared.slots);
    const uint64_t end = job.queries.offsets[pass.first + pass.count];
    for (uint64_t at = job.queries.offsets[pass.first] + threadIdx.x; at < end;
         at += kScanThreads) {
      const uint32_t mark = job.marks[at];
      if (mark != kNoMark) atomicOr(&words[mark / 32], 1U << mark % 32);
    }
    __syncthreads();
    const uint4* const least = job.least + size_t{number} * kLengths * kScanDigits;
    for (uint32_t tile = warp; tile < job.tiles_count; tile += warps) {
      ScanTile(job, shared, table.direct, job.tiles[job.first_tile + tile], least, pass.first);
    }
    __syncthreads();
  }
}

}  // namespace

cudaError_t MakeScanTables(const ScanJob& job, cudaStream_t stream) {
  MakeTable<<<job.passes_count, kTableThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

cudaError_t Scan(const ScanJob& job, int processors, cudaStream_t stream) {
  SpreadLeast<<<job.passes_count * kLengths, kScanQueries, 0, stream>>>(job);
  constexpr unsigned kWarps = kScanThreads / kWarp;
  const unsigned blocks =
      min(static_cast<unsigned>(processors), (job.tiles_count + kWarps - 1) / kWarps);
  constexpr int kBytes = static_cast<int>(sizeof(ScanMemory));
  const cudaError_t error =
      cudaFuncSetAttribute(ScanTiles, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  ScanTiles<<<blocks, kScanThreads, kBytes, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace strata::gpu_sets
