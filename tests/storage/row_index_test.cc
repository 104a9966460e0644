#include "storage/memory/row_index.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <unordered_map>

#include "tests/support/chosen_keys.h"

namespace strata {
namespace {

struct Indexed {
  explicit Indexed(MemoryBudget* budget = nullptr, SeededHash hash = {})
      : rows({1, 0}, budget, RowOrder::kAsTheyCome, hash), index(rows, budget) {}

  void Add(Key key) {
    ASSERT_TRUE(index.Reserve(1).ok());
    ASSERT_TRUE(rows.Reserve(1).ok());
    const uint64_t row = rows.Add(key);
    index.Insert(key, row);
    model[key] = row;
  }
  void Remove(Key key) {
    index.Erase(key);
    rows.Remove(model.at(key));
    model.erase(key);
  }
  void Check(std::span<const Key> keys) const {
    size_t visited = 0;
    index.VisitRows(keys, 8, [&](size_t i, uint64_t row) {
      ASSERT_EQ(i, visited++);
      const auto known = model.find(keys[i]);
      ASSERT_EQ(row, known == model.end() ? kNoRow : known->second) << keys[i];
      ASSERT_EQ(index.Find(keys[i]), row) << keys[i];
    });
    ASSERT_EQ(visited, keys.size());
  }

  RowSlabs rows;
  RowIndex index;
  std::unordered_map<Key, uint64_t> model;
};

TEST(RowIndexTest, AnEmptyIndexHoldsNothing) {
  Indexed table;
  table.Check(std::vector<Key>{0, 1, UINT64_MAX});
  table.Check({});
  EXPECT_EQ(table.index.bytes(), 0U);
}

// Inserts and erases in waves, so that many happen while the old array is being swept.
TEST(RowIndexTest, EqualsAMapThroughGrowthAndErasure) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    Indexed table;
    std::vector<Key> alive;
    for (int step = 0; step < 60'000 && !testing::Test::HasFailure(); ++step) {
      const bool shrinking = step / 7000 % 3 == 2;
      if (alive.empty() || random() % 100 < (shrinking ? 20U : 70U)) {
        const Key key = seed % 2 == 0 ? random() : static_cast<Key>(step);
        if (!table.model.contains(key)) {
          table.Add(key);
          alive.push_back(key);
        }
      } else {
        std::swap(alive[random() % alive.size()], alive.back());
        table.Remove(alive.back());
        if (random() % 2 == 0) {
          table.Add(alive.back());  // an erased key comes back
        } else {
          alive.pop_back();
        }
      }
      if (step % 997 == 0) {
        std::vector<Key> keys = alive;
        for (int i = 0; i < 100; ++i) keys.push_back(random());
        table.Check(keys);
      }
    }
    table.Check(alive);
    EXPECT_EQ(table.rows.rows(), alive.size());
  }
}

// Keys of one shard share the ten highest bits of their hash; the index must not care.
TEST(RowIndexTest, KeysOfOneShardSpreadOut) {
  Indexed table;
  std::vector<Key> keys;
  for (Key key = 0; keys.size() < 20'000; ++key) {
    if (Mix64(key) >> 54 == 5) keys.push_back(key);
  }
  for (const Key key : keys) table.Add(key);
  table.Check(keys);
}

// However keys are chosen, a search reads as many buckets as with any others: growing, too.
TEST(RowIndexTest, ChosenKeysCostNoMoreThanOthers) {
  for (const std::vector<Key>& keys : test::ChosenKeys(40'000)) {
    Indexed table(nullptr, SeededHash{11});  // others rarely have a run of more than 100 buckets
    uint64_t read = 0, most = 0;
    for (const Key key : keys) {
      table.Add(key);
      read += table.index.BucketsRead(key);
      most = std::max(most, table.index.BucketsRead(key));
    }
    // The last keys of an array that is nearly full lie two buckets from their home, on average.
    EXPECT_LT(read, 3 * keys.size());
    EXPECT_LT(most, 100U);
  }
}

// Keys whose homes are the last buckets of the array: one long run of full buckets that goes on at
// its beginning, grows, is swept and shrinks again.
TEST(RowIndexTest, ARunThatWrapsAroundKeepsItsKeys) {
  constexpr SeededHash kHash{11};
  std::vector<Key> crowd;
  for (Key key = 0; crowd.size() < 3'000; ++key) {
    if (kHash(key) >> 54 == 1023) crowd.push_back(key);
  }
  Indexed table(nullptr, kHash);
  std::mt19937_64 random(3);
  for (size_t i = 0; i < crowd.size(); ++i) {
    table.Add(crowd[i]);
    if (i % 3 == 0) table.Add(random() | (uint64_t{1} << 63));
    if (i % 4 == 3) table.Remove(crowd[i - 2]);
    if (i % 211 == 0) table.Check(crowd);
  }
  table.Check(crowd);
  for (const Key key : crowd) {
    if (table.model.contains(key)) table.Remove(key);
  }
  table.Check(crowd);
}

TEST(RowIndexTest, GrowthIsSpreadOverTheInsertions) {
  Indexed table;
  uint64_t swept_most = 0;
  uint64_t swept_before = 0;
  for (Key key = 0; key < 400'000; ++key) {
    table.Add(key);
    swept_most = std::max(swept_most, table.index.words_swept() - swept_before);
    swept_before = table.index.words_swept();
  }
  // One stretch of 64 buckets and the rest of a run of full ones, never the table. How long that
  // run is goes by the hash's seed: above 500 words one time in 25, and a tenth as often each 250.
  EXPECT_LE(swept_most, 320U + 5'000U);
  EXPECT_GE(table.index.words_swept(), 400'000U) << "the table did grow";
}

TEST(RowIndexTest, ErasureLeavesNoTombstones) {
  Indexed table;
  for (Key key = 0; key < 10'000; ++key) table.Add(key);
  for (Key key = 0; key < 9'000; ++key) table.Remove(key);
  const uint64_t bytes = table.index.bytes();
  for (Key key = 100'000; key < 1'000'000; ++key) {  // 900,000 rows come and go
    table.Add(key);
    table.Remove(key);
  }
  EXPECT_EQ(table.index.bytes(), bytes);
  EXPECT_EQ(table.rows.numbers(), 10'000U) << "row numbers are used again";
}

TEST(RowIndexTest, ABudgetBoundsIndexAndRows) {
  MemoryBudget budget(1 << 20);
  {
    Indexed table(&budget);
    Key key = 0;
    Status status;
    for (; status.ok(); ++key) {
      status = table.index.Reserve(1);
      if (status.ok()) status = table.rows.Reserve(1);
      if (status.ok()) table.Add(key);
    }
    EXPECT_EQ(status.code(), StatusCode::kRefused);
    EXPECT_LE(budget.used(), budget.bytes_max());
    EXPECT_EQ(budget.used(), table.index.bytes() + table.rows.bytes());
    EXPECT_GT(table.rows.rows(), 5'000U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace strata
