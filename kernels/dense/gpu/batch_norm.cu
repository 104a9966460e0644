// Batch normalisation (kernels/dense/batch_norm.h): sums over samples, then all elements at once.
#include "kernels/dense/batch_norm.h"
#include "kernels/dense/gpu/column_sums.cuh"
#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/layers.h"

namespace strata {
namespace {

// The sum of the squares of x - mean.
template <typename X>
struct SumApart {
  ColumnsOf<X> x;
  const float* totals;  // of each column
  float samples;

  static constexpr uint32_t kAhead = 4;
  using Loaded = float;
  __device__ Loaded Load(size_t i, size_t e) const { return x.Get(i, e); }
  __device__ void operator()(Loaded loaded, size_t /*i*/, size_t e, float (&sum)[1]) const {
    const float apart = loaded - totals[e] / samples;
    sum[0] = fmaf(apart, apart, sum[0]);
  }
};

// Makes moments of what lies in their place: the columns' totals, and their sums of squares.
struct MakeMoments {
  size_t width;
  float samples;
  const float* statistics;
  float* moments;
  float* sums;
  __device__ void operator()(size_t /*one*/, size_t e) const {
    const float mean = moments[e] / samples;
    const float squares = moments[width + e];
    const float moved = mean - statistics[e];
    moments[e] = mean;
    moments[width + e] = NormalScale(squares / samples);
    sums[e] = samples * moved;
    sums[width + e] = squares + samples * moved * moved;
  }
};

struct TakeMoments {
  size_t width;
  const float* statistics;
  float* moments;
  __device__ void operator()(size_t /*one*/, size_t e) const {
    moments[e] = statistics[e];
    moments[width + e] = NormalScale(statistics[width + e]);
  }
};

template <typename X, typename Y>
struct NormaliseColumns {
  ColumnsOf<X> x;
  const float* moments;
  const float* scales;
  const float* biases;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i, size_t e) const {
    const float normal = (x.Get(i, e) - moments[e]) * moments[x.width + e];
    y.Set(i, e, normal * scales[e] + biases[e]);
  }
};

// The sum of what each sample gives to its column's scale.
template <typename X, typename Y>
struct SumScales {
  ColumnsOf<X> x;
  const float* moments;
  ColumnsOf<Y> dy;

  static constexpr uint32_t kAhead = 4;
  struct Loaded {
    float x;
    float dy;
  };
  __device__ Loaded Load(size_t i, size_t e) const { return {x.Get(i, e), dy.Get(i, e)}; }
  __device__ void operator()(const Loaded& loaded, size_t /*i*/, size_t e, float (&sum)[1]) const {
    sum[0] = fmaf(loaded.dy, (loaded.x - moments[e]) * moments[x.width + e], sum[0]);
  }
};

template <typename X, typename Y>
struct NormaliseColumnsBack {
  ColumnsOf<X> x;
  float samples;
  const float* moments;
  const float* scales;
  const float* dscales;
  const float* dbiases;
  ColumnsOf<Y> dy;
  ColumnsOf<X> dx;
  bool adds;
  __device__ void operator()(size_t i, size_t e) const {
    const float scale = moments[x.width + e];
    const float normal = (x.Get(i, e) - moments[e]) * scale;
    const float gradient =
        scales[e] * scale * (dy.Get(i, e) - dbiases[e] / samples - normal * (dscales[e] / samples));
    dx.Set(i, e, adds ? dx.Get(i, e) + gradient : gradient);
  }
};

struct MoveColumns {
  size_t width;
  double samples;
  const float* sums;
  float* statistics;
  __device__ void operator()(size_t /*one*/, size_t e) const {
    MoveColumn(samples, sums[e], sums[width + e], &statistics[e], &statistics[width + e]);
  }
};

}  // namespace

void GpuBatchMoments(const Exec& exec, size_t samples, const GpuColumns& x, const float* statistics,
                     float* moments, float* sums, void* scratch) {
  const auto count = static_cast<float>(samples);
  GpuSumColumns(exec, samples, x, {}, moments, scratch);
  WithElement(x.type, [&](auto element) {
    using X = typename decltype(element)::type;
    RunWithColumnSums<1>(exec, SumApart<X>{ColumnsOf<X>(x), moments, count}, samples, x.width,
                         moments + x.width, scratch);
  });
  RunForEachElement(exec, MakeMoments{x.width, count, statistics, moments, sums}, 1, x.width);
}

void GpuRunningMoments(const Exec& exec, size_t width, const float* statistics, float* moments) {
  RunForEachElement(exec, TakeMoments{width, statistics, moments}, 1, width);
}

void GpuBatchNorm(const Exec& exec, size_t samples, const GpuColumns& x, const float* moments,
                  const float* scales, const float* biases, const GpuColumns& y) {
  WithElements(x.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const NormaliseColumns<X, Y> normalise{ColumnsOf<X>(x), moments, scales, biases,
                                           ColumnsOf<Y>(y)};
    RunForEachElement(exec, normalise, samples, x.width);
  });
}

void GpuBatchNormSums(const Exec& exec, size_t samples, const GpuColumns& x, const float* moments,
                      const GpuColumns& dy, float* dscales, float* dbiases, void* scratch) {
  GpuSumColumns(exec, samples, dy, {}, dbiases, scratch);
  WithElements(x.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunWithColumnSums<1>(exec, SumScales<X, Y>{ColumnsOf<X>(x), moments, ColumnsOf<Y>(dy)}, samples,
                         x.width, dscales, scratch);
  });
}

void GpuBatchNormBack(const Exec& exec, size_t samples, const GpuColumns& x, const float* moments,
                      const float* scales, const float* dscales, const float* dbiases,
                      const GpuColumns& dy, const GpuColumns& dx, bool adds) {
  WithElements(x.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const NormaliseColumnsBack<X, Y> back{ColumnsOf<X>(x),
                                          static_cast<float>(samples),
                                          moments,
                                          scales,
                                          dscales,
                                          dbiases,
                                          ColumnsOf<Y>(dy),
                                          ColumnsOf<X>(dx),
                                          adds};
    RunForEachElement(exec, back, samples, x.width);
  });
}

void GpuMoveStatistics(const Exec& exec, size_t width, size_t samples, const float* sums,
                       float* statistics) {
  if (samples < 2) return;
  RunForEachElement(exec, MoveColumns{width, static_cast<double>(samples), sums, statistics}, 1,
                    width);
}

}  // namespace strata
