// Dot products between the vectors of a sample: on tensor cores for up to 32 vectors of bf16 whose
// length is 16, 32, 64 or 128; else a thread a product.
#ifdef __CUDACC__
#include <mma.h>
#endif

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
                 const Room room, size_t samples, bool adds) {
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
      dx.Set(i, e, adds ? dx.Get(i, e) + sum : sum);
    }
  }
}

#ifdef __CUDACC__
namespace tensor {

using nvcuda::wmma::fragment;
using Bf16 = __nv_bfloat16;
constexpr uint32_t kWarps = 4;    // of a block, each with samples of its own
constexpr uint32_t kMost = 32;    // vectors
constexpr uint32_t kGap = 8;      // elements after a vector, against conflicts of banks
constexpr uint32_t kSumLd = 36;   // floats of a row of products
constexpr uint32_t kGradLd = 40;  // elements of a row of the products' gradients
using Sums = fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using Rows = fragment<nvcuda::wmma::matrix_a, 16, 16, 16, Bf16, nvcuda::wmma::row_major>;
using Columns = fragment<nvcuda::wmma::matrix_b, 16, 16, 16, Bf16, nvcuda::wmma::col_major>;

template <uint32_t kDim>
constexpr uint32_t kLd = kDim + kGap;
template <uint32_t kDim>
constexpr uint32_t kVectorBytes = kMost* kLd<kDim> * 2;
// kForwardBytes is the shared memory of a warp, where the products overwrite their vectors.
template <uint32_t kDim>
constexpr uint32_t kForwardBytes =
    kVectorBytes<kDim> > kMost* kSumLd * 4 ? kVectorBytes<kDim> : kMost* kSumLd * 4;
template <uint32_t kDim>
constexpr uint32_t kBackBytes = kVectorBytes<kDim> + kMost* kGradLd * 2;

// The pairs by number, each as v << 8 | u; made once by a block.
constexpr uint32_t kPairs = kMost * (kMost - 1) / 2;
__device__ void FillPairs(uint16_t* pairs) {
  for (uint32_t p = threadIdx.x; p < kPairs; p += blockDim.x) {
    const uint2 pair = PairOf(p);
    pairs[p] = static_cast<uint16_t>(pair.x << 8 | pair.y);
  }
  __syncthreads();
}

// Eight elements at once.
template <uint32_t kDim, typename Use>
__device__ void ForEachEight(uint32_t vectors, const Use& use) {
  constexpr uint32_t kEights = kDim / 8;
#pragma unroll 4
  for (uint32_t n = LaneOfWarp(); n < vectors * kEights; n += 32) {
    use(n / kEights, n % kEights * 8, n);
  }
}

// All loads are under way before the first of them is stored.
template <uint32_t kDim>
__device__ void LoadVectors(const ColumnsOf<Bf16>& x, size_t sample, uint32_t vectors, Bf16* to) {
  constexpr uint32_t kEights = kDim / 8;
  constexpr uint32_t kLoads = kMost * kEights / 32;
  const auto* const from = reinterpret_cast<const uint4*>(x.Row(sample));
  uint4 loaded[kLoads];
#pragma unroll
  for (uint32_t k = 0; k < kLoads; ++k) {
    const uint32_t n = k * 32 + LaneOfWarp();
    if (n < vectors * kEights) loaded[k] = from[n];
  }
#pragma unroll
  for (uint32_t k = 0; k < kLoads; ++k) {
    const uint32_t n = k * 32 + LaneOfWarp();
    if (n >= vectors * kEights) continue;
    *reinterpret_cast<uint4*>(to + n / kEights * kLd<kDim> + n % kEights * 8) = loaded[k];
  }
}

// Vectors that are not there are zeros.
template <uint32_t kDim>
__device__ void ClearBehind(uint32_t vectors, Bf16* x) {
  for (uint32_t n = LaneOfWarp(); n < (kMost - vectors) * kLd<kDim> / 8; n += 32) {
    reinterpret_cast<uint4*>(x + vectors * kLd<kDim>)[n] = {0, 0, 0, 0};
  }
}

template <uint32_t kDim>
__global__ void __launch_bounds__(32 * kWarps)
    Products(const ColumnsOf<Bf16> x, const ColumnsOf<Bf16> y, uint32_t vectors, size_t samples) {
  extern __shared__ __align__(32) unsigned char shared[];
  __shared__ uint16_t numbered[kPairs];
  FillPairs(numbered);
  const uint32_t warp = threadIdx.x / 32;
  auto* const vector = reinterpret_cast<Bf16*>(shared + warp * kForwardBytes<kDim>);
  auto* const sums = reinterpret_cast<float*>(vector);
  const uint32_t pairs = vectors * (vectors - 1) / 2;
  for (size_t i = size_t{blockIdx.x} * kWarps + warp; i < samples; i += gridDim.x * kWarps) {
    __syncwarp();
    ClearBehind<kDim>(vectors, vector);
    LoadVectors<kDim>(x, i, vectors, vector);
    __syncwarp();
    // The lower triangle alone: above, at the left, at the right.
    Sums c[3];
    for (Sums& sum : c) nvcuda::wmma::fill_fragment(sum, 0.0F);
#pragma unroll
    for (uint32_t k = 0; k < kDim; k += 16) {
      Rows a[2];
      Columns b[2];
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const Bf16* const from = vector + half * 16 * kLd<kDim> + k;
        nvcuda::wmma::load_matrix_sync(a[half], from, kLd<kDim>);
        nvcuda::wmma::load_matrix_sync(b[half], from, kLd<kDim>);
      }
      nvcuda::wmma::mma_sync(c[0], a[0], b[0], c[0]);
      nvcuda::wmma::mma_sync(c[1], a[1], b[0], c[1]);
      nvcuda::wmma::mma_sync(c[2], a[1], b[1], c[2]);
    }
    auto* const out = y.Row(i);
    for (uint32_t n = LaneOfWarp(); n < kDim / 8; n += 32) {
      reinterpret_cast<uint4*>(out)[n] = *reinterpret_cast<const uint4*>(vector + n * 8);
    }
    __syncwarp();
    constexpr auto kRowMajor = nvcuda::wmma::mem_row_major;
    nvcuda::wmma::store_matrix_sync(sums, c[0], kSumLd, kRowMajor);
    nvcuda::wmma::store_matrix_sync(sums + 16 * kSumLd, c[1], kSumLd, kRowMajor);
    nvcuda::wmma::store_matrix_sync(sums + 16 * kSumLd + 16, c[2], kSumLd, kRowMajor);
    __syncwarp();
    const auto product = [&](uint32_t p) {
      if (p >= pairs) return 0.0F;
      return sums[(numbered[p] >> 8) * kSumLd + (numbered[p] & 0xff)];
    };
    auto* const twos = reinterpret_cast<__nv_bfloat162*>(out + kDim);
    for (uint32_t n = LaneOfWarp(); n < (y.width - kDim) / 2; n += 32) {
      twos[n] = __floats2bfloat162_rn(product(2 * n), product(2 * n + 1));
    }
  }
}

