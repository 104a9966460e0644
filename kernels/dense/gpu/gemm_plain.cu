// Where GPUs are emulated, and no library of matrix products is there.
#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/element.cuh"
#include "kernels/dense/gpu/gemm.h"

namespace strata {
namespace {

constexpr uint32_t kThreads = 128;

template <typename T>
__device__ float At(const GemmOperand& operand, size_t row, size_t column) {
  const auto* data = static_cast<const T*>(operand.data);
  return Widened(operand.transposed ? data[column * operand.stride + row]
                                    : data[row * operand.stride + column]);
}

template <typename T, typename C>
__global__ void Multiply(const __grid_constant__ GemmCall call) {
  const size_t at = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= call.m * call.n) return;
  const size_t row = at / call.n;
  const size_t column = at % call.n;
  float sum = 0.0F;
  for (size_t p = 0; p < call.k; ++p) sum += At<T>(call.a, row, p) * At<T>(call.b, p, column);
  C& c = static_cast<C*>(call.c)[row * call.c_stride + column];
  if (call.adds) sum += Widened(c);
  if (call.bias != nullptr) sum += Widened(static_cast<const T*>(call.bias)[column]);
  if (call.relu && sum <= 0.0F) sum = 0.0F;
  c = Rounded<C>(sum);
}

template <typename T, typename C>
void Launch(const Exec& exec, const GemmCall& call) {
  const auto blocks = static_cast<uint32_t>((call.m * call.n + kThreads - 1) / kThreads);
  Multiply<T, C><<<blocks, kThreads, 0, StreamOf(exec)>>>(call);
}

class PlainGemm final : public GpuGemm {
 public:
  PlainGemm(const Exec& exec, GemmPrecision precision) : exec_(exec), precision_(precision) {}

  Status Run(const GemmCall& call) override {
    if (call.m == 0 || call.n == 0) return {};
    if (precision_ != GemmPrecision::kBf16) {
      Launch<float, float>(exec_, call);
    } else if (call.c_is_fp32) {
      Launch<__nv_bfloat16, float>(exec_, call);
    } else {
      Launch<__nv_bfloat16, __nv_bfloat16>(exec_, call);
    }
    return {};
  }

 private:
  const Exec exec_;
  const GemmPrecision precision_;
};

}  // namespace

Result<std::unique_ptr<GpuGemm>> MakeGpuGemm(const Exec& exec, GemmPrecision precision) {
  return std::unique_ptr<GpuGemm>(std::make_unique<PlainGemm>(exec, precision));
}

}  // namespace strata
