#include <cstddef>

#include "kernels/setops/gpu_few.cuh"
#include "kernels/setops/gpu_select.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kLooks = kLengthRanges / kFewThreads;
static_assert(kMostTokens % kWarp == 0 && kMostTokens <= kFewThreads, "a thread finds a list");
static_assert(2 * kFewMostFound * sizeof(FewFound) <= kCounters,
              "candidates and their order take the counters' place");

enum class Step : uint8_t { kAll, kTell, kFind };
// Whether a block of threads has a processor for itself, and may ask for more at once.
enum class Space : uint8_t { kApart, kTogether };
constexpr int BlocksOf(Space space) { return space == Space::kApart ? 1 : 2; }

struct Shared {
  alignas(16) uint4 counters[kCounters / kAtOnce];  // a byte each
  uint32_t begins[kMostTokens];                     // of lists, in postings
  uint32_t before[kMostTokens + 1];                 // postings of the lists before
  uint32_t of_warps[kFewThreads / kWarp];
  uint32_t bits[kMostTokens];  // where frequent lists begin
  uint32_t frequent;
  uint32_t keys[kFewThreads];    // of parts
  uint32_t counts[kFewThreads];  // of their documents with that key
  uint32_t last_part;
  uint32_t found;
  bool is_last;
};

// Of a thread's documents, a byte for each look: they are asked for long before they are needed.
class LookLengths {
 public:
  __device__ explicit LookLengths(const LengthRange* of_block) {
    static_assert(kLooks <= sizeof(uint64_t));
#pragma unroll
    for (unsigned i = 0; i < kLooks; ++i) {
      const LengthRange lengths = of_block[i * kFewThreads + threadIdx.x];
      least_ |= uint64_t{lengths.least} << 8 * i;
      most_ |= uint64_t{lengths.most} << 8 * i;
    }
  }
  __device__ LengthRange operator[](unsigned i) const {
    return {static_cast<uint8_t>(least_ >> 8 * i), static_cast<uint8_t>(most_ >> 8 * i)};
  }

 private:
  uint64_t least_ = 0;
  uint64_t most_ = 0;
};

// In which order documents are of a query, by their overlap and length: as `weight / among` is.
class Order {
 public:
  __device__ Order(SetMetric metric, uint32_t tokens) : squares_(metric == SetMetric::kCosine) {
    switch (metric) {
      case SetMetric::kOverlap:
      case SetMetric::kContainmentQuery:
        plus_ = 1;
        times_ = 0;
        break;
      case SetMetric::kOverlapMax:
        least_ = tokens;
        break;
      case SetMetric::kJaccard:  // the larger c / (q + d), the larger c / (q + d - c)
      case SetMetric::kDice:
        plus_ = tokens;
        break;
      case SetMetric::kCosine:
      case SetMetric::kContainmentDocument:
        break;
    }
  }
  // Both below 256. Products of what these give are below 2^32.
  __device__ uint32_t Weight(uint32_t overlap) const {
    return squares_ ? overlap * overlap : overlap;
  }
  __device__ uint32_t Among(uint32_t length) const { return plus_ + times_ * max(length, least_); }

 private:
  bool squares_;
  uint32_t plus_ = 0;
  uint32_t times_ = 1;
  uint32_t least_ = 0;
};

// What a block of threads works on.
struct Work {
  const FewJob& job;
  const Block& block;
  uint32_t number;  // of the block
  uint32_t query;
  uint32_t tokens;  // of the query
  Shared& shared;
  LookLengths lengths;

