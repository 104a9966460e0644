#include <cublasLt.h>
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "kernels/core/cuda_status.cuh"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/device_memory.cuh"
#include "kernels/dense/gpu/gemm.h"

namespace strata {
namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;

Status FromLt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Failed(fmt::format("{}: cuBLASLt says {}", what, cublasLtGetStatusString(status)));
}

// A Plan describes a product to cuBLASLt. The library takes row-major matrices for column-major
// ones that are transposed, and so it computes c' = b' a'.
class Plan {
 public:
  ~Plan() {
    for (const cublasLtMatrixLayout_t layout : {a_, b_, c_}) {
      if (layout != nullptr) (void)cublasLtMatrixLayoutDestroy(layout);
    }
    if (product_ != nullptr) (void)cublasLtMatmulDescDestroy(product_);
  }

  Status Make(cublasLtHandle_t handle, const GemmCall& call, GemmPrecision precision) {
    const cudaDataType_t type = precision == GemmPrecision::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
    const cudaDataType_t c_type = call.c_is_fp32 ? CUDA_R_32F : type;
    const auto compute =
        precision == GemmPrecision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    STRATA_TRY(FromLt(cublasLtMatmulDescCreate(&product_, compute, CUDA_R_32F), "a product"));
    const auto transposed = [](const GemmOperand& operand) {
      return operand.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    STRATA_TRY(Set(CUBLASLT_MATMUL_DESC_TRANSA, transposed(call.b)));
    STRATA_TRY(Set(CUBLASLT_MATMUL_DESC_TRANSB, transposed(call.a)));
    if (call.bias != nullptr) {
      STRATA_TRY(Set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                     call.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS));
      STRATA_TRY(Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type));
      STRATA_TRY(SetBias(call.bias));
    }
    STRATA_TRY(Layout(&b_, type, call.n, call.k, call.b));
    STRATA_TRY(Layout(&a_, type, call.k, call.m, call.a));
    STRATA_TRY(Layout(&c_, c_type, call.n, call.m, {call.c, call.c_stride, false}));
    return Choose(handle, call, precision);
  }

  Status Run(cublasLtHandle_t handle, const GemmCall& call, void* workspace, cudaStream_t stream) {
    if (call.bias != nullptr) STRATA_TRY(SetBias(call.bias));
    const float one = 1.0F;
    const float added = call.adds ? 1.0F : 0.0F;
    return FromLt(
        cublasLtMatmul(handle, product_, &one, call.b.data, b_, call.a.data, a_, &added, call.c, c_,
                       call.c, c_, &algorithm_, workspace, kWorkspaceBytes, stream),
        "a matrix product on the GPU");
  }

 private:
  template <typename T>
  Status Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return FromLt(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value),
                  "a product");
  }
  Status SetBias(const void* bias) { return Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

  static Status Layout(cublasLtMatrixLayout_t* layout, cudaDataType_t type, size_t rows,
                       size_t columns, const GemmOperand& operand) {
    if (operand.transposed) std::swap(rows, columns);
    return FromLt(cublasLtMatrixLayoutCreate(layout, type, rows, columns,
                                             static_cast<int64_t>(operand.stride)),
                  "a matrix");
  }

  // Takes the first that cuBLASLt proposes, so that equal calls give equal bits.
  Status Choose(cublasLtHandle_t handle, const GemmCall& call, GemmPrecision precision) {
    cublasLtMatmulPreference_t preference = nullptr;
    STRATA_TRY(FromLt(cublasLtMatmulPreferenceCreate(&preference), "a choice of products"));
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      return cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
    };
    const auto aligned = [](const void* data, uint32_t element) -> uint32_t {
      return reinterpret_cast<uintptr_t>(data) % 16 == 0 ? 16 : element;
    };
    const uint32_t bytes = precision == GemmPrecision::kBf16 ? 2 : 4;
    const uint32_t c_bytes = call.c_is_fp32 ? 4 : bytes;
    (void)prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    (void)prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned(call.b.data, bytes));
    (void)prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned(call.a.data, bytes));
    (void)prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned(call.c, c_bytes));
    (void)prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned(call.c, c_bytes));
    cublasLtMatmulHeuristicResult_t best = {};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, product_, b_, a_, c_, c_,
                                                                 preference, 1, &best, &found);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
      return Failed(
          fmt::format("a matrix product of {} x {} by {} x {} on the GPU: cuBLASLt has no way to "
                      "compute it ({})",
                      call.m, call.k, call.k, call.n, cublasLtGetStatusString(status)));
    }
    algorithm_ = best.algo;
    return {};
  }

  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t c_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
};

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
    STRATA_ASSIGN(Plan* const plan, Find(call));
    return plan->Run(handle_, call, workspace_.data(), StreamOf(exec_));
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

  Result<Plan*> Find(const GemmCall& call) {
    constexpr size_t kPlansMax = 256;
    if (plans_.size() >= kPlansMax) plans_.clear();
    std::unique_ptr<Plan>& plan = plans_[KeyOf(call)];
    if (plan != nullptr) return plan.get();
    auto made = std::make_unique<Plan>();
    STRATA_TRY(made->Make(handle_, call, precision_));
    plan = std::move(made);
    return plan.get();
  }

  const Exec exec_;
  const GemmPrecision precision_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceMemory<std::byte> workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace

Result<std::unique_ptr<GpuGemm>> MakeGpuGemm(const Exec& exec, GemmPrecision precision) {
  auto gemm = std::make_unique<LtGemm>(exec, precision);
  STRATA_TRY(gemm->Make());
  return Result<std::unique_ptr<GpuGemm>>(std::move(gemm));
}

}  // namespace strata
