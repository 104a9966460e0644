#include "kernels/dense/elementwise.h"

#include <type_traits>

#include "kernels/core/wide_vectors.h"

namespace strata {
namespace {

template <typename Apply>
void ForEachElement(size_t samples, size_t width, const Apply& apply) {
  WithWideVectors([&] {
    for (size_t i = 0; i < samples; ++i) {
      for (size_t e = 0; e < width; ++e) apply(i, e);
    }
  });
}

// Calls run(std::integral_constant) with the activation, so that loops need not look at it.
template <typename Run>
void WithActivation(Activation activation, const Run& run) {
  switch (activation) {
    case Activation::kNone:
      return run(std::integral_constant<Activation, Activation::kNone>());
    case Activation::kRelu:
      return run(std::integral_constant<Activation, Activation::kRelu>());
    case Activation::kSigmoid:
      return run(std::integral_constant<Activation, Activation::kSigmoid>());
    case Activation::kTanh:
      return run(std::integral_constant<Activation, Activation::kTanh>());
  }
}

}  // namespace

void Activate(const Exec& /*exec*/, const PairShape& shape, Activation activation,
              std::span<const float> from, std::span<float> to) {
  WithActivation(activation, [&](auto of) {
    ForEachElement(shape.samples, shape.width, [&](size_t i, size_t e) {
      to[i * shape.to_stride + e] = Activated(of, from[i * shape.from_stride + e]);
    });
  });
}

void ActivateBack(const Exec& /*exec*/, const PairShape& shape, Activation activation,
                  std::span<const float> y, std::span<const float> dy, std::span<float> dx,
                  bool adds) {
  WithActivation(activation, [&](auto of) {
    ForEachElement(shape.samples, shape.width, [&](size_t i, size_t e) {
      const size_t from = i * shape.from_stride + e;
      const float d = ActivatedBack(of, y[from], dy[from]);
      float& to = dx[i * shape.to_stride + e];
      to = adds ? to + d : d;
    });
  });
}

void Multiply(const Exec& /*exec*/, const ProductShape& shape, std::span<const float> a,
              std::span<const float> b, std::span<float> y) {
  ForEachElement(shape.samples, shape.width, [&](size_t i, size_t e) {
    y[i * shape.y_stride + e] = a[i * shape.a_stride + e] * b[i * shape.b_stride + e];
  });
}

void MultiplyBack(const Exec& /*exec*/, const ProductShape& shape, std::span<const float> a,
                  std::span<const float> b, std::span<const float> dy, std::span<float> da,
                  std::span<float> db) {
  ForEachElement(shape.samples, shape.width, [&](size_t i, size_t e) {
    const float d = dy[i * shape.y_stride + e];
    const size_t at_a = i * shape.a_stride + e;
    const size_t at_b = i * shape.b_stride + e;
    da[at_a] += d * b[at_b];
    db[at_b] += d * a[at_a];
  });
}

void SumVectors(const Exec& /*exec*/, const PairShape& shape, size_t vectors,
                std::span<const float> x, std::span<float> y) {
  ForEachElement(shape.samples, shape.width, [&](size_t i, size_t e) {
    float sum = 0.0F;
    for (size_t v = 0; v < vectors; ++v) sum += x[i * shape.from_stride + v * shape.width + e];
    y[i * shape.to_stride + e] = sum;
  });
}

void SumVectorsBack(const Exec& /*exec*/, const PairShape& shape, size_t vectors,
                    std::span<const float> dy, std::span<float> dx) {
  ForEachElement(shape.samples, shape.width, [&](size_t i, size_t e) {
    const float d = dy[i * shape.to_stride + e];
    for (size_t v = 0; v < vectors; ++v) dx[i * shape.from_stride + v * shape.width + e] += d;
  });
}

}  // namespace strata
