// Trial: which way to compute a matrix product is the fastest on this GPU.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/core/cuda_status.cuh"
#include "kernels/core/device_memory.cuh"
#include "kernels/dense/gpu/gemm.h"
#include "kernels/dense/gpu/lt_plan.cuh"
#include "strata/status.h"

namespace strata::lt {

// Sets *differs where bytes of the rows do.
__global__ void Compare(const uint8_t* a, const uint8_t* b, size_t rows, size_t row_bytes,
                        size_t stride_bytes, uint32_t* differs) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  bool is_other = false;
  for (size_t n = size_t{blockIdx.x} * blockDim.x + threadIdx.x; n < rows * row_bytes;
       n += threads) {
    const size_t at = n / row_bytes * stride_bytes + n % row_bytes;
    is_other = is_other || a[at] != b[at];
  }
  if (is_other) *differs = 1;
}

// A trial of the ways to compute one product, with its operands, in memory of its own.
class Trial {
 public:
  Trial(cublasLtHandle_t handle, Plan& plan, const GemmCall& call, GemmPrecision precision,
        void* workspace, cudaStream_t stream)
      : handle_(handle),
        plan_(plan),
        call_(call),
        element_bytes_(call.c_is_fp32 || precision != GemmPrecision::kBf16 ? 4 : 2),
        workspace_(workspace),
        stream_(stream) {}
  ~Trial() {
    for (const cudaEvent_t event : {begin_, end_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  }

  // kRefused: the GPU has no memory for a trial.
  Status Make() {
    for (auto& c : c_) STRATA_TRY(c.Make(Bytes(), "memory for a trial of products"));
    STRATA_TRY(differs_.Make(1, "memory for a trial of products"));
    STRATA_TRY(bias_.Make(call_.n * element_bytes_, "memory for a trial of products"));
    STRATA_TRY(FromCuda(cudaEventCreate(&begin_), "an event"));
    return FromCuda(cudaEventCreate(&end_), "an event");
  }

  // The fastest of those that give the bits of the first: where sums are split alike, and the whole
  // result is equal. Of rectified products, one that keeps NaN if there is any: some of cuBLASLt's
  // kernels make 0 of it, which would hide a model's first number that is not finite.
  Result<size_t> Fastest() {
    constexpr float kGain = 0.97F;  // less may be chance
    STRATA_TRY(Compute(0, 0));
    STRATA_TRY(Compute(0, 1));
    STRATA_ASSIGN(bool keeps_nan, KeepsNan(0));
    STRATA_ASSIGN(float best, Milliseconds(0));
    size_t fastest = 0;
    for (size_t way = 1; way < plan_.ways(); ++way) {
      if (plan_.SplitsOf(way) != plan_.SplitsOf(0)) continue;
      STRATA_TRY(Compute(way, 1));
      STRATA_ASSIGN(const bool is_equal, AreEqual());
      if (!is_equal) continue;
      STRATA_ASSIGN(const bool its_keeps_nan, KeepsNan(way));
      if (keeps_nan && !its_keeps_nan) continue;
      STRATA_ASSIGN(const float its, Milliseconds(way));
      if (keeps_nan == its_keeps_nan && its >= best * kGain) continue;
      best = its;
      fastest = way;
      keeps_nan = its_keeps_nan;
    }
    return fastest;
  }

 private:
  size_t Bytes() const { return call_.m * call_.c_stride * element_bytes_; }

  // Into c_[to], which is what `c` is before.
  Status Compute(size_t way, int to) {
    GemmCall call = call_;
    call.c = c_[to].data();
    const size_t pitch = call_.c_stride * element_bytes_;
    STRATA_TRY(FromCuda(cudaMemcpy2DAsync(call.c, pitch, call_.c, pitch, call_.n * element_bytes_,
                                          call_.m, cudaMemcpyDefault, stream_),
                        "a trial of products"));
    return plan_.Run(handle_, call, way, workspace_, stream_);
  }

  Result<bool> AreEqual() {
    uint32_t differs = 0;
    STRATA_TRY(differs_.Set(std::span(&differs, 1), stream_));
    constexpr unsigned kBlocks = 1024;
    constexpr unsigned kThreads = 256;
    Compare<<<kBlocks, kThreads, 0, stream_>>>(c_[0].data(), c_[1].data(), call_.m,
                                               call_.n * element_bytes_,
                                               call_.c_stride * element_bytes_, differs_.data());
    uint32_t found = 0;
    STRATA_TRY(differs_.Get(std::span(&found, 1), stream_));
    STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "a trial of products"));
    return found == 0;
  }

