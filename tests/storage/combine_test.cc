#include "storage/memory/combine.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/chosen_keys.h"

namespace strata {
namespace {

struct Batch {
  std::vector<Key> keys;
  std::vector<float> gradients;
  GradientPart part() const { return {keys, gradients}; }
};

TEST(GradientCombinerTest, SumsInTheOrderOfPartsAndPositions) {
  GradientCombiner combiner;
  const Batch first{{4, 9, 4}, {1e8F, 5.0F, 1.0F}};
  const Batch second{{9, 4}, {6.0F, -1e8F}};
  const GradientPart parts[] = {first.part(), second.part()};
  combiner.Combine(parts, 1);
  ASSERT_EQ(combiner.keys().size(), 2U);
  EXPECT_EQ(combiner.keys()[0], 4U);
  EXPECT_EQ(*combiner.gradient(0), 0.0F) << "(1e8 + 1) - 1e8, not 1 + (1e8 - 1e8)";
  EXPECT_EQ(*combiner.gradient(1), 11.0F);
  EXPECT_EQ(combiner.parts(0), 2U);
  EXPECT_EQ(combiner.occurrences(), 5U);
  const GradientPart swapped[] = {second.part(), first.part()};
  combiner.Combine(swapped, 1);
  EXPECT_EQ(combiner.keys()[0], 9U);
  EXPECT_EQ(*combiner.gradient(1), 1.0F) << "(-1e8 + 1e8) + 1";
}

TEST(GradientCombinerTest, AKeyThatComesOnceIsReadInPlace) {
  GradientCombiner combiner;
  const Batch batch{{1, 2, 1}, {1, 2, 3}};
  const GradientPart part = batch.part();
  combiner.Combine({&part, 1}, 1);
  EXPECT_EQ(combiner.gradient(1), &batch.gradients[1]);
  combiner.Combine({}, 1);
  EXPECT_TRUE(combiner.keys().empty());
}

TEST(GradientCombinerTest, EqualsAMapForManyShapes) {
  std::mt19937_64 random(1);
  GradientCombiner combiner;  // one for all rounds: nothing of an earlier round may show
  for (int round = 0; round < 300; ++round) {
    const auto dim = static_cast<uint32_t>(random() % 20 + 1);
    const uint64_t universe = random() % 3 == 0 ? UINT64_MAX : random() % 200 + 1;
    std::vector<Batch> batches(random() % 4);
    std::vector<GradientPart> parts;
    std::map<Key, std::vector<float>> sums;
    std::map<Key, std::map<size_t, int>> parts_of;
    for (size_t b = 0; b < batches.size(); ++b) {
      Batch& batch = batches[b];
      batch.keys.resize(random() % 300);
      batch.gradients.resize(batch.keys.size() * dim);
      for (Key& key : batch.keys) key = random() % universe;
      for (float& g : batch.gradients) g = static_cast<float>(random() % 1000) * 1e-3F;
      for (size_t i = 0; i < batch.keys.size(); ++i) {
        std::vector<float>& sum = sums[batch.keys[i]];
        const float* gradient = &batch.gradients[i * dim];
        if (sum.empty()) {
          sum.assign(gradient, gradient + dim);
        } else {
          for (uint32_t d = 0; d < dim; ++d) sum[d] += gradient[d];
        }
        parts_of[batch.keys[i]][b] = 1;
      }
      parts.push_back(batch.part());
    }
    combiner.Combine(parts, dim);
    ASSERT_EQ(combiner.keys().size(), sums.size());
    for (size_t i = 0; i < combiner.keys().size(); ++i) {
      const Key key = combiner.keys()[i];
      const float* found = combiner.gradient(i);
      ASSERT_EQ(std::vector<float>(found, found + dim), sums.at(key));
      ASSERT_EQ(combiner.parts(i), parts_of.at(key).size());
    }
  }
}

// At most half of the places are taken: one in two keys passes another one's.
TEST(GradientCombinerTest, ChosenKeysCostNoMoreThanOthers) {
  for (const std::vector<Key>& keys : test::ChosenKeys(40'000)) {
    GradientCombiner combiner;
    const std::vector<float> gradients(keys.size(), 1.0F);
    const GradientPart part{keys, gradients};
    combiner.Combine({&part, 1}, 1);
    EXPECT_EQ(combiner.keys().size(), keys.size());
    EXPECT_LT(combiner.passed(), keys.size());
  }
}

}  // namespace
}  // namespace strata
