#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/thread/mutex.h"
#include "kernels/setops/gpu_bytes.h"
#include "kernels/setops/gpu_index.cuh"
#include "kernels/setops/gpu_lists.cuh"
#include "kernels/setops/gpu_staging.cuh"
#include "kernels/setops/gpu_tiles.cuh"

namespace strata::gpu_sets {
namespace {

template <typename T>
T* At(const DeviceMemory<std::byte>& memory, size_t offset) {
  return reinterpret_cast<T*>(memory.data() + offset);
}

// Where a block that came lies, in the memory for it: offsets and sources together, as in a piece.
struct RawRegion {
  size_t offsets, sources, tokens, end;
  static RawRegion Of(const BlockShape& shape, Layout& raw) {
    RawRegion at{.offsets = raw.Add<uint32_t>(shape.size + 1),
                 .sources = raw.Add<uint32_t>(shape.size),
                 .tokens = raw.Add<Token>(shape.is_wide() ? shape.tokens : (shape.tokens + 1) / 2),
                 .end = 0};
    at.end = raw.bytes();
    return at;
  }
};

// The order of a block as a piece: what stays, and what comes with the tokens.
struct OrderImage {
  Layout kept;
  Layout raw;
  size_t tiles, sources;

  explicit OrderImage(const BlockShape& shape) {
    (void)kept.Add<DocumentId>(shape.size);
    tiles = kept.Add<uint32_t>(shape.tiles() + 1);
    (void)raw.Add<uint32_t>(shape.size + 1);
    sources = raw.Add<uint32_t>(shape.size);
  }
  size_t bytes() const { return kept.bytes() + raw.bytes(); }
  BlockPlaces PlacesIn(std::byte* piece) const {
    std::byte* const of_raw = piece + kept.bytes();
    return {reinterpret_cast<DocumentId*>(piece), reinterpret_cast<uint32_t*>(piece + tiles),
            reinterpret_cast<uint32_t*>(of_raw), reinterpret_cast<uint32_t*>(of_raw + sources)};
  }
};

constexpr size_t kStreams = kBlocksSortedAtOnce;

}  // namespace

// What there is while the index is made.
struct GpuIndex::Passing {
  std::vector<RawRegion> raw;
  DeviceMemory<std::byte> memory;  // the blocks as they came; to sort in, by slot; to make ranks
  std::array<size_t, kStreams> work_at{};
  size_t work_bytes = 0;
  size_t ranks_at = 0;
  size_t ranks_bytes = 0;
  size_t slots = 0;
  std::array<cudaStream_t, kStreams> streams{};  // kernels'
  cudaStream_t copies = nullptr;
  cudaEvent_t event = nullptr;  // recorded and waited for at once