  __device__ Fraction SimilarityOf(uint32_t overlap, uint32_t length) const {
    return Similarity(job.metric, overlap, tokens, length);
  }
  // Of two candidates.
  __device__ bool IsBetter(const FewFound& a, const FewFound& b) const {
    if (a.key != b.key) return a.key > b.key;
    if (!job.equal_keys_are_equal) {
      const Fraction of_a = SimilarityOf(a.overlap(), a.length());
      const Fraction of_b = SimilarityOf(b.overlap(), b.length());
      if (IsLess(of_b, of_a)) return true;
      if (IsLess(of_a, of_b)) return false;
    }
    return a.id < b.id;
  }
  // Of 16 documents, 0 for those that are not allowed.
  __device__ uint4 CountersOf(uint32_t look) const {
    uint4 all = shared.counters[look];
    if (job.allowed == nullptr) return all;
    const uint32_t place = number * kCounters + look * kAtOnce;
    const uint32_t allowed = job.allowed[place / 32] >> place % 32;
    const auto bytes = [&](unsigned i) {
      return ((allowed >> 4 * i & 0xF) * 0x0020'4081U & 0x0101'0101U) * 0xFF;
    };
    return {all.x & bytes(0), all.y & bytes(1), all.z & bytes(2), all.w & bytes(3)};
  }
};

// The largest of 16 bytes.
__device__ uint32_t LargestOf(const uint4& all) {
  // Two side by side, as GPUs compare them at once.
  const auto of_word = [](uint32_t word) {
    return __vmaxu2(word & 0x00FF'00FFU, word >> 8 & 0x00FF'00FFU);
  };
  const uint32_t two =
      __vmaxu2(__vmaxu2(of_word(all.x), of_word(all.y)), __vmaxu2(of_word(all.z), of_word(all.w)));
  return max(two & 0xFFFF, two >> 16);
}

// Where the query's lists are. Counters become 0.
__device__ void FindLists(const Work& work) {
  Shared& shared = work.shared;
  const unsigned warp = threadIdx.x / kWarp;
  FoundList list;
  if (threadIdx.x < work.tokens) {
    list = FindList(work.block, work.job.tokens[work.job.offsets[work.query] + threadIdx.x]);
  }
  for (unsigned look = 0; look < kLooks; ++look) {
    shared.counters[look * kFewThreads + threadIdx.x] = {0, 0, 0, 0};
  }
  shared.keys[threadIdx.x] = 0;
  shared.counts[threadIdx.x] = 0;
  if (threadIdx.x == 0) shared.frequent = 0;
  uint32_t up_to = 0;
  if (warp < kMostTokens / kWarp) {
    up_to = ShufflePrefixSum(list.is_frequent ? 0 : list.end - list.begin);
    shared.begins[threadIdx.x] = list.begin;
    if (threadIdx.x % kWarp == kWarp - 1) shared.of_warps[warp] = up_to;
  }
  __syncthreads();
  if (warp < kMostTokens / kWarp) {
    for (unsigned i = 0; i < warp; ++i) up_to += shared.of_warps[i];
    shared.before[threadIdx.x + 1] = up_to;
    if (threadIdx.x == 0) shared.before[0] = 0;
    if (list.is_frequent) shared.bits[atomicAdd(&shared.frequent, 1U)] = list.begin;
  }
  __syncthreads();
}

// All lists one behind another; a warp has as many of their places in a row as each other.
template <Space space>
__device__ void CountLists(const Work& work) {
  // That are asked for, as they take long to come.
  constexpr unsigned kPlaces = space == Space::kApart ? 16 : 8;
  constexpr uint32_t kNone = ~0U;
  Shared& shared = work.shared;
  auto* const words = reinterpret_cast<uint32_t*>(shared.counters);
  const uint32_t all = shared.before[kMostTokens];
  const uint32_t each = (all + kFewThreads - 1) / kFewThreads * kWarp;
  const uint32_t first = threadIdx.x / kWarp * each;
  const uint32_t end = min(first + each, all);
  uint32_t at = first + threadIdx.x % kWarp;
  if (at >= end) return;
  uint32_t list = 0;  // the last that begins at `at` or before
  for (uint32_t step = kMostTokens / 2; step > 0; step /= 2) {
    if (shared.before[list + step] <= at) list += step;
  }
  while (at < end) {
    uint32_t places[kPlaces];
#pragma unroll
    for (unsigned i = 0; i < kPlaces; ++i) {
      places[i] = kNone;
      if (at < end) {
        while (shared.before[list + 1] <= at) ++list;
        places[i] = work.block.postings[shared.begins[list] + at - shared.before[list]];
      }
      at += kWarp;
    }
#pragma unroll
    for (unsigned i = 0; i < kPlaces; ++i) {
      if (places[i] != kNone) atomicAdd(&words[places[i] / 4], 1U << places[i] % 4 * 8);
    }
  }
}

