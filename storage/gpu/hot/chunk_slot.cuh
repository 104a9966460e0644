// ChunkSlot: memory of host and GPU in which a chunk of rows is put together.
//
//   | places x header: 32 | places x number: 4 | rows, those that stay first |
//
// The host fills places; what is used of the memory then goes to the GPU as one copy, or part by
// part while others are filled.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/pinned_pool.h"

namespace strata {

// Rows on their way up: a part of what was asked for, on the GPU, as they are stored.
struct RowChunk {
  uint32_t count = 0;
  const SlotHeader* headers = nullptr;  // of the first `stay`
  const uint32_t* numbers = nullptr;    // in what was asked for; null where it was sent in parts
  const float* rows = nullptr;          // x stored_words() of the schema
  uint32_t stay = 0;                    // the first ones come up, with a score to stay
  uint32_t first = 0;                   // all numbers from there on ...
  uint32_t places = 0;                  // ... were looked for
};

class ChunkSlot {
 public:
  // For `rows` rows of `words` words, on the current device.
  static Result<std::unique_ptr<ChunkSlot>> Make(PinnedPool& host, uint32_t rows, size_t words) {
    auto slot = std::unique_ptr<ChunkSlot>(new ChunkSlot());
    slot->words_ = words;
    slot->places_ = rows;
    const size_t bytes = slot->RowsAt() + rows * words * sizeof(float);
    STRATA_TRY(slot->device_.Reserve(bytes));
    slot->host_ = host.Take((bytes + sizeof(float) - 1) / sizeof(float));
    STRATA_ASSIGN(slot->up_, MakeStream());
    for (cudaEvent_t* event : {&slot->sent_, &slot->taken_}) {
      STRATA_ASSIGN(*event, MakeEvent());
    }
    return Result<std::unique_ptr<ChunkSlot>>(std::move(slot));
  }
  ~ChunkSlot() {
    if (up_ != nullptr) (void)cudaStreamSynchronize(up_);  // a chunk that nobody waited for
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
  // A chunk of so many places, at most as many as there is room for. Waits until the GPU has taken
  // in what was here before.
  void Begin(size_t places) {
    for (cudaEvent_t event : {sent_, taken_})
      Must(FromCuda(cudaEventSynchronize(event), "the GPU"));
    places_ = places;
    kinds_.assign(places, kNone);
  }
  enum Kind : uint8_t { kNone, kOther, kStays };
  // A row to place `i`: on any thread, each place once.
  void Put(size_t i, Kind kind, uint32_t number, const SlotHeader& header, const float* row) {
    PutAnswer(i, number, row);
    kinds_[i] = kind;
    At<SlotHeader>(0)[i] = header;
  }
  // The same of a row that does not come up.
  void PutAnswer(size_t i, uint32_t number, const float* row) {
    kinds_[i] = kOther;
    At<uint32_t>(NumbersAt())[i] = number;
    std::copy_n(row, words_, Row(i));
  }
  // Begins to copy the rows that were put here to the GPU, on a stream of its own: the link is not
  // idle while the GPU takes in other chunks.
  void Send() {
    Pack(static_cast<uint32_t>(places_));
    sent_rows_.numbers = reinterpret_cast<uint32_t*>(device_.all().data() + NumbersAt());
    SendPacked();
  }
  // Begins to copy some places' rows, but not their numbers, while other places are filled. On any
  // thread, each place once; EndParts behind all of them.
  void SendPart(size_t begin, size_t end) {
    CopyUp(begin * sizeof(SlotHeader), end * sizeof(SlotHeader));
    CopyUp(RowsAt() + begin * words_ * sizeof(float), RowsAt() + end * words_ * sizeof(float));
  }
  // The first `places` ones were sent by SendPart. Where some have no row that stays, they are sent
  // once more, without those.
  void EndParts(size_t places) {
    Pack(static_cast<uint32_t>(places));
    sent_rows_.numbers = nullptr;
    if (sent_rows_.stay != places) return SendPacked();
    Must(FromCuda(cudaEventRecord(sent_, up_), "the GPU"));
  }
  // What was sent, for whatever is enqueued on exec behind this call; End behind that.
  RowChunk Take(const Exec& exec) const {
    Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec), sent_), "the GPU"));
    return sent_rows_;
  }
  void End(const Exec& exec) { Must(FromCuda(cudaEventRecord(taken_, StreamOf(exec)), "the GPU")); }

 private:
  ChunkSlot() = default;
  static size_t RowBytes(size_t words) {
    return sizeof(SlotHeader) + sizeof(uint32_t) + words * sizeof(float);
  }
  size_t NumbersAt() const { return places_ * sizeof(SlotHeader); }
  // Rows begin where a vector of 16 bytes may.
  size_t RowsAt() const { return NumbersAt() + (places_ * sizeof(uint32_t) + 31) / 32 * 32; }
  template <typename T>
  T* At(size_t at) const {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(host_.get()) + at);
  }

  float* Row(size_t i) const { return At<float>(RowsAt()) + i * words_; }
  // Moves the rows of the first places together, those that stay first.
  void Pack(uint32_t places) {
    sent_rows_.stay = Collect(0, places, kStays);
    sent_rows_.count = Collect(sent_rows_.stay, places, kOther);
    std::byte* const to = device_.all().data();
    sent_rows_.headers = reinterpret_cast<SlotHeader*>(to);
    sent_rows_.rows = reinterpret_cast<float*>(to + RowsAt());
  }
  void SendPacked() {
    if (sent_rows_.count == 0) return;
    const size_t begin = sent_rows_.stay == 0 ? NumbersAt() : 0;  // headers are of those that stay
    CopyUp(begin, RowsAt() + sent_rows_.count * words_ * sizeof(float));
    Must(FromCuda(cudaEventRecord(sent_, up_), "the GPU"));
  }
  void CopyUp(size_t begin, size_t end) {
    const auto* const from = reinterpret_cast<const std::byte*>(host_.get());
    Must(FromCuda(cudaMemcpyAsync(device_.all().data() + begin, from + begin, end - begin,
                                  cudaMemcpyDefault, up_),
                  "copying rows to the GPU"));
  }
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
    std::swap(At<SlotHeader>(0)[a], At<SlotHeader>(0)[b]);
    std::swap(At<uint32_t>(NumbersAt())[a], At<uint32_t>(NumbersAt())[b]);
    std::swap_ranges(Row(a), Row(a) + words_, Row(b));
  }

  std::vector<uint8_t> kinds_;  // by place
  size_t places_ = 0;
  size_t words_ = 0;
  RowChunk sent_rows_;
  std::shared_ptr<float[]> host_;
  DeviceBuffer device_;
  cudaStream_t up_ = nullptr;
  cudaEvent_t sent_ = nullptr;   // the copy is done
  cudaEvent_t taken_ = nullptr;  // the GPU has done what it does with them
};

}  // namespace strata
