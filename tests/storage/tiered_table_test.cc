// The tiered table beside the std::map model while its rows move all the time.
#include "storage/tiered/tiered_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>

#include "base/thread/thread_time.h"
#include "tests/storage/tier_parts.h"
#include "tests/support/map_table.h"
#include "tests/support/ones.h"

namespace strata {
namespace {

TableSpec Spec(uint32_t dim, OptimizerKind kind = OptimizerKind::kAdaGrad) {
  TableSpec spec;
  spec.name = "t";
  spec.dim = dim;
  spec.optimizer.kind = kind;
  spec.initializer = {InitializerKind::kUniform, 1.0F};
  return spec;
}

// All rows with state and counters as bytes.
std::map<Key, std::string> Contents(const LocalTable& table, uint32_t rows_max) {
  std::map<Key, std::string> rows;
  const size_t width = table.spec().dim + SchemaOf(table.spec()).state_width;
  ScanPage page;
  page.rows_max = rows_max;
  page.with_state = true;
  do {
    EXPECT_TRUE(table.Scan(page).ok());
    for (size_t i = 0; i < page.keys.size(); ++i) {
      std::string bytes(width * sizeof(float) + sizeof(RowCounters), '\0');
      memcpy(bytes.data(), page.rows.data() + i * width, width * sizeof(float));
      memcpy(bytes.data() + width * sizeof(float), &page.counters[i], sizeof(RowCounters));
      EXPECT_TRUE(rows.emplace(page.keys[i], bytes).second) << "twice: " << page.keys[i];
    }
  } while (!page.done);
  return rows;
}

// One table and its model, given the same random calls.
class RandomRun {
 public:
  RandomRun(TieredTable& table, uint64_t seed)
      : table_(table), model_(table.spec()), random_(seed) {}

  void Steps(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) Step();
    EXPECT_EQ(Contents(table_, 97), Contents(model_, 97));
    EXPECT_EQ(table_.Stats().rows, model_.Stats().rows);
    EXPECT_EQ(table_.Stats().lookup_hits, model_.Stats().lookup_hits);
  }

 private:
  void Step() {
    const uint32_t dim = table_.spec().dim;
    std::vector<Key> keys(random_() % 40);
    for (Key& key : keys) key = random_() % (1 + random_() % 700);
    std::vector<float> values(keys.size() * dim);
    for (float& value : values) value = static_cast<float>(random_() % 201) - 100.0F;
    const GradientPart part{keys, values};
    const uint64_t choice = random_() % 100;
    if (choice < 40) {
      ++time_;
      for (LocalTable* each : Both()) ASSERT_TRUE(each->ApplyGradients({&part, 1}, time_).ok());
    } else if (choice < 65) {
      std::vector<float> found(values.size(), -1.0F), expected(values.size(), -2.0F);
      ASSERT_TRUE(table_.Lookup(keys, found).ok());
      ASSERT_TRUE(model_.Lookup(keys, expected).ok());
      ASSERT_TRUE(
          std::ranges::equal(std::as_bytes(std::span(found)), std::as_bytes(std::span(expected))));
    } else if (choice < 75) {
      for (LocalTable* each : Both()) ASSERT_TRUE(each->Assign(keys, values).ok());
    } else if (choice < 85) {
      const Result<uint64_t> erased = table_.Erase(keys);
      ASSERT_TRUE(erased.ok());
      ASSERT_EQ(*erased, model_.Erase(keys).value());
    } else if (choice < 99) {
      table_.Prefetch(keys);
    } else {
      ASSERT_EQ(Contents(table_, 50), Contents(model_, 50));
    }
  }
  std::array<LocalTable*, 2> Both() { return {&table_, &model_}; }

