// Interactions and their gradient against plain loops, to the bit.
#include "kernels/dense/interaction.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace strata {
namespace {

std::vector<float> DrawValues(size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

void PlainForward(const InteractionShape& shape, const std::vector<float>& x,
                  std::vector<float>& y) {
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* const from = x.data() + i * shape.x_stride;
    float* at = y.data() + i * shape.y_stride;
    float* const end = at + shape.y_width;
    for (size_t d = 0; d < shape.dim; ++d) *at++ = from[d];
    for (size_t v = 1; v < shape.vectors; ++v) {
      for (size_t u = 0; u < v; ++u) {
        float product = 0.0F;
        for (size_t d = 0; d < shape.dim; ++d) {
          product += from[v * shape.dim + d] * from[u * shape.dim + d];
        }
        *at++ = product;
      }
    }
    while (at < end) *at++ = 0.0F;
  }
}

void PlainBackward(const InteractionShape& shape, const std::vector<float>& x,
                   const std::vector<float>& dy, std::vector<float>& dx) {
  for (size_t i = 0; i < shape.samples; ++i) {
    const float* const from = x.data() + i * shape.x_stride;
    const float* at = dy.data() + i * shape.y_stride;
    float* const to = dx.data() + i * shape.x_stride;
    for (size_t d = 0; d < shape.dim; ++d) to[d] += *at++;
    for (size_t v = 1; v < shape.vectors; ++v) {
      for (size_t u = 0; u < v; ++u) {
        const float g = *at++;
        for (size_t d = 0; d < shape.dim; ++d) {
          to[v * shape.dim + d] += g * from[u * shape.dim + d];
          to[u * shape.dim + d] += g * from[v * shape.dim + d];
        }
      }
    }
  }
}

TEST(Interaction, AgreesWithPlainLoopsToTheBit) {
  std::mt19937_64 random(6);
  for (const size_t vectors : {1UL, 2UL, 9UL, 27UL}) {
    for (const size_t dim : {1UL, 5UL, 16UL, 21UL, 48UL}) {
      const size_t width = dim + vectors * (vectors - 1) / 2 + 3;
      const InteractionShape shape{.samples = 3,
                                   .vectors = vectors,
                                   .dim = dim,
                                   .x_stride = vectors * dim + 2,
                                   .y_stride = width + 1,
                                   .y_width = width};
      const auto x = DrawValues(shape.samples * shape.x_stride, random);
      const auto dy = DrawValues(shape.samples * shape.y_stride, random);
      std::vector<float> y(dy.size(), 7.0F);
      std::vector<float> expected_y = y;
      InteractionForward({}, shape, x, y);
      PlainForward(shape, x, expected_y);
      EXPECT_EQ(y, expected_y) << vectors << " vectors of " << dim;
      std::vector<float> dx = DrawValues(x.size(), random);
      std::vector<float> expected_dx = dx;
      InteractionBackward({}, shape, x, dy, dx);
      PlainBackward(shape, x, dy, expected_dx);
      EXPECT_EQ(dx, expected_dx) << vectors << " vectors of " << dim;
    }
  }
}

}  // namespace
}  // namespace strata
