// Layer normalisation (kernels/dense/layer_norm.h): a warp for each sample.
#include "kernels/core/math.h"
#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/layers.h"
#include "kernels/dense/layer_norm.h"

namespace strata {
namespace {

template <typename X, typename Y>
struct Normalise {
  ColumnsOf<X> x;
  const float* scales;
  const float* biases;
  float* moments;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i) const {
    const auto width = static_cast<float>(x.width);
    float sum = 0.0F;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) sum += x.Get(i, e);
    const float mean = WarpSum(sum) / width;
    float squares = 0.0F;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) {
      const float apart = x.Get(i, e) - mean;
      squares = fmaf(apart, apart, squares);
    }
    const float scale = 1.0F / math::Sqrt(WarpSum(squares) / width + kLayerNormEpsilon);
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) {
      y.Set(i, e, (x.Get(i, e) - mean) * scale * scales[e] + biases[e]);
    }
    if (LaneOfWarp() != 0) return;
    moments[i * 2] = mean;
    moments[i * 2 + 1] = scale;
  }
};

template <typename X, typename Y>
struct NormaliseBack {
  ColumnsOf<X> x;
  const float* scales;
  const float* moments;
  ColumnsOf<Y> dy;
  ColumnsOf<float> dscales;  // of each sample
  ColumnsOf<X> dx;
  __device__ void operator()(size_t i) const {
    const auto width = static_cast<float>(x.width);
    const float mean = moments[i * 2];
    const float scale = moments[i * 2 + 1];
    float sum = 0.0F;
    float product = 0.0F;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) {
      const float normal = (x.Get(i, e) - mean) * scale;
      const float d = dy.Get(i, e);
      dscales.Set(i, e, d * normal);
      sum = fmaf(d, scales[e], sum);
      product = fmaf(d * scales[e], normal, product);
    }
    const float mean_gradient = WarpSum(sum) / width;
    const float mean_product = WarpSum(product) / width;
    for (size_t e = LaneOfWarp(); e < x.width; e += 32) {
      const float normal = (x.Get(i, e) - mean) * scale;
      dx.Add(i, e, scale * (dy.Get(i, e) * scales[e] - mean_gradient - normal * mean_product));
    }
  }
};

}  // namespace

void GpuLayerNorm(const Exec& exec, size_t samples, const GpuColumns& x, const float* scales,
                  const float* biases, float* moments, const GpuColumns& y) {
  WithElements(x.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachSample(
        exec, Normalise<X, Y>{ColumnsOf<X>(x), scales, biases, moments, ColumnsOf<Y>(y)}, samples);
  });
}

void GpuLayerNormBack(const Exec& exec, size_t samples, const GpuColumns& x, const float* scales,
                      const float* moments, const GpuColumns& dy, const GpuColumns& dscales,
                      const GpuColumns& dx) {
  WithElements(x.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const NormaliseBack<X, Y> back{
        ColumnsOf<X>(x),           scales,          moments, ColumnsOf<Y>(dy),
        ColumnsOf<float>(dscales), ColumnsOf<X>(dx)};
    RunForEachSample(exec, back, samples);
  });
}

}  // namespace strata