  TieredTable& table_;
  MapTable model_;
  std::mt19937_64 random_;
  uint64_t time_ = 0;
};

TEST(TieredTableTest, RandomRunsEqualTheModelWhateverMoves) {
  for (const bool with_thread : {false, true}) {
    TierParts parts(90, with_thread);
    uint64_t seed = 1;
    for (const KeepPolicy keep : {KeepPolicy::kLru, KeepPolicy::kLfu}) {
      for (const OptimizerKind kind :
           {OptimizerKind::kSgd, OptimizerKind::kAdaGrad, OptimizerKind::kAdam}) {
        SCOPED_TRACE(++seed);
        const TierPolicy policy{.keep = keep};
        TieredTable table(Spec(1 + static_cast<uint32_t>(seed % 5), kind), policy, parts.warm,
                          parts.folder.cold(), *parts.executor);
        RandomRun run(table, seed);
        run.Steps(2000);
        const TierStats stats = table.tier_stats();
        EXPECT_GT(stats.moved_down, 1000U);
        EXPECT_GT(stats.moved_up, 1000U);
        EXPECT_LE(stats.warm_rows, 90U);
        if (HasFailure()) return;
      }
    }
  }
}

// Rows as a checkpoint brings them: by rising hash, by none, and again over what is there.
TEST(TieredTableTest, LoadedRowsAreThereInWhateverOrderTheyCome) {
  const TableSpec spec = Spec(3);
  MapTable source(spec);
  const std::vector<Key> all = Range(1, 3000);
  for (uint64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(Push(source, std::span(all).subspan(step * 500), step).ok());
  }
  ScanPage whole;
  whole.rows_max = 3000;
  whole.with_state = true;
  ASSERT_TRUE(source.Scan(whole).ok());
  const size_t width = 6;
  for (const uint64_t seed : {0U, 1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    OwnTieredTable tiered(spec, {}, 90, /*with_thread=*/seed % 2 == 1);
    OwnRocksTable rocks(spec);
    for (LocalTable* table : std::initializer_list<LocalTable*>{&tiered, &rocks}) {
      MapTable model(spec);
      std::mt19937_64 random(seed);
      std::vector<size_t> order(whole.keys.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::sort(order, {}, [&](size_t i) { return ColdHashOf(whole.keys[i]); });
      // Seed 0 leaves the order as it is; the others move ever more rows, and bring some twice.
      for (uint64_t n = 0; n < seed * seed * 20; ++n) {
        std::swap(order[random() % order.size()], order[random() % order.size()]);
        order.push_back(order[random() % order.size()]);
      }
      for (size_t at = 0; at < order.size(); at += 100) {
        ScanPage page;
        for (const size_t i :
             std::span(order).subspan(at, std::min<size_t>(100, order.size() - at))) {
          page.keys.push_back(whole.keys[i]);
          page.counters.push_back(whole.counters[i]);
          page.rows.insert(page.rows.end(), whole.rows.begin() + static_cast<ptrdiff_t>(i * width),
                           whole.rows.begin() + static_cast<ptrdiff_t>((i + 1) * width));
        }
        ASSERT_TRUE(table->Load(page).ok());
        ASSERT_TRUE(model.Load(page).ok());
        if (seed < 2 || random() % 8 != 0) continue;
        const std::vector<Key> some = Range(1 + random() % 3000, 20);
        if (random() % 2 == 0) {
          ASSERT_TRUE(Push(*table, some, 4).ok() && Push(model, some, 4).ok());
        } else {
          ASSERT_TRUE(table->Erase(some).ok());
          ASSERT_TRUE(model.Erase(some).ok());
        }
      }
      EXPECT_EQ(table->Stats().rows, model.Stats().rows);
      EXPECT_EQ(Contents(*table, 97), Contents(model, 97));
    }
  }
}

TEST(TieredTableTest, WhatIsHotStaysInMemory) {
  for (const KeepPolicy keep : {KeepPolicy::kLru, KeepPolicy::kLfu}) {
    OwnTieredTable table(Spec(2), {.keep = keep}, 1000);
    const std::vector<Key> hot = Range(0, 200);
    for (Key cold = 1000; cold < 21'000; cold += 100) {
      ASSERT_TRUE(Push(table, hot).ok());
      ASSERT_TRUE(Push(table, Range(cold, 100)).ok());
    }
    const uint64_t before = table.tier_stats().cold_hits;
    ASSERT_TRUE(Push(table, hot).ok());
    EXPECT_EQ(table.tier_stats().cold_hits, before);
    EXPECT_LE(table.tier_stats().warm_rows, 1000U);
  }
}

TEST(TieredTableTest, APrefetchBringsRowsUpBeforeTheyAreAskedFor) {
  OwnTieredTable table(Spec(2), {}, 400);
  ASSERT_TRUE(Push(table, Range(0, 200)).ok());
  for (Key key = 1000; key < 3000; key += 50) ASSERT_TRUE(Push(table, Range(key, 50)).ok());
  const std::vector<Key> keys = Range(0, 50);
  table.Prefetch(keys);
  std::vector<float> rows(50 * 2);
  const uint64_t before = table.tier_stats().cold_hits;
  ASSERT_TRUE(table.Lookup(keys, rows).ok());
  EXPECT_EQ(table.tier_stats().cold_hits, before);
  EXPECT_EQ(table.tier_stats().prefetched, 50U);
  MapTable model(Spec(2));
  ASSERT_TRUE(Push(model, keys).ok());
  std::vector<float> expected(50 * 2);
  ASSERT_TRUE(model.Lookup(keys, expected).ok());
  EXPECT_EQ(rows, expected);
}

// Several scans in turns, while rows are made: each has every row once that was there all the time.
TEST(TieredTableTest, ScansInTurnsEachHaveEveryRowOnce) {
  OwnTieredTable table(Spec(2), {}, 2000);
  ASSERT_TRUE(Push(table, Range(0, 5000)).ok());
  std::array<ScanPage, 3> pages;
  std::array<std::map<Key, int>, 3> found;
  for (ScanPage& page : pages) page.rows_max = 50;
  Key next = 10'000;
  for (int round = 0; round < 2000; ++round) {
    for (size_t i = 0; i < pages.size(); ++i) {
      if (pages[i].done || round < static_cast<int>(20 * i)) continue;
      ASSERT_TRUE(table.Scan(pages[i]).ok());
      for (const Key key : pages[i].keys) ++found[i][key];
    }
    if (round < 50) {
      ASSERT_TRUE(Push(table, Range(next += 10, 10)).ok());
    }
    if (round == 10) {
      ASSERT_TRUE(Push(table, Range(20'000, 10)).ok());
    }
  }
  for (size_t i = 0; i < pages.size(); ++i) {
    EXPECT_TRUE(pages[i].done);
    for (Key key = 0; key < 5000; ++key) ASSERT_EQ(found[i][key], 1) << key;
    for (const auto& [key, times] : found[i]) ASSERT_LE(times, 1) << key;
  }
  // Made after the first one began, and before the others did.
  for (Key key = 20'000; key < 20'010; ++key) {
    EXPECT_EQ(found[1][key], 1);
    EXPECT_EQ(found[2][key], 1);
  }
}

TEST(TieredTableTest, APageCostsTheSameWithTwoScans) {
  OwnTieredTable table(Spec(1), {}, 400'000);
  for (Key key = 0; key < 300'000; key += 10'000) ASSERT_TRUE(Push(table, Range(key, 10'000)).ok());
  const auto time_of = [&](ScanPage& page) {
    const TimeNs begin = ThreadTime();
    EXPECT_TRUE(table.Scan(page).ok());
    return ThreadTime() - begin;
  };
  ScanPage first, other;
  first.rows_max = other.rows_max = 100;
  other.cursor = uint64_t{1} << 63;
  time_of(first);
  TimeNs alone = 0;
  for (int i = 0; i < 50; ++i) alone += time_of(first);
  time_of(other);
  TimeNs in_turns = 0;
  for (int i = 0; i < 50; ++i) in_turns += time_of(i % 2 == 0 ? first : other);
  EXPECT_LT(in_turns, 20 * alone);
}

// The time of rows that nobody gets is bounded, too.
TEST(TieredTableTest, APageOfExpiredRowsEnds) {
  TierPolicy policy;
  policy.ttl_steps = 1;
  OwnTieredTable table(Spec(1), policy, 400'000);
  for (Key key = 0; key < 300'000; key += 10'000) ASSERT_TRUE(Push(table, Range(key, 10'000)).ok());
  table.Stepped(100);
  ScanPage page;
  ASSERT_TRUE(table.Scan(page).ok());
  EXPECT_TRUE(page.keys.empty());
  EXPECT_FALSE(page.done);
  ASSERT_TRUE(table.Scan(page).ok());
  EXPECT_TRUE(page.done);
}

TEST(TieredTableTest, ABatchMayBeLargerThanTheTablesShare) {
  OwnTieredTable table(Spec(2), {}, 100);
  MapTable model(Spec(2));
  for (LocalTable* each : {static_cast<LocalTable*>(&table), static_cast<LocalTable*>(&model)}) {
    ASSERT_TRUE(Push(*each, Range(0, 5000)).ok());
    ASSERT_TRUE(Push(*each, Range(100, 10)).ok());
  }
  EXPECT_EQ(Contents(table, 1000), Contents(model, 1000));
}

TEST(TieredTableTest, ABatchThatTheBudgetCannotHoldIsRefusedWhole) {
  ColdFolder folder;
  WarmShares warm(4 << 20);
  warm.BeginLimit();
  const auto executor = MakeInlineExecutor();
  TieredTable table(Spec(16), {}, warm, folder.cold(), *executor);
  ASSERT_TRUE(Push(table, Range(0, 3000)).ok());
  const auto before = Contents(table, 1000);
  const Status status = Push(table, Range(0, 100'000));
  EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
  EXPECT_EQ(Contents(table, 1000), before);
  EXPECT_LE(warm.budget().used(), warm.budget().bytes_max());
  EXPECT_TRUE(Push(table, Range(0, 3000)).ok());
}

TEST(TieredTableTest, MemoryStaysWithinTheBudget) {
  ColdFolder folder;
  WarmShares warm(4 << 20);
  const auto executor = MakeInlineExecutor();
  TieredTable table(Spec(16), {}, warm, folder.cold(), *executor);
  for (Key key = 0; key < 200'000; key += 1000) {
    ASSERT_TRUE(Push(table, Range(key, 1000)).ok());
    ASSERT_LE(warm.budget().used(), warm.budget().bytes_max());
  }
  EXPECT_EQ(table.Stats().rows, 200'000U);
  EXPECT_GT(table.tier_stats().warm_rows, 12'000U);
  EXPECT_EQ(table.Stats().cold_rows, 200'000U - table.tier_stats().warm_rows);
  EXPECT_EQ(Contents(table, 10'000).size(), 200'000U);
}

TEST(TieredTableTest, ATableThatComesLaterGetsItsShareWhenItNeedsIt) {
  ColdFolder folder;
  WarmShares warm(8 << 20);
  const auto executor = MakeInlineExecutor();
  TieredTable first(Spec(16), {}, warm, folder.cold(), *executor);
  MapTable model(Spec(16));
  for (Key key = 0; key < 60'000; key += 1000) {
    ASSERT_TRUE(Push(first, Range(key, 1000)).ok());
    ASSERT_TRUE(Push(model, Range(key, 1000)).ok());
  }
  const uint64_t alone = first.tier_stats().warm_bytes;
  TieredTable second(Spec(16), {}, warm, folder.cold(), *executor);
  ASSERT_TRUE(Push(second, Range(0, 10)).ok());
  ASSERT_TRUE(Push(first, Range(0, 10)).ok());
  ASSERT_TRUE(Push(model, Range(0, 10)).ok());
  EXPECT_EQ(first.tier_stats().warm_bytes, alone) << "nobody needs it";
  for (Key key = 0; key < 60'000; key += 1000) {
    ASSERT_TRUE(Push(second, Range(key, 1000)).ok());
    ASSERT_TRUE(Push(first, Range(key, 1000)).ok());
    ASSERT_TRUE(Push(model, Range(key, 1000)).ok());
  }
  EXPECT_GT(second.tier_stats().warm_rows, 12'000U);
  EXPECT_GT(first.tier_stats().warm_rows, 12'000U);
  EXPECT_LE(warm.budget().used(), warm.budget().bytes_max());
  EXPECT_EQ(Contents(first, 5000), Contents(model, 5000));
}

TEST(TieredTableTest, ALargeTableHasWhatSmallOnesLeave) {
  constexpr uint64_t kBytes = 16 << 20;
  constexpr size_t kSmall = 7;
  ColdFolder folder;
  WarmShares warm(kBytes);
  warm.BeginLimit();
  const auto executor = MakeInlineExecutor();
  std::vector<std::unique_ptr<TieredTable>> small;
  while (small.size() < kSmall) {
    small.push_back(
        std::make_unique<TieredTable>(Spec(16), TierPolicy{}, warm, folder.cold(), *executor));
    ASSERT_TRUE(Push(*small.back(), Range(0, 100)).ok());
  }
  TieredTable large(Spec(16), {}, warm, folder.cold(), *executor);
  for (Key key = 0; key < 200'000; key += 1000) ASSERT_TRUE(Push(large, Range(key, 1000)).ok());
  EXPECT_GT(large.tier_stats().warm_bytes, kBytes / 2);  // an equal part is an eighth

  // Each has its equal part all the same.
  for (Key key = 0; key < 20'000; key += 1000) {
    for (const auto& each : small) {
      ASSERT_TRUE(Push(*each, Range(key, 1000)).ok());
      large.KeepToShare();
    }
  }
  constexpr uint64_t kEqual = kBytes / (kSmall + 1);
  for (const auto& each : small) EXPECT_GT(each->tier_stats().warm_bytes, kEqual / 4 * 3);
  for (Key key = 0; key < 200'000; key += 1000) ASSERT_TRUE(Push(large, Range(key, 1000)).ok());
  EXPECT_GT(large.tier_stats().warm_bytes, kEqual / 4 * 3);
  EXPECT_LE(warm.budget().used(), kBytes);
  EXPECT_EQ(Contents(large, 10'000).size(), 200'000U);
}

// What the first one counts pushes in, of rows that are not there yet, was made when it was alone,
// and is more than its part beside so many.
TEST(TieredTableTest, ManyTablesThatCountPushesKeepToTheirParts) {
  constexpr uint64_t kBytes = 8 << 20;
  ColdFolder folder;
  WarmShares warm(kBytes);
  warm.BeginLimit();
  const auto executor = MakeInlineExecutor();
  std::vector<std::unique_ptr<TieredTable>> tables;
  while (tables.size() < 40) {
    tables.push_back(std::make_unique<TieredTable>(Spec(16), TierPolicy{.admit_from = 2}, warm,
                                                   folder.cold(), *executor));
  }
  for (int push = 0; push < 2; ++push) {
    for (Key key = 0; key < 3000; key += 100) {
      for (const auto& table : tables) ASSERT_TRUE(Push(*table, Range(key, 100)).ok());
    }
  }
  for (const auto& table : tables) EXPECT_GT(table->Stats().cold_rows, 0U);
  EXPECT_LE(warm.budget().used(), kBytes);
}

// A job has ended, and the next one comes: nobody touches the first table any more.
TEST(TieredTableTest, ATableHasItsShareBesideFullOnesThatNobodyUses) {
  constexpr uint64_t kBytes = 8 << 20;
  ColdFolder folder;
  WarmShares warm(kBytes);
  warm.BeginLimit();
  const auto executor = MakeInlineExecutor();
  TieredTable first(Spec(16), {}, warm, folder.cold(), *executor);
  for (Key key = 0; key < 60'000; key += 1000) ASSERT_TRUE(Push(first, Range(key, 1000)).ok());
  std::vector<std::unique_ptr<TieredTable>> others;
  for (int i = 0; i < 6; ++i) {
    others.push_back(
        std::make_unique<TieredTable>(Spec(16), TierPolicy{}, warm, folder.cold(), *executor));
    for (Key key = 0; key < 20'000; key += 1000) {
      const Status status = Push(*others.back(), Range(key, 1000));
      ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
      first.KeepToShare();
      for (const auto& other : others) other->KeepToShare();
    }
    // An eighth, a slab and a batch more.
    EXPECT_LE(warm.budget().used(), kBytes / 8 * 9 + (others.size() + 1) * (uint64_t{1} << 19));
  }
  EXPECT_GT(others.back()->tier_stats().warm_rows, 2000U);
  EXPECT_EQ(Contents(first, 10'000).size(), 60'000U);
}

// What was acknowledged fitted once; a start may find the memory shared out in another way.
TEST(TieredTableTest, BeforeTheLimitBeginsABatchHasWhatItNeeds) {
  ColdFolder folder;
  WarmShares warm(4 << 20);
  const auto executor = MakeInlineExecutor();
  TieredTable first(Spec(16), {}, warm, folder.cold(), *executor);
  TieredTable second(Spec(16), {}, warm, folder.cold(), *executor);
  ASSERT_TRUE(Push(first, Range(0, 15'000)).ok());
  const Status status = Push(second, Range(0, 15'000));
  ASSERT_TRUE(status.ok()) << status.ToString();
  warm.BeginLimit();
  const Status refused = Push(second, Range(50'000, 30'000));
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_THAT(refused.message(), testing::HasSubstr("share of memory"));
  EXPECT_TRUE(Push(second, Range(50'000, 1000)).ok());
  EXPECT_EQ(Contents(second, 10'000).size(), 16'000U);
}

TEST(TieredTableTest, RowsAreStoredFromTheirNthPushOn) {
  OwnTieredTable table(Spec(1, OptimizerKind::kSgd), {.admit_from = 3}, 1000);
  const std::vector<Key> keys = Range(0, 50);
  for (uint64_t push = 1; push <= 5; ++push) {
    ASSERT_TRUE(Push(table, keys, push).ok());
    EXPECT_EQ(table.Stats().rows, push < 3 ? 0U : 50U);
  }
  EXPECT_EQ(table.tier_stats().not_admitted, 100U);
  EXPECT_EQ(table.Stats().not_admitted, 100U);
  ScanPage page;
  page.with_state = true;
  ASSERT_TRUE(table.Scan(page).ok());
  EXPECT_EQ(page.counters.at(0).frequency, 3U) << "pushes since it has a row";
  ASSERT_TRUE(table.Assign(Range(100, 1), std::vector<float>{1.0F}).ok());
  EXPECT_EQ(table.Stats().rows, 51U) << "an assigned row needs no admission";
}

TEST(TieredTableTest, HitsAreKeysOfLookupsAndDistinctKeysOfUpdates) {
  OwnTieredTable table(Spec(1), {}, 1000);
  ASSERT_TRUE(Push(table, Range(7, 1)).ok());
  EXPECT_EQ(table.tier_stats().warm_hits, 0U) << "the row was not there yet";
  const std::vector<Key> keys = {7, 8, 7};
  std::vector<float> rows(keys.size());
  ASSERT_TRUE(table.Lookup(keys, rows).ok());
  EXPECT_EQ(table.tier_stats().warm_hits, 2U);
  const GradientPart part{keys, rows};
  ASSERT_TRUE(table.ApplyGradients({&part, 1}, 2).ok());
  EXPECT_EQ(table.tier_stats().warm_hits, 3U);
  EXPECT_EQ(table.Tiers()[static_cast<size_t>(Tier::kWarm)].hits, 3U);
  EXPECT_EQ(table.Tiers()[static_cast<size_t>(Tier::kCold)].hits, 0U);
}

TEST(TieredTableTest, APushWhoseSumIsNotFiniteIsRejectedBeforeAdmission) {
  OwnTieredTable table(Spec(1, OptimizerKind::kSgd), {.admit_from = 2}, 1000);
  constexpr float kLarge = 0.75F * std::numeric_limits<float>::max();
  const std::vector<Key> keys = {7, 8, 7};
  const std::vector<float> gradients = {kLarge, kLarge, kLarge};
  const GradientPart part{keys, gradients};
  for (uint64_t step = 1; step <= 2; ++step) {
    ASSERT_TRUE(table.ApplyGradients({&part, 1}, step).ok());
    EXPECT_EQ(table.Stats().rejected, step) << "of 7, whose gradients are finite each";
    EXPECT_EQ(table.Stats().not_admitted, 1U) << "of 8, once";
  }
  EXPECT_EQ(table.Stats().rows, 1U) << "of 8";
}

TEST(TieredTableTest, ExpiredRowsAreAsIfErasedInEitherTier) {
  OwnTieredTable table(Spec(2), {.ttl_steps = 10}, 100);
  MapTable model(Spec(2));
  std::map<Key, uint64_t> last;
  std::mt19937_64 random(3);
  for (uint64_t step = 1; step <= 400; ++step) {
    std::vector<Key> gone;
    for (const auto& [key, pushed] : last) {
      if (step - pushed > 10) gone.push_back(key);
    }
    for (const Key key : gone) last.erase(key);
    ASSERT_TRUE(model.Erase(gone).ok());
    std::vector<Key> keys(20);
    for (Key& key : keys) key = random() % 400;
    ASSERT_TRUE(Push(table, keys, step).ok());
    ASSERT_TRUE(Push(model, keys, step).ok());
    for (const Key key : keys) last[key] = step;
    std::vector<float> found(20 * 2), expected(20 * 2);
    for (Key& key : keys) key = random() % 400;
    ASSERT_TRUE(table.Lookup(keys, found).ok());
    ASSERT_TRUE(model.Lookup(keys, expected).ok());
    ASSERT_EQ(found, expected) << step;
    if (step % 50 == 0) {
      ASSERT_EQ(Contents(table, 33), Contents(model, 33));
    }
  }
}

// Whether a move has met its row, and dropped it, cannot be told.
TEST(TieredTableTest, AnExpiredKeyIsAdmittedAnew) {
  for (const uint64_t rows_max : {1000U, 30U}) {
    OwnTieredTable table(Spec(1), {.admit_from = 3, .ttl_steps = 10}, rows_max);
    const std::vector<Key> keys = Range(0, 20);
    ASSERT_TRUE(table.Assign(keys, std::vector<float>(keys.size(), 0.5F)).ok());
    ASSERT_TRUE(Push(table, keys, 1).ok());
    ASSERT_TRUE(table.Assign(Range(100, 200), std::vector<float>(200, 0.5F)).ok());
    ASSERT_TRUE(Push(table, Range(100, 1), 30).ok());
    for (uint64_t push = 1; push <= 4; ++push) {
      ASSERT_TRUE(Push(table, keys, 30 + push).ok());
      EXPECT_EQ(table.Stats().not_admitted, std::min<uint64_t>(push, 2) * keys.size());
      EXPECT_EQ(Contents(table, 1000).contains(keys[0]), push >= 3) << push;
    }
  }
}

// A disk that is full: what moves down stays in memory until there is room, nothing is lost.
TEST(TieredTableTest, AFullDiskIsAnErrorAndLosesNothing) {
  for (const bool with_thread : {false, true}) {
    OwnTieredTable table(Spec(16), {}, 3000, with_thread,
                         RocksOptions{.folder = {}, .disk_bytes_max = 4 << 20});
    MapTable model(Spec(16));
    Status status;
    for (Key key = 0; key < 400'000 && status.ok(); key += 500) {
      status = Push(table, Range(key, 500));
      if (status.ok()) {
        ASSERT_TRUE(Push(model, Range(key, 500)).ok());
      }
    }
    ASSERT_EQ(status.code(), StatusCode::kDiskFull) << status.ToString();
    const Status again = Push(table, Range(1'000'000, 500));
    if (again.ok()) {  // files were merged meanwhile
      ASSERT_TRUE(Push(model, Range(1'000'000, 500)).ok());
    } else {
      EXPECT_EQ(again.code(), StatusCode::kDiskFull) << again.ToString();
    }
    EXPECT_EQ(table.Stats().rows, model.Stats().rows);
    EXPECT_EQ(Contents(table, 1000), Contents(model, 1000));
    EXPECT_LE(table.tier_stats().warm_rows, 3500U);
    // Pulls go on, and pushes to what is in memory.
    std::vector<float> found(500 * 16), expected(500 * 16);
    ASSERT_TRUE(table.Lookup(Range(0, 500), found).ok());
    ASSERT_TRUE(model.Lookup(Range(0, 500), expected).ok());
    EXPECT_EQ(found, expected);
  }
}

// Each row by itself: as the model has it, or an error that names it and the file.
void ExpectRowsOrErrors(LocalTable& table, MapTable& model, Key end, std::vector<Key>* unread) {
  const uint32_t dim = table.spec().dim;
  std::vector<float> found(dim), expected(dim);
  for (Key key = 0; key < end; ++key) {
    const Status status = table.Lookup({&key, 1}, found);
    if (status.ok()) {
      ASSERT_TRUE(model.Lookup({&key, 1}, expected).ok());
      ASSERT_EQ(found, expected) << key;
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::kCorrupt);
    EXPECT_THAT(status.message(), testing::HasSubstr(fmt::format("table 't': key {}: ", key)));
    EXPECT_THAT(status.message(), testing::HasSubstr(".sst"));
    unread->push_back(key);
  }
}

// Bits of the cold tier's files have flipped.
TEST(TieredTableTest, ARowThatCannotBeReadFailsWhatAsksForItAndNothingElse) {
  constexpr Key kEnd = 4000;
  for (const bool tiered : {true, false}) {
    SCOPED_TRACE(tiered);
    TierParts parts(100);
    MapTable model(Spec(2));
    std::unique_ptr<LocalTable> table;
    if (tiered) {
      table = std::make_unique<TieredTable>(Spec(2), TierPolicy{}, parts.warm, parts.folder.cold(),
                                            *parts.executor);
    } else {
      table = std::make_unique<RocksTable>(Spec(2), parts.folder.cold());
    }
    for (Key key = 0; key < kEnd; key += 50) {
      ASSERT_TRUE(Push(*table, Range(key, 50)).ok() && Push(model, Range(key, 50)).ok());
    }
    table->BeginSnapshot(0);
    parts.folder.DamageFiles();
    std::vector<Key> unread;
    ExpectRowsOrErrors(*table, model, kEnd, &unread);
    ASSERT_GT(unread.size(), 100U);
    ASSERT_LT(unread.size(), kEnd - 100);

    table->Prefetch(unread);
    EXPECT_EQ(Push(*table, unread).code(), StatusCode::kCorrupt);
    EXPECT_EQ(table->Assign(Range(unread[0], 1), std::vector<float>(2)).code(),
              StatusCode::kCorrupt);
    EXPECT_EQ(table->Erase(Range(0, kEnd)).status().code(), StatusCode::kCorrupt);
    EXPECT_EQ(table->Stats().rows, kEnd) << "none of them is erased";
    const auto read_all = [](auto read) {
      ScanPage page;
      page.rows_max = 50;
      while (!page.done) STRATA_TRY(read(page));
      return Status();
    };
    EXPECT_EQ(read_all([&](ScanPage& page) { return table->Scan(page); }).code(),
              StatusCode::kCorrupt);
    EXPECT_EQ(read_all([&](ScanPage& page) { return table->SnapshotPage(page); }).code(),
              StatusCode::kCorrupt);
    table->EndSnapshot();

    std::vector<Key> unread_then;
    ExpectRowsOrErrors(*table, model, kEnd, &unread_then);
    EXPECT_EQ(unread_then, unread);
    ASSERT_TRUE(Push(*table, Range(kEnd, 50)).ok() && Push(model, Range(kEnd, 50)).ok());
    unread.clear();
    ExpectRowsOrErrors(*table, model, kEnd + 50, &unread);
    EXPECT_EQ(unread, unread_then);
  }
}

}  // namespace
}  // namespace strata
