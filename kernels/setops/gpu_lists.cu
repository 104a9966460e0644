#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <type_traits>

#include "kernels/core/cuda_status.cuh"
#include "kernels/setops/gpu_lists.cuh"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kLayThreads = 1024;
constexpr int kPlaceBits = 16;  // of a pair; its token is above

unsigned BlocksFor(size_t threads) {
  return static_cast<unsigned>(std::max<size_t>((threads + kThreads - 1) / kThreads, 1));
}

// A warp a place.
template <typename Number, typename Pair>
__global__ void __launch_bounds__(kThreads)
    MakePairs(const __grid_constant__ Raw<Number> raw, uint32_t size, Pair* pairs,
              uint32_t* lengths) {
  const uint32_t place = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (place >= size) return;
  const uint32_t begin = raw.offsets[place];
  const uint32_t length = raw.offsets[place + 1] - begin;
  const Number* const tokens = raw.tokens + raw.sources[place];
  for (uint32_t i = threadIdx.x % kWarp; i < length; i += kWarp) {
    pairs[begin + i] = static_cast<Pair>(tokens[i]) << kPlaceBits | place;
  }
  if (threadIdx.x % kWarp == 0) lengths[place] = length;
}

// A block's pairs in their order.
template <typename Pair>
struct Sorted {
  const Pair* pairs;
  uint32_t count;
  uint32_t direct_count;   // those of direct tokens, which come first
  uint32_t direct;         // tokens below it are direct
  uint32_t* begins;        // by list, of its pairs
  uint32_t* is_first;      // by pair of another token, behind the direct ones
  const uint32_t* firsts;  // how many of these are before it

  __device__ Token TokenOf(uint32_t i) const { return static_cast<Token>(pairs[i] >> kPlaceBits); }
  __device__ bool BeginsList(uint32_t i) const { return i == 0 || TokenOf(i - 1) != TokenOf(i); }
  __device__ uint32_t ListOf(uint32_t i) const {
    if (i < direct_count) return TokenOf(i);
    return direct + firsts[i - direct_count] + is_first[i - direct_count] - 1;
  }
  __device__ uint32_t Lists() const {
    const uint32_t others = count - direct_count;
    return others == 0 ? direct : direct + firsts[others - 1] + is_first[others - 1];
  }
};

template <typename Pair>
__global__ void __launch_bounds__(kThreads) FindLists(const __grid_constant__ Sorted<Pair> sorted) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= sorted.count) return;
  const bool begins = sorted.BeginsList(i);
  if (i >= sorted.direct_count) {
    sorted.is_first[i - sorted.direct_count] = static_cast<uint32_t>(begins);
  } else if (begins) {
    // Lists of tokens in between are empty.
    const uint32_t first = i == 0 ? 0 : sorted.TokenOf(i - 1) + 1;
    for (uint32_t list = first; list <= sorted.TokenOf(i); ++list) sorted.begins[list] = i;
  }
}

// Of the tokens that are not direct.
template <typename Pair>
__global__ void __launch_bounds__(kThreads)
    NumberOthers(const __grid_constant__ Sorted<Pair> sorted, Token* rare) {
  const uint32_t other = blockIdx.x * kThreads + threadIdx.x;
  if (other >= sorted.count - sorted.direct_count || sorted.is_first[other] == 0) return;
  rare[sorted.firsts[other]] = sorted.TokenOf(sorted.direct_count + other);
  sorted.begins[sorted.direct + sorted.firsts[other]] = sorted.direct_count + other;
}

struct TwoSums {
  uint32_t postings;
  uint32_t frequent;  // lists

  __device__ TwoSums operator+(const TwoSums& other) const {
    return {postings + other.postings, frequent + other.frequent};
  }
};

// Of a lane and those below it.
__device__ TwoSums SumUpTo(TwoSums own) {
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned step = 1; step < kWarp; step *= 2) {
    const int from = static_cast<int>((lane - step) % kWarp);
    const TwoSums lower{__shfl_sync(~0U, own.postings, from), __shfl_sync(~0U, own.frequent, from)};
    if (lane >= step) own = own + lower;
  }
  return own;
}

