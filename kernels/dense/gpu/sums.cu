// Layers that are sums over a sample's elements, and sums over samples.
#include "kernels/core/math.h"
#include "kernels/dense/gpu/column_sums.cuh"
#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/layers.h"

namespace strata {
namespace {

// Columns tile * 32 and on, of the samples of a part; a block is both.
template <typename T, typename W>
__global__ void __launch_bounds__(kLayerThreads)
    SumParts(const ColumnsOf<T> x, const ColumnsOf<W> weights, size_t samples, float* parts) {
  __shared__ float of_rows[kBlockRows][kRowThreads];
  const uint32_t row = threadIdx.x / kRowThreads;
  const uint32_t lane = threadIdx.x % kRowThreads;
  const uint32_t part = blockIdx.x % kSumParts;
  const size_t e = size_t{blockIdx.x / kSumParts} * kRowThreads + lane;
  const size_t begin = samples * part / kSumParts;
  const size_t end = samples * (part + 1) / kSumParts;
  float sum = 0.0F;
  if (e < x.width) {
    for (size_t i = begin + row; i < end; i += kBlockRows) {
      const float weight = weights.data == nullptr ? 1.0F : weights.Get(i, 0);
      sum = fmaf(weight, x.Get(i, e), sum);
    }
  }
  of_rows[row][lane] = sum;
  __syncthreads();
  if (row != 0 || e >= x.width) return;
  for (uint32_t other = 1; other < kBlockRows; ++other) sum += of_rows[other][lane];
  parts[part * x.width + e] = sum;
}

// Stop applies the gradients of a rectifier and of dropout to dy, whose columns are summed.
template <typename T, uint32_t kAtOnce>
struct Stop {
  ColumnsOf<T> y;
  ColumnsOf<T> dy;
  bool relu;
  float scale;

  static constexpr uint32_t kAhead = 4;
  struct Loaded {
    Side<T, kAtOnce> gradients;
    Side<T, kAtOnce> values;
  };
  __device__ Loaded Load(size_t i, size_t n) const {
    Loaded loaded = {};
    loaded.gradients = dy.template SideOf<kAtOnce>(i, n);
    if (relu) loaded.values = y.template SideOf<kAtOnce>(i, n);
    return loaded;
  }
  __device__ void operator()(const Loaded& loaded, size_t i, size_t n,
                             float (&of_columns)[kAtOnce]) const {
    Side<T, kAtOnce> gradients = loaded.gradients;
    if (relu) {
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        if (!(Widened(loaded.values.of[k]) > 0.0F)) gradients.of[k] = Rounded<T>(0.0F);
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      if (scale != 1.0F) gradients.of[k] = Rounded<T>(Widened(gradients.of[k]) * scale);
      of_columns[k] += Widened(gradients.of[k]);
    }
    if (relu || scale != 1.0F) dy.template SideOf<kAtOnce>(i, n) = gradients;
  }
};

// out[e] = the sum of parts[p][e] over all parts.
__global__ void __launch_bounds__(kLayerThreads)
    JoinParts(const float* parts, size_t width, float* out) {
  __shared__ float of_rows[kBlockRows][kRowThreads];
  const uint32_t row = threadIdx.x / kRowThreads;
  const uint32_t lane = threadIdx.x % kRowThreads;
  const size_t e = size_t{blockIdx.x} * kRowThreads + lane;
  float sum = 0.0F;
  if (e < width) {
    for (uint32_t part = row; part < kSumParts; part += kBlockRows) sum += parts[part * width + e];
  }
  of_rows[row][lane] = sum;
  __syncthreads();
  if (row != 0 || e >= width) return;
  for (uint32_t other = 1; other < kBlockRows; ++other) sum += of_rows[other][lane];
  out[e] = sum;
}

uint32_t TilesOf(size_t width) {
  return static_cast<uint32_t>((width + kRowThreads - 1) / kRowThreads);
}

template <typename X, typename Y>
struct Dot {
  ColumnsOf<X> x;
  const float* w;
  const float* bias;
  ColumnsOf<Y> y;
  bool adds;
  __device__ void operator()(size_t i) const {
    float sum = 0.0F;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) sum = fmaf(x.Get(i, e), w[e], sum);
    sum = WarpSum(sum);
    if (LaneOfWarp() != 0) return;
    if (bias != nullptr) sum += *bias;
    y.Set(i, 0, adds ? y.Get(i, 0) + sum : sum);
  }
};

template <typename X, typename Y>
struct DotBack {
  const float* w;
  ColumnsOf<Y> dy;
  ColumnsOf<X> dx;
  bool adds;
  __device__ void operator()(size_t i, size_t e) const {
    const float d = dy.Get(i, 0) * w[e];
    dx.Set(i, e, adds ? dx.Get(i, e) + d : d);
  }
};

template <typename X, typename Y>
struct Fm {
  ColumnsOf<X> x;
  uint32_t vectors;
  size_t dim;
  float* sums;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i) const {
    float pairs = 0.0F;
    for (size_t d = LaneOfWarp(); d < dim; d += 32) {
      float sum = 0.0F;
      float squares = 0.0F;
#pragma unroll 8
      for (uint32_t v = 0; v < vectors; ++v) {
        const float element = x.Get(i, v * dim + d);
        sum += element;
        squares = fmaf(element, element, squares);
      }
      sums[i * dim + d] = sum;
      pairs += 0.5F * (sum * sum - squares);
    }
    pairs = WarpSum(pairs);
    if (LaneOfWarp() == 0) y.Set(i, 0, pairs);
  }
};

