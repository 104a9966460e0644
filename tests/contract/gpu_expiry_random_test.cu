// Rows that expire (TierPolicy::ttl_steps) where some lie on a GPU, under random operations: beside
// a TieredTable with the same policy, and beside a model that knows of time and of nothing else.
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/random.h"
#include "tests/contract/hot_tiers.cuh"
#include "tests/contract/table_bits.h"
#include "tests/contract/table_contract.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/map_table.h"

namespace strata {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What a table with this policy holds, in a std::map: all that has expired is erased at once, and
// pushes are counted one by one.
class TimedModel {
 public:
  TimedModel(const TableSpec& spec, const TierPolicy& policy) : policy_(policy), rows_(spec) {}

  void Update(std::span<const GradientPart> parts, uint64_t step) {
    now_ = std::max(now_, step);
    EraseExpired();
    struct Pushed {
      std::vector<float> sum;
      uint32_t parts = 0;
      size_t last_part = SIZE_MAX;
    };
    const size_t dim = rows_.spec().dim;
    std::map<Key, Pushed> pushed;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t i = 0; i < parts[p].keys.size(); ++i) {
        Pushed& key = pushed[parts[p].keys[i]];
        key.sum.resize(dim);
        for (size_t e = 0; e < dim; ++e) key.sum[e] += parts[p].gradients[i * dim + e];
        if (key.last_part != p) ++key.parts;
        key.last_part = p;
      }
    }
    const TableBits before = BitsOfTable(rows_);
    std::set<Key> late;
    for (const auto& [key, push] : pushed) {
      if (!std::ranges::all_of(push.sum, [](float x) { return std::isfinite(x); })) {
        ++rejected;
      } else if (!before.contains(key) && pushes_[key] + push.parts < policy_.admit_from) {
        late.insert(key);
        pushes_[key] += push.parts;
        ++not_admitted;
      }
    }
    std::vector<std::vector<Key>> keys(parts.size());
    std::vector<std::vector<float>> gradients(parts.size());
    std::vector<GradientPart> kept;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t i = 0; i < parts[p].keys.size(); ++i) {
        if (late.contains(parts[p].keys[i])) continue;
        keys[p].push_back(parts[p].keys[i]);
        const auto gradient = parts[p].gradients.subspan(i * dim, dim);
        gradients[p].insert(gradients[p].end(), gradient.begin(), gradient.end());
      }
      kept.push_back({keys[p], gradients[p]});
    }
    EXPECT_TRUE(rows_.ApplyGradients(kept, step).ok());
    EraseExpired();  // of a step that is long gone
  }
  MapTable& rows() { return rows_; }

  uint64_t rejected = 0;
  uint64_t not_admitted = 0;
  uint64_t expired = 0;

 private:
  void EraseExpired() {
    std::vector<Key> gone;
    for (const auto& [key, row] : BitsOfTable(rows_)) {
      if (IsExpired(policy_, row.last_step, now_)) gone.push_back(key);
    }
    EXPECT_TRUE(rows_.Erase(gone).ok());
    expired += gone.size();
  }

  const TierPolicy policy_;
  MapTable rows_;
  uint64_t now_ = 0;
  std::map<Key, uint64_t> pushes_;
};

struct LifeCase {
  uint64_t seed = 1;
  uint64_t ttl_steps = 5;
  uint32_t admit_from = 1;
  uint64_t hot_rows_max = 100;
  uint64_t warm_rows_max = 60;
  VictimOrder order = VictimOrder::kLeastRecent;
  bool with_thread = false;
  ElementType value_type = ElementType::kFp32;
};

// Random operations on all three; scans and snapshots go on meanwhile, a page at a time.
class Life {
 public:
  explicit Life(const LifeCase& life_case)
      : case_(life_case),
        random_(life_case.seed),
        spec_(RandomSpec()),
        policy_{.admit_from = life_case.admit_from, .ttl_steps = life_case.ttl_steps},
        tiers_(spec_, policy_, life_case.warm_rows_max,
               {.order = life_case.order, .rows_max = life_case.hot_rows_max, .chunk_rows_min = 7},
               life_case.with_thread),
        alone_(spec_, policy_, life_case.warm_rows_max),
        model_(spec_, policy_) {}

  void Steps(uint32_t steps) {
    for (uint32_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(i);
      const uint64_t choice = random_.Below(100);
      if (choice < 45) {
        Update();
      } else if (choice < 52) {
        Assign();
      } else if (choice < 58) {
        Erase();
      } else if (choice < 75) {
        Lookup();
      } else if (choice < 82) {
        hot().Prefetch(DrawKeys(150));
      } else if (choice < 92) {
        ScanAPage();
      } else {
        for (int page = 0; page < 4 && !testing::Test::HasFailure(); ++page) SnapshotAPage();
      }
      if (scanning_) KeepThroughout();
      CompareCounts();
      if (i % 60 == 59) CompareAll();
    }
    CompareAll();
    EraseEverything();
  }
  uint64_t expired() const { return model_.expired; }
  const TimedModel& model() const { return model_; }
  HotStats hot_stats() { return hot().hot_stats(); }
  uint64_t cold_rows_seen() const { return cold_rows_seen_; }
  uint32_t scans() const { return scans_; }
  uint32_t snapshots() const { return snapshots_; }