// Where the lists begin and which are bits: what is in `block` of the host's, and the rest. A warp
// has as many lists in a row as each other.
template <typename Pair>
__global__ void __launch_bounds__(kLayThreads)
    LayOut(const __grid_constant__ Sorted<Pair> sorted, const __grid_constant__ Block block,
           uint32_t* starts, uint32_t* frequent, Block* made, uint32_t* documents_with) {
  constexpr unsigned kWarps = kLayThreads / kWarp;
  static_assert(kWarps == kWarp);
  __shared__ TwoSums of_warps[kWarps];
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t lists = sorted.Lists();
  const uint32_t many = max((block.size + 15) / 16, 1U);
  const uint32_t each = (lists + kLayThreads - 1) / kLayThreads * kWarp;
  const uint32_t first = warp * each;
  const auto size_of = [&](uint32_t list) {
    if (list >= lists) return 0U;
    const uint32_t end = list + 1 < lists ? sorted.begins[list + 1] : sorted.count;
    return end - sorted.begins[list];
  };
  const auto sums_of = [&](uint32_t size) {
    return size >= many ? TwoSums{0, 1} : TwoSums{size, 0};
  };
  TwoSums own{0, 0};
  for (uint32_t list = first + lane; list < first + each; list += kWarp) {
    own = own + sums_of(size_of(list));
  }
  own = SumUpTo(own);
  if (lane == kWarp - 1) of_warps[warp] = own;
  __syncthreads();
  if (warp == 0) {
    const TwoSums of_warp = of_warps[lane];
    __syncwarp();
    of_warps[lane] = SumUpTo(of_warp);
  }
  __syncthreads();
  TwoSums before = warp == 0 ? TwoSums{0, 0} : of_warps[warp - 1];
  for (uint32_t list = first + lane; list < first + each; list += kWarp) {
    const uint32_t size = size_of(list);
    const TwoSums here = sums_of(size);
    const TwoSums up_to = SumUpTo(here);
    if (list < lists) {
      starts[list] = before.postings + up_to.postings - here.postings;
      if (size >= many) frequent[before.frequent + up_to.frequent - 1] = list;
      if (documents_with != nullptr && size > 0) atomicAdd(&documents_with[list], size);
    }
    before = before + TwoSums{__shfl_sync(~0U, up_to.postings, kWarp - 1),
                              __shfl_sync(~0U, up_to.frequent, kWarp - 1)};
  }
  if (threadIdx.x != 0) return;
  const TwoSums all = of_warps[kWarps - 1];
  starts[lists] = all.postings;
  Block whole = block;
  whole.rare_count = lists - block.direct;
  whole.frequent_count = all.frequent;
  // Bits begin at a line behind the postings.
  const size_t bytes = size_t{all.postings} * sizeof(uint16_t);
  whole.bits = block.bits + (bytes + 63) / 64 * 64 / sizeof(uint32_t);
  *made = whole;
}

template <typename Pair>
__global__ void __launch_bounds__(kThreads)
    WriteLists(const __grid_constant__ Sorted<Pair> sorted, const Block* made) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= sorted.count) return;
  const Block& block = *made;
  const auto place = static_cast<uint32_t>(sorted.pairs[i] & ((1U << kPlaceBits) - 1));
  const uint32_t list = sorted.ListOf(i);
  const uint32_t begin = block.starts[list];
  if (block.starts[list + 1] != begin) {
    const_cast<uint16_t*>(block.postings)[begin + i - sorted.begins[list]] =
        static_cast<uint16_t>(place);
  } else {
    const uint32_t number = PlaceOf(block.frequent, block.frequent_count, list);
    const size_t word = size_t{number} * block.words + place / 32;
    atomicOr(&const_cast<uint32_t*>(block.bits)[word], 1U << place % 32);
  }
}

template <typename Pair>
cudaError_t Sort(void* scratch, size_t& bytes, cub::DoubleBuffer<Pair>& pairs, size_t count,
                 int begin_bit, int end_bit, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(scratch, bytes, pairs, static_cast<int>(count), begin_bit,
                                        end_bit, stream);
}

}  // namespace

size_t WordsOf(uint32_t size) { return (size_t{size} + 511) / 512 * 16; }

// A list of bits has at least `many` documents, so lists of both kinds take no more than this.
size_t ListBytes(const BlockShape& shape) {
  const size_t many = std::max<size_t>((shape.size + 15) / 16, 1);
  const size_t of_bits = WordsOf(shape.size) * sizeof(uint32_t);
  return std::max<size_t>(size_t{shape.tokens} * sizeof(uint16_t), shape.tokens / many * of_bits) +
         shape.tokens % many * sizeof(uint16_t) + 64;
}