// kAtOnce elements of one vector.
template <typename X, typename Y, uint32_t kAtOnce>
struct FmBack {
  ColumnsOf<X> x;
  uint32_t dim;
  const float* sums;
  ColumnsOf<Y> dy;
  ColumnsOf<X> dx;
  __device__ void operator()(size_t i, size_t n) const {
    const auto e = static_cast<uint32_t>(n) * kAtOnce;
    const float d = dy.Get(i, 0);
    const auto sum = *reinterpret_cast<const Side<float, kAtOnce>*>(sums + i * dim + e % dim);
    const Side<X, kAtOnce> element = x.template SideOf<kAtOnce>(i, n);
    Side<X, kAtOnce>& to = dx.template SideOf<kAtOnce>(i, n);
    Side<X, kAtOnce> added = to;
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      added.of[k] = Rounded<X>(Widened(added.of[k]) + d * (sum.of[k] - Widened(element.of[k])));
    }
    to = added;
  }
};

template <typename T>
struct Cross {
  ColumnsOf<T> x0;
  ColumnsOf<T> x;
  const float* w;
  const float* b;
  float* products;
  ColumnsOf<T> y;
  __device__ void operator()(size_t i) const {
    float product = 0.0F;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) product = fmaf(x.Get(i, e), w[e], product);
    product = WarpSum(product);
    if (LaneOfWarp() == 0) products[i] = product;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) {
      y.Set(i, e, fmaf(x0.Get(i, e), product, b[e] + x.Get(i, e)));
    }
  }
};

template <typename T>
struct CrossBack {
  ColumnsOf<T> x0;
  const float* w;
  const float* products;
  ColumnsOf<T> dy;
  float* dproducts;
  ColumnsOf<T> dx0;
  ColumnsOf<T> dx;
  __device__ void operator()(size_t i) const {
    float dproduct = 0.0F;
    for (size_t e = LaneOfWarp(); e < dy.width; e += 32) {
      dproduct = fmaf(dy.Get(i, e), x0.Get(i, e), dproduct);
    }
    dproduct = WarpSum(dproduct);
    if (LaneOfWarp() == 0) dproducts[i] = dproduct;
    for (size_t e = LaneOfWarp(); e < dy.width; e += 32) {
      const float d = dy.Get(i, e);
      dx0.Add(i, e, d * products[i]);
      dx.Add(i, e, fmaf(dproduct, w[e], d));  // may be the same numbers as dx0
    }
  }
};

struct EntropyOf {
  static __device__ double Loss(double z, double label) { return math::Softplus(z) - z * label; }
  static __device__ double Slope(double z, double label) { return math::Sigmoid(z) - label; }
};

struct SquareOf {
  static __device__ double Loss(double z, double label) { return (z - label) * (z - label); }
  static __device__ double Slope(double z, double label) { return 2 * (z - label); }
};

template <typename Rule, typename T>
struct LossOfSample {
  ColumnsOf<T> given;
  const float* labels;
  const float* weights;
  float scale;
  ColumnsOf<T> gradients;
  double* losses;
  __device__ void operator()(size_t i, size_t /*one*/) const {
    const double z = given.Get(i, 0);
    const double weight = weights[i];
    losses[i] = weight * Rule::Loss(z, labels[i]);
    gradients.Set(i, 0, scale * static_cast<float>(weight * Rule::Slope(z, labels[i])));
  }
};

