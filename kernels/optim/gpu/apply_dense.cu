#include <algorithm>
#include <type_traits>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/optim/gpu/apply_dense.h"
#include "kernels/optim/gradient_shape.h"
#include "kernels/optim/rules.h"
#include "strata/status.h"

namespace strata {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kSquareBlocks = 128;

// Sums of the squares of clipped gradients, one a block.
__global__ void __launch_bounds__(kThreads)
    SumSquares(const ShapedGradient shape, const float* gradient, size_t count, double* sums) {
  __shared__ double of_threads[kThreads];
  double sum = 0;
  const size_t stride = size_t{gridDim.x} * kThreads;
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    const double g = shape.Clipped(gradient[i]);
    sum += g * g;
  }
  of_threads[threadIdx.x] = sum;
  __syncthreads();
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) of_threads[threadIdx.x] += of_threads[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = of_threads[0];
}

template <typename Rule, typename Shape>
__global__ void __launch_bounds__(kThreads)
    Apply(const Rule rule, const Shape given, const double* squares, size_t count, float* value,
          float* state, const float* gradient) {
  const size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  Shape shape = given;
  if constexpr (Shape::kMayClipNorm) {
    if (shape.clip_norm > 0) {
      double sum = 0;
      for (uint32_t block = 0; block < kSquareBlocks; ++block) sum += squares[block];
      shape.ScaleTo(sum);
    }
  }
  float w = value[i];
  rule(shape(gradient[i], w), w, state + i, count);
  value[i] = w;
}

template <typename Rule, typename Shape>
void Run(const Exec& exec, const Rule& rule, const Shape& shape, size_t count, float* value,
         float* state, const float* gradient, double* squares) {
  if constexpr (Shape::kMayClipNorm) {
    if (shape.clip_norm > 0) {
      SumSquares<<<kSquareBlocks, kThreads, 0, StreamOf(exec)>>>(shape, gradient, count, squares);
    }
  }
  const auto blocks = static_cast<uint32_t>((count + kThreads - 1) / kThreads);
  Apply<Rule, Shape><<<blocks, kThreads, 0, StreamOf(exec)>>>(rule, shape, squares, count, value,
                                                              state, gradient);
}

}  // namespace

size_t GpuApplyDenseScratchBytes() { return kSquareBlocks * sizeof(double); }

void GpuApplyDense(const Exec& exec, const OptimizerSpec& spec, uint64_t step, size_t count,
                   float* value, float* state, const float* gradient, void* scratch) {
  if (count == 0) return;
  WithGradientShape(spec, [&](const auto& shape) {
    WithRule(spec, step, [&](const auto& rule) {
      if constexpr (std::remove_cvref_t<decltype(rule)>::kNeeds == RowNeed::kNothing) {
        Run(exec, rule, shape, count, value, state, gradient, static_cast<double*>(scratch));
      } else {
        STRATA_CHECK(false && "a rule for rows alone");
      }
    });
  });
}

}  // namespace strata