// Fragments of a product of 16 x 16 by 16 x 8 elements, in registers (PTX ISA, "Matrix Fragments
// for mma.m16n8k16"). WMMA hides which lane has which sum, so that its sums go over shared memory.
struct Fragment {
  uint32_t of[4];
};

// Four blocks of 8 x 8 elements. Lane n has the address of row n % 8 of block n / 8.
__device__ Fragment LoadBlocks(const Bf16* row) {
  Fragment blocks;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(blocks.of[0]), "=r"(blocks.of[1]), "=r"(blocks.of[2]), "=r"(blocks.of[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return blocks;
}
// The same, each block transposed.
__device__ Fragment LoadTransposedBlocks(const Bf16* row) {
  Fragment blocks;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(blocks.of[0]), "=r"(blocks.of[1]), "=r"(blocks.of[2]), "=r"(blocks.of[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return blocks;
}

// c += a b. Lane n has the sums of rows n / 4 and n / 4 + 8, two in each from column n % 4 * 2 on.
__device__ void AddProduct(const Fragment& a, uint32_t b_low, uint32_t b_high, float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.of[0]), "r"(a.of[1]), "r"(a.of[2]), "r"(a.of[3]), "r"(b_low), "r"(b_high));
}

// X = G X in place, 8 columns of all vectors at a time. `given` is added to the first vector.
template <uint32_t kDim>
__device__ void MultiplyVectors(uint32_t vectors, const Bf16* gradients, const Bf16* given,
                                Bf16* vector) {
  const uint32_t lane = LaneOfWarp();
  Fragment a[2][2];
#pragma unroll
  for (uint32_t row = 0; row < 2; ++row) {
#pragma unroll
    for (uint32_t k = 0; k < 2; ++k) {
      a[row][k] = LoadBlocks(gradients + (row * 16 + lane % 16) * kGradLd + k * 16 + lane / 16 * 8);
    }
  }
#pragma unroll 4
  for (uint32_t e = 0; e < kDim; e += 8) {
    const Fragment b = LoadTransposedBlocks(vector + lane * kLd<kDim> + e);
    __syncwarp();
    const uint32_t column = e + lane % 4 * 2;
#pragma unroll
    for (uint32_t row = 0; row < 2; ++row) {
      float c[4] = {};
      AddProduct(a[row][0], b.of[0], b.of[1], c);
      AddProduct(a[row][1], b.of[2], b.of[3], c);
      if (row == 0 && lane < 4) {
        const auto own = *reinterpret_cast<const __nv_bfloat162*>(given + column);
        c[0] += __bfloat162float(own.x);
        c[1] += __bfloat162float(own.y);
      }
#pragma unroll
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t v = row * 16 + half * 8 + lane / 4;
        if (v >= vectors) continue;  // stays zeros, also where NaN times 0 is NaN
        *reinterpret_cast<__nv_bfloat162*>(vector + v * kLd<kDim> + column) =
            __floats2bfloat162_rn(c[2 * half], c[2 * half + 1]);
      }
    }
  }
}

// dX = G X, with the symmetric gradients of the products in G; the first vector has its own, too.
template <uint32_t kDim>
__global__ void __launch_bounds__(32 * kWarps)
    ProductsBack(const ColumnsOf<Bf16> x, const ColumnsOf<Bf16> dy, const ColumnsOf<Bf16> dx,
                 uint32_t vectors, size_t samples, bool adds) {
  extern __shared__ __align__(32) unsigned char shared[];
  __shared__ uint16_t numbered[kPairs];
  FillPairs(numbered);
  const uint32_t warp = threadIdx.x / 32;
  auto* const vector = reinterpret_cast<Bf16*>(shared + warp * kBackBytes<kDim>);
  Bf16* const gradients = vector + kMost * kLd<kDim>;
  const uint32_t pairs = vectors * (vectors - 1) / 2;
  ClearBehind<kDim>(vectors, vector);
  for (uint32_t n = LaneOfWarp(); n < kMost * kGradLd / 8; n += 32) {
    reinterpret_cast<uint4*>(gradients)[n] = {0, 0, 0, 0};
  }
  for (size_t i = size_t{blockIdx.x} * kWarps + warp; i < samples; i += gridDim.x * kWarps) {
    __syncwarp();
    LoadVectors<kDim>(x, i, vectors, vector);
    const Bf16* const given = dy.Row(i);
    const auto put = [&](uint32_t p, Bf16 g) {
      if (p >= pairs) return;
      const uint32_t v = numbered[p] >> 8;
      const uint32_t u = numbered[p] & 0xff;
      gradients[v * kGradLd + u] = g;
      gradients[u * kGradLd + v] = g;
    };
    const auto* const given_twos = reinterpret_cast<const __nv_bfloat162*>(given + kDim);
    for (uint32_t n = LaneOfWarp(); 2 * n < pairs; n += 32) {
      const __nv_bfloat162 two = given_twos[n];
      put(2 * n, two.x);
      put(2 * n + 1, two.y);
    }
    __syncwarp();
    MultiplyVectors<kDim>(vectors, gradients, given, vector);
    __syncwarp();
    auto* const to = reinterpret_cast<uint4*>(dx.Row(i));
    ForEachEight<kDim>(vectors, [&](uint32_t v, uint32_t e, uint32_t n) {
      uint4 eight = *reinterpret_cast<const uint4*>(vector + v * kLd<kDim> + e);
      if (adds) {
        uint4 before = to[n];
        auto* const sum = reinterpret_cast<__nv_bfloat162*>(&eight);
        const auto* const added = reinterpret_cast<const __nv_bfloat162*>(&before);
#pragma unroll
        for (uint32_t two = 0; two < 4; ++two) sum[two] = __hadd2(sum[two], added[two]);
      }
      to[n] = eight;
    });
  }
}

}  // namespace tensor
#endif

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

