#include "tests/contract/snapshot_contract.h"

#include <gmock/gmock.h>

#include <limits>
#include <optional>

#include "base/random.h"
#include "tests/contract/table_contract.h"
#include "tests/support/map_table.h"
#include "tests/support/ones.h"

namespace strata {

namespace {

struct SavedTable {
  uint32_t number = 0;
  uint32_t since = 0;
  std::vector<Key> erased;
  std::vector<ScanPage> pages;
  TableBits truth;  // the model at the cut
};

// One table and its model under random writes; checkpoints are taken at random paces meanwhile.
class RandomLife {
 public:
  RandomLife(const SnapshotCase& snapshot_case, uint64_t seed)
      : case_(snapshot_case), random_(seed), spec_(RandomSpec()), table_(case_.make(spec_)) {
    model_ = std::make_unique<MapTable>(spec_);
    keys_ = {0, 1, Key{1} << 63, UINT64_MAX};
    const uint64_t keys = 20 + random_.Below(400);
    while (keys_.size() < keys) keys_.push_back(random_.Next());
  }

  void Steps(uint32_t steps) {
    for (uint32_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      if (random_.Below(100) < 75) {
        Write();
      } else if (!taking_) {
        if (random_.Below(8) == 0) Cut();
      } else if (random_.Below(60) == 0) {
        GiveUp();
      } else {
        Page();
      }
      if (random_.Below(400) == 0) Restart();
    }
    while (taking_ && !testing::Test::HasFailure()) Page();
  }

  uint32_t incremental() const { return incremental_; }
  uint64_t expired() const { return expired_; }

 private:
  TableSpec RandomSpec() {
    return ContractSpec("t", static_cast<uint32_t>(1 + random_.Below(5)),
                        kOptimizerKinds[random_.Below(std::size(kOptimizerKinds))],
                        kInitializerKinds[random_.Below(3)]);
  }

  std::vector<Key> DrawKeys(uint64_t most) {
    std::vector<Key> keys(random_.Below(most));
    for (Key& key : keys) key = keys_[random_.Below(1 + random_.Below(keys_.size()))];
    return keys;
  }

  void Write() {
    const uint64_t choice = random_.Below(100);
    const std::vector<Key> keys = DrawKeys(choice == 0 ? 4 * keys_.size() : 12);
    std::vector<float> values(keys.size() * spec_.dim);
    for (float& value : values) value = static_cast<float>(random_.Uniform()) - 0.5F;
    // A gradient that holds NaN leaves its row alone. A weight that does makes FTRL's state NaN
    // too, and which one depends on the device (kernels/optim/rules.h).
    const bool may_be_nan = choice < 60 || spec_.optimizer.kind != OptimizerKind::kFtrl;
    if (!values.empty() && may_be_nan && random_.Below(30) == 0) {
      values[random_.Below(values.size())] = std::numeric_limits<float>::quiet_NaN();
    }
    const GradientPart part{keys, values};
    ++step_;
    if (choice < 60) EraseExpired();
    for (LocalTable* table : {table_.get(), static_cast<LocalTable*>(model_.get())}) {
      if (choice < 60) {
        ASSERT_TRUE(table->ApplyGradients({&part, 1}, step_).ok());
      } else if (choice < 75) {
        ASSERT_TRUE(table->Assign(keys, values).ok());
      } else {
        ASSERT_TRUE(table->Erase(keys).ok());
      }
    }
  }

  // The model knows no time: what a push at this step finds too old is erased there.
  void EraseExpired() {
    if (case_.ttl_steps == 0) return;
    std::vector<Key> gone;
    for (const auto& [key, row] : BitsOfTable(*model_)) {
      if (row.last_step != 0 && step_ - row.last_step > case_.ttl_steps) gone.push_back(key);
    }
    ASSERT_TRUE(model_->Erase(gone).ok());
    expired_ += gone.size();
  }

  void Cut() {
    const uint32_t since = durable_.empty() || random_.Below(5) == 0 ? 0 : durable_.back().number;
    const uint32_t number = epoch_ + 1 + static_cast<uint32_t>(random_.Below(3));
    taking_ = SavedTable{.number = number,
                         .since = table_->BeginSnapshot(since),
                         .erased = {},
                         .pages = {},
                         .truth = BitsOfTable(*model_)};
    ASSERT_TRUE(taking_->since == since || taking_->since == 0);
    SetEpoch(number);
    if (random_.Below(2) == 0) taking_->erased = table_->SnapshotErased();
  }

