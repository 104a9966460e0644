#include <algorithm>
#include <cstring>
#include <vector>

#include "storage/gpu/gpu_calls.cuh"
#include "worker/model/gpu_batch.h"

namespace strata {
namespace {

constexpr size_t kAlign = 256;

// Of fewer bytes, waking threads takes longer than the work.
constexpr size_t kPieceBytes = size_t{128} << 10;
// What is sent while more is staged.
constexpr size_t kSendBytes = size_t{4} << 20;

// The arrays of a batch, one behind the other.
class Arrays {
 public:
  // Where the array will begin.
  template <typename T>
  size_t Add(std::span<const T> array) {
    const size_t at = bytes_;
    all_.push_back({at, std::as_bytes(array)});
    bytes_ += (array.size_bytes() + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  size_t bytes() const { return bytes_; }
  // Copies what lies in bytes `begin` to `end` - 1 of them to the same place of `to`.
  void Copy(size_t begin, size_t end, std::byte* to) const {
    for (const Array& array : all_) {
      const size_t first = std::max(begin, array.at);
      const size_t last = std::min(end, array.at + array.bytes.size());
      if (first >= last) continue;
      std::memcpy(to + first, array.bytes.data() + (first - array.at), last - first);
    }
  }

 private:
  struct Array {
    size_t at;
    std::span<const std::byte> bytes;
  };
  std::vector<Array> all_;
  size_t bytes_ = 0;
};

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

// All arrays lie in one block, so that they are few copies, and several threads stage it at once.
Status GpuBatch::Bring(const Batch& batch, std::span<const float> key_weights,
                       const UniqueKeys* unique) {
  by_table_.Set(batch);
  Arrays arrays;
  const size_t keys_at =
      unique != nullptr ? arrays.Add(by_table_.Ordered<uint32_t>(unique->index, &ordered_index_))
                        : arrays.Add(by_table_.Ordered<Key>(batch.keys, &ordered_keys_));
  const size_t offsets_at = arrays.Add(by_table_.offsets());
  const size_t key_weights_at = arrays.Add(by_table_.Ordered(key_weights, &ordered_weights_));
  const size_t dense_at = arrays.Add<float>(batch.dense);
  const size_t labels_at = arrays.Add<float>(batch.labels);
  const size_t weights_at = arrays.Add<float>(batch.weights);
  const size_t bytes = arrays.bytes();

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
  for (size_t sent = 0; sent < bytes;) {
    const size_t count = std::min(bytes - sent, kSendBytes);
    threads_.RunPieces(count, kPieceBytes, [&](size_t begin, size_t end) {
      arrays.Copy(sent + begin, sent + end, staging);
    });
    Must(FromCuda(cudaMemcpyAsync(memory + sent, staging + sent, count, cudaMemcpyDefault, copies),
                  "a batch to the GPU"));
    sent += count;
  }
  Must(FromCuda(cudaEventRecord(EventOf(copied_), copies), "the GPU"));

  const auto array = [&]<typename T>(const T*& to, bool is_there, size_t at, size_t first) {
    to = is_there ? reinterpret_cast<const T*>(memory + at) + first : nullptr;
  };
  samples_ = batch.samples;
  slots_ = batch.slots;
  keys_.resize(by_table_.begins().size() - 1);
  for (size_t table = 0; table < keys_.size(); ++table) {
    GpuKeys& its = keys_[table];
    const size_t first = by_table_.begins()[table];
    its.count = by_table_.begins()[table + 1] - first;
    array(its.keys, unique == nullptr, keys_at, first);
    array(its.index, unique != nullptr, keys_at, first);
    array(its.offsets, !by_table_.has_key_a_bag(), offsets_at, by_table_.FirstOffset(table));
    array(its.weights, !key_weights.empty(), key_weights_at, first);
  }
  array(dense_, true, dense_at, 0);
  array(labels_, true, labels_at, 0);
  array(weights_, true, weights_at, 0);
  return {};
}

void GpuBatch::Begin() const {
  Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec_), EventOf(copied_)), "the GPU"));
}

void GpuBatch::End() const {
  Must(FromCuda(cudaEventRecord(EventOf(used_), StreamOf(exec_)), "the GPU"));
}

}  // namespace strata