constexpr uint32_t kLossThreads = 512;
__global__ void __launch_bounds__(kLossThreads)
    SumLosses(const double* losses, size_t samples, double* loss) {
  __shared__ double sums[kLossThreads];
  double sum = 0;
#pragma unroll 16
  for (size_t i = threadIdx.x; i < samples; i += kLossThreads) sum += losses[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (uint32_t half = kLossThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *loss = sums[0];
}

template <typename Rule>
void RunLosses(const Exec& exec, size_t samples, const GpuColumns& given, const float* labels,
               const float* weights, float scale, const GpuColumns& gradients, double* losses) {
  WithElement(given.type, [&](auto element) {
    using T = typename decltype(element)::type;
    const LossOfSample<Rule, T> of_sample{ColumnsOf<T>(given),     labels, weights, scale,
                                          ColumnsOf<T>(gradients), losses};
    RunForEachElement(exec, of_sample, samples, 1);
  });
}

}  // namespace

void JoinColumnParts(const Exec& exec, const float* parts, size_t width, float* sums) {
  JoinParts<<<TilesOf(width), kLayerThreads, 0, StreamOf(exec)>>>(parts, width, sums);
}

void GpuJoinSums(const Exec& exec, size_t width, const void* scratch, float* sums) {
  if (width > 0) JoinColumnParts(exec, static_cast<const float*>(scratch), width, sums);
}

size_t GpuSumScratchBytes(size_t width) { return kSumParts * width * sizeof(float); }

void GpuSumColumns(const Exec& exec, size_t samples, const GpuColumns& x, const GpuColumns& weights,
                   float* out, void* scratch) {
  if (x.width == 0) return;
  auto* const parts = static_cast<float*>(scratch);
  const uint32_t tiles = TilesOf(x.width);
  WithElements(x.type, weights.type, [&](auto of_x, auto of_weights) {
    using T = typename decltype(of_x)::type;
    using W = typename decltype(of_weights)::type;
    const ColumnsOf<T> columns(x);
    const ColumnsOf<W> weight(weights);
    SumParts<T, W>
        <<<tiles * kSumParts, kLayerThreads, 0, StreamOf(exec)>>>(columns, weight, samples, parts);
  });
  JoinColumnParts(exec, parts, x.width, out);
}

void GpuReluBack(const Exec& exec, size_t samples, bool relu, float scale, const GpuColumns& y,
                 const GpuColumns& dy, float* sums, void* scratch) {
  WithElement(dy.type, [&](auto element) {
    using T = typename decltype(element)::type;
    WithVectors<T>({y, dy}, [&](auto at_once) {
      constexpr uint32_t kAtOnce = decltype(at_once)::value;
      const Stop<T, kAtOnce> stop{ColumnsOf<T>(y), ColumnsOf<T>(dy), relu, scale};
      RunWithColumnSums<kAtOnce>(exec, stop, samples, dy.width, sums, scratch);
    });
  });
}

void GpuDot(const Exec& exec, size_t samples, const GpuColumns& x, const float* w,
            const float* bias, const GpuColumns& y, bool adds) {
  WithElements(x.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachSample(exec, Dot<X, Y>{ColumnsOf<X>(x), w, bias, ColumnsOf<Y>(y), adds}, samples);
  });
}

void GpuDotBack(const Exec& exec, size_t samples, const float* w, const GpuColumns& dy,
                const GpuColumns& dx, bool adds) {
  WithElements(dx.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachElement(exec, DotBack<X, Y>{w, ColumnsOf<Y>(dy), ColumnsOf<X>(dx), adds}, samples,
                      dx.width);
  });
}

void GpuFm(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x, float* sums,
           const GpuColumns& y) {
  WithElements(x.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const size_t dim = x.width / vectors;
    RunForEachSample(exec, Fm<X, Y>{ColumnsOf<X>(x), vectors, dim, sums, ColumnsOf<Y>(y)}, samples);
  });
}

void GpuFmBack(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
               const float* sums, const GpuColumns& dy, const GpuColumns& dx) {
  WithElements(x.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const auto dim = static_cast<uint32_t>(x.width / vectors);
    WithFours(dim % 4 == 0 && BeginInFours<X>({x, dx}), [&](auto at_once) {
      constexpr uint32_t kAtOnce = decltype(at_once)::value;
      const FmBack<X, Y, kAtOnce> back{ColumnsOf<X>(x), dim, sums, ColumnsOf<Y>(dy),
                                       ColumnsOf<X>(dx)};
      RunForEachElement(exec, back, samples, x.width / kAtOnce);
    });
  });
}

void GpuCross(const Exec& exec, size_t samples, const GpuColumns& x0, const GpuColumns& x,
              const float* w, const float* b, float* products, const GpuColumns& y) {
  WithElement(x.type, [&](auto element) {
    using T = typename decltype(element)::type;
    using Of = ColumnsOf<T>;
    RunForEachSample(exec, Cross<T>{Of(x0), Of(x), w, b, products, Of(y)}, samples);
  });
}

void GpuCrossBack(const Exec& exec, size_t samples, const GpuColumns& x0, const float* w,
                  const float* products, const GpuColumns& dy, float* dproducts,
                  const GpuColumns& dx0, const GpuColumns& dx) {
  WithElement(dy.type, [&](auto element) {
    using T = typename decltype(element)::type;
    using Of = ColumnsOf<T>;
    RunForEachSample(exec, CrossBack<T>{Of(x0), w, products, Of(dy), dproducts, Of(dx0), Of(dx)},
                     samples);
  });
}

void GpuCrossEntropy(const Exec& exec, size_t samples, const GpuColumns& logits,
                     const float* labels, const float* weights, float scale,
                     const GpuColumns& dlogits, double* losses) {
  RunLosses<EntropyOf>(exec, samples, logits, labels, weights, scale, dlogits, losses);
}

void GpuSquaredErrors(const Exec& exec, size_t samples, const GpuColumns& predictions,
                      const float* labels, const float* weights, float scale,
                      const GpuColumns& dpredictions, double* losses) {
  RunLosses<SquareOf>(exec, samples, predictions, labels, weights, scale, dpredictions, losses);
}

void GpuSumLosses(const Exec& exec, size_t samples, const double* losses, double* loss) {
  SumLosses<<<1, kLossThreads, 0, StreamOf(exec)>>>(losses, samples, loss);
}

}  // namespace strata
