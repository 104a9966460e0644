#include <cublasLt.h>

#include <map>
#include <memory>
#include <tuple>

#include "kernels/core/cuda_status.cuh"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/device_memory.cuh"
#include "kernels/dense/gpu/gemm.h"
#include "kernels/dense/gpu/lt_plan.cuh"
#include "kernels/dense/gpu/lt_trial.cuh"

namespace strata {
namespace {

using lt::FromLt;
using lt::kWorkspaceBytes;
using lt::Plan;
using lt::Trial;

class LtGemm final : public GpuGemm {
 public:
  LtGemm(const Exec& exec, GemmPrecision precision) : exec_(exec), precision_(precision) {}
  ~LtGemm() override {
    if (handle_ != nullptr) (void)cublasLtDestroy(handle_);
  }
  Status Make() {
    STRATA_TRY(FromLt(cublasLtCreate(&handle_), "starting cuBLASLt"));
    return workspace_.Make(kWorkspaceBytes, "memory for matrix products");
  }

  Status Run(const GemmCall& call) override {
    if (call.m == 0 || call.n == 0) return {};
    STRATA_ASSIGN(const Chosen* const found, Find(call));
    return found->plan->Run(handle_, call, found->way, workspace_.data(), StreamOf(exec_));
  }

 private:
  // Alignment decides which algorithms there are.
  using Key = std::tuple<size_t, size_t, size_t, size_t, size_t, size_t, int>;
  static Key KeyOf(const GemmCall& call) {
    int bits = 0;
    for (const bool bit :
         {call.a.transposed, call.b.transposed, call.c_is_fp32, call.adds, call.relu,
          call.bias != nullptr, reinterpret_cast<uintptr_t>(call.a.data) % 16 == 0,
          reinterpret_cast<uintptr_t>(call.b.data) % 16 == 0,
          reinterpret_cast<uintptr_t>(call.c) % 16 == 0}) {
      bits = 2 * bits + (bit ? 1 : 0);
    }
    return {call.m, call.n, call.k, call.a.stride, call.b.stride, call.c_stride, bits};
  }

  struct Chosen {
    std::unique_ptr<Plan> plan;
    size_t way = 0;
  };

  Result<const Chosen*> Find(const GemmCall& call) {
    constexpr size_t kPlansMax = 256;
    const Key key = KeyOf(call);
    const auto found = plans_.find(key);
    if (found != plans_.end()) return &found->second;
    if (plans_.size() >= kPlansMax) plans_.clear();
    auto plan = std::make_unique<Plan>();
    STRATA_TRY(plan->Make(handle_, call, precision_));
    STRATA_ASSIGN(const size_t way, Choose(*plan, call));
    return &(plans_[key] = {std::move(plan), way});
  }

  // Which way is taken has no influence on the bits, and so a trial that cannot be made costs time
  // alone.
  Result<size_t> Choose(Plan& plan, const GemmCall& call) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    STRATA_TRY(FromCuda(cudaStreamIsCapturing(StreamOf(exec_), &capture), "a stream"));
    if (capture != cudaStreamCaptureStatusNone) return size_t{0};
    Trial trial(handle_, plan, call, precision_, workspace_.data(), StreamOf(exec_));
    const Status made = trial.Make();
    if (made.code() == StatusCode::kRefused) return size_t{0};
    STRATA_TRY(made);
    return trial.Fastest();
  }

  const Exec exec_;
  const GemmPrecision precision_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceMemory<std::byte> workspace_;
  std::map<Key, Chosen> plans_;
};

}  // namespace

Result<std::unique_ptr<GpuGemm>> MakeGpuGemm(const Exec& exec, GemmPrecision precision) {
  auto gemm = std::make_unique<LtGemm>(exec, precision);
  STRATA_TRY(gemm->Make());
  return Result<std::unique_ptr<GpuGemm>>(std::move(gemm));
}

}  // namespace strata
