// Values numbered in the order in which they come, held against a std::map.
#include "worker/gbdt/catboost/train/value_numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace strata {
namespace {

TEST(ValueNumbers, AreThoseOfAMap) {
  std::mt19937_64 random(11);
  ValueNumbers numbers;
  std::map<uint64_t, uint32_t> expected;
  for (size_t batch = 0; batch < 20; ++batch) {
    std::vector<uint64_t> values;
    for (size_t i = 0; i < 500; ++i) values.push_back(random() % (1 + 100 * batch) << (batch % 40));
    values.push_back(0);
    values.push_back(~uint64_t{0});
    const std::vector<uint32_t> found = numbers.Of(values);
    ASSERT_EQ(found.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto next = static_cast<uint32_t>(expected.size());
      ASSERT_EQ(found[i], expected.try_emplace(values[i], next).first->second);
      ASSERT_EQ(numbers.values()[found[i]], values[i]);
      ASSERT_EQ(numbers.Of(values[i]), found[i]);
    }
  }
  EXPECT_EQ(numbers.size(), expected.size());
}

}  // namespace
}  // namespace strata
