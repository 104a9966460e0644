// Tables that stand below a faster one: what they hand up, and take back, also during a snapshot.
#include "storage/memory/lower_table.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "base/thread/mutex.h"
#include "storage/memory/host_table.h"
#include "tests/storage/tier_parts.h"

namespace strata {
namespace {

constexpr uint32_t kDim = 3;

TableSpec Spec() {
  TableSpec spec;
  spec.name = "t";
  spec.dim = kDim;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  return spec;
}
constexpr size_t kWidth = 2 * kDim;

struct Row {
  std::vector<float> elements;
  uint32_t frequency = 0;
  bool operator==(const Row&) const = default;
};

struct LowerCase {
  std::string name;
  std::function<std::unique_ptr<LowerTable>()> make;
};

class OwnTiered : private TierParts, public TieredTable {
 public:
  explicit OwnTiered(const TierPolicy& policy = {})
      : TierParts(200), TieredTable(Spec(), policy, warm, folder.cold(), *executor) {}
};

class LowerTableTest : public testing::TestWithParam<LowerCase> {
 protected:
  LowerTableTest() : table_(GetParam().make()) {
    auto pool = WorkPool::Start("test", 2);
    STRATA_CHECK(pool.ok());
    pool_ = std::move(*pool);
    keys_.resize(1000);
    std::iota(keys_.begin(), keys_.end(), Key{0});
  }

  std::map<Key, Row> Read(std::span<const Key> keys, ReadFrom from = ReadFrom::kAll) {
    std::map<Key, Row> rows;
    Mutex mutex;
    const Status status =
        table_->ReadRows(keys, {.from = from}, *pool_, [&](size_t i, const RowView& row) {
          const MutexLock lock(mutex);
          const bool is_new = rows.try_emplace(keys[i], Row{{row.elements, row.elements + kWidth},
                                                            row.counters->frequency})
                                  .second;
          EXPECT_TRUE(is_new);
        });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return rows;
  }

  Status Write(std::span<const Key> keys, float value, uint8_t known, uint32_t epoch = 0) {
    const std::vector<float> rows(keys.size() * kWidth, value);
    const std::vector<RowCounters> counters(
        keys.size(), {.frequency = 7, .checkpoint_epoch = epoch, .last_step = 1});
    const std::vector<uint8_t> flags(keys.size(), known);
    return table_->WriteRows({keys, rows, counters, flags}, *pool_);
  }

  std::map<Key, float> TakeSnapshot() {
    std::map<Key, float> first_elements;
    ScanPage page;
    while (!page.done) {
      const Status status = table_->SnapshotPage(page);
      EXPECT_TRUE(status.ok()) << status.ToString();
      if (!status.ok()) break;
      for (size_t i = 0; i < page.keys.size(); ++i) {
        EXPECT_TRUE(first_elements.try_emplace(page.keys[i], page.rows[i * kWidth]).second);
      }
    }
    table_->EndSnapshot();
    return first_elements;
  }

