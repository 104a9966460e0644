#include "storage/memory/row_slabs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>

#include "base/seeded_hash.h"

namespace strata {
namespace {

constexpr uint32_t kDim = 1024;  // 64 rows a slab: a few rows are many slabs

constexpr SeededHash kHash{7};

uint64_t OrderOf(Key key) { return kHash(key); }

class RowSlabsTest : public testing::TestWithParam<RowOrder> {
 protected:
  void Add(RowSlabs& rows, Key key) {
    ASSERT_TRUE(rows.Reserve(1).ok());
    const uint64_t row = rows.Add(key);
    ASSERT_TRUE(rows_.emplace(row, key).second) << "row " << row << " is given out twice";
    ASSERT_LT(row, rows.numbers());
  }
  void Remove(RowSlabs& rows, uint64_t row) {
    rows.Remove(row);
    rows_.erase(row);
  }
  void Check(const RowSlabs& rows) const {
    ASSERT_EQ(rows.rows(), rows_.size());
    uint64_t live = 0;
    for (uint64_t row = 0; row < rows.numbers(); ++row) live += rows.IsLive(row) ? 1 : 0;
    ASSERT_EQ(live, rows_.size());
    for (const auto& [row, key] : rows_) {
      ASSERT_TRUE(rows.IsLive(row));
      ASSERT_EQ(rows.KeyOf(row), key);
    }
  }

  std::unordered_map<uint64_t, Key> rows_;  // by number
};

TEST_P(RowSlabsTest, ARowsNumberIsItsOwnUntilItIsErased) {
  RowSlabs rows({kDim, 0}, nullptr, GetParam(), kHash);
  std::mt19937_64 random(1);
  for (int wave = 0; wave < 6; ++wave) {
    for (int i = 0; i < 10'000; ++i) ASSERT_NO_FATAL_FAILURE(Add(rows, random()));
    const uint64_t numbers = rows.numbers();
    for (uint64_t row = 0; row < numbers; ++row) {
      if (rows.IsLive(row) && random() % 3 == 0) Remove(rows, row);
    }
    ASSERT_NO_FATAL_FAILURE(Check(rows));
  }
}

// Numbers of erased rows are given out again, before there are new slabs.
TEST_P(RowSlabsTest, ErasedRowsMakeRoom) {
  RowSlabs rows({kDim, 0}, nullptr, GetParam(), kHash);
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) ASSERT_NO_FATAL_FAILURE(Add(rows, random()));
  const uint64_t bytes = rows.bytes();
  for (int round = 0; round < 20'000; ++round) {
    const auto [row, key] = *rows_.begin();
    Remove(rows, row);
    ASSERT_NO_FATAL_FAILURE(Add(rows, random()));
  }
  EXPECT_LT(rows.bytes(), bytes + bytes / 10);
  ASSERT_NO_FATAL_FAILURE(Check(rows));
}

// A region that is full takes room of others: all that fits the budget can be used.
TEST_P(RowSlabsTest, AllRoomCanBeUsedWhateverTheKeys) {
  MemoryBudget budget(0);
  RowSlabs rows({kDim, 0}, &budget, GetParam(), kHash);
  budget.SetMax(300 * rows.slab_bytes());
  constexpr uint64_t kRows = 300 * 64;
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < kRows / 2; ++i) ASSERT_NO_FATAL_FAILURE(Add(rows, random()));
  while (rows.rows() < kRows) {
    const Key key = random();
    if (OrderOf(key) >> 60 != 7) continue;
    ASSERT_NO_FATAL_FAILURE(Add(rows, key));
  }
  EXPECT_EQ(rows.Reserve(1).code(), StatusCode::kRefused);
  ASSERT_NO_FATAL_FAILURE(Check(rows));
  Remove(rows, 17);
  ASSERT_NO_FATAL_FAILURE(Add(rows, 5));
  EXPECT_EQ(rows.Reserve(1).code(), StatusCode::kRefused);
}

INSTANTIATE_TEST_SUITE_P(Orders, RowSlabsTest,
                         testing::Values(RowOrder::kAsTheyCome, RowOrder::kByHome),
                         [](const auto& one) {
                           return one.param == RowOrder::kByHome ? "ByHome" : "AsTheyCome";
                         });

// Slabs in which a 64th of the keys lies, as they come one behind the other by home.
size_t SlabsOfNeighbours(RowOrder order) {
  RowSlabs rows({kDim, 0}, nullptr, order, kHash);
  std::vector<std::pair<uint64_t, uint64_t>> placed;  // order, row
  std::mt19937_64 random(4);
  for (int i = 0; i < 64'000; ++i) {
    const Key key = random();
    EXPECT_TRUE(rows.Reserve(1).ok());
    placed.emplace_back(OrderOf(key), rows.Add(key));
  }
  std::ranges::sort(placed);
  std::set<uint64_t> slabs;
  for (size_t i = 0; i < placed.size() / 64; ++i) slabs.insert(rows.SlabEnd(placed[i].second));
  return slabs.size();
}

TEST(RowSlabsOrderTest, NeighboursByHomeShareSlabs) {
  // 1,000 rows fill 16 slabs. Those that came when regions were larger lie further apart.
  EXPECT_LT(SlabsOfNeighbours(RowOrder::kByHome), 250U);
  EXPECT_GT(SlabsOfNeighbours(RowOrder::kAsTheyCome), 500U);
}

}  // namespace
}  // namespace strata
