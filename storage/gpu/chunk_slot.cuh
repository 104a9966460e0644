// HotTable::ChunkSlot: memory of host and GPU in which a chunk of rows is put together.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot_table.h"

namespace strata {

class HotTable::ChunkSlot {
 public:
  // For `rows` rows of `words` words, on the current device.
  static Result<std::unique_ptr<ChunkSlot>> Make(PinnedPool& host, uint32_t rows, size_t words) {
    auto slot = std::unique_ptr<ChunkSlot>(new ChunkSlot());
    slot->rows_max_ = rows;
    slot->words_ = words;
    slot->kinds_.resize(rows);
    const size_t bytes = slot->RowsAt() + rows * words * sizeof(float);
    STRATA_TRY(slot->device_.Reserve(bytes));
    slot->host_ = host.Take((bytes + sizeof(float) - 1) / sizeof(float));
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&slot->up_, cudaStreamNonBlocking), "a stream"));
    for (cudaEvent_t* event : {&slot->sent_, &slot->taken_}) {
      STRATA_ASSIGN(*event, MakeEvent());
    }
    return Result<std::unique_ptr<ChunkSlot>>(std::move(slot));
  }
  ~ChunkSlot() {
    for (cudaEvent_t event : {sent_, taken_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (up_ != nullptr) (void)cudaStreamDestroy(up_);
  }

  // Rows of `words` words for which so many bytes are enough.
  static size_t RowsIn(size_t bytes, size_t words) {
    constexpr size_t kEnds = 64;  // of arrays that end within a vector
    return (bytes - kEnds) / RowBytes(words);
  }
  // Waits until the GPU has taken in what was here before.
  void Begin() {
    Must(FromCuda(cudaEventSynchronize(taken_), "the GPU"));
    std::ranges::fill(kinds_, kNone);
  }
  enum Kind : uint8_t { kNone, kOther, kStays };
  // A row to place `i`: on any thread, each place once.
  void Put(size_t i, Kind kind, uint32_t number, const SlotHeader& header, const float* row) {
    kinds_[i] = kind;
    At<Key>(0)[i] = header.key;
    At<uint32_t>(NumbersAt())[i] = number;
    At<SlotHeader>(HeadersAt())[i] = header;
    std::copy_n(row, words_, Row(i));
  }
  // Of the first `count` places those that stay come to the front, then the others; how many.
  struct Packed {
    uint32_t stay = 0;
    uint32_t others = 0;
  };
  Packed Pack(uint32_t count) {
    Packed packed;
    packed.stay = static_cast<uint32_t>(std::count(kinds_.begin(), kinds_.begin() + count, kStays));
    if (packed.stay == count) return packed;
    packed.stay = Collect(0, count, kStays);
    packed.others = Collect(packed.stay, count, kOther) - packed.stay;
    return packed;
  }
  // Enqueues the copies of the first `count` rows, which what is enqueued on exec after that waits
  // for. They have a stream of their own: the link is not idle while the GPU takes in other chunks.
  Chunk Send(const Exec& exec, uint32_t count) const {
    Exec link = exec;
    link.stream = up_;
    const auto up = [&]<typename T>(size_t at, size_t elements) {
      T* to = reinterpret_cast<T*>(device_.all().data() + at);
      CopyUp<T>(link, {At<T>(at), elements}, to);
      return to;
    };
    Chunk chunk;
    chunk.count = count;
    chunk.keys = up.operator()<Key>(0, count);
    chunk.numbers = up.operator()<uint32_t>(NumbersAt(), count);
    chunk.headers = up.operator()<SlotHeader>(HeadersAt(), count);
    chunk.rows = up.operator()<float>(RowsAt(), count * words_);
    Must(FromCuda(cudaEventRecord(sent_, up_), "the GPU"));
    Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec), sent_), "the GPU"));
    return chunk;
  }
  void End(const Exec& exec) { Must(FromCuda(cudaEventRecord(taken_, StreamOf(exec)), "the GPU")); }
  uint64_t Bytes(uint32_t count) const { return count * RowBytes(words_); }

 private:
  ChunkSlot() = default;
  static size_t RowBytes(size_t words) {
    return sizeof(Key) + sizeof(uint32_t) + sizeof(SlotHeader) + words * sizeof(float);
  }
  // Whole vectors of 16 bytes from the start of each array.
  size_t HeadersAt() const { return Aligned(rows_max_ * sizeof(Key)); }
  size_t NumbersAt() const { return HeadersAt() + rows_max_ * sizeof(SlotHeader); }
  size_t RowsAt() const { return NumbersAt() + Aligned(rows_max_ * sizeof(uint32_t)); }
  static size_t Aligned(size_t bytes) { return (bytes + 31) / 32 * 32; }
  template <typename T>
  T* At(size_t at) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(host_.get()) + at);
  }

  float* Row(size_t i) const { return At<float>(RowsAt()) + i * words_; }
  // Moves the places of a kind to `begin` and behind; where they end.
  uint32_t Collect(uint32_t begin, uint32_t end, Kind kind) {
    for (;; ++begin) {
      while (begin < end && kinds_[begin] == kind) ++begin;
      while (begin < end && kinds_[end - 1] != kind) --end;
      if (begin >= end) return begin;
      Swap(begin, end - 1);
    }
  }
  void Swap(uint32_t a, uint32_t b) {
    std::swap(kinds_[a], kinds_[b]);
    std::swap(At<Key>(0)[a], At<Key>(0)[b]);
    std::swap(At<uint32_t>(NumbersAt())[a], At<uint32_t>(NumbersAt())[b]);
    std::swap(At<SlotHeader>(HeadersAt())[a], At<SlotHeader>(HeadersAt())[b]);
    std::swap_ranges(Row(a), Row(a) + words_, Row(b));
  }

  std::vector<uint8_t> kinds_;
  size_t rows_max_ = 0;
  size_t words_ = 0;
  std::shared_ptr<float[]> host_;
  DeviceBuffer device_;
  cudaStream_t up_ = nullptr;
  cudaEvent_t sent_ = nullptr;   // the copies are done
  cudaEvent_t taken_ = nullptr;  // the GPU has done what it does with them
};

}  // namespace strata
