#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <deque>

#include "base/large_array.h"
#include "kernels/setops/gpu_index.cuh"

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
    MakePairs(const uint32_t* offsets, const Number* tokens, uint32_t size, Pair* pairs,
              uint32_t* lengths) {
  const uint32_t place = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (place >= size) return;
  const uint32_t begin = offsets[place];
  const uint32_t end = offsets[place + 1];
  for (uint32_t at = begin + threadIdx.x % kWarp; at < end; at += kWarp) {
    pairs[at] = static_cast<Pair>(tokens[at]) << kPlaceBits | place;
  }
  if (threadIdx.x % kWarp == 0) lengths[place] = end - begin;
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

// Keys that put tokens in the order of ranks.
__global__ void __launch_bounds__(kThreads)
    MakeRankKeys(const uint32_t* documents_with, uint64_t* keys) {
  const uint32_t token = blockIdx.x * kThreads + threadIdx.x;
  if (token >= SetBlock::kDirectTokens) return;
  keys[token] = uint64_t{~documents_with[token]} << 16 | token;
}

__global__ void __launch_bounds__(kThreads)
    WriteRanks(const uint64_t* keys, const uint32_t* documents_with, uint16_t* ranks,
               uint32_t* ranked) {
  const uint32_t rank = blockIdx.x * kThreads + threadIdx.x;
  if (rank >= SetBlock::kDirectTokens) return;
  const auto token = static_cast<uint16_t>(keys[rank]);
  const bool occurs = documents_with[token] > 0;
  ranks[token] = occurs ? static_cast<uint16_t>(rank) : kNoRank;
  if (occurs) atomicAdd(ranked, 1U);
}

// What a tile's documents take in shared memory, if they are short. A row more than its tokens, so
// that lanes' rows begin in different banks.
constexpr unsigned kStagedTokens = 128;
constexpr unsigned kStagedRow = kStagedTokens + kGroup;
constexpr size_t kStagedBytes = kThreads / kWarp * kTile * kStagedRow * sizeof(uint16_t);

// Where a tile's documents are.
struct TilePlace {
  const uint32_t* offsets;  // of the first of them
  const uint16_t* tokens;
  const uint16_t* ranks;
  uint32_t count;
  uint32_t groups;
};

// Ranks of a document's tokens, the hot ones first and the others last; how many are hot. A warp.
__device__ uint32_t StageDocument(const TilePlace& tile, uint32_t document, uint16_t* row) {
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t below = (1U << lane) - 1;
  const uint32_t begin = document < tile.count ? tile.offsets[document] : 0;
  const uint32_t end = document < tile.count ? tile.offsets[document + 1] : 0;
  const uint32_t room = tile.groups * kGroup;
  uint32_t hot = 0;
  uint32_t others = 0;
  for (uint32_t first = begin; first < end; first += kWarp) {
    const bool is_there = first + lane < end;
    const uint16_t rank = is_there ? tile.ranks[tile.tokens[first + lane]] : kNoRank;
    const bool is_hot = rank < kHotRanks;
    const uint32_t of_hot = __ballot_sync(~0U, static_cast<int>(is_hot));
    const uint32_t of_others = __ballot_sync(~0U, static_cast<int>(is_there && !is_hot));
    if (is_hot) {
      row[hot + __popc(of_hot & below)] = rank;
    } else if (is_there) {
      row[room - 1 - others - __popc(of_others & below)] = rank;
    }
    hot += __popc(of_hot);
    others += __popc(of_others);
  }
  for (uint32_t i = hot + lane; i < room - others; i += kWarp) row[i] = kNoRank;
  return hot;
}

// A group of a document's ranks as they are, from token number `at` on.
__device__ uint4 PlainGroup(const TilePlace& tile, uint32_t document, uint32_t at) {
  const uint32_t begin = document < tile.count ? tile.offsets[document] + at : 0;
  const uint32_t end = document < tile.count ? tile.offsets[document + 1] : 0;
  uint32_t words[kGroup / 2];
  for (unsigned i = 0; i < kGroup / 2; ++i) {
    const uint32_t token = begin + 2 * i;
    const uint32_t low = token < end ? tile.ranks[tile.tokens[token]] : kNoRank;
    const uint32_t high = token + 1 < end ? tile.ranks[tile.tokens[token + 1]] : kNoRank;
    words[i] = high << 16 | low;
  }
  return {words[0], words[1], words[2], words[3]};
}

// A warp a tile.
__global__ void __launch_bounds__(kThreads)
    WriteTiles(const uint32_t* offsets, const uint16_t* tokens, const __grid_constant__ Block block,
               uint32_t block_number, uint32_t first_group, const uint16_t* ranks, uint4* forward,
               TileInfo* infos) {
  extern __shared__ uint4 dynamic[];
  const uint32_t number = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (number >= (block.size + kTile - 1) / kTile) return;
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t place = number * kTile;
  const uint32_t begin = block.tiles[number];
  const TilePlace tile{offsets + place, tokens, ranks, min(kTile, block.size - place),
                       block.tiles[number + 1] - begin};
  uint4* const out = forward + (size_t{first_group} + begin) * kTile + lane;
  uint32_t hot = 0;
  if (tile.groups * kGroup <= kStagedTokens) {
    auto* const rows =
        reinterpret_cast<uint16_t*>(dynamic) + threadIdx.x / kWarp * kTile * kStagedRow;
    hot = kStagedTokens;
    for (uint32_t document = 0; document < kTile; ++document) {
      hot = min(hot, StageDocument(tile, document, rows + document * kStagedRow));
    }
    __syncwarp();
    const auto* const row = reinterpret_cast<const uint4*>(rows + lane * kStagedRow);
    for (uint32_t group = 0; group < tile.groups; ++group) out[group * kTile] = row[group];
  } else {
    for (uint32_t group = 0; group < tile.groups; ++group) {
      out[size_t{group} * kTile] = PlainGroup(tile, lane, group * kGroup);
    }
  }
  if (lane != 0) return;
  const uint32_t shortest = block.lengths[place];
  const bool is_mixed =
      block.lengths[place + tile.count - 1] != shortest || shortest >= TileInfo::kMixed;
  infos[number] = {first_group + begin,
                   tile.groups,
                   block_number << 16 | place,
                   static_cast<uint8_t>(tile.count),
                   static_cast<uint8_t>(hot / kGroup),
                   is_mixed ? TileInfo::kMixed : static_cast<uint16_t>(shortest)};
}

template <typename Pair>
cudaError_t Sort(void* scratch, size_t& bytes, cub::DoubleBuffer<Pair>& pairs, size_t count,
                 int begin_bit, int end_bit, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(scratch, bytes, pairs, static_cast<int>(count), begin_bit,
                                        end_bit, stream);
}

// Bytes that arrays take one behind another.
class Layout {
 public:
  template <typename T>
  size_t Add(size_t count) {
    constexpr size_t kAlignment = 256;
    const size_t at = bytes_;
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

template <typename T>
T* At(const DeviceMemory<std::byte>& memory, size_t offset) {
  return reinterpret_cast<T*>(memory.data() + offset);
}

// They are behind the offsets.
template <typename Number>
const Number* RawTokens(const uint32_t* offsets, const BlockShape& shape) {
  Layout raw;
  (void)raw.Add<uint32_t>(shape.size + 1);
  return reinterpret_cast<const Number*>(offsets + raw.bytes() / sizeof(uint32_t));
}

size_t WordsOf(uint32_t size) { return (size_t{size} + 511) / 512 * 16; }

// A list of bits has at least `many` documents, so lists of both kinds take no more than this.
size_t ListBytes(const BlockShape& shape) {
  const size_t many = std::max<size_t>((shape.size + 15) / 16, 1);
  const size_t of_bits = WordsOf(shape.size) * sizeof(uint32_t);
  return std::max<size_t>(size_t{shape.tokens} * sizeof(uint16_t), shape.tokens / many * of_bits) +
         shape.tokens % many * sizeof(uint16_t) + 64;
}

}  // namespace

// What one block at a time takes on its way: pinned memory, a stream, and room to sort in.
struct GpuIndex::Slot {
  LargeArray<std::byte> staging;
  bool is_pinned = false;
  cudaStream_t stream = nullptr;
  cudaEvent_t copied = nullptr;
  DeviceMemory<std::byte> work;

  ~Slot() {
    if (stream != nullptr) {
      (void)cudaStreamSynchronize(stream);
      (void)cudaStreamDestroy(stream);
    }
    if (copied != nullptr) (void)cudaEventDestroy(copied);
    if (is_pinned) (void)cudaHostUnregister(staging.data());
  }
  // The first image is written before this: threads wait here for one another.
  Status Make(size_t work_bytes) {
    STRATA_TRY(
        FromAllocation(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(
        FromAllocation(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming), "an event"));
    STRATA_TRY(work.Make(work_bytes, "memory of a GPU to sort documents in"));
    // Huge pages are pinned many times faster than what cudaHostAlloc gives.
    STRATA_TRY(FromAllocation(
        cudaHostRegister(staging.data(), staging.size(), cudaHostRegisterPortable), "staging"));
    is_pinned = true;
    return {};
  }
};

// Where everything of a block lies.
struct GpuIndex::Region {
  size_t ids, tiles, lengths, starts, rare, frequent, lists;
  static Region Of(const BlockShape& shape, Layout& arena) {
    const size_t lists = size_t{shape.direct} + shape.rare + 1;
    const size_t many = std::max<size_t>((shape.size + 15) / 16, 1);
    return {.ids = arena.Add<DocumentId>(shape.size),
            .tiles = arena.Add<uint32_t>(shape.tiles() + 1),
            .lengths = arena.Add<uint32_t>(shape.size),
            .starts = arena.Add<uint32_t>(lists),
            .rare = arena.Add<Token>(shape.rare),
            .frequent = arena.Add<uint32_t>(std::min<size_t>(shape.tokens / many, lists)),
            .lists = arena.Add<std::byte>(ListBytes(shape))};
  }
};

Status GpuIndex::PlanMemory(bool with_tiles) {
  Layout arena;
  Layout raw;
  size_t groups = 0;
  std::vector<Region> regions;
  raw_offsets_.clear();
  for (const BlockShape& shape : shapes_) {
    groups += shape.groups;
    regions.push_back(Region::Of(shape, arena));
    raw_offsets_.push_back(raw.Add<uint32_t>(shape.size + 1));
    (void)raw.Add<Token>(shape.is_wide() ? shape.tokens : (shape.tokens + 1) / 2);
  }
  arena_ = std::make_unique<DeviceMemory<std::byte>>();
  STRATA_TRY(arena_->Make(arena.bytes(), "memory of a GPU for documents"));
  forward_.reset();
  if (with_tiles) {
    forward_ = std::make_unique<DeviceMemory<uint4>>();
    STRATA_TRY(forward_->Make(groups * kTile, "memory of a GPU for documents' tokens"));
  }
  raw_ = std::make_unique<DeviceMemory<std::byte>>();
  STRATA_TRY(raw_->Make(raw.bytes(), "memory of a GPU for documents' tokens"));
  made_.clear();
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Region& at = regions[i];
    made_.push_back({.starts = At<uint32_t>(*arena_, at.starts),
                     .postings = At<uint16_t>(*arena_, at.lists),
                     .rare = At<Token>(*arena_, at.rare),
                     .frequent = At<uint32_t>(*arena_, at.frequent),
                     .bits = At<uint32_t>(*arena_, at.lists),
                     .lengths = At<uint32_t>(*arena_, at.lengths),
                     .ids = At<DocumentId>(*arena_, at.ids),
                     .tiles = At<uint32_t>(*arena_, at.tiles),
                     .direct = 0,
                     .rare_count = 0,
                     .frequent_count = 0,
                     .size = shapes_[i].size,
                     .words = static_cast<uint32_t>(WordsOf(shapes_[i].size))});
  }
  return {};
}

template <typename Number>
Status GpuIndex::Invert(size_t number, Slot& slot) {
  using Pair = std::conditional_t<sizeof(Number) == 2, uint32_t, uint64_t>;
  const BlockShape& shape = shapes_[number];
  Block& block = made_[number];
  block.direct = shape.direct;
  const auto* const offsets = At<uint32_t>(*raw_, raw_offsets_[number]);
  const auto* const tokens = RawTokens<Number>(offsets, shape);
  Layout work;
  const size_t pairs_at[2] = {work.Add<Pair>(shape.tokens), work.Add<Pair>(shape.tokens)};
  const size_t begins_at = work.Add<uint32_t>(size_t{shape.direct} + shape.rare + 1);
  const size_t firsts_at[2] = {work.Add<uint32_t>(shape.rare), work.Add<uint32_t>(shape.rare)};
  const auto room = [&](size_t at) { return At<std::byte>(slot.work, at); };
  cub::DoubleBuffer<Pair> pairs(At<Pair>(slot.work, pairs_at[0]), At<Pair>(slot.work, pairs_at[1]));
  MakePairs<<<BlocksFor(size_t{shape.size} * kWarp), kThreads, 0, slot.stream>>>(
      offsets, tokens, shape.size, pairs.Current(), const_cast<uint32_t*>(block.lengths));
  size_t bytes = slot.work.size() - work.bytes();
  STRATA_TRY(FromCuda(Sort(room(work.bytes()), bytes, pairs, shape.tokens, kPlaceBits,
                           kPlaceBits + static_cast<int>(sizeof(Number)) * 8, slot.stream),
                      "sorting tokens"));
  auto* const firsts = At<uint32_t>(slot.work, firsts_at[1]);
  const Sorted<Pair> sorted{pairs.Current(),
                            shape.tokens,
                            shape.tokens - shape.rare,
                            shape.direct,
                            At<uint32_t>(slot.work, begins_at),
                            At<uint32_t>(slot.work, firsts_at[0]),
                            firsts};
  FindLists<<<BlocksFor(shape.tokens), kThreads, 0, slot.stream>>>(sorted);
  if (shape.rare > 0) {
    bytes = slot.work.size() - work.bytes();
    STRATA_TRY(
        FromCuda(cub::DeviceScan::ExclusiveSum(room(work.bytes()), bytes, sorted.is_first, firsts,
                                               static_cast<int>(shape.rare), slot.stream),
                 "numbering tokens"));
    NumberOthers<<<BlocksFor(shape.rare), kThreads, 0, slot.stream>>>(
        sorted, const_cast<Token*>(block.rare));
  }
  STRATA_TRY(FromCuda(
      cudaMemsetAsync(const_cast<uint16_t*>(block.postings), 0, ListBytes(shape), slot.stream),
      "lists"));
  Block* const made = of_blocks_.data() + number;
  LayOut<<<1, kLayThreads, 0, slot.stream>>>(sorted, block, const_cast<uint32_t*>(block.starts),
                                             const_cast<uint32_t*>(block.frequent), made,
                                             shape.is_wide() ? nullptr : documents_with_.data());
  WriteLists<<<BlocksFor(shape.tokens), kThreads, 0, slot.stream>>>(sorted, made);
  return FromCuda(cudaGetLastError(), "making an index");
}

Status GpuIndex::MakeBlock(const BlockSource& source, size_t number, size_t work_bytes, Slot& slot,
                           bool* is_wide) {
  BlockShape& shape = shapes_[number];
  if (slot.is_pinned) {
    STRATA_TRY(FromCuda(cudaEventSynchronize(slot.copied), "copying documents to the GPU"));
  }
  // Parts are where they are on the GPU: ids and tiles, then offsets and tokens.
  Layout kept;
  (void)kept.Add<DocumentId>(shape.size);
  const size_t tiles_at = kept.Add<uint32_t>(shape.tiles() + 1);
  Layout raw;
  (void)raw.Add<uint32_t>(shape.size + 1);
  const size_t tokens_at = raw.Add<Token>(shape.is_wide() ? shape.tokens : (shape.tokens + 1) / 2);
  std::byte* const first = slot.staging.data();
  std::byte* const second = first + kept.bytes();
  const BlockImage image{reinterpret_cast<DocumentId*>(first),
                         reinterpret_cast<uint32_t*>(first + tiles_at),
                         reinterpret_cast<uint32_t*>(second), second + tokens_at};
  if (!source.Write(number, image, shape)) {
    *is_wide = true;
    return {};
  }
  if (!slot.is_pinned) STRATA_TRY(slot.Make(work_bytes));
  const auto copy = [&](const void* to, const std::byte* from, size_t bytes) {
    return FromCuda(
        cudaMemcpyAsync(const_cast<void*>(to), from, bytes, cudaMemcpyHostToDevice, slot.stream),
        "copying documents to the GPU");
  };
  STRATA_TRY(copy(made_[number].ids, first, kept.bytes()));
  STRATA_TRY(copy(raw_->data() + raw_offsets_[number], second, raw.bytes()));
  STRATA_TRY(FromCuda(cudaEventRecord(slot.copied, slot.stream), "an event"));
  return shape.is_wide() ? Invert<Token>(number, slot) : Invert<uint16_t>(number, slot);
}

Status GpuIndex::TryToMake(const BlockSource& source, WorkPool& pool, int device, bool may_be_wide,
                           bool* is_wide) {
  shapes_.assign(source.blocks(), {});
  std::mutex mutex;
  Status failed;
  pool.Run(shapes_.size(), [&](size_t i) {
    auto shape = source.ShapeOf(i, may_be_wide);
    if (shape.ok()) {
      shapes_[i] = *shape;
      return;
    }
    const std::lock_guard lock(mutex);
    failed = shape.status();
  });
  STRATA_TRY(failed);
  STRATA_TRY(PlanMemory(!may_be_wide && std::ranges::none_of(shapes_, &BlockShape::is_wide)));
  // The most that any block takes.
  size_t staging_bytes = 0;
  size_t most_tokens = 1;
  size_t most_lists = 0;
  size_t most_rare = 0;
  for (const BlockShape& shape : shapes_) {
    Layout image;
    (void)image.Add<DocumentId>(shape.size);
    (void)image.Add<uint32_t>(shape.tiles() + 1);
    (void)image.Add<uint32_t>(shape.size + 1);
    (void)image.Add<Token>(shape.is_wide() ? shape.tokens : (shape.tokens + 1) / 2);
    staging_bytes = std::max(staging_bytes, image.bytes());
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

  // As many slots as threads work at a time, each with what it has done longest ago.
  std::deque<std::unique_ptr<Slot>> free;
  std::atomic<bool> stops{false};
  pool.Run(shapes_.size(), [&](size_t number) {
    if (stops) return;
    const DeviceScope scope(device);
    std::unique_ptr<Slot> slot;
    {
      const std::lock_guard lock(mutex);
      if (!free.empty()) {
        slot = std::move(free.front());
        free.pop_front();
      }
    }
    bool found_wide = false;
    const Status status = [&]() -> Status {
      if (slot == nullptr) {
        slot = std::make_unique<Slot>();
        slot->staging.resize(staging_bytes);
      }
      return MakeBlock(source, number, work.bytes(), *slot, &found_wide);
    }();
    const std::lock_guard lock(mutex);
    free.push_back(std::move(slot));
    if (failed.ok()) failed = status;
    *is_wide |= found_wide;
    stops = !failed.ok() || *is_wide;
  });
  for (const auto& slot : free) {
    if (slot->stream == nullptr) continue;
    const Status status = FromCuda(cudaStreamSynchronize(slot->stream), "making an index");
    if (failed.ok()) failed = status;
  }
  return failed;
}

Status GpuIndex::Rank(cudaStream_t stream) {
  constexpr size_t kTokens = SetBlock::kDirectTokens;
  STRATA_TRY(ranks_.Make(kTokens, "ranks of tokens"));
  DeviceMemory<uint64_t> keys;
  DeviceMemory<std::byte> scratch;
  DeviceMemory<uint32_t> ranked;
  STRATA_TRY(keys.Make(2 * kTokens, "ranks of tokens"));
  STRATA_TRY(ranked.Make(1, "ranks of tokens"));
  size_t bytes = 0;
  cub::DoubleBuffer<uint64_t> order(keys.data(), keys.data() + kTokens);
  STRATA_TRY(FromCuda(Sort(nullptr, bytes, order, kTokens, 0, 48, stream), "CUB"));
  STRATA_TRY(scratch.Make(bytes, "ranks of tokens"));
  STRATA_TRY(FromCuda(cudaMemsetAsync(ranked.data(), 0, sizeof(uint32_t), stream), "ranks"));
  MakeRankKeys<<<BlocksFor(kTokens), kThreads, 0, stream>>>(documents_with_.data(),
                                                            order.Current());
  STRATA_TRY(FromCuda(Sort(scratch.data(), bytes, order, kTokens, 0, 48, stream), "ranks"));
  WriteRanks<<<BlocksFor(kTokens), kThreads, 0, stream>>>(order.Current(), documents_with_.data(),
                                                          ranks_.data(), ranked.data());
  STRATA_TRY(ranked.Get(std::span(&ranked_, 1), stream));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "ranks of tokens"));
  if (ranked_ > kNoRank) ranked_ = 0;
  return {};
}

Status GpuIndex::MakeTiles(cudaStream_t stream) {
  first_tiles_ = {0};
  for (const BlockShape& shape : shapes_) {
    first_tiles_.push_back(first_tiles_.back() + shape.tiles());
  }
  STRATA_TRY(tiles_.Make(first_tiles_.back(), "memory of a GPU for documents' tokens"));
  STRATA_TRY(FromCuda(cudaFuncSetAttribute(WriteTiles, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(kStagedBytes)),
                      "tiles"));
  uint32_t groups = 0;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const BlockShape& shape = shapes_[i];
    const auto* const offsets = At<uint32_t>(*raw_, raw_offsets_[i]);
    const auto* const tokens = RawTokens<uint16_t>(offsets, shape);
    WriteTiles<<<BlocksFor(size_t{shape.tiles()} * kWarp), kThreads, kStagedBytes, stream>>>(
        offsets, tokens, made_[i], static_cast<uint32_t>(i), groups, ranks_.data(),
        forward_->data(), tiles_.data() + first_tiles_[i]);
    groups += shape.groups;
  }
  return FromCuda(cudaGetLastError(), "tiles");
}