  void SetEpoch(uint32_t epoch) {
    epoch_ = epoch;
    table_->SetEpoch(epoch);
    model_->SetEpoch(epoch);
  }

  void Page() {
    ScanPage page;
    page.rows_max = static_cast<uint32_t>(1 + random_.Below(50));
    ASSERT_TRUE(table_->SnapshotPage(page).ok());
    taking_->pages.push_back(page);
    if (!page.done) return;
    const std::vector<Key> erased = table_->SnapshotErased();
    if (!taking_->erased.empty()) {
      EXPECT_EQ(taking_->erased, erased) << "changed during the snapshot";
    }
    taking_->erased = erased;
    table_->EndSnapshot();
    Check();
    if (random_.Below(4) != 0) {  // durable
      table_->ForgetErased(taking_->number);
      incremental_ += taking_->since != 0 ? 1 : 0;
      durable_.push_back(std::move(*taking_));
    }
    taking_.reset();
  }

  void GiveUp() {
    table_->EndSnapshot();
    taking_.reset();
  }

  std::vector<const SavedTable*> ChainOf(const SavedTable& newest) {
    std::vector<const SavedTable*> chain = {&newest};
    while (chain.back()->since != 0) {
      const auto base = std::ranges::find(durable_, chain.back()->since, &SavedTable::number);
      EXPECT_NE(base, durable_.end());
      if (base == durable_.end()) break;
      chain.push_back(&*base);
    }
    return {chain.rbegin(), chain.rend()};
  }

  std::unique_ptr<LocalTable> Loaded(const SavedTable& newest, std::unique_ptr<LocalTable> table) {
    table->SetEpoch(newest.number);
    for (const SavedTable* saved : ChainOf(newest)) {
      EXPECT_TRUE(table->Erase(saved->erased).ok());
      for (const ScanPage& page : saved->pages) EXPECT_TRUE(table->Load(page).ok());
    }
    return table;
  }

  // What was just taken holds what it says, each row once, and its chain loads as the model was.
  void Check() {
    TableBits rows;
    for (const ScanPage& page : taking_->pages) AddPage(page, &rows);
    for (const auto& [key, row] : rows) {
      const auto truth = taking_->truth.find(key);
      ASSERT_TRUE(truth != taking_->truth.end() && truth->second == row) << "key " << key;
      ASSERT_GE(row.epoch, taking_->since);
    }
    if (taking_->since == 0) {
      EXPECT_EQ(rows.size(), taking_->truth.size());
      EXPECT_TRUE(taking_->erased.empty());
    }
    EXPECT_EQ(BitsOfTable(*Loaded(*taking_, case_.make(spec_))), taking_->truth)
        << "checkpoint " << taking_->number;
    if (case_.ttl_steps == 0) return;
    EXPECT_EQ(BitsOfTable(*Loaded(*taking_, std::make_unique<MapTable>(spec_))), taking_->truth)
        << "checkpoint " << taking_->number << " where no row expires";
  }

  // Both tables begin again from the newest durable checkpoint.
  void Restart() {
    if (durable_.empty()) return;
    taking_.reset();
    const SavedTable& base = durable_.back();
    table_ = Loaded(base, case_.make(spec_));
    table_->ForgetErased(base.number);
    model_ = std::make_unique<MapTable>(spec_);
    model_->SetEpoch(base.number);
    for (const auto& [key, row] : base.truth) {
      ScanPage page;
      page.keys = {key};
      for (const uint32_t bits : row.elements) page.rows.push_back(std::bit_cast<float>(bits));
      page.counters = {{row.frequency, row.epoch, row.last_step}};
      ASSERT_TRUE(model_->Load(page).ok());
    }
    epoch_ = base.number;
  }

