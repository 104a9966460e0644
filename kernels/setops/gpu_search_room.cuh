// GpuSearchRoom as the searches use it: memory of a GPU and of the host, and a stream.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/thread/mutex.h"
#include "kernels/core/device_memory.cuh"
#include "kernels/setops/gpu_few.cuh"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_select.cuh"
#include "kernels/setops/gpu_sets.h"

namespace strata::gpu_sets {

// Memory that is made larger when it is too small.
template <typename Memory>
class Growing {
 public:
  // What was there is lost if it was too small.
  Status Fit(size_t count, const char* what) {
    if (count <= size_ && memory_ != nullptr) return {};
    memory_ = std::make_unique<Memory>();
    size_ = 0;
    STRATA_TRY(memory_->Make(count, what));
    size_ = count;
    return {};
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
    return candidates.Fit(std::max<size_t>(size_t{kQueriesAtOnce} * kRoom, documents),
                          "candidates");
  }
  Status FitAnswers(size_t bytes) {
    STRATA_TRY(answers.Fit(bytes, "answers"));
    return answers_on_host.Fit(bytes, "answers");
  }
  Status FitFilter(size_t words) {
    STRATA_TRY(allowed.Fit(words, "a filter"));
    return allowed_on_host.Fit(words, "a filter");
  }
  // What only few queries take.
  Status FitFew() {
    if (few_is_ready) return {};
    STRATA_TRY(few_states.Fit(kFewAtOnce, "samples"));
    STRATA_TRY(few_bests.Fit(size_t{kFewAtOnce} * kFewMostParts, "samples"));
    STRATA_TRY(few_found.Fit(size_t{kFewAtOnce} * kFewMostFound, "candidates"));
    STRATA_TRY(FromCuda(PrepareFew(device_, &few_at_once), "preparing kernels"));
    STRATA_TRY(FromCuda(
        cudaMemsetAsync(few_states->data(), 0, few_states.size() * sizeof(FewState), stream),
        "samples"));
    few_is_ready = true;
    return {};
  }
  // What only scanning takes.
  Status FitScan() {
    const size_t queries = kQueriesAtOnce;
    STRATA_TRY(passes.Fit(queries, "queries"));
    STRATA_TRY(tables.Fit(queries, "tables of tokens"));
    STRATA_TRY(marks.Fit(queries * GpuSets::kLongestQuery, "tables of tokens"));
    return least.Fit(queries * kLengths * kScanDigits, "thresholds");
  }
  int device() const { return device_; }

  static size_t TokensAt(size_t queries) { return (queries + 2) / 2 * 2 * sizeof(uint64_t); }
  static size_t AskedBytes(size_t queries) {
    return TokensAt(queries) + queries * GpuSets::kLongestQuery * sizeof(Token);
  }

  Mutex mutex;
  cudaStream_t stream = nullptr;
  int processors = 0;
  DeviceMemory<std::byte> asked;  // offsets of queries, and from TokensAt on their tokens
  PinnedMemory<std::byte> asked_on_host;
  DeviceMemory<Fraction> at_least;
  DeviceMemory<uint8_t> overlaps;
  DeviceMemory<uint32_t> buckets;  // all 0 between searches
  DeviceMemory<uint32_t> found;
  bool few_is_ready = false;
  FewAtOnce few_at_once;  // as PrepareFew says
  Growing<DeviceMemory<FewState>> few_states;
  Growing<DeviceMemory<FewBest>> few_bests;
  Growing<DeviceMemory<FewFound>> few_found;
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
  const int device_;
};

}  // namespace strata::gpu_sets