#ifdef __CUDACC__
bool IsVectorised(const GpuColumns& columns) {
  return reinterpret_cast<uintptr_t>(columns.data) % 16 == 0 && columns.stride % 8 == 0;
}
bool FitsTensorCores(uint32_t vectors, const GpuColumns& x, const GpuColumns& y) {
  return x.type == GpuElement::kBf16 && y.type == GpuElement::kBf16 && vectors <= tensor::kMost &&
         IsVectorised(x) && IsVectorised(y) && y.width % 2 == 0;
}

// Calls run(std::integral_constant) with the length of the vectors, if it is one of these.
template <typename Run>
bool WithDim(size_t dim, const Run& run) {
  switch (dim) {
    case 16:
      run(std::integral_constant<uint32_t, 16>());
      return true;
    case 32:
      run(std::integral_constant<uint32_t, 32>());
      return true;
    case 64:
      run(std::integral_constant<uint32_t, 64>());
      return true;
    case 128:
      run(std::integral_constant<uint32_t, 128>());
      return true;
    default:
      return false;
  }
}

// TensorBlocks gives as many blocks as the GPU runs at once.
template <typename Kernel>
uint32_t TensorBlocks(const Exec& exec, Kernel kernel, size_t bytes, size_t samples) {
  int processors = 1;
  int blocks = 1;
  (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, exec.ordinal);
  (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32 * tensor::kWarps, bytes);
  const auto at_once = static_cast<size_t>(std::max(1, blocks * processors));
  return static_cast<uint32_t>(std::min((samples + tensor::kWarps - 1) / tensor::kWarps, at_once));
}