template <Space space>
__device__ void Count(const Work& work) {
  FindLists(work);
  CountLists<space>(work);
  __syncthreads();
  if (work.shared.frequent == 0) return;
  CountFrequent<space == Space::kApart ? 4 : 2>(work.block, work.shared.bits, work.shared.frequent,
                                                work.shared.counters);
  __syncthreads();
}

// Of a thread's documents.
struct Best {
  Fraction most;          // none is more similar
  uint32_t key = 0;       // one is at least as similar
  uint32_t equal = 0;     // looks that have such a one, bits
  uint64_t overlaps = 0;  // a byte for each look: the largest
};

__device__ Best FindBest(const Work& work) {
  struct OfLook {
    uint32_t overlap = 0;
    uint32_t length = 1;
    uint32_t weight = 0;
    uint32_t among = 1;

    __device__ bool IsLess(const OfLook& other) const {
      return weight * other.among < other.weight * among;
    }
  };
  const Order order(work.job.metric, work.tokens);
  Best best;
  OfLook most;
  OfLook there;
  uint32_t equal = 0;  // bits of looks that are as good as `there`
#pragma unroll
  for (unsigned i = 0; i < kLooks; ++i) {
    const uint32_t overlap = LargestOf(work.CountersOf(i * kFewThreads + threadIdx.x));
    best.overlaps |= uint64_t{overlap} << 8 * i;
    const LengthRange lengths = work.lengths[i];
    const uint32_t weight = order.Weight(overlap);
    // A document is no shorter than its overlap.
    const uint32_t least = max(overlap, uint32_t{lengths.least});
    const OfLook up_to{overlap, least, weight, max(order.Among(least), 1U)};
    if (most.IsLess(up_to)) most = up_to;
    const uint32_t length = lengths.most;
    if (overlap == 0 || length == kLengths - 1) continue;  // it may be any length
    const OfLook at_least{overlap, length, weight, order.Among(length)};
    if (there.IsLess(at_least)) {
      there = at_least;
      equal = 0;
    }
    if (!at_least.IsLess(there)) equal |= 1U << i;
  }
  best.most = work.SimilarityOf(most.overlap, most.length);
  best.key = KeyOf(work.job.metric, work.SimilarityOf(there.overlap, there.length));
  best.equal = there.overlap == 0 ? 0 : equal;
  return best;
}

// Of a thread's documents.
__device__ uint32_t CountBest(const Work& work, const Best& best) {
  uint32_t count = 0;
  for (uint32_t equal = best.equal; equal != 0; equal &= equal - 1) {
    const auto i = static_cast<unsigned>(__ffs(static_cast<int>(equal)) - 1);
    const auto overlap = static_cast<uint32_t>(best.overlaps >> 8 * i & 0xFF);
    const uint4 all = work.CountersOf(i * kFewThreads + threadIdx.x);
    count += static_cast<uint32_t>(__popc(PlacesAsLarge(all, overlap)));
  }
  return count;
}

// A block's parts are threads in a row.
__device__ void Tell(const Work& work, const Best& best) {
  const FewJob& job = work.job;
  const unsigned threads = kFewThreads / job.parts;
  const unsigned part = threadIdx.x / threads;
  uint32_t key = best.key;
  const unsigned lanes = min(threads, kWarp);
  for (unsigned step = 1; step < lanes; step *= 2) {
    key = max(key, __shfl_xor_sync(~0U, key, static_cast<int>(step)));
  }
  if (threadIdx.x % lanes == 0) atomicMax(&work.shared.keys[part], key);
  __syncthreads();
  if (best.key > 0 && best.key == work.shared.keys[part]) {
    atomicAdd(&work.shared.counts[part], CountBest(work, best));
  }
  __syncthreads();
  if (threadIdx.x >= job.parts) return;
  job.bests[work.query * kFewMostParts + work.number * job.parts + threadIdx.x] = {
      work.shared.keys[threadIdx.x], work.shared.counts[threadIdx.x]};
}