 private:
  HotTable& hot() { return tiers_.table(); }

  TableSpec RandomSpec() {
    TableSpec spec = ContractSpec("t", static_cast<uint32_t>(1 + random_.Below(9)),
                                  kOptimizerKinds[random_.Below(std::size(kOptimizerKinds))],
                                  kInitializerKinds[1 + random_.Below(2)]);
    spec.value_type = case_.value_type;
    if (case_.value_type != ElementType::kFp32) spec.state_type = ElementType::kBf16;
    return spec;
  }

  std::vector<Key> DrawKeys(uint64_t most) {
    // New keys come all the time, and old ones are forgotten.
    const uint64_t first = now_ * 2;
    std::vector<Key> keys(1 + random_.Below(most));
    for (Key& key : keys) key = Mix64(first + random_.Below(1 + random_.Below(400)));
    return keys;
  }
  std::vector<float> DrawFloats(size_t keys) {
    std::vector<float> floats(keys * spec_.dim);
    for (float& value : floats) value = static_cast<float>(random_.Uniform()) - 0.5F;
    return floats;
  }

  void Update() {
    std::vector<Key> keys = DrawKeys(120);
    std::vector<float> floats = DrawFloats(keys.size());
    while (random_.Below(3) != 0) floats[random_.Below(floats.size())] = kNan;
    // Pairs whose sum is infinity. One by itself could make a rule give NaN, whose sign hangs on
    // the processor.
    for (size_t i = 0; i + 1 < keys.size() && random_.Below(2) != 0; i += 2) {
      keys[i + 1] = keys[i];
      const uint64_t e = random_.Below(spec_.dim);
      floats[i * spec_.dim + e] = floats[(i + 1) * spec_.dim + e] = 2e38F;
    }
    const uint64_t pace = random_.Below(20);
    uint64_t step = now_ + (pace < 12 ? 1 : 0);
    if (pace == 19) step = now_ + random_.Below(3 * case_.ttl_steps);
    if (pace == 18) step = now_ - std::min(now_, random_.Below(2 * case_.ttl_steps));
    step = std::max<uint64_t>(step, 1);
    now_ = std::max(now_, step);
    const size_t half = random_.Below(keys.size() + 1);
    const GradientPart parts[] = {
        {std::span(keys).first(half), std::span(floats).first(half * spec_.dim)},
        {std::span(keys).subspan(half), std::span(floats).subspan(half * spec_.dim)}};
    ASSERT_TRUE(hot().ApplyGradients(parts, step).ok());
    ASSERT_TRUE(alone_.ApplyGradients(parts, step).ok());
    model_.Update(parts, step);
  }

  void Assign() {
    const std::vector<Key> keys = DrawKeys(60);
    const std::vector<float> values = DrawFloats(keys.size());
    ForAll([&](LocalTable& table) { ASSERT_TRUE(table.Assign(keys, values).ok()); });
  }

  void Erase() {
    const std::vector<Key> keys = DrawKeys(60);
    for (const Key key : keys) throughout_.erase(key);
    ForAll([&](LocalTable& table) { ASSERT_TRUE(table.Erase(keys).ok()); });
  }

  void Lookup() {
    const std::vector<Key> keys = DrawKeys(200);
    const std::vector<uint32_t> expected = BitsOf(RowsOf(model_.rows(), keys));
    ASSERT_EQ(BitsOf(RowsOf(hot(), keys)), expected);
    ASSERT_EQ(BitsOf(RowsOf(alone_, keys)), expected);
  }

  // Each row of a page is as it is now; no row comes twice, none that is always there is missed.
  void ScanAPage() {
    const TableBits now = BitsOfTable(model_.rows());
    if (!scanning_) {
      scanning_ = true;
      scan_ = {};
      scan_.with_state = true;
      seen_.clear();
      throughout_.clear();
      for (const auto& [key, row] : now) throughout_.insert(key);
    }
    scan_.rows_max = static_cast<uint32_t>(1 + random_.Below(40));
    ASSERT_TRUE(hot().Scan(scan_).ok());
    ASSERT_LE(scan_.keys.size(), scan_.rows_max);
    TableBits page;
    AddPage(scan_, &page);
    for (const auto& [key, row] : page) {
      const auto expected = now.find(key);
      ASSERT_TRUE(expected != now.end() && expected->second == row) << "key " << key;
      ASSERT_TRUE(seen_.insert(key).second) << "key " << key << " came twice";
    }
    if (!scan_.done) return;
    scanning_ = false;
    ++scans_;
    for (const Key key : throughout_) ASSERT_TRUE(seen_.contains(key)) << "key " << key;
  }
  void KeepThroughout() {
    const TableBits now = BitsOfTable(model_.rows());
    std::erase_if(throughout_, [&](Key key) { return !now.contains(key); });
  }