Status ListWorkBytes(std::span<const BlockShape> shapes, size_t& bytes) {
  size_t most_tokens = 1;
  size_t most_lists = 0;
  size_t most_rare = 0;
  for (const BlockShape& shape : shapes) {
    most_tokens = std::max<size_t>(most_tokens, shape.tokens);
    most_lists = std::max(most_lists, size_t{shape.direct} + shape.rare + 1);
    most_rare = std::max<size_t>(most_rare, shape.rare);
  }
  Layout work;
  size_t scratch = 0;
  size_t of_scan = 0;
  if (most_rare == 0) {
    cub::DoubleBuffer<uint32_t> none;
    STRATA_TRY(FromCuda(Sort(nullptr, scratch, none, most_tokens, kPlaceBits, 32, nullptr), "CUB"));
    for (int side = 0; side < 2; ++side) (void)work.Add<uint32_t>(most_tokens);
  } else {
    cub::DoubleBuffer<uint64_t> none;
    STRATA_TRY(FromCuda(Sort(nullptr, scratch, none, most_tokens, kPlaceBits, 48, nullptr), "CUB"));
    STRATA_TRY(FromCuda(cub::DeviceScan::ExclusiveSum(
                            nullptr, of_scan, static_cast<uint32_t*>(nullptr),
                            static_cast<uint32_t*>(nullptr), static_cast<int>(most_rare), nullptr),
                        "CUB"));
    for (int side = 0; side < 2; ++side) (void)work.Add<uint64_t>(most_tokens);
  }
  (void)work.Add<uint32_t>(most_lists);
  for (int side = 0; side < 2; ++side) (void)work.Add<uint32_t>(most_rare);
  (void)work.Add<std::byte>(std::max(scratch, of_scan));
  bytes = work.bytes();
  return {};
}

template <typename Number>
Status MakeLists(const Raw<Number>& raw, const ListJob& job, cudaStream_t stream) {
  using Pair = std::conditional_t<sizeof(Number) == 2, uint32_t, uint64_t>;
  const BlockShape& shape = job.shape;
  const Block& block = job.block;
  Layout work;
  const size_t pairs_at[2] = {work.Add<Pair>(shape.tokens), work.Add<Pair>(shape.tokens)};
  const size_t begins_at = work.Add<uint32_t>(size_t{shape.direct} + shape.rare + 1);
  const size_t firsts_at[2] = {work.Add<uint32_t>(shape.rare), work.Add<uint32_t>(shape.rare)};
  cub::DoubleBuffer<Pair> pairs(reinterpret_cast<Pair*>(job.work + pairs_at[0]),
                                reinterpret_cast<Pair*>(job.work + pairs_at[1]));
  MakePairs<<<BlocksFor(size_t{shape.size} * kWarp), kThreads, 0, stream>>>(
      raw, shape.size, pairs.Current(), const_cast<uint32_t*>(block.lengths));
  size_t bytes = job.work_bytes - work.bytes();
  STRATA_TRY(FromCuda(Sort(job.work + work.bytes(), bytes, pairs, shape.tokens, kPlaceBits,
                           kPlaceBits + static_cast<int>(sizeof(Number)) * 8, stream),
                      "sorting tokens"));
  auto* const firsts = reinterpret_cast<uint32_t*>(job.work + firsts_at[1]);
  const Sorted<Pair> sorted{pairs.Current(),
                            shape.tokens,
                            shape.tokens - shape.rare,
                            shape.direct,
                            reinterpret_cast<uint32_t*>(job.work + begins_at),
                            reinterpret_cast<uint32_t*>(job.work + firsts_at[0]),
                            firsts};
  FindLists<<<BlocksFor(shape.tokens), kThreads, 0, stream>>>(sorted);
  if (shape.rare > 0) {
    bytes = job.work_bytes - work.bytes();
    STRATA_TRY(
        FromCuda(cub::DeviceScan::ExclusiveSum(job.work + work.bytes(), bytes, sorted.is_first,
                                               firsts, static_cast<int>(shape.rare), stream),
                 "numbering tokens"));
    NumberOthers<<<BlocksFor(shape.rare), kThreads, 0, stream>>>(sorted,
                                                                 const_cast<Token*>(block.rare));
  }
  STRATA_TRY(
      FromCuda(cudaMemsetAsync(const_cast<uint16_t*>(block.postings), 0, ListBytes(shape), stream),
               "lists"));
  LayOut<<<1, kLayThreads, 0, stream>>>(sorted, block, const_cast<uint32_t*>(block.starts),
                                        const_cast<uint32_t*>(block.frequent), job.made,
                                        job.documents_with);
  WriteLists<<<BlocksFor(shape.tokens), kThreads, 0, stream>>>(sorted, job.made);
  return FromCuda(cudaGetLastError(), "making an index");
}

template Status MakeLists(const Raw<uint16_t>& raw, const ListJob& job, cudaStream_t stream);
template Status MakeLists(const Raw<Token>& raw, const ListJob& job, cudaStream_t stream);

}  // namespace strata::gpu_sets