// Until all blocks of threads of the query have told.
__device__ void Meet(const Work& work) {
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t* const told = &work.job.states[work.query].told;
    __threadfence();
    atomicAdd(told, 1U);
    while (*static_cast<volatile uint32_t*>(told) < work.job.blocks_count) {
    }
    __threadfence();
  }
  __syncthreads();
}

// What all parts of a query have told, some for each thread.
struct Told {
  static constexpr unsigned kEach = kFewMostParts / kFewThreads;

  uint32_t parts;
  uint32_t keys[kEach];
  uint32_t counts[kEach];

  __device__ explicit Told(const Work& work) : parts(work.job.blocks_count * work.job.parts) {
    const auto* const bests =
        reinterpret_cast<const uint2*>(work.job.bests + work.query * kFewMostParts);
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) {
      const uint32_t at = i * kFewThreads + threadIdx.x;
      const uint2 best = at < parts ? __ldcg(bests + at) : uint2{0, 0};
      keys[i] = best.x;
      counts[i] = best.y;
    }
  }
  // How many parts have such a key. All threads of a block.
  __device__ uint32_t CountFrom(uint32_t least) const {
    uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) {
      if (i * kFewThreads >= parts) break;
      sum += static_cast<uint32_t>(__syncthreads_count(static_cast<int>(keys[i] >= least)));
    }
    return sum;
  }
};

// The first part up to which so many documents have the key, if so many have. All threads of a
// block.
__device__ uint32_t PartWith(const Work& work, const Told& told, uint32_t key, uint32_t wanted) {
  Shared& shared = work.shared;
  const unsigned warp = threadIdx.x / kWarp;
  uint32_t before = 0;
#pragma unroll
  for (unsigned i = 0; i < Told::kEach; ++i) {
    if (i * kFewThreads >= told.parts) break;
    const uint32_t own = told.keys[i] == key ? told.counts[i] : 0;
    uint32_t up_to = ShufflePrefixSum(own);
    if (threadIdx.x % kWarp == kWarp - 1) shared.of_warps[warp] = up_to;
    __syncthreads();
    up_to += before;
    for (unsigned w = 0; w < kFewThreads / kWarp; ++w) {
      if (w < warp) up_to += shared.of_warps[w];
      before += shared.of_warps[w];
    }
    if (up_to >= wanted && up_to - own < wanted) {
      shared.last_part = i * kFewThreads + threadIdx.x;
    }
    __syncthreads();
  }
  return shared.last_part;
}

// What at least k documents reach, or what is asked for. All threads of a block.
__device__ Fraction FindThreshold(const Work& work) {
  const FewJob& job = work.job;
  const Told told(work);
  // Bit by bit the largest key that k parts reach.
  uint32_t key = 0;
  for (uint32_t bit = 1U << 31; bit > 0; bit /= 2) {
    if (told.CountFrom(key + bit) >= job.k) key += bit;
  }
  const Fraction of_parts{key, KeyUnit(job.metric)};
  if (key == 0 || IsLess(of_parts, job.at_least)) return job.at_least;
  if (!job.ids_ascend) return of_parts;
  // Often thousands have this key: from where k are as good, others need a larger one.
  const uint32_t better = told.CountFrom(key + 1);
  const uint32_t last_part = PartWith(work, told, key, job.k - better);
  const bool is_behind = work.number > last_part / job.parts;
  return {is_behind ? key + 1 : key, of_parts.den};
}

// The least overlap that reaches the threshold; `largest` does.
__device__ uint32_t LeastBelow(const Work& work, Fraction at_least, uint32_t largest,
                               uint32_t length) {
  if (at_least.num == 0) return 1;
  uint32_t least = largest;  // which few are below
  while (least > 1 && !IsLess(work.SimilarityOf(least - 1, length), at_least)) --least;
  return least;
}