  std::unique_ptr<LowerTable> table_;
  std::unique_ptr<WorkPool> pool_;
  std::vector<Key> keys_;
};

TEST_P(LowerTableTest, HandsUpWhatItHasAndTakesItBack) {
  const std::span<const Key> old = std::span(keys_).first(600);
  ASSERT_TRUE(table_->Assign(old, std::vector<float>(old.size() * kDim, 0.5F)).ok());
  std::map<Key, Row> rows = Read(keys_);
  ASSERT_EQ(rows.size(), old.size());
  for (const auto& [key, row] : rows) EXPECT_EQ(row.elements[0], 0.5F);

  ASSERT_TRUE(Write(old, 2.0F, 1).ok());
  ASSERT_TRUE(Write(std::span(keys_).subspan(600, 100), 3.0F, 0).ok());
  EXPECT_EQ(table_->Stats().rows, 700U);
  rows = Read(keys_);
  ASSERT_EQ(rows.size(), 700U);
  for (const auto& [key, row] : rows) {
    EXPECT_EQ(row, (Row{std::vector<float>(kWidth, key < 600 ? 2.0F : 3.0F), 7})) << key;
  }
  EXPECT_LE(Read(keys_, ReadFrom::kMemory).size(), 700U);
  std::vector<float> values(keys_.size() * kDim);
  ASSERT_TRUE(table_->Lookup(keys_, values).ok());
  EXPECT_EQ(values[0], 2.0F);
  EXPECT_EQ(values[650 * kDim], 3.0F);
}

TEST_P(LowerTableTest, ASnapshotStaysWhatItWasAtItsCut) {
  const std::span<const Key> old = std::span(keys_).first(600);
  ASSERT_TRUE(table_->Assign(old, std::vector<float>(old.size() * kDim, 0.5F)).ok());
  EXPECT_EQ(table_->BeginSnapshot(0), 0U);
  table_->SetEpoch(1);
  ASSERT_TRUE(Write(old.first(300), 2.0F, 1, 1).ok());
  ASSERT_TRUE(Write(std::span(keys_).subspan(600), 3.0F, 0, 1).ok());
  ASSERT_TRUE(Write(old.first(100), 4.0F, 1, 1).ok());
  const std::map<Key, float> taken = TakeSnapshot();
  EXPECT_EQ(taken.size(), old.size());
  for (const auto& [key, element] : taken) EXPECT_EQ(element, 0.5F) << key;
  EXPECT_EQ(Read(keys_).at(0).elements[0], 4.0F);
}

TEST_P(LowerTableTest, ThreadsWriteAndReadManyRowsAtOnce) {
  std::vector<Key> keys(20'000);
  std::iota(keys.begin(), keys.end(), Key{0});
  const auto element = [](Key key, size_t n) { return static_cast<float>(key * 10 + n); };
  for (const size_t known : {size_t{0}, size_t{9'000}, keys.size()}) {  // the rest are new
    std::vector<float> rows;
    std::vector<RowCounters> counters;
    std::vector<uint8_t> flags;
    for (const Key key : keys) {
      for (size_t n = 0; n < kWidth; ++n) rows.push_back(element(key + known, n));
      counters.push_back({.frequency = static_cast<uint32_t>(key), .last_step = 1});
      flags.push_back(key < known ? 1 : 0);
    }
    const size_t last = known == 0 ? 9'000 : keys.size();
    ASSERT_TRUE(table_
                    ->WriteRows({std::span(keys).first(last), std::span(rows).first(last * kWidth),
                                 std::span(counters).first(last), std::span(flags).first(last)},
                                *pool_)
                    .ok());
    ASSERT_EQ(table_->Stats().rows, last);
    std::array<std::map<Key, Row>, 3> read;
    {
      std::vector<std::jthread> readers;
      for (auto& found : read) readers.emplace_back([&] { found = Read(keys); });
    }
    for (const auto& found : read) {
      ASSERT_EQ(found.size(), last);
      for (const auto& [key, row] : found) {
        ASSERT_EQ(row.frequency, key);
        for (size_t n = 0; n < kWidth; ++n) ASSERT_EQ(row.elements[n], element(key + known, n));
      }
    }
  }
}

// A table whose rows are gone after ten steps.
class ExpiringTableTest : public LowerTableTest {
 protected:
  // 100 rows, pushed at step 1, at step 30.
  void MakeExpired() {
    ASSERT_TRUE(Write(old_, 2.0F, 0).ok());
    EXPECT_EQ(table_->AliveFrom(), 0U);
    table_->Stepped(30);
    EXPECT_EQ(table_->AliveFrom(), 20U);
  }
  // Rows that have no age, and more than there is memory for.
  void Press() {
    ASSERT_TRUE(table_->Assign(new_, std::vector<float>(new_.size() * kDim, 0.5F)).ok());
    ASSERT_EQ(table_->Stats().rows, keys_.size());
  }

  const std::span<const Key> old_ = std::span(keys_).first(100);
  const std::span<const Key> new_ = std::span(keys_).subspan(100);
};

TEST_P(ExpiringTableTest, WhatHasExpiredIsShownToTheTableAboveAlone) {
  MakeExpired();
  EXPECT_EQ(Read(old_).size(), old_.size());
  std::vector<float> values(old_.size() * kDim, 1.0F);
  ASSERT_TRUE(table_->Lookup(old_, values).ok());
  EXPECT_EQ(table_->Stats().lookup_hits, 0U);
  Press();
  ScanPage page;
  ASSERT_TRUE(table_->Scan(page).ok());
  EXPECT_EQ(page.keys.size(), new_.size());
  std::vector<Key> alive, expired;
  page = {};
  page.rows_max = 7;
  while (!page.done) {
    std::vector<Key> some;
    ASSERT_TRUE(table_->ScanWithExpired(page, &some).ok());
    ASSERT_LE(page.keys.size() + some.size(), page.rows_max);
    alive.insert(alive.end(), page.keys.begin(), page.keys.end());
    expired.insert(expired.end(), some.begin(), some.end());
  }
  EXPECT_EQ(expired.size(), old_.size());
  EXPECT_EQ(std::set<Key>(expired.begin(), expired.end()), std::set<Key>(old_.begin(), old_.end()));
  EXPECT_EQ(std::set<Key>(alive.begin(), alive.end()), std::set<Key>(new_.begin(), new_.end()));
}

TEST_P(ExpiringTableTest, WhatIsInTheWayGoesWhenTheTableAboveSaysSo) {
  MakeExpired();
  Press();
  const std::vector<Key> told = table_->TakeExpired();
  std::set<Key> in_the_way(told.begin(), told.end());
  EXPECT_GT(in_the_way.size(), 50U);
  EXPECT_TRUE(table_->TakeExpired().empty());
  std::erase_if(in_the_way, [](Key key) { return key % 2 == 0; });  // which are above
  std::vector<Key> gone(in_the_way.begin(), in_the_way.end());
  ASSERT_FALSE(gone.empty());
  const Key rewritten = gone.back();
  ASSERT_TRUE(table_->Assign({&rewritten, 1}, std::vector<float>(kDim, 0.5F)).ok());
  gone.insert(gone.end(), in_the_way.begin(), in_the_way.end());  // repeats
  table_->DropExpired(gone);
  in_the_way.erase(rewritten);
  EXPECT_EQ(table_->Stats().rows, keys_.size() - in_the_way.size());
  const std::map<Key, Row> rows = Read(keys_);
  EXPECT_EQ(rows.size(), keys_.size() - in_the_way.size());
  for (const Key key : in_the_way) EXPECT_FALSE(rows.contains(key)) << key;
}

INSTANTIATE_TEST_SUITE_P(
    Tables, ExpiringTableTest,
    testing::Values(LowerCase{
        "Tiered", [] { return std::make_unique<OwnTiered>(TierPolicy{.ttl_steps = 10}); }}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Tables, LowerTableTest,
    testing::Values(LowerCase{"Host", [] { return std::make_unique<HostTable>(Spec()); }},
                    LowerCase{"Tiered", [] { return std::make_unique<OwnTiered>(); }}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace strata
