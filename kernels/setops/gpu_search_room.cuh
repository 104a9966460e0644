// GpuSearchRoom as the searches use it: memory of a GPU and of the host, and a stream.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/core/device_memory.cuh"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_select.cuh"
#include "kernels/setops/gpu_sets.h"

namespace strata::gpu_sets {

// Memory that is made larger when it is too small.
template <typename Memory>
class Growing {
 public:
  // Whether it was: what is behind data() has moved then.
  Result<bool> Fit(size_t count, const char* what) {
    if (count <= size_ && memory_ != nullptr) return false;
    memory_ = std::make_unique<Memory>();
    size_ = 0;
    STRATA_TRY(memory_->Make(count, what));
    size_ = count;
    return true;
  }
  size_t size() const { return size_; }
  Memory* operator->() const { return memory_.get(); }

 private:
  std::unique_ptr<Memory> memory_;
  size_t size_ = 0;
};

// Who searches holds the mutex.
class SearchRoom final : public GpuSearchRoom {
 public:
  explicit SearchRoom(int device) : device_(device) {}
  ~SearchRoom() override {
    const DeviceScope scope(device_);
    if (stream == nullptr) return;
    (void)cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
  }

  Status Start() {
    const DeviceScope scope(device_);
    STRATA_TRY(
        FromAllocation(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(
        FromCuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_),
                 "asking for processors"));
    const size_t queries = kQueriesAtOnce;
    STRATA_TRY(asked.Make(AskedBytes(queries), "queries"));
    STRATA_TRY(asked_on_host.Make(asked.size(), "queries"));
    STRATA_TRY(at_least.Make(queries, "thresholds"));
    STRATA_TRY(overlaps.Make(queries * kLengths, "thresholds"));
    STRATA_TRY(buckets.Make(queries * kBuckets, "samples"));
    STRATA_TRY(found.Make(queries, "candidates"));
    STRATA_TRY(FromCuda(
        cudaMemsetAsync(buckets.data(), 0, buckets.size() * sizeof(uint32_t), stream), "samples"));
    return FitCandidates(0);
  }
  // Room for all documents to be candidates of one query.
  Status FitCandidates(size_t documents) {
    return Fit(candidates, std::max<size_t>(size_t{kQueriesAtOnce} * kRoom, documents),
               "candidates");
  }
  Status FitAnswers(size_t bytes) {
    STRATA_TRY(Fit(answers, bytes, "answers"));
    return Fit(answers_on_host, bytes, "answers");
  }
  Status FitFilter(size_t words) {
    STRATA_TRY(Fit(allowed, words, "a filter"));
    return Fit(allowed_on_host, words, "a filter");
  }
  // What only scanning takes.
  Status FitScan() {
    const size_t queries = kQueriesAtOnce;
    STRATA_TRY(Fit(passes, queries, "queries"));
    STRATA_TRY(Fit(tables, queries, "tables of tokens"));
    STRATA_TRY(Fit(marks, queries * GpuSets::kLongestQuery, "tables of tokens"));
    return Fit(least, queries * kLengths * kScanDigits, "thresholds");
  }
  // Of memory that moved so far: a graph made when it was another number must not run.
  uint64_t moves() const { return moves_; }
  int device() const { return device_; }

  static size_t TokensAt(size_t queries) { return (queries + 2) / 2 * 2 * sizeof(uint64_t); }
  static size_t AskedBytes(size_t queries) {
    return TokensAt(queries) + queries * GpuSets::kLongestQuery * sizeof(Token);
  }

  std::mutex mutex;
  cudaStream_t stream = nullptr;
  int processors = 0;
  DeviceMemory<std::byte> asked;  // offsets of queries, and from TokensAt on their tokens
  PinnedMemory<std::byte> asked_on_host;
  DeviceMemory<Fraction> at_least;
  DeviceMemory<uint8_t> overlaps;
  DeviceMemory<uint32_t> buckets;  // all 0 between searches
  DeviceMemory<uint32_t> found;
  Growing<DeviceMemory<Candidate>> candidates;
  Growing<DeviceMemory<std::byte>> answers;
  Growing<PinnedMemory<std::byte>> answers_on_host;
  Growing<DeviceMemory<uint32_t>> allowed;
  Growing<PinnedMemory<uint32_t>> allowed_on_host;
  Growing<DeviceMemory<Pass>> passes;
  std::vector<Pass> passes_on_host;
  Growing<DeviceMemory<ScanTable>> tables;
  Growing<DeviceMemory<uint32_t>> marks;
  Growing<DeviceMemory<uint4>> least;

 private:
  template <typename Memory>
  Status Fit(Growing<Memory>& memory, size_t count, const char* what) {
    STRATA_ASSIGN(const bool moved, memory.Fit(count, what));
    if (moved) ++moves_;
    return {};
  }

  const int device_;
  uint64_t moves_ = 0;
};

}  // namespace strata::gpu_sets