bool RunOnTensorCores(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                      const GpuColumns& y) {
  if (!FitsTensorCores(vectors, x, y)) return false;
  return WithDim(x.width / vectors, [&](auto dim) {
    constexpr uint32_t kDim = decltype(dim)::value;
    const size_t bytes = tensor::kWarps * tensor::kForwardBytes<kDim>;
    AllowShared(tensor::Products<kDim>, bytes);
    const ColumnsOf<__nv_bfloat16> from(x);
    const ColumnsOf<__nv_bfloat16> to(y);
    tensor::Products<kDim>
        <<<TensorBlocks(exec, tensor::Products<kDim>, bytes, samples), 32 * tensor::kWarps, bytes,
           StreamOf(exec)>>>(from, to, vectors, samples);
  });
}

bool RunBackOnTensorCores(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                          const GpuColumns& dy, const GpuColumns& dx, bool adds) {
  if (!FitsTensorCores(vectors, x, dy) || !IsVectorised(dx)) return false;
  return WithDim(x.width / vectors, [&](auto dim) {
    constexpr uint32_t kDim = decltype(dim)::value;
    const size_t bytes = tensor::kWarps * tensor::kBackBytes<kDim>;
    AllowShared(tensor::ProductsBack<kDim>, bytes);
    const ColumnsOf<__nv_bfloat16> from(x);
    const ColumnsOf<__nv_bfloat16> gradient(dy);
    const ColumnsOf<__nv_bfloat16> to(dx);
    tensor::ProductsBack<kDim>
        <<<TensorBlocks(exec, tensor::ProductsBack<kDim>, bytes, samples), 32 * tensor::kWarps,
           bytes, StreamOf(exec)>>>(from, gradient, to, vectors, samples, adds);
  });
}
#else
bool RunOnTensorCores(const Exec&, size_t, uint32_t, const GpuColumns&, const GpuColumns&) {
  return false;
}
bool RunBackOnTensorCores(const Exec&, size_t, uint32_t, const GpuColumns&, const GpuColumns&,
                          const GpuColumns&, bool) {
  return false;
}
#endif

}  // namespace

void GpuInteraction(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                    const GpuColumns& y) {
  if (samples == 0 || RunOnTensorCores(exec, samples, vectors, x, y)) return;
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
                        const GpuColumns& dy, const GpuColumns& dx, bool adds) {
  if (samples == 0 || RunBackOnTensorCores(exec, samples, vectors, x, dy, dx, adds)) return;
  const Room room{vectors, static_cast<uint32_t>(x.width / vectors)};
  const size_t bytes = (room.floats() + size_t{vectors} * vectors) * sizeof(float);
  WithElement(x.type, [&](auto element) {
    using T = typename decltype(element)::type;
    const ColumnsOf<T> from(x);
    const ColumnsOf<T> gradient(dy);
    const ColumnsOf<T> to(dx);
    AllowShared(ProductsBack<T>, bytes);
    ProductsBack<T><<<BlocksFor(samples), kLayerThreads, bytes, StreamOf(exec)>>>(
        from, gradient, to, room, samples, adds);
  });
}

}  // namespace strata
