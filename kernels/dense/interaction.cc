#include "kernels/dense/interaction.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/core/wide_vectors.h"

namespace strata {
namespace {

constexpr size_t kLanes = 8;   // products that are summed side by side, each in the order of d
constexpr size_t kBlock = 16;  // elements of a gradient that are summed side by side

// Returns the place of the product of vectors v and u, u below v, among those of a sample.
size_t PlaceOf(size_t v, size_t u) { return v * (v - 1) / 2 + u; }

// to[d] += the sum over the other vectors u, in order, of g(v, u) * from[u][d], for `width`
// elements from `first` on. Whole blocks know their width, and vectorise.
template <typename Width>
void AddOthers(const InteractionShape& shape, size_t v, size_t first, Width width,
               const float* __restrict from, const float* __restrict g, float* __restrict to) {
  float sums[kBlock];
  std::copy_n(to + first, static_cast<size_t>(width), sums);
  const auto add = [&](size_t u, float of_product) {
    const float* const other = from + u * shape.dim + first;
    for (size_t d = 0; d < width; ++d) sums[d] += of_product * other[d];
  };
  for (size_t u = 0; u < v; ++u) add(u, g[PlaceOf(v, u)]);
  for (size_t u = v + 1; u < shape.vectors; ++u) add(u, g[PlaceOf(u, v)]);
  std::copy_n(sums, static_cast<size_t>(width), to + first);
}

}  // namespace

void InteractionForward(const Exec& /*exec*/, const InteractionShape& shape,
                        std::span<const float> x, std::span<float> y) {
  // The vectors' elements, the first ones of all side by side, and so on.
  const size_t lanes = (shape.vectors + kLanes - 1) / kLanes * kLanes;
  std::vector<float> turned(shape.dim * lanes);
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      const float* from = x.data() + i * shape.x_stride;
      float* const to = y.data() + i * shape.y_stride;
      float* at = std::copy_n(from, shape.dim, to);
      for (size_t v = 0; v < shape.vectors; ++v) {
        for (size_t d = 0; d < shape.dim; ++d) turned[d * lanes + v] = from[v * shape.dim + d];
      }
      for (size_t v = 1; v < shape.vectors; ++v) {
        const float* const its = from + v * shape.dim;
        for (size_t u = 0; u < v; u += kLanes) {
          float products[kLanes] = {};
          const float* others = turned.data() + u;
          for (size_t d = 0; d < shape.dim; ++d, others += lanes) {
            for (size_t lane = 0; lane < kLanes; ++lane) products[lane] += its[d] * others[lane];
          }
          at = std::copy_n(products, std::min(kLanes, v - u), at);
        }
      }
      std::fill(at, to + shape.y_width, 0.0F);
    }
  });
}

void InteractionBackward(const Exec& /*exec*/, const InteractionShape& shape,
                         std::span<const float> x, std::span<const float> dy, std::span<float> dx) {
  WithWideVectors([&] {
    for (size_t i = 0; i < shape.samples; ++i) {
      const float* const from = x.data() + i * shape.x_stride;
      const float* const g = dy.data() + i * shape.y_stride;
      float* const to = dx.data() + i * shape.x_stride;
      for (size_t d = 0; d < shape.dim; ++d) to[d] += g[d];
      for (size_t v = 0; v < shape.vectors; ++v) {
        size_t first = 0;
        for (; first + kBlock <= shape.dim; first += kBlock) {
          AddOthers(shape, v, first, std::integral_constant<size_t, kBlock>(), from, g + shape.dim,
                    to + v * shape.dim);
        }
        if (first < shape.dim) {
          AddOthers(shape, v, first, shape.dim - first, from, g + shape.dim, to + v * shape.dim);
        }
      }
    }
  });
}

}  // namespace strata
