// The orders in which rows come to the statistics of categories.
#include "worker/gbdt/catboost/train/row_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace strata {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<RowOrder> Orders(const CategoryParameters& parameters, size_t rows, uint64_t seed) {
  Random random(seed);
  return MakeRowOrders(parameters, rows, &random);
}

TEST(RowOrders, RowsWithTimesKeepTheirOrder) {
  EXPECT_THAT(Orders({.has_time = true}, 100, 1), ElementsAre(IsEmpty()));
}

TEST(RowOrders, EachFoldHasAnOrderOfItsOwn) {
  const std::vector<RowOrder> orders = Orders({.permutation_count = 4}, 500, 3);
  ASSERT_EQ(orders.size(), 4U);
  for (const RowOrder& order : orders) {
    RowOrder sorted = order;
    std::ranges::sort(sorted);
    for (uint32_t row = 0; row < 500; ++row) ASSERT_EQ(sorted[row], row);
    EXPECT_EQ(std::ranges::count(orders, order), 1);
  }
  EXPECT_EQ(Orders({.permutation_count = 4}, 500, 3), orders);
  EXPECT_NE(Orders({.permutation_count = 4}, 500, 4), orders);
  EXPECT_EQ(Orders({.permutation_count = 1}, 500, 3).size(), 2U);
}

// Neighbours in the first order are neighbours in the others, but at the ends of blocks.
TEST(RowOrders, BlocksStayTogether) {
  constexpr size_t kCount = 103;
  constexpr size_t kBlock = 10;
  const std::vector<RowOrder> orders = Orders({.permutation_block = kBlock}, kCount, 5);
  std::vector<size_t> place(kCount);
  for (size_t i = 0; i < kCount; ++i) place[orders[0][i]] = i;
  for (size_t fold = 1; fold < orders.size(); ++fold) {
    size_t moved = 0;
    for (size_t i = 1; i < kCount; ++i) {
      const size_t before = place[orders[fold][i - 1]];
      const size_t here = place[orders[fold][i]];
      if (here % kBlock != 0) {
        EXPECT_EQ(here, before + 1) << fold;
      } else if (here != before + 1) {
        ++moved;
      }
    }
    EXPECT_GT(moved, 5U) << fold;
  }
}

}  // namespace
}  // namespace strata
