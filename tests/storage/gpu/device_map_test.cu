// The hash map on a GPU beside std::map.
#include <algorithm>
#include <random>
#include <set>

#include "base/hash.h"
#include "tests/storage/gpu/map_user.cuh"

namespace strata {
namespace {

constexpr size_t kPool = size_t{4} << 30;

std::vector<float> ValuesOf(const std::vector<uint64_t>& keys, uint32_t dim, uint64_t salt) {
  std::vector<float> values;
  for (const uint64_t key : keys) {
    for (uint32_t e = 0; e < dim; ++e) {
      values.push_back(static_cast<float>(Mix64(key ^ Mix64(salt + e)) >> 40));
    }
  }
  return values;
}

std::vector<uint64_t> Distinct(std::mt19937_64& random, size_t count, uint64_t below) {
  std::set<uint64_t> keys;
  while (keys.size() < count) {
    const uint64_t drawn = random() % below;
    // Ends of the range, and keys that differ in high bits alone.
    keys.insert(drawn % 3 == 0 ? ~drawn : drawn % 3 == 1 ? drawn : drawn << 40);
  }
  std::vector<uint64_t> shuffled(keys.begin(), keys.end());
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  return shuffled;
}

class DeviceMapTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

TEST_P(DeviceMapTest, IsAStdMapWhateverComesThroughGrowth) {
  const uint32_t dim = GetParam();
  MapUser user(kPool, {.dim = dim, .state_width = dim / 2, .rows_first = 50, .rows_max = 200'000});
  user.start.initializer = {.kind = InitializerKind::kUniform, .scale = 0.5F};
  user.start.seed = 11;
  user.start.state = 0.25F;
  MapModel model;
  std::mt19937_64 random(dim);
  const uint64_t level_before = user.map().ref().level;
  for (int step = 0; step < 120; ++step) {
    user.start.score = static_cast<uint64_t>(step);
    user.start.last_step = static_cast<uint64_t>(step) + 100;
    user.start.checkpoint_epoch = static_cast<uint32_t>(step) / 7;
    const auto made = [&](std::vector<float> value) {
      return ModelRow{.value = std::move(value),
                      .state = std::vector<float>(dim / 2, user.start.state),
                      .epoch = user.start.checkpoint_epoch,
                      .last_step = user.start.last_step,
                      .score = user.start.score};
    };
    const uint64_t range = step < 40 ? 3'000 : 90'000;
    const auto keys = Distinct(random, 1 + random() % 1500, range);
    switch (random() % 4) {
      case 0: {
        const auto values = ValuesOf(keys, dim, static_cast<uint64_t>(step));
        ASSERT_TRUE(user.Assign(keys, values).ok());
        for (size_t i = 0; i < keys.size(); ++i) {
          model[keys[i]] = made({&values[i * dim], &values[i * dim] + dim});
        }
        break;
      }
      case 1: {
        const auto rows = user.FindOrMake(keys);
        ASSERT_TRUE(rows.ok());
        for (size_t i = 0; i < keys.size(); ++i) {
          ModelRow& row = model.try_emplace(keys[i], made(InitialValue(user.start, keys[i], dim)))
                              .first->second;
          row.score = user.start.score;
          ASSERT_TRUE(std::equal(row.value.begin(), row.value.end(), &(*rows)[i * dim]));
        }
        break;
      }
      case 2: {
        auto twice = keys;
        twice.insert(twice.end(), keys.begin(), keys.begin() + keys.size() / 2);
        user.Erase(twice);
        for (const uint64_t key : keys) model.erase(key);
        break;
      }
      default: {
        uint64_t hits = 0;
        const auto rows = user.LookUp(keys, &hits);
        std::vector<float> found_rows;
        const auto found = user.Found(keys, &found_rows);
        uint64_t expected = 0;
        for (size_t i = 0; i < keys.size(); ++i) {
          const auto at = model.find(keys[i]);
          const auto value =
              at == model.end() ? InitialValue(user.start, keys[i], dim) : at->second.value;
          expected += at != model.end() ? 1 : 0;
          ASSERT_EQ(found[i] != 0, at != model.end());
          ASSERT_TRUE(std::equal(value.begin(), value.end(), &rows[i * dim])) << "key " << keys[i];
          if (at != model.end()) {
            ASSERT_TRUE(std::equal(value.begin(), value.end(), &found_rows[i * dim]));
          }
        }
        EXPECT_EQ(hits, expected);
      }
    }
    ASSERT_EQ(user.Rows(), model.size()) << "step " << step;
    if (step % 10 == 9) ASSERT_EQ(user.Scan(1 + random() % 5000), model) << "step " << step;
  }
  EXPECT_GT(user.map().ref().level, level_before + 5) << "it should have grown";
  EXPECT_EQ(user.CountsNow().refused, 0U);
}

INSTANTIATE_TEST_SUITE_P(Dims, DeviceMapTest,
                         testing::Values(1, 3, 4, 8, 17, 32, 64, 100, 128, 1024),
                         testing::PrintToStringParamName());

class DeviceMapCases : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

// As MapUser::Assign does at this score.
void AssignTo(MapModel* model, const std::vector<uint64_t>& keys, const std::vector<float>& values,
              uint64_t score) {
  const auto dim = static_cast<ptrdiff_t>(values.size() / keys.size());
  auto value = values.begin();
  for (const uint64_t key : keys) {
    ModelRow& row = (*model)[key];
    row = {};
    row.value.assign(value, value + dim);
    row.score = score;
    value += dim;
  }
}

TEST_F(DeviceMapCases, AFixedOneHandsOutWhatItEvictsAndLosesNothing) {
  constexpr uint32_t kDim = 8;
  constexpr uint64_t kRows = 30'000;
  MapUser user(kPool, {.dim = kDim, .rows_max = kRows, .fixed = true});
  MapModel inside;
  uint64_t evicted = 0;
  std::mt19937_64 random(3);
  for (uint64_t step = 1; step <= 60; ++step) {
    user.start.score = step;
    const auto keys = Distinct(random, 3'000, 200'000);
    const auto values = ValuesOf(keys, kDim, step);
    AssignTo(&inside, keys, values, step);
    MapModel victims;
    const uint64_t refused = user.CountsNow().refused;
    ASSERT_TRUE(user.Assign(keys, values, &victims).ok());
    ASSERT_EQ(user.CountsNow().refused, refused);  // a tenth of the slots at a time: room for all
    for (const auto& [key, row] : victims) {
      ASSERT_EQ(inside.at(key), row) << "key " << key;
      ASSERT_LT(row.score, step) << "what has just come does not go";
      inside.erase(key);
    }
    evicted += victims.size();
    ASSERT_EQ(user.Scan(1000), inside) << "step " << step;
    ASSERT_EQ(user.Rows(), inside.size());
  }
  EXPECT_GT(evicted, 100'000U);
  EXPECT_GT(inside.size(), kRows * 9 / 10);
}

TEST_F(DeviceMapCases, AFixedOneLosesWhatItEvictsWhereNobodyTakesIt) {
  constexpr uint32_t kDim = 32;
  MapUser user(kPool, {.dim = kDim, .rows_max = 20'000, .fixed = true});
  MapModel assigned;
  uint64_t lost = 0;
  std::mt19937_64 random(7);
  for (uint64_t step = 1; step <= 20; ++step) {
    user.start.score = step;
    const auto keys = Distinct(random, 2'000, 100'000);
    const auto values = ValuesOf(keys, kDim, step);
    MapModel wanted = user.Scan(1000);
    for (const uint64_t key : keys) wanted.try_emplace(key);
    AssignTo(&assigned, keys, values, step);
    ASSERT_TRUE(user.AssignAndLose(keys, values).ok());
    const MapModel inside = user.Scan(1000);
    ASSERT_EQ(user.Rows(), inside.size());
    lost += wanted.size() - inside.size();
    for (const auto& [key, row] : inside) ASSERT_EQ(row, assigned.at(key)) << "key " << key;
    for (const uint64_t key : keys) ASSERT_TRUE(inside.contains(key)) << "key " << key;
  }
  EXPECT_GT(lost, 10'000U);
}

TEST_F(DeviceMapCases, RowsOfTheSameScoreAreNotEvictedButTheNewKeysRefused) {
  MapUser user(kPool, {.dim = 4, .rows_max = 60, .fixed = true});
  std::mt19937_64 random(1);
  user.start.score = 5;
  const auto keys = Distinct(random, 500, 1'000'000);
  MapModel victims;
  ASSERT_TRUE(user.Assign(keys, ValuesOf(keys, 4, 1), &victims).ok());
  EXPECT_TRUE(victims.empty());
  EXPECT_EQ(user.CountsNow().refused + user.Rows(), 500U);
  EXPECT_EQ(user.Scan(7).size(), user.Rows());
}

TEST_F(DeviceMapCases, AMapThatMayGrowNoFurtherRefusesAndKeepsWhatItHas) {
  MapUser user(kPool, {.dim = 4, .rows_first = 100, .rows_max = 1000});
  std::mt19937_64 random(1);
  const auto keys = Distinct(random, 5'000, 1'000'000);
  std::vector<uint64_t> kept;
  Status refused;
  for (size_t i = 0; i + 100 <= keys.size(); i += 100) {
    const std::vector<uint64_t> some(keys.begin() + i, keys.begin() + i + 100);
    refused = user.Assign(some, ValuesOf(some, 4, 1));
    if (!refused.ok()) break;
    kept.insert(kept.end(), some.begin(), some.end());
  }
  EXPECT_EQ(refused.code(), StatusCode::kRefused) << refused.ToString();
  EXPECT_GE(kept.size(), 1000U);
  std::vector<float> rows;
  const auto found = user.Found(kept, &rows);
  EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](char f) { return f != 0; }));
  EXPECT_EQ(rows, ValuesOf(kept, 4, 1));
}

TEST_F(DeviceMapCases, WritingTheSameKeysAgainDoesNotGrowIt) {
  MapUser user(kPool, {.dim = 4, .rows_first = 100, .rows_max = 10'000'000});
  std::mt19937_64 random(1);
  const auto keys = Distinct(random, 20'000, 1'000'000);
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(user.Assign(keys, ValuesOf(keys, 4, 1)).ok());
  }
  EXPECT_EQ(user.Rows(), keys.size());
  // A batch may be all new, and what it needs is at most doubled.
  EXPECT_LE(static_cast<double>(user.map().slots()) * DeviceMap::kLoadMax,
            2.1 * 2 * static_cast<double>(keys.size()));
}

// Keys that no bit but those a hash mixes tells apart, and the ends of the range.
TEST_F(DeviceMapCases, EveryKeyIsAKey) {
  MapUser user(kPool, {.dim = 2, .rows_first = 10, .rows_max = 100'000});
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 10'000; ++i) keys.push_back(i);
  for (uint64_t i = 0; i < 10'000; ++i) keys.push_back(~i);
  for (uint64_t i = 1; i < 10'000; ++i) keys.push_back(i << 48);
  const auto values = ValuesOf(keys, 2, 9);
  ASSERT_TRUE(user.Assign(keys, values).ok());
  std::vector<float> rows;
  const auto found = user.Found(keys, &rows);
  EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](char f) { return f != 0; }));
  EXPECT_EQ(rows, values);
  EXPECT_EQ(user.Rows(), keys.size());
}

// Who owns an eighth of the shards has keys whose hashes are alike in their highest bits.
TEST_F(DeviceMapCases, KeysOfFewShardsAreAtHomeInAllPairs) {
  for (const uint32_t level : {0U, 3U}) {
    MapRef map;
    map.pairs_base = 4'001;
    map.level = level;
    map.split = 1'000;
    std::set<uint64_t> pairs;
    uint64_t keys = 0;
    for (uint64_t key = 0; keys < 20 * map.pairs(); ++key) {
      if (Mix64(key) >> 61 != 5) continue;
      pairs.insert(map.PairOf(map.First(key)));
      ++keys;
    }
    EXPECT_GE(static_cast<double>(pairs.size()), 0.999 * static_cast<double>(map.pairs()));
  }
}

}  // namespace
}  // namespace strata
