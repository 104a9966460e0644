// Plan: a matrix product as cuBLASLt knows it.
#pragma once

#include <cublasLt.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/dense/gpu/gemm.h"
#include "strata/status.h"

namespace strata::lt {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;

inline Status FromLt(cublasStatus_t status, const char* what) {
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
    return Propose(handle, call, precision);
  }

  // How many ways to compute it cuBLASLt proposes: one at least, first what it takes for the
  // fastest.
  size_t ways() const { return ways_.size(); }
  // In so many parts a way splits each sum.
  int SplitsOf(size_t way) const {
    int splits = 0;
    size_t written = 0;
    (void)cublasLtMatmulAlgoConfigGetAttribute(
        &ways_[way].algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits, &written);
    return splits;
  }

  Status Run(cublasLtHandle_t handle, const GemmCall& call, size_t way, void* workspace,
             cudaStream_t stream) {
    if (call.bias != nullptr) STRATA_TRY(SetBias(call.bias));
    const float one = 1.0F;
    const float added = call.adds ? 1.0F : 0.0F;
    return FromLt(
        cublasLtMatmul(handle, product_, &one, call.b.data, b_, call.a.data, a_, &added, call.c, c_,
                       call.c, c_, &ways_[way].algorithm, workspace, kWorkspaceBytes, stream),
        "a matrix product on the GPU");
  }

 private:
  struct Way {
    cublasLtMatmulAlgo_t algorithm;
  };

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

  Status Propose(cublasLtHandle_t handle, const GemmCall& call, GemmPrecision precision) {
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
    constexpr int kProposed = 8;
    cublasLtMatmulHeuristicResult_t results[kProposed] = {};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, product_, b_, a_, c_, c_, preference, kProposed, results, &found);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
      return Failed(
          fmt::format("a matrix product of {} x {} by {} x {} on the GPU: cuBLASLt has no way to "
                      "compute it ({})",
                      call.m, call.k, call.k, call.n, cublasLtGetStatusString(status)));
    }
    for (const auto& result : std::span(results).first(static_cast<size_t>(found))) {
      ways_.push_back({result.algo});
    }
    return {};
  }

  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t c_ = nullptr;
  std::vector<Way> ways_;
};

}  // namespace strata::lt