  ~Passing() {
    for (cudaStream_t stream : streams) End(stream);
    End(copies);
    if (event != nullptr) (void)cudaEventDestroy(event);
  }
  Status Start() {
    const auto start = [](cudaStream_t& stream) {
      return FromAllocation(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    };
    for (size_t i = 0; i < slots; ++i) STRATA_TRY(start(streams[i]));
    STRATA_TRY(start(copies));
    return FromAllocation(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  }
  // What comes next in `later` waits for what is in `earlier` so far.
  Status Order(cudaStream_t earlier, cudaStream_t later) const {
    STRATA_TRY(FromCuda(cudaEventRecord(event, earlier), "an event"));
    return FromCuda(cudaStreamWaitEvent(later, event), "an event");
  }
  template <typename Number>
  Raw<Number> RawOf(size_t block) const {
    return {At<uint32_t>(memory, raw[block].offsets), At<uint32_t>(memory, raw[block].sources),
            At<Number>(memory, raw[block].tokens)};
  }

 private:
  static void End(cudaStream_t stream) {
    if (stream == nullptr) return;
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
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

bool GpuIndex::MayHaveTiles() const {
  return wants_tiles_ && std::ranges::none_of(shapes_, &BlockShape::is_wide);
}

// Two allocations, what stays and what passes: each takes about as long as a large one.
Status GpuIndex::PlanMemory(Passing& passing) {
  const bool with_tiles = MayHaveTiles();
  Layout arena;
  Layout raw;
  size_t groups = 0;
  std::vector<Region> regions;
  for (const BlockShape& shape : shapes_) {
    groups += shape.groups;
    regions.push_back(Region::Of(shape, arena));
    passing.raw.push_back(RawRegion::Of(shape, raw));
  }
  constexpr size_t kTokens = SetBlock::kDirectTokens;
  const size_t of_blocks_at = arena.Add<Block>(shapes_.size());
  const size_t documents_with_at = arena.Add<uint32_t>(kTokens);
  const size_t ranks_at = arena.Add<uint16_t>(kTokens);
  const size_t tiles_at = arena.Add<TileInfo>(first_tiles_.back());
  const size_t forward_at = arena.Add<uint4>(with_tiles ? groups * kTile : 0);
  arena_ = std::make_unique<DeviceMemory<std::byte>>();
  STRATA_TRY(arena_->Make(arena.bytes(), "memory of a GPU for documents"));
  of_blocks_ = At<Block>(*arena_, of_blocks_at);
  documents_with_ = At<uint32_t>(*arena_, documents_with_at);
  ranks_ = At<uint16_t>(*arena_, ranks_at);
  tiles_ = At<TileInfo>(*arena_, tiles_at);
  forward_ = with_tiles ? At<uint4>(*arena_, forward_at) : nullptr;

  STRATA_TRY(ListWorkBytes(shapes_, passing.work_bytes));
  passing.slots = std::min(shapes_.size(), kStreams);
  for (size_t i = 0; i < passing.slots; ++i) {
    passing.work_at[i] = raw.Add<std::byte>(passing.work_bytes);
  }
  size_t of_ranks = 0;
  STRATA_TRY(FromCuda(RankScratchBytes(of_ranks), "CUB"));
  Layout ranks;
  for (int side = 0; side < 2; ++side) (void)ranks.Add<uint64_t>(kTokens);
  (void)ranks.Add<uint32_t>(1);
  (void)ranks.Add<std::byte>(of_ranks);
  passing.ranks_bytes = ranks.bytes();
  passing.ranks_at = raw.Add<std::byte>(passing.ranks_bytes);
  STRATA_TRY(passing.memory.Make(raw.bytes(), "memory of a GPU to sort documents in"));

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

Status GpuIndex::Invert(size_t number, const Passing& passing, size_t slot) {
  const BlockShape& shape = shapes_[number];
  made_[number].direct = shape.direct;
  const ListJob job{.shape = shape,
                    .block = made_[number],
                    .made = of_blocks_ + number,
                    .documents_with = shape.is_wide() ? nullptr : documents_with_,
                    .work = At<std::byte>(passing.memory, passing.work_at[slot]),
                    .work_bytes = passing.work_bytes};
  const cudaStream_t stream = passing.streams[slot];
  return shape.is_wide() ? MakeLists(passing.RawOf<Token>(number), job, stream)
                         : MakeLists(passing.RawOf<uint16_t>(number), job, stream);
}

// Pieces on their way: of each block its order, then its tokens.
class GpuIndex::Sending {
 public:
  Sending(GpuIndex& index, const BlockSource& source, Passing& passing, int device)
      : index_(index), source_(source), passing_(passing), device_(device) {
    const auto& shapes = index.shapes_;
    blocks_.resize(shapes.size());
    for (size_t block = 0; block < shapes.size(); ++block) {
      const uint32_t of_tokens = BlockSource::PiecesOf(shapes[block]);
      blocks_[block].left = of_tokens + 1;
      pieces_.push_back({block, kOrder});
      for (uint32_t i = 0; i < of_tokens; ++i) pieces_.push_back({block, i});
    }
  }

  Status MakeStaging(WorkPool& pool) {
    constexpr size_t kEach = 2;  // of a thread: one that it writes, and one that is copied
    size_t bytes = 0;
    for (const BlockShape& shape : index_.shapes_) {
      const size_t token = shape.is_wide() ? sizeof(Token) : sizeof(uint16_t);
      bytes = std::max({bytes, OrderImage(shape).bytes(),
                        std::min<size_t>(shape.tokens, BlockSource::kPiece) * token});
    }
    constexpr size_t kAlignment = 4096;
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return staging_.Make(std::min(pieces_.size(), kEach * pool.threads()), bytes, pool);
  }
  // Returns when the last piece is on its way and kernels wait for it.
  Status Run(WorkPool& pool, bool* is_wide) {
    pool.Run(pieces_.size(), [&](size_t i) {
      if (stops_) return;
      const DeviceScope scope(device_);
      const Status status = Send(pieces_[i]);
      if (status.ok()) return;
      const MutexLock lock(mutex_);
      if (failed_.ok()) failed_ = status;
      stops_ = true;
    });
    *is_wide = is_wide_;
    return failed_;
  }

 private:
  static constexpr uint32_t kOrder = UINT32_MAX;
  struct Piece {
    size_t block;
    uint32_t number;  // of its tokens' pieces, or kOrder
  };
  struct OfBlock {
    uint32_t left = 0;  // pieces
    Token largest = 0;
  };

  Status Send(const Piece& piece) {
    Staging::Buffer* buffer = nullptr;
    {
      const MutexLock lock(mutex_);
      buffer = staging_.Take();
    }
    STRATA_TRY(FromCuda(cudaEventSynchronize(buffer->copied), "copying documents to the GPU"));
    BlockShape& shape = index_.shapes_[piece.block];
    Token largest = 0;
    if (piece.number == kOrder) {
      source_.WritePlaces(piece.block, OrderImage(shape).PlacesIn(buffer->data), shape);
    } else {
      largest = source_.WriteTokens(piece.block, shape, piece.number, buffer->data);
    }
    const size_t slot = piece.block % passing_.slots;
    {
      const MutexLock lock(mutex_);
      STRATA_TRY(Copy(piece, shape, *buffer));
      staging_.Return(buffer);
      OfBlock& of = blocks_[piece.block];
      of.largest = std::max(of.largest, largest);
      if (!shape.is_wide() && of.largest >= SetBlock::kDirectTokens) {
        is_wide_ = true;
        stops_ = true;
        return {};
      }
      if (--of.left > 0) return {};
      if (!shape.is_wide()) shape.direct = shape.tokens == 0 ? 0 : of.largest + 1;
      STRATA_TRY(passing_.Order(passing_.copies, passing_.streams[slot]));
    }
    const MutexLock lock(slots_[slot]);
    return index_.Invert(piece.block, passing_, slot);
  }
  Status Copy(const Piece& piece, const BlockShape& shape, const Staging::Buffer& buffer) {
    const auto copy = [&](const void* to, const std::byte* from, size_t bytes) {
      return FromCuda(cudaMemcpyAsync(const_cast<void*>(to), from, bytes, cudaMemcpyHostToDevice,
                                      passing_.copies),
                      "copying documents to the GPU");
    };
    const RawRegion& raw = passing_.raw[piece.block];
    if (piece.number == kOrder) {
      const OrderImage image(shape);
      STRATA_TRY(copy(index_.made_[piece.block].ids, buffer.data, image.kept.bytes()));
      STRATA_TRY(copy(At<std::byte>(passing_.memory, raw.offsets), buffer.data + image.kept.bytes(),
                      image.raw.bytes()));
    } else {
      const size_t begin = size_t{piece.number} * BlockSource::kPiece;
      const size_t count = std::min<size_t>(BlockSource::kPiece, shape.tokens - begin);
      const size_t token = shape.is_wide() ? sizeof(Token) : sizeof(uint16_t);
      STRATA_TRY(copy(At<std::byte>(passing_.memory, raw.tokens + begin * token), buffer.data,
                      count * token));
    }
    return FromCuda(cudaEventRecord(buffer.copied, passing_.copies), "an event");
  }

  GpuIndex& index_;
  const BlockSource& source_;
  Passing& passing_;
  const int device_;
  std::vector<Piece> pieces_;
  std::atomic<bool> stops_{false};
  Mutex mutex_;  // of what follows, and of the stream of copies
  Staging staging_;
  std::vector<OfBlock> blocks_;
  bool is_wide_ = false;
  Status failed_;
  std::array<Mutex, kStreams> slots_;  // kernels of one block after those of another
};

Status GpuIndex::Rank(const Passing& passing) {
  constexpr size_t kTokens = SetBlock::kDirectTokens;
  Layout ranks;
  const size_t keys_at[2] = {ranks.Add<uint64_t>(kTokens), ranks.Add<uint64_t>(kTokens)};
  const size_t ranked_at = ranks.Add<uint32_t>(1);
  const auto room = [&](size_t at) { return At<std::byte>(passing.memory, passing.ranks_at + at); };
  const RankJob job{.documents_with = documents_with_,
                    .keys = {reinterpret_cast<uint64_t*>(room(keys_at[0])),
                             reinterpret_cast<uint64_t*>(room(keys_at[1]))},
                    .scratch = room(ranks.bytes()),
                    .scratch_bytes = passing.ranks_bytes - ranks.bytes(),
                    .ranks = ranks_,
                    .ranked = reinterpret_cast<uint32_t*>(room(ranked_at))};
  STRATA_TRY(FromCuda(MakeRanks(job, passing.copies), "ranks of tokens"));
  STRATA_TRY(FromCuda(cudaMemcpyAsync(&ranked_, job.ranked, sizeof(uint32_t),
                                      cudaMemcpyDeviceToHost, passing.copies),
                      "ranks of tokens"));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(passing.copies), "ranks of tokens"));
  if (ranked_ > kNoRank) ranked_ = 0;
  return {};
}

Status GpuIndex::MakeTiles(const Passing& passing) {
  uint32_t groups = 0;
  // Side by side: a block's tiles alone leave much of the GPU idle.
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const TileJob job{.raw = passing.RawOf<uint16_t>(i),
                      .block = made_[i],
                      .number = static_cast<uint32_t>(i),
                      .first_group = groups,
                      .ranks = ranks_,
                      .forward = forward_,
                      .tiles = tiles_ + first_tiles_[i]};
    STRATA_TRY(
        FromCuda(gpu_sets::MakeTiles(job, passing.streams[i % passing.slots]), "making tiles"));
    groups += shapes_[i].groups;
  }
  return {};
}

Status GpuIndex::LookAt(const BlockSource& source, WorkPool& pool, bool may_be_wide,
                        const std::function<void()>& meanwhile) {
  shapes_.assign(source.blocks(), {});
  Mutex mutex;
  Status failed;
  const size_t first = meanwhile ? 1 : 0;
  pool.Run(first + shapes_.size(), [&](size_t i) {
    if (i < first) return meanwhile();
    auto shape = source.ShapeOf(i - first, may_be_wide);
    if (shape.ok()) {
      shapes_[i - first] = std::move(*shape);
      return;
    }
    const MutexLock lock(mutex);
    failed = shape.status();
  });
  first_tiles_ = {0};
  for (const BlockShape& shape : shapes_) {
    first_tiles_.push_back(first_tiles_.back() + shape.tiles());
  }
  return failed;
}

Status GpuIndex::Look(const BlockSource& source, WorkPool& pool,
                      const std::function<void()>& meanwhile) {
  return LookAt(source, pool, false, meanwhile);
}

// What comes behind all blocks.
Status GpuIndex::EnqueueTiles(const Passing& passing) {
  if (!MayHaveTiles()) return {};
  for (size_t i = 0; i < passing.slots; ++i) {
    STRATA_TRY(passing.Order(passing.streams[i], passing.copies));
  }
  STRATA_TRY(Rank(passing));
  return has_tiles() ? MakeTiles(passing) : Status();
}

Status GpuIndex::Await(const Passing& passing) const {
  for (size_t i = 0; i < passing.slots; ++i) {
    STRATA_TRY(FromCuda(cudaStreamSynchronize(passing.streams[i]), "making an index"));
  }
  return {};
}

Status GpuIndex::MakeAgain(const Passing& passing) {
  STRATA_TRY(CountNone(passing));
  for (size_t i = 0; i < passing.slots; ++i) {
    STRATA_TRY(passing.Order(passing.copies, passing.streams[i]));
  }
  for (size_t block = 0; block < shapes_.size(); ++block) {
    STRATA_TRY(Invert(block, passing, block % passing.slots));
  }
  STRATA_TRY(EnqueueTiles(passing));
  return Await(passing);
}

Status GpuIndex::CountNone(const Passing& passing) {
  return FromCuda(cudaMemsetAsync(documents_with_, 0, SetBlock::kDirectTokens * sizeof(uint32_t),
                                  passing.copies),
                  "numbers of documents");
}

Status GpuIndex::TryToMake(const BlockSource& source, WorkPool& pool, int device, bool* is_wide,
                           TimeNs* alone) {
  Passing passing;
  STRATA_TRY(PlanMemory(passing));
  STRATA_TRY(passing.Start());
  STRATA_TRY(CountNone(passing));
  {
    Sending sending(*this, source, passing, device);
    STRATA_TRY(sending.MakeStaging(pool));
    memory_at_ = RealClock().Now();
    STRATA_TRY(sending.Run(pool, is_wide));
    sent_at_ = RealClock().Now();
    if (*is_wide) return {};
    STRATA_TRY(EnqueueTiles(passing));
    // Memory of the host goes while the GPU goes on.
  }
  STRATA_TRY(Await(passing));
  made_at_ = RealClock().Now();
  if (alone == nullptr) return {};
  STRATA_TRY(MakeAgain(passing));
  *alone = RealClock().Now() - made_at_;
  return {};
}

Status GpuIndex::Make(const BlockSource& source, WorkPool& pool, int device, TimeNs* alone) {
  if (source.blocks() == 0) return {};
  bool is_wide = false;
  STRATA_TRY(TryToMake(source, pool, device, &is_wide, alone));
  if (is_wide) {
    STRATA_TRY(LookAt(source, pool, true, {}));
    STRATA_TRY(TryToMake(source, pool, device, &is_wide, alone));
  }
  DocumentId next = 0;  // the least id that is larger than all so far
  for (const BlockShape& shape : shapes_) {
    if (shape.size > 0) {
      ids_ascend_ &= shape.least_id >= next;
      next = shape.largest_id + 1;
      ids_ascend_ &= next != 0;
    }
    documents_ += shape.size;
    longest_ = std::max(longest_, shape.longest);
  }
  return {};
}

}  // namespace strata::gpu_sets
