#include <algorithm>
#include <atomic>
#include <cstring>

#include "storage/gpu/gpu_calls.cuh"
#include "worker/model/gpu_batch.h"

namespace strata {
namespace {

constexpr size_t kAlign = 256;

cudaEvent_t EventOf(void* event) { return static_cast<cudaEvent_t>(event); }

// Of fewer bytes, waking threads takes longer than the work.
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr size_t kPieceBags = kPieceBytes / sizeof(uint32_t);
constexpr size_t kSendBytes = size_t{1} << 20;  // that are worth a copy of their own

bool HasKeyABag(const Batch& batch, WorkPool& threads) {
  if (batch.keys.size() != batch.samples * batch.slots) return false;
  std::atomic<bool> has = true;
  threads.RunPieces(batch.offsets.size(), kPieceBags, [&](size_t begin, size_t end) {
    uint32_t differ = 0;
    for (size_t bag = begin; bag < end; ++bag) {
      differ |= batch.offsets[bag] ^ static_cast<uint32_t>(bag);
    }
    if (differ != 0) has = false;
  });
  return has;
}

void Copy(std::byte* to, std::span<const std::byte> from, WorkPool& threads) {
  threads.RunPieces(from.size(), kPieceBytes, [&](size_t begin, size_t end) {
    std::memcpy(to + begin, from.data() + begin, end - begin);
  });
}

}  // namespace

Status GpuBatch::Make() {
  STRATA_ASSIGN(copied_, MakeEvent());
  STRATA_ASSIGN(used_, MakeEvent());
  return {};
}

GpuBatch::~GpuBatch() {
  for (void* const event : {copied_, used_}) {
    if (event == nullptr) continue;
    (void)cudaEventSynchronize(EventOf(event));
    (void)cudaEventDestroy(EventOf(event));
  }
}

// All arrays lie in one block, so that they are few copies.
Status GpuBatch::Bring(const Batch& batch, std::span<const float> key_weights,
                       const UniqueKeys* unique) {
  const bool is_plain = HasKeyABag(batch, threads_);
  size_t bytes = 0;
  const auto place = [&](size_t array_bytes) {
    const size_t at = bytes;
    bytes += (array_bytes + kAlign - 1) / kAlign * kAlign;
    return at;
  };
  const auto bytes_of = [](const auto& array) { return std::as_bytes(std::span(array)).size(); };
  const size_t keys_at = place(unique != nullptr ? bytes_of(unique->index) : bytes_of(batch.keys));
  const size_t offsets_at = place(is_plain ? 0 : bytes_of(batch.offsets));
  const size_t key_weights_at = place(bytes_of(key_weights));
  const size_t dense_at = place(bytes_of(batch.dense));
  const size_t labels_at = place(bytes_of(batch.labels));
  const size_t weights_at = place(bytes_of(batch.weights));

  Must(FromCuda(cudaEventSynchronize(EventOf(copied_)), "the GPU"));
  STRATA_TRY(memory_.Reserve(std::max<size_t>(bytes, 1)));
  if (staging_bytes_ < bytes) {
    staging_ = pool_->Take(bytes / sizeof(float));
    staging_bytes_ = bytes;
  }
  auto* const copies = static_cast<cudaStream_t>(copies_);
  Must(FromCuda(cudaStreamWaitEvent(copies, EventOf(used_)), "the GPU"));
  auto* const staging = reinterpret_cast<std::byte*>(staging_.get());
  auto* const memory = memory_.as<std::byte>();
  // A large array is on its way while the next one is staged.
  size_t sent = 0;
  const auto send_up_to = [&](size_t end) {
    Must(FromCuda(
        cudaMemcpyAsync(memory + sent, staging + sent, end - sent, cudaMemcpyDefault, copies),
        "a batch to the GPU"));
    sent = end;
  };
  const auto put = [&](const auto& array, size_t at) {
    const std::span all(array);
    using T = typename decltype(all)::element_type;
    const auto from = std::as_bytes(all);
    Copy(staging + at, from, threads_);
    if (from.size() > kSendBytes) send_up_to(at + from.size());
    return reinterpret_cast<const T*>(memory + at);
  };
  samples_ = batch.samples;
  slots_ = batch.slots;
  key_count_ = batch.keys.size();
  keys_ = unique != nullptr ? nullptr : put(batch.keys, keys_at);
  index_ = unique != nullptr ? put(unique->index, keys_at) : nullptr;
  offsets_ = is_plain ? nullptr : put(batch.offsets, offsets_at);
  key_weights_ = key_weights.empty() ? nullptr : put(key_weights, key_weights_at);
  dense_ = put(batch.dense, dense_at);
  labels_ = put(batch.labels, labels_at);
  weights_ = put(batch.weights, weights_at);

  if (sent < bytes) send_up_to(bytes);
  Must(FromCuda(cudaEventRecord(EventOf(copied_), copies), "the GPU"));
  return {};
}

void GpuBatch::Begin() const {
  Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec_), EventOf(copied_)), "the GPU"));
}

void GpuBatch::End() const {
  Must(FromCuda(cudaEventRecord(EventOf(used_), StreamOf(exec_)), "the GPU"));
}

}  // namespace strata