// Those of a thread's look number i that reach the threshold; `largest` is the largest overlap.
__device__ void FindAmong(const Work& work, Fraction at_least, unsigned i, uint32_t largest) {
  const FewJob& job = work.job;
  const LengthRange lengths = work.lengths[i];
  const uint32_t shortest = max(largest, uint32_t{lengths.least});
  if (largest == 0 || IsLess(work.SimilarityOf(largest, shortest), at_least)) return;
  const uint32_t look = i * kFewThreads + threadIdx.x;
  const uint4 all = work.CountersOf(look);
  // Longer documents need no less.
  const uint32_t least = LeastBelow(work, at_least, largest, lengths.least);
  for (uint32_t found = PlacesAsLarge(all, least); found != 0; found &= found - 1) {
    const auto byte = static_cast<unsigned>(__ffs(static_cast<int>(found)) - 1);
    const uint32_t place = look * kAtOnce + byte;
    const uint32_t overlap = ByteOf(all, byte);
    const uint32_t length = lengths.is_mixed() ? work.block.lengths[place] : lengths.least;
    const Fraction similarity = work.SimilarityOf(overlap, length);
    if (IsLess(similarity, at_least)) continue;
    const FewFound one(work.block.ids[place], KeyOf(job.metric, similarity), overlap, length);
    const uint32_t at = atomicAdd(&job.states[work.query].found, 1U);
    if (at < kFewMostFound) job.found[work.query * kFewMostFound + at] = one;
  }
}

// Whether all other blocks of threads of the query have found what they find.
__device__ bool IsLast(const Work& work) {
  FewState& state = work.job.states[work.query];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    work.shared.is_last = atomicAdd(&state.done, 1U) == work.job.blocks_count - 1;
    __threadfence();
    if (work.shared.is_last) {
      work.shared.found = *static_cast<volatile uint32_t*>(&state.found);
      state = {};
    }
  }
  __syncthreads();
  return work.shared.is_last;
}