size_t GpuIndex::bytes() const {
  const size_t of_tiles = forward_ == nullptr ? 0 : forward_->size() * sizeof(uint4);
  return (arena_ == nullptr ? 0 : arena_->size()) + of_tiles;
}

Status GpuIndex::Make(const BlockSource& source, WorkPool& pool, int device) {
  if (source.blocks() == 0) return {};
  cudaStream_t stream = nullptr;
  STRATA_TRY(FromAllocation(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  const std::unique_ptr<CUstream_st, decltype(&cudaStreamDestroy)> owner(stream,
                                                                         &cudaStreamDestroy);
  STRATA_TRY(of_blocks_.Make(source.blocks(), "memory of a GPU for documents"));
  STRATA_TRY(documents_with_.Make(SetBlock::kDirectTokens, "numbers of documents"));
  STRATA_TRY(FromCuda(
      cudaMemsetAsync(documents_with_.data(), 0, documents_with_.size() * sizeof(uint32_t), stream),
      "numbers of documents"));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "numbers of documents"));
  bool is_wide = false;
  STRATA_TRY(TryToMake(source, pool, device, false, &is_wide));
  if (is_wide) STRATA_TRY(TryToMake(source, pool, device, true, &is_wide));
  DocumentId next = 0;  // the least id that is larger than all so far
  for (const BlockShape& shape : shapes_) {
    if (shape.size > 0) {
      ids_ascend_ &= shape.least_id >= next;
      next = shape.largest_id + 1;
      ids_ascend_ &= next != 0;
    }
    documents_ += shape.size;
    longest_ = std::max(longest_, shape.longest);
    is_wide |= shape.is_wide();
  }
  if (!is_wide) {
    STRATA_TRY(Rank(stream));
    if (has_tiles()) STRATA_TRY(MakeTiles(stream));
  }
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "making an index"));
  raw_.reset();
  return {};
}

}  // namespace strata::gpu_sets