  void SnapshotAPage() {
    if (!taking_) {
      ASSERT_EQ(hot().BeginSnapshot(0), 0U);
      ++epoch_;
      taking_ = BitsOfTable(model_.rows());
      taken_.clear();
      ForAll([&](LocalTable& table) { table.SetEpoch(epoch_); });
    }
    ScanPage page;
    page.rows_max = static_cast<uint32_t>(1 + random_.Below(300));
    ASSERT_TRUE(hot().SnapshotPage(page).ok());
    AddPage(page, &taken_);
    if (!page.done) return;
    hot().EndSnapshot();
    ASSERT_TRUE(taken_ == *taking_);
    taking_.reset();
    ++snapshots_;
  }

  void CompareCounts() {
    const TableStats of_hot = hot().Stats();
    const TableStats of_alone = alone_.Stats();
    EXPECT_EQ(of_hot.not_admitted, model_.not_admitted);
    EXPECT_EQ(of_alone.not_admitted, model_.not_admitted);
    EXPECT_EQ(of_hot.rejected, model_.rejected);
    EXPECT_EQ(of_alone.rejected, model_.rejected);
    EXPECT_EQ(of_hot.lookup_hits, of_alone.lookup_hits);
    EXPECT_EQ(of_hot.updates, of_alone.updates);
    EXPECT_EQ(of_hot.steps, of_alone.steps);
    EXPECT_GE(of_hot.rows, model_.rows().Stats().rows);
    cold_rows_seen_ = std::max(cold_rows_seen_, of_hot.cold_rows);
  }

  void CompareAll() {
    const TableBits bits = BitsOfTable(model_.rows());
    EXPECT_TRUE(BitsOfTable(hot()) == bits);
    EXPECT_TRUE(BitsOfTable(alone_) == bits);
  }

  // Expired rows too: then every row that was counted has gone.
  void EraseEverything() {
    std::vector<Key> keys;
    for (Key key = 0; key < now_ * 2 + 1000; ++key) keys.push_back(Mix64(key));
    EXPECT_TRUE(hot().Erase(keys).ok());
    EXPECT_EQ(hot().Stats().rows, 0U);
    EXPECT_EQ(hot().hot_stats().rows, 0U);
  }

  template <typename Do>
  void ForAll(const Do& act) {
    act(hot());
    act(alone_);
    act(model_.rows());
  }

  const LifeCase case_;
  Random random_;
  const TableSpec spec_;
  const TierPolicy policy_;
  HotTiers tiers_;
  OwnTieredTable alone_;
  TimedModel model_;
  uint64_t now_ = 0;
  uint32_t epoch_ = 0;
  uint64_t cold_rows_seen_ = 0;
  uint32_t scans_ = 0;
  uint32_t snapshots_ = 0;
  bool scanning_ = false;
  ScanPage scan_;
  std::set<Key> seen_, throughout_;
  std::optional<TableBits> taking_;
  TableBits taken_;
};

class GpuExpiryRandom : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

TEST_F(GpuExpiryRandom, IsTheModelsToTheBitUnderAnyOperations) {
  uint32_t scans = 0;
  constexpr uint64_t kSeeds = kGpuIsEmulated ? 8 : 16;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const LifeCase life_case = {
        .seed = seed,
        .ttl_steps = seed % 3 == 0 ? 30U : 4U,
        .admit_from = seed % 2 == 0 ? 3U : 1U,
        .hot_rows_max = seed % 4 == 3 ? 20U : 130U,
        .warm_rows_max = seed % 5 == 0 ? 100'000U : 70U,
        .order = seed % 8 < 4 ? VictimOrder::kLeastRecent : VictimOrder::kLeastPushed,
        .with_thread = seed % 7 == 0,
        .value_type = seed % 6 == 1 ? ElementType::kFp16 : ElementType::kFp32};
    Life life(life_case);
    life.Steps(400);
    if (HasFailure()) return;
    EXPECT_GT(life.expired(), 500U);
    scans += life.scans();
    EXPECT_GT(life.snapshots(), 0U);
    EXPECT_GT(life.model().rejected, 50U);
    EXPECT_EQ(life.model().not_admitted > 500U, life_case.admit_from > 1);
    EXPECT_GT(life.hot_stats().moved_up, 300U);
    EXPECT_GT(life.hot_stats().moved_down, 200U);
    EXPECT_EQ(life.cold_rows_seen() > 50U, life_case.warm_rows_max < 100'000U);
  }
  EXPECT_GT(scans, kSeeds);
}

}  // namespace
}  // namespace strata
