#include "kernels/sparse/pooling.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace strata {
namespace {

// With weights of keys, or without, where all are 1.
void CompareWithPlainSums(bool weighted) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const PoolShape shape{
      .samples = 9, .slots = 3, .row_dim = 5, .first = 1, .dim = 4, .stride = 14, .batch_slots = 3};
  const size_t rows_count = 11;
  std::vector<uint32_t> offsets = {0};
  std::vector<uint32_t> index;
  for (size_t slot = 0; slot < shape.samples * shape.slots; ++slot) {
    for (uint64_t keys = random() % 4; keys > 0; --keys) {
      index.push_back(static_cast<uint32_t>(random() % rows_count));
    }
    offsets.push_back(static_cast<uint32_t>(index.size()));
  }
  std::vector<float> rows(rows_count * shape.row_dim);
  for (float& value : rows) value = uniform(random);

  std::vector<float> weights(weighted ? index.size() : 0);
  for (float& weight : weights) weight = 3 * uniform(random);
  const auto weight_of = [&](uint32_t k) { return weighted ? double{weights[k]} : 1; };

  std::vector<float> pooled(shape.samples * shape.stride, 9.0F);
  PoolForward({}, shape, offsets, index, rows, pooled, weights);
  std::vector<float> dpooled(pooled.size());
  for (float& value : dpooled) value = uniform(random);
  std::vector<float> gradients(rows.size(), 0.5F);
  PoolBackward({}, shape, offsets, index, dpooled, gradients, weights);

  std::vector<double> expected_gradients(rows.size(), 0.5);
  for (size_t i = 0; i < shape.samples; ++i) {
    for (size_t s = 0; s < shape.slots; ++s) {
      for (size_t d = 0; d < shape.dim; ++d) {
        const size_t at = i * shape.stride + s * shape.dim + d;
        double sum = 0;
        for (uint32_t k = offsets[i * shape.slots + s]; k < offsets[i * shape.slots + s + 1]; ++k) {
          const size_t element = index[k] * shape.row_dim + shape.first + d;
          sum += weight_of(k) * rows[element];
          expected_gradients[element] += weight_of(k) * dpooled[at];
        }
        EXPECT_NEAR(pooled[at], sum, 1e-6);
      }
    }
    EXPECT_EQ(pooled[i * shape.stride + 12], 9.0F) << "elements behind the slots are not touched";
    EXPECT_EQ(pooled[i * shape.stride + 13], 9.0F);
  }
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(gradients[i], expected_gradients[i], 1e-5);
}

TEST(Pooling, SharesOfRowsTogetherGiveAllGradients) {
  std::mt19937_64 random(8);
  constexpr size_t kRows = 100;
  const PoolShape shape{
      .samples = 200, .slots = 2, .row_dim = 3, .dim = 3, .stride = 6, .batch_slots = 2};
  std::vector<uint32_t> offsets = {0};
  std::vector<uint32_t> index;
  for (size_t bag = 0; bag < shape.samples * shape.slots; ++bag) {
    index.push_back(static_cast<uint32_t>(random() % kRows));
    offsets.push_back(static_cast<uint32_t>(index.size()));
  }
  std::vector<float> dpooled(shape.samples * shape.stride);
  for (float& value : dpooled) value = static_cast<float>(random() % 1000) / 999;
  std::vector<float> expected(kRows * shape.row_dim);
  PoolBackward({}, shape, offsets, index, dpooled, expected);
  for (const uint32_t shares : {1U, 2U, 8U, 64U}) {
    std::vector<float> gradients(expected.size());
    for (uint32_t number = 0; number < shares; ++number) {
      PoolBackward({}, shape, offsets, index, dpooled, gradients, {}, {number, shares});
    }
    EXPECT_EQ(gradients, expected) << shares << " shares";
  }
}

TEST(Pooling, AgreesWithPlainSumsForRaggedSlots) { CompareWithPlainSums(false); }

TEST(Pooling, MultipliesRowsAndGradientsByTheWeightsOfKeys) { CompareWithPlainSums(true); }

// To the bit: sums of floats in the order of the keys.
TEST(Pooling, WeightsOfOneAreNoWeights) {
  const PoolShape shape{
      .samples = 1, .slots = 2, .row_dim = 1, .first = 0, .dim = 1, .stride = 2, .batch_slots = 2};
  const std::vector<uint32_t> offsets = {0, 3, 4};
  const std::vector<uint32_t> index = {0, 1, 2, 1};
  const std::vector<float> rows = {0.1F, 1e8F, -1e8F};
  const std::vector<float> expected = {(0.1F + 1e8F) - 1e8F, 1e8F};
  for (const std::vector<float>& weights : {std::vector<float>(), std::vector<float>(4, 1.0F)}) {
    std::vector<float> pooled(2);
    PoolForward({}, shape, offsets, index, rows, pooled, weights);
    EXPECT_EQ(pooled, expected);
    std::vector<float> gradients = {0.1F, 1e8F, 3};
    PoolBackward({}, shape, offsets, index, std::vector<float>{-1e8F, 0.2F}, gradients, weights);
    EXPECT_EQ(gradients, (std::vector<float>{0.1F - 1e8F, (1e8F - 1e8F) + 0.2F, 3 - 1e8F}));
  }
}

}  // namespace
}  // namespace strata