// Puts so many candidates in order, the best first: a warp's width of them by looking at all of
// these, and then two rows, each in order, become one, where a candidate's place follows from how
// many of the other row are better. Uses as much memory behind them; says where they are then.
__device__ const FewFound* Sort(const Work& work, FewFound* values, uint32_t count) {
  FewFound* spare = values + kFewMostFound;
  const auto move = [&](const auto& place_of) {
    for (uint32_t i = threadIdx.x; i < count; i += kFewThreads) {
      const FewFound own = values[i];
      spare[place_of(i, own)] = own;
    }
    __syncthreads();
    FewFound* const moved = spare;
    spare = values;
    values = moved;
  };
  move([&](uint32_t i, const FewFound& own) {
    const uint32_t begin = i / kWarp * kWarp;
    const uint32_t end = min(begin + kWarp, count);
    uint32_t place = begin;
    for (uint32_t j = begin; j < end; ++j) {
      if (work.IsBetter(values[j], own)) ++place;
    }
    return place;
  });
  for (uint32_t width = kWarp; width < count; width *= 2) {
    move([&](uint32_t i, const FewFound& own) {
      const uint32_t row = i & ~(width - 1);
      const uint32_t other = min(row ^ width, count);
      uint32_t low = other;
      uint32_t high = min(other + width, count);
      while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (work.IsBetter(values[middle], own)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return min(row, other) + (i - row) + (low - other);
    });
  }
  return values;
}

// Writes the best candidates to the host, in their order.
__device__ void Answer(const Work& work) {
  const FewJob& job = work.job;
  const uint32_t found = work.shared.found;
  auto* const answer =
      reinterpret_cast<FewAnswer*>(job.answers + size_t{work.query} * job.answer_bytes);
  const uint32_t count = found <= kFewMostFound ? min(found, job.k) : kTooMany;
  if (found <= kFewMostFound) {
    // Counters are of no more use.
    const auto* const from = reinterpret_cast<const uint4*>(job.found + work.query * kFewMostFound);
    for (uint32_t i = threadIdx.x; i < found; i += kFewThreads) {
      work.shared.counters[i] = __ldcg(from + i);
    }
    __syncthreads();
    const FewFound* const sorted =
        Sort(work, reinterpret_cast<FewFound*>(work.shared.counters), found);
    auto* const hits = reinterpret_cast<Hit*>(answer + 1);
    for (uint32_t i = threadIdx.x; i < count; i += kFewThreads) {
      hits[i] = {sorted[i].id, sorted[i].overlap(), sorted[i].length()};
    }
  }
  if (threadIdx.x == 0) {
    answer->count = count;
    answer->found = found;
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *static_cast<volatile uint32_t*>(&answer->is_there) = 1;
}

template <Step step, Space space>
__global__ void __launch_bounds__(kFewThreads, BlocksOf(space))
    SearchBlock(const __grid_constant__ FewJob job) {
  extern __shared__ uint4 dynamic[];
  const uint32_t number = blockIdx.x % job.blocks_count;
  const uint32_t query = blockIdx.x / job.blocks_count;
  const Work work{job,
                  job.blocks[number],
                  number,
                  query,
                  job.offsets[query + 1] - job.offsets[query],
                  *reinterpret_cast<Shared*>(dynamic),
                  LookLengths(job.lengths + number * kLengthRanges)};
  Count<space>(work);
  const Best best = FindBest(work);
  if constexpr (step != Step::kFind) Tell(work, best);
  if constexpr (step == Step::kTell) return;
  if constexpr (step == Step::kAll) Meet(work);
  const Fraction at_least = FindThreshold(work);
  // Few threads have something.
  if (best.most.num > 0 && !IsLess(best.most, at_least)) {
    for (unsigned i = 0; i < kLooks; ++i) {
      FindAmong(work, at_least, i, static_cast<uint32_t>(best.overlaps >> 8 * i & 0xFF));
    }
  }
  if (IsLast(work)) Answer(work);
}

constexpr int kBytes = static_cast<int>(sizeof(Shared));

template <Step step>
cudaError_t Launch(const FewJob& job, cudaStream_t stream) {
  SearchBlock<step, Space::kTogether>
      <<<job.queries * job.blocks_count, kFewThreads, kBytes, stream>>>(job);
  return cudaGetLastError();
}

template <Space space>
cudaError_t LaunchMeeting(const FewJob& job, cudaStream_t stream) {
  void* arguments[] = {const_cast<FewJob*>(&job)};
  return cudaLaunchCooperativeKernel(SearchBlock<Step::kAll, space>, job.queries * job.blocks_count,
                                     kFewThreads, arguments, kBytes, stream);
}

// Makes a kernel ready; how many blocks of its threads can be at work at a time.
template <Step step, Space space>
cudaError_t Prepare(int processors, uint32_t* at_once) {
  const auto kernel = SearchBlock<step, space>;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  int of_processor = 0;
  const cudaError_t asked =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_processor, kernel, kFewThreads, kBytes);
  *at_once = static_cast<uint32_t>(min(of_processor, BlocksOf(space)) * processors);
  return asked;
}

}  // namespace

cudaError_t PrepareFew(int device, FewAtOnce* at_once) {
  int may_meet = 0;
  int processors = 0;
  uint32_t not_met = 0;
  FewAtOnce found;
  for (const cudaError_t error :
       {cudaDeviceGetAttribute(&may_meet, cudaDevAttrCooperativeLaunch, device),
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        Prepare<Step::kTell, Space::kTogether>(processors, &not_met),
        Prepare<Step::kFind, Space::kTogether>(processors, &not_met),
        Prepare<Step::kAll, Space::kApart>(processors, &found.apart),
        Prepare<Step::kAll, Space::kTogether>(processors, &found.together)}) {
    if (error != cudaSuccess) return error;
  }
  if (may_meet != 0) *at_once = found;
  return cudaSuccess;
}

cudaError_t SearchFew(const FewJob& job, const FewAtOnce& at_once, cudaStream_t stream) {
  const uint32_t blocks = job.queries * job.blocks_count;
  if (blocks <= at_once.apart) return LaunchMeeting<Space::kApart>(job, stream);
  if (blocks <= at_once.together) return LaunchMeeting<Space::kTogether>(job, stream);
  const cudaError_t error = Launch<Step::kTell>(job, stream);
  return error == cudaSuccess ? Launch<Step::kFind>(job, stream) : error;
}

}  // namespace strata::gpu_sets
