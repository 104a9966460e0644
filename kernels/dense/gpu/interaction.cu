// Dot products between the vectors of a sample.
#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/layers.h"
#include "strata/status.h"

namespace strata {
namespace {

// A block a sample, whose vectors lie in shared memory. One element of padding a vector keeps the
// threads of a warp, which are on different vectors, off each other's banks.
struct Room {
  uint32_t vectors;
  uint32_t dim;

  __host__ __device__ uint32_t stride() const { return dim + 1; }
  __host__ __device__ uint32_t floats() const { return vectors * stride(); }
  __host__ __device__ uint32_t pairs() const { return vectors * (vectors - 1) / 2; }
};

// Pair p of (1,0), (2,0), (2,1), (3,0) and so on.
__device__ uint2 PairOf(uint32_t p) {
  auto v = static_cast<uint32_t>((1.0F + sqrtf(1.0F + 8.0F * static_cast<float>(p))) * 0.5F);
  while (v * (v - 1) / 2 > p) --v;
  while ((v + 1) * v / 2 <= p) ++v;
  return {v, p - v * (v - 1) / 2};
}

template <typename T>
__device__ void Load(const ColumnsOf<T>& x, size_t sample, const Room& room, float* to) {
  for (uint32_t e = threadIdx.x; e < room.vectors * room.dim; e += kLayerThreads) {
    to[e / room.dim * room.stride() + e % room.dim] = x.Get(sample, e);
  }
}

template <typename T>
__global__ void __launch_bounds__(kLayerThreads)
    Products(const ColumnsOf<T> x, const ColumnsOf<T> y, const Room room, size_t samples) {
  extern __shared__ float shared[];
  for (size_t i = blockIdx.x; i < samples; i += gridDim.x) {
    __syncthreads();
    Load(x, i, room, shared);
    __syncthreads();
    for (uint32_t e = threadIdx.x; e < y.width; e += kLayerThreads) {
      float value = 0.0F;
      if (e < room.dim) {
        value = shared[e];
      } else if (e - room.dim < room.pairs()) {
        const uint2 pair = PairOf(e - room.dim);
        const float* a = shared + pair.x * room.stride();
        const float* b = shared + pair.y * room.stride();
        for (uint32_t d = 0; d < room.dim; ++d) value = fmaf(a[d], b[d], value);
      }
      y.Set(i, e, value);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kLayerThreads)
    ProductsBack(const ColumnsOf<T> x, const ColumnsOf<T> dy, const ColumnsOf<T> dx,
                 const Room room, size_t samples) {
  extern __shared__ float shared[];
  float* const of_pairs = shared + room.floats();  // vectors x vectors, symmetric
  for (size_t i = blockIdx.x; i < samples; i += gridDim.x) {
    __syncthreads();
    Load(x, i, room, shared);
    for (uint32_t v = threadIdx.x; v < room.vectors; v += kLayerThreads) {
      of_pairs[v * room.vectors + v] = 0.0F;
    }
    for (uint32_t p = threadIdx.x; p < room.pairs(); p += kLayerThreads) {
      const uint2 pair = PairOf(p);
      const float g = dy.Get(i, room.dim + p);
      of_pairs[pair.x * room.vectors + pair.y] = g;
      of_pairs[pair.y * room.vectors + pair.x] = g;
    }
    __syncthreads();
    for (uint32_t e = threadIdx.x; e < room.vectors * room.dim; e += kLayerThreads) {
      const uint32_t v = e / room.dim;
      const uint32_t d = e % room.dim;
      float sum = v == 0 ? dy.Get(i, d) : 0.0F;
      for (uint32_t u = 0; u < room.vectors; ++u) {
        sum = fmaf(of_pairs[v * room.vectors + u], shared[u * room.stride() + d], sum);
      }
      dx.Add(i, e, sum);
    }
  }
}

uint32_t BlocksFor(size_t samples) {
  constexpr size_t kBlocksMax = 8192;
  return static_cast<uint32_t>(std::min(samples, kBlocksMax));
}

// More shared memory than the 48 KiB that every kernel may have has to be asked for.
template <typename Kernel>
void AllowShared(Kernel kernel, size_t bytes) {
  if (bytes > 48 * 1024) {
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes));
  }
}

}  // namespace

void GpuInteraction(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                    const GpuColumns& y) {
  if (samples == 0) return;
  const Room room{vectors, static_cast<uint32_t>(x.width / vectors)};
  const size_t bytes = room.floats() * sizeof(float);
  WithElement(x.type, [&](auto element) {
    using T = typename decltype(element)::type;
    const ColumnsOf<T> from(x);
    const ColumnsOf<T> to(y);
    AllowShared(Products<T>, bytes);
    Products<T>
        <<<BlocksFor(samples), kLayerThreads, bytes, StreamOf(exec)>>>(from, to, room, samples);
  });
}

void GpuInteractionBack(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                        const GpuColumns& dy, const GpuColumns& dx) {
  if (samples == 0) return;
  const Room room{vectors, static_cast<uint32_t>(x.width / vectors)};
  const size_t bytes = (room.floats() + size_t{vectors} * vectors) * sizeof(float);
  WithElement(x.type, [&](auto element) {
    using T = typename decltype(element)::type;
    const ColumnsOf<T> from(x);
    const ColumnsOf<T> gradient(dy);
    const ColumnsOf<T> to(dx);
    AllowShared(ProductsBack<T>, bytes);
    ProductsBack<T><<<BlocksFor(samples), kLayerThreads, bytes, StreamOf(exec)>>>(
        from, gradient, to, room, samples);
  });
}

}  // namespace strata
