// Activations, products and sums of vectors, element by element.
#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/layers.h"

namespace strata {
namespace {

template <typename X, typename Y>
struct ActivateOne {
  Activation activation;
  ColumnsOf<X> x;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i, size_t e) const {
    y.Set(i, e, Activated(activation, x.Get(i, e)));
  }
};

template <typename X, typename Y>
struct ActivateOneBack {
  Activation activation;
  ColumnsOf<Y> y;
  ColumnsOf<Y> dy;
  ColumnsOf<X> dx;
  bool adds;
  __device__ void operator()(size_t i, size_t e) const {
    const float d = ActivatedBack(activation, y.Get(i, e), dy.Get(i, e));
    dx.Set(i, e, adds ? dx.Get(i, e) + d : d);
  }
};

template <typename X, typename Y>
struct MultiplyOne {
  ColumnsOf<X> a;
  ColumnsOf<X> b;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i, size_t e) const { y.Set(i, e, a.Get(i, e) * b.Get(i, e)); }
};

template <typename X, typename Y>
struct MultiplyOneBack {
  ColumnsOf<X> a;
  ColumnsOf<X> b;
  ColumnsOf<Y> dy;
  ColumnsOf<X> da;
  ColumnsOf<X> db;
  __device__ void operator()(size_t i, size_t e) const {
    const float d = dy.Get(i, e);
    da.Add(i, e, d * b.Get(i, e));
    db.Add(i, e, d * a.Get(i, e));  // may be the same number as the one before
  }
};

template <typename X, typename Y>
struct SumOne {
  ColumnsOf<X> x;
  uint32_t vectors;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i, size_t e) const {
    float sum = 0.0F;
    for (uint32_t v = 0; v < vectors; ++v) sum += x.Get(i, v * y.width + e);
    y.Set(i, e, sum);
  }
};

template <typename X, typename Y>
struct SumOneBack {
  ColumnsOf<Y> dy;
  ColumnsOf<X> dx;
  __device__ void operator()(size_t i, size_t e) const { dx.Add(i, e, dy.Get(i, e % dy.width)); }
};

}  // namespace

void GpuActivate(const Exec& exec, size_t samples, Activation activation, const GpuColumns& x,
                 const GpuColumns& y) {
  WithElements(x.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachElement(exec, ActivateOne<X, Y>{activation, ColumnsOf<X>(x), ColumnsOf<Y>(y)},
                      samples, y.width);
  });
}

void GpuActivateBack(const Exec& exec, size_t samples, Activation activation, const GpuColumns& y,
                     const GpuColumns& dy, const GpuColumns& dx, bool adds) {
  WithElements(dx.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const ActivateOneBack<X, Y> back{activation, ColumnsOf<Y>(y), ColumnsOf<Y>(dy),
                                     ColumnsOf<X>(dx), adds};
    RunForEachElement(exec, back, samples, dy.width);
  });
}

void GpuMultiply(const Exec& exec, size_t samples, const GpuColumns& a, const GpuColumns& b,
                 const GpuColumns& y) {
  WithElements(a.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachElement(exec, MultiplyOne<X, Y>{ColumnsOf<X>(a), ColumnsOf<X>(b), ColumnsOf<Y>(y)},
                      samples, y.width);
  });
}

void GpuMultiplyBack(const Exec& exec, size_t samples, const GpuColumns& a, const GpuColumns& b,
                     const GpuColumns& dy, const GpuColumns& da, const GpuColumns& db) {
  WithElements(a.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    const MultiplyOneBack<X, Y> back{ColumnsOf<X>(a), ColumnsOf<X>(b), ColumnsOf<Y>(dy),
                                     ColumnsOf<X>(da), ColumnsOf<X>(db)};
    RunForEachElement(exec, back, samples, dy.width);
  });
}

void GpuSumVectors(const Exec& exec, size_t samples, uint32_t vectors, const GpuColumns& x,
                   const GpuColumns& y) {
  WithElements(x.type, y.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachElement(exec, SumOne<X, Y>{ColumnsOf<X>(x), vectors, ColumnsOf<Y>(y)}, samples,
                      y.width);
  });
}

void GpuSumVectorsBack(const Exec& exec, size_t samples, const GpuColumns& dy,
                       const GpuColumns& dx) {
  WithElements(dx.type, dy.type, [&](auto of_x, auto of_y) {
    using X = typename decltype(of_x)::type;
    using Y = typename decltype(of_y)::type;
    RunForEachElement(exec, SumOneBack<X, Y>{ColumnsOf<Y>(dy), ColumnsOf<X>(dx)}, samples,
                      dx.width);
  });
}

}  // namespace strata