  const SnapshotCase& case_;
  Random random_;
  const TableSpec spec_;
  std::unique_ptr<LocalTable> table_;
  std::unique_ptr<MapTable> model_;
  std::vector<Key> keys_;
  uint64_t step_ = 0;
  uint32_t epoch_ = 0;
  uint32_t incremental_ = 0;
  uint64_t expired_ = 0;  // rows
  std::optional<SavedTable> taking_;
  std::vector<SavedTable> durable_;
};

TableSpec SmallSpec() {
  return ContractSpec("t", 2, OptimizerKind::kAdaGrad, InitializerKind::kUniform);
}

TEST_P(SnapshotContract, ChainsLoadToTheBitWhateverIsWrittenMeanwhile) {
  uint32_t incremental = 0;
  uint64_t expired = 0;
  // How many checkpoints a life completes also depends on the sizes of its pages, and those depend
  // on the threads that move rows. Further lives follow until enough checkpoints were incremental.
  for (uint64_t seed = 1; seed <= GetParam().seeds || incremental <= GetParam().seeds; ++seed) {
    ASSERT_LE(seed, 10 * GetParam().seeds) << "the runs hardly took incremental checkpoints";
    SCOPED_TRACE(seed);
    RandomLife life(GetParam(), seed);
    life.Steps(1500);
    if (HasFailure()) return;
    incremental += life.incremental();
    expired += life.expired();
  }
  EXPECT_EQ(expired > GetParam().seeds, GetParam().ttl_steps != 0);
}

TEST_P(SnapshotContract, AYoungTableIsSavedWhole) {
  const auto table = GetParam().make(SmallSpec());
  table->SetEpoch(4);  // made behind the cut of checkpoint 4, which is durable only now
  ASSERT_TRUE(Push(*table, Range(0, 10)).ok());
  table->ForgetErased(4);
  EXPECT_EQ(table->BeginSnapshot(4), 0U);
  table->SetEpoch(5);
  EXPECT_EQ(BitsOfSnapshot(*table).size(), 10U);
  table->ForgetErased(5);
  ASSERT_TRUE(Push(*table, Range(100, 3)).ok());
  ASSERT_TRUE(table->Erase(std::vector<Key>{7, 8, 1000}).ok());
  EXPECT_EQ(table->BeginSnapshot(5), 5U);
  table->SetEpoch(6);
  ASSERT_TRUE(table->Erase(std::vector<Key>{1}).ok());  // behind the cut
  EXPECT_THAT(table->SnapshotErased(), testing::UnorderedElementsAre(7, 8));
  EXPECT_EQ(BitsOfSnapshot(*table).size(), 3U);
}

TEST_P(SnapshotContract, ALoadedTableGoesOnFromItsCheckpoint) {
  const auto table = GetParam().make(SmallSpec());
  table->SetEpoch(3);
  ScanPage page;
  page.keys = {5};
  page.rows = std::vector<float>(2 * SmallSpec().dim, 1.0F);
  page.counters = {{.frequency = 1, .checkpoint_epoch = 9, .last_step = 1}};
  ASSERT_TRUE(table->Load(page).ok());
  EXPECT_EQ(BitsOfTable(*table).at(5).epoch, 3U) << "no row is from behind the epoch in force";
  page.counters = {{.frequency = 1, .checkpoint_epoch = 2, .last_step = 1}};
  ASSERT_TRUE(table->Load(page).ok());
  table->ForgetErased(3);
  EXPECT_EQ(table->BeginSnapshot(3), 3U);
  EXPECT_TRUE(BitsOfSnapshot(*table).empty());
  page.counters.clear();
  EXPECT_EQ(table->Load(page).code(), StatusCode::kInvalid);
}

TEST_P(SnapshotContract, ManyErasedKeysMakeTheNextOneFull) {
  const auto table = GetParam().make(SmallSpec());
  ASSERT_TRUE(Push(*table, Range(0, 12'000)).ok());
  table->BeginSnapshot(0);
  table->SetEpoch(1);
  EXPECT_EQ(BitsOfSnapshot(*table).size(), 12'000U);
  table->ForgetErased(1);
  ASSERT_TRUE(table->Erase(Range(0, 2'000)).ok());
  EXPECT_EQ(table->BeginSnapshot(1), 1U);
  EXPECT_EQ(table->SnapshotErased().size(), 2'000U);
  table->SetEpoch(2);
  table->EndSnapshot();
  ASSERT_TRUE(table->Erase(Range(2'000, 9'000)).ok());
  EXPECT_EQ(table->BeginSnapshot(1), 0U);
  table->SetEpoch(3);
  EXPECT_TRUE(table->SnapshotErased().empty());
  EXPECT_EQ(BitsOfSnapshot(*table).size(), 1'000U);
  table->ForgetErased(3);
  EXPECT_EQ(table->BeginSnapshot(3), 3U);
}

}  // namespace
}  // namespace strata