  // Whether a bias of NaN makes an element NaN.
  Result<bool> KeepsNan(size_t way) {
    if (!call_.relu) return true;
    const size_t bytes = call_.n * element_bytes_;
    const uint32_t nan = element_bytes_ == 4 ? 0x7fc00000U : 0x7fc0U;
    uint32_t found = 0;
    GemmCall call = call_;
    call.c = c_[1].data();
    call.bias = bias_.data();
    const auto copy = [&](void* to, const void* from, size_t count) {
      return FromCuda(cudaMemcpyAsync(to, from, count, cudaMemcpyDefault, stream_),
                      "a trial of products");
    };
    STRATA_TRY(copy(bias_.data(), call_.bias, bytes));
    STRATA_TRY(copy(bias_.data(), &nan, element_bytes_));
    STRATA_TRY(plan_.Run(handle_, call, way, workspace_, stream_));
    STRATA_TRY(copy(&found, call.c, element_bytes_));
    STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "a trial of products"));
    return (found & nan) == nan;
  }

  // Computes it many times, one after the other.
  Status Repeat(size_t way) {
    constexpr int kInARow = 16;
    GemmCall call = call_;
    call.c = c_[1].data();
    Status status;
    for (int i = 0; i < kInARow && status.ok(); ++i) {
      status = plan_.Run(handle_, call, way, workspace_, stream_);
    }
    return status;
  }

  // Records the repeats as a graph: the host may take longer to begin a product than the GPU to
  // compute it.
  Status Record(size_t way) {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
    STRATA_TRY(FromCuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                        "a trial of products"));
    Status status = Repeat(way);
    cudaGraph_t recorded = nullptr;
    const Status ended = FromCuda(cudaStreamEndCapture(stream_, &recorded), "a trial of products");
    if (status.ok()) status = ended;
    if (status.ok()) {
      status = FromCuda(cudaGraphInstantiate(&graph_, recorded, 0), "a trial of products");
    }
    if (recorded != nullptr) (void)cudaGraphDestroy(recorded);
    return status;
  }

  Result<float> Milliseconds(size_t way) {
    constexpr int kRounds = 4;                  // the first one is slow
    const bool has_graph = stream_ != nullptr;  // the default stream cannot be recorded
    if (has_graph) STRATA_TRY(Record(way));
    float best = std::numeric_limits<float>::max();
    for (int round = 0; round < kRounds; ++round) {
      STRATA_TRY(FromCuda(cudaEventRecord(begin_, stream_), "a trial of products"));
      STRATA_TRY(has_graph ? FromCuda(cudaGraphLaunch(graph_, stream_), "a trial of products")
                           : Repeat(way));
      STRATA_TRY(FromCuda(cudaEventRecord(end_, stream_), "a trial of products"));
      STRATA_TRY(FromCuda(cudaEventSynchronize(end_), "a trial of products"));
      float milliseconds = 0;
      STRATA_TRY(FromCuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "an event"));
      best = std::min(best, milliseconds);
    }
    return best;
  }

  const cublasLtHandle_t handle_;
  Plan& plan_;
  const GemmCall call_;
  const size_t element_bytes_;
  void* const workspace_;
  const cudaStream_t stream_;
  DeviceMemory<uint8_t> c_[2];
  DeviceMemory<uint32_t> differs_;
  DeviceMemory<uint8_t> bias_;
  cudaGraphExec_t graph_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace strata::lt
