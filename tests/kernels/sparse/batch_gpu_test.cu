// Batches on a GPU over several tables at once: rows out, keys combined, gradients applied.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "kernels/sparse/key_bins.h"
#include "kernels/sparse/tile_sums.cuh"
#include "tests/kernels/sparse/update_model.cuh"

namespace strata {
namespace {

// Where the distinct keys are, by search.
__global__ void FindPlaces(const __grid_constant__ TableGroup group, DistinctKeys distinct,
                           uint64_t* places) {
  const uint64_t j = ThreadNumber();
  if (j >= *distinct.count) return;
  places[j] = FindPlace(group.OfKey(distinct.lasts[j]).map, distinct.keys[j]);
}

class BatchOnGpu : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  static Keys Drawn(GroupUser& user, uint64_t seed, size_t most) {
    std::mt19937_64 random(seed);
    Keys keys;
    for (size_t t = 0; t < user.tables(); ++t) {
      // One table of the batch has no keys at all.
      keys.push_back(SkewedKeys(random, t == 1 ? 0 : 1 + random() % most));
    }
    return keys;
  }

  static void CheckLookUp(ElementType type, uint64_t seed);

  // A batch's keys, and its rows if they are asked for. ids_before: slots of tables that are not
  // there. Returns how many keys come most often, and how many often.
  static std::pair<size_t, size_t> CheckCombine(const GroupUser& user, const Keys& keys,
                                                bool with_rows, uint64_t ids_before = 0);
  // The same by bins, of however few keys.
  static std::pair<size_t, size_t> CheckBins(const GroupUser& user, const Keys& keys);
  // Whether they are the batch's distinct keys.
  static std::pair<size_t, size_t> CheckDistinct(const TableGroup& group, const Keys& keys,
                                                 Combined& combined);

  // What a few batches make of the tables, on the GPU and on the host.
  static void Check(const std::vector<uint32_t>& dims, const OptimizerSpec& optimizer);

  // The batch's rows, and what DeviceArray::Poison leaves between tables.
  static std::vector<float> RowsOf(const GroupUser& user, const Keys& keys) {
    const TableGroup group = user.GroupOf(keys);
    std::vector<float> rows(group.elements);
    std::memset(rows.data(), 0xEE, rows.size() * sizeof(float));
    for (size_t t = 0; t < keys.size(); ++t) {
      auto to = rows.begin() + static_cast<ptrdiff_t>(group.tables[t].first_element);
      for (const uint64_t key : keys[t]) to = std::ranges::copy(user.RowOf(t, key), to).out;
    }
    return rows;
  }
};

void BatchOnGpu::CheckLookUp(ElementType type, uint64_t seed) {
  GroupUser user({16, 3, 128, 1, 1024, 5, 8}, {}, type);
  const Keys keys = Drawn(user, seed, 700);
  DeviceArray<uint64_t> on_device(Joined(keys));
  const std::vector<float> expected = RowsOf(user, keys);
  DeviceArray<float> out(expected.size() + 8);
  out.Poison();
  DeviceArray<unsigned long long> hits(std::vector<unsigned long long>(user.tables()));
  LookUpBatch(user.exec(), user.GroupOf(keys), on_device.data(), out.data(), hits.data());
  user.Sync();
  ExpectSame(out.Get(), expected);
  const auto counted = hits.Get();
  for (size_t t = 0; t < user.tables(); ++t) {
    EXPECT_EQ(counted[t],
              std::ranges::count_if(keys[t], [](uint64_t key) { return key < GroupUser::kRows; }));
  }
}

TEST_F(BatchOnGpu, LooksUpRowsOfManyTables) {
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16, ElementType::kFp16}) {
    for (uint64_t seed = 0; seed < 3; ++seed) CheckLookUp(type, seed);
  }
}

std::pair<size_t, size_t> BatchOnGpu::CheckCombine(const GroupUser& user, const Keys& keys,
                                                   bool with_rows, uint64_t ids_before) {
  const std::vector<uint64_t> all = Joined(keys);
  DeviceArray<uint64_t> on_device(all);
  const std::vector<float> expected_rows = RowsOf(user, keys);
  DeviceArray<float> out(expected_rows.size());
  out.Poison();
  TableGroup group = user.GroupOf(keys);
  group.ids += ids_before;
  for (uint32_t t = 0; t < group.count; ++t) group.tables[t].first_id += ids_before;
  Combined combined(all.size());
  combined.counts.Poison();
  CombineBatch(user.exec(), group, on_device.data(), with_rows ? out.data() : nullptr,
               combined.ref(), {combined.scratch.data(), CombineScratchBytes(all.size())});
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  if (with_rows) ExpectSame(out.Get(), expected_rows);
  return CheckDistinct(group, keys, combined);
}

std::pair<size_t, size_t> BatchOnGpu::CheckBins(const GroupUser& user, const Keys& keys) {
  const std::vector<uint64_t> all = Joined(keys);
  DeviceArray<uint64_t> on_device(all);
  const TableGroup group = user.GroupOf(keys);
  const BinPlan plan(group);
  Combined combined(all.size());
  combined.counts.Poison();
  DeviceArray<std::byte> scratch(BinScratchBytes(all.size()));
  scratch.Poison();
  CombineByBins(user.exec(), plan, on_device.data(), combined.ref(),
                {scratch.data(), BinScratchBytes(all.size())});
  FindDistinct(user.exec(), group, combined.ref());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return CheckDistinct(group, keys, combined);
}

std::pair<size_t, size_t> BatchOnGpu::CheckDistinct(const TableGroup& group, const Keys& keys,
                                                    Combined& combined) {
  const std::vector<uint64_t> all = Joined(keys);

  std::map<std::pair<size_t, uint64_t>, std::vector<uint32_t>> expected;
  std::vector<size_t> table_of;
  for (size_t t = 0; t < keys.size(); ++t) {
    for (const uint64_t key : keys[t]) {
      expected[{t, key}].push_back(static_cast<uint32_t>(table_of.size()));
      table_of.push_back(t);
    }
  }
  const uint32_t count = combined.counts.Get()[0];
  EXPECT_EQ(count, expected.size());
  if (count != expected.size()) return {};
  const DistinctKeys found = combined.ref();
  const auto order = FromGpu(found.order, all.size());
  const auto starts = FromGpu(found.starts, all.size() + 1);
  const auto lasts = FromGpu(found.lasts, all.size());
  const auto found_keys = FromGpu(found.keys, all.size());
  const auto places = FromGpu(found.places, all.size());
  DeviceArray<uint64_t> on_device_places(count);
  FindPlaces<<<(count + 255) / 256, 256>>>(group, combined.ref(), on_device_places.data());
  const auto expected_places = on_device_places.Get();
  std::set<uint32_t> missing, most_often, often;
  for (uint32_t j = 0; j < count; ++j) {
    if (starts[j] >= starts[j + 1] || starts[j + 1] > all.size()) {
      ADD_FAILURE() << "key " << j << " from " << starts[j] << " to " << starts[j + 1];
      return {};
    }
    const std::vector<uint32_t> positions(order.begin() + starts[j], order.begin() + starts[j + 1]);
    const size_t table = table_of[positions[0] % table_of.size()];
    EXPECT_EQ(positions, (expected[{table, found_keys[j]}])) << "key " << found_keys[j];
    EXPECT_EQ(lasts[j], positions.back());
    EXPECT_EQ(places[j], expected_places[j]);
    if (places[j] == kNowhere) missing.insert(j);
    if (positions.size() > kMostOften) {
      most_often.insert(j);
    } else if (positions.size() > kOften) {
      often.insert(j);
    }
  }
  EXPECT_EQ(starts[count], all.size());
  const auto not_there = FromGpu(found.missing, all.size());
  const uint32_t missing_count = combined.counts.Get()[1];
  EXPECT_EQ(std::set<uint32_t>(not_there.begin(), not_there.begin() + missing_count), missing);
  EXPECT_EQ(missing_count, missing.size());
  const auto listed = FromGpu(found.often, all.size());
  const uint32_t front = combined.counts.Get()[2], back = combined.counts.Get()[3];
  EXPECT_EQ(std::set<uint32_t>(listed.begin(), listed.begin() + front), most_often);
  EXPECT_EQ(std::set<uint32_t>(listed.end() - back, listed.end()), often);
  EXPECT_EQ(front, most_often.size());
  EXPECT_EQ(back, often.size());
  return {most_often.size(), often.size()};
}

TEST_F(BatchOnGpu, CombinesRepeatedKeysInTheirOrder) {
  GroupUser user({4, 8, 20}, {.kind = OptimizerKind::kAdaGrad});
  for (const size_t most : {1, 40, 3'000, 20'000}) {
    const Keys keys = Drawn(user, most, most);
    for (const bool with_rows : {true, false}) {
      const auto [front, back] = CheckCombine(user, keys, with_rows);
      if (most == 20'000) EXPECT_TRUE(front >= 2 && back >= 2) << front << ", " << back;
    }
    CheckCombine(user, keys, true, 1ULL << 33);  // numbers of more than 32 bits
  }
}

// Blocks take tiles of the sorted batch: keys that begin, end and lie over their borders.
TEST_F(BatchOnGpu, CombinesBatchesOfAnySize) {
  GroupUser user({4, 8});
  for (const size_t count : {1, 31, 33, 2'047, 2'048, 2'049, 4'095, 4'096, 4'097, 10'000}) {
    for (const uint64_t distinct : {uint64_t{1}, uint64_t{2}, uint64_t{1'500}, ~uint64_t{0}}) {
      Keys keys(2);
      for (uint64_t i = 0; i < count; ++i) keys[i * 3 / 2 < count].push_back(i % distinct);
      CheckCombine(user, keys, false);
      CheckCombine(user, keys, false, 1ULL << 33);
    }
  }
}

TEST_F(BatchOnGpu, CombinesKeysOfWhichNoneHasARow) {
  GroupUser user({4, 8});
  for (const uint64_t distinct : {uint64_t{1}, uint64_t{100}, ~uint64_t{0}}) {
    Keys keys(2);
    for (uint64_t i = 0; i < 6'000; ++i) keys[i % 2].push_back(GroupUser::kRows + i % distinct);
    CheckCombine(user, keys, true);
  }
}

// As a scan in the order of hashes brings them.
TEST_F(BatchOnGpu, CombinesKeysWithoutARowThatLieCloseTogether) {
  GroupUser user({4, 8});
  std::mt19937_64 random(5);
  Keys keys(2);
  while (keys[0].size() < 3'000) {
    const uint64_t key = GroupUser::kRows + random() / 2;
    if (user.HomeOf(0, key) >> 56 == 77) keys[0].insert(keys[0].end(), 1 + random() % 2, key);
  }
  keys[1] = keys[0];
  CheckCombine(user, keys, true);
}

// They begin anywhere, and where keys lie close together they took each other's entries.
TEST_F(BatchOnGpu, KeysWithoutARowComeInTheOrderOfAHostsIndex) {
  GroupUser user({4, 8});
  std::mt19937_64 random(9);
  Keys keys(2);
  for (std::vector<uint64_t>& of_table : keys) {
    for (int i = 0; i < 20'000; ++i) of_table.push_back(GroupUser::kRows + random() / 2);
    const TableGroup group = user.GroupOf(keys);
    const std::vector<uint64_t> all = Joined(keys);
    DeviceArray<uint64_t> on_device(all);
    Combined combined(all.size());
    CombineBatch(user.exec(), group, on_device.data(), nullptr, combined.ref(),
                 {combined.scratch.data(), CombineScratchBytes(all.size())});
    user.Sync();
    const auto found = FromGpu(combined.ref().keys, combined.counts.Get()[0]);
    const std::set<uint64_t> of_first(keys[0].begin(), keys[0].end());
    for (const bool first : {true, false}) {
      std::vector<uint64_t> coarse;
      for (const uint64_t key : found) {
        if (of_first.contains(key) == first)
          coarse.push_back(user.HomeOf(first ? 0 : 1, key) >> 56);
      }
      int descents = 0;
      for (size_t i = 1; i < coarse.size(); ++i) descents += coarse[i] < coarse[i - 1] ? 1 : 0;
      EXPECT_LT(descents, 256) << coarse.size();  // in no order they would be half of all
    }
  }
}

class BinsOnGpu : public BatchOnGpu {
 protected:
  void SetUp() override {
    BatchOnGpu::SetUp();
    if (IsSkipped()) return;
    Exec exec;
    exec.device = DeviceKind::kCuda;
    if (!BinPlan(TableGroup()).Fits(exec)) GTEST_SKIP() << "a GPU with less shared memory";
  }
};

TEST_F(BinsOnGpu, CombineBatchesOfAnySize) {
  GroupUser user({4, 8});
  for (const size_t count : {1, 31, 831, 833, 13'311, 13'312, 13'313, 30'000}) {
    for (const uint64_t distinct : {uint64_t{1}, uint64_t{2}, uint64_t{1'500}, ~uint64_t{0}}) {
      Keys keys(2);
      for (uint64_t i = 0; i < count; ++i) keys[i * 3 / 2 < count].push_back(i % distinct);
      CheckBins(user, keys);
    }
  }
}

TEST_F(BinsOnGpu, CombineUniformKeysAndThoseThatComeEverMoreOften) {
  GroupUser user({4, 8, 4});
  std::mt19937_64 random(3);
  for (const double exponent : {1.0, 2.0, 4.0}) {
    Keys keys(3);
    for (size_t i = 0; i < 60'000; ++i) {
      const double at = std::pow(std::uniform_real_distribution<double>(0, 1)(random), exponent);
      // A table without keys lies between the others.
      keys[i % 100 == 0 ? 0 : 2].push_back(static_cast<uint64_t>(at * 50'000));
    }
    CheckBins(user, keys);
  }
}

// More than may have bins of their own.
TEST_F(BinsOnGpu, CombineManyKeysThatComeOften) {
  GroupUser user({4});
  std::mt19937_64 random(11);
  Keys keys(1);
  for (uint64_t i = 0; i < 105'000; ++i) keys[0].push_back(i % 1'500 * 3);
  std::ranges::shuffle(keys[0], random);
  EXPECT_EQ(CheckBins(user, keys), (std::pair<size_t, size_t>(0, 1'500)));
}

// Keys that hash to one bin: more than a block has room for near by, and more than it has at all.
TEST_F(BinsOnGpu, CombineBinsOfAnySize) {
  GroupUser user({4});
  std::mt19937_64 random(7);
  for (const size_t in_one : {1'281, 2'305, 9'000}) {
    Keys keys(1);
    while (keys[0].size() < in_one) {
      const uint64_t key = random();
      if (user.HomeOf(0, key) >> 57 == 0) keys[0].insert(keys[0].end(), 1 + random() % 3, key);
    }
    for (uint64_t i = 0; keys[0].size() < 80'000; ++i) keys[0].push_back(i);
    std::ranges::shuffle(keys[0], random);
    CheckBins(user, keys);
  }
}

TEST_F(BinsOnGpu, HaveNoRoomForAnyNumberOfKeys) {
  TableGroup group;
  group.Add(MapRef(), RowStart(), 3'800'000);
  Exec exec;
  exec.device = DeviceKind::kCuda;
  EXPECT_TRUE(BinPlan(group).Fits(exec));
  group.Add(MapRef(), RowStart(), 3'800'000);
  EXPECT_FALSE(BinPlan(group).Fits(exec));
}

#ifdef __CUDACC__  // emulated it takes minutes
// Above a million keys CombineBatch takes bins.
TEST_F(BinsOnGpu, CombineLargeBatches) {
  GroupUser user({4, 8});
  std::mt19937_64 random(13);
  Keys keys(2);
  for (size_t i = 0; i < 1'200'000; ++i) keys[i % 3 / 2].push_back(random() % 900'000);
  CheckCombine(user, keys, false);
}
#endif

// Lengths of runs at which a key begins to be listed.
TEST_F(BatchOnGpu, ListsKeysThatComeOften) {
  GroupUser user({4});
  Keys keys(1);
  for (const uint64_t run : {1, 64, 65, 2, 1'024, 1'025, 66, 63, 5'000, 1'026, 64, 65}) {
    keys[0].insert(keys[0].end(), run, keys[0].empty() ? 3 : keys[0].back() + 17);
  }
  EXPECT_EQ(CheckCombine(user, keys, false), (std::pair<size_t, size_t>(3, 4)));
}

__global__ void SumBefore(TileSums sums, uint32_t tile, uint32_t own, uint32_t* before) {
  const uint32_t sum = sums.Before(tile, own);
  if (Lane() == 0) *before = sum;
}

// Of the tiles before it one block knows the whole sum, as all before it may, and others their own.
TEST(TileSumsOnGpu, LooksBackOverTiles) {
  STRATA_SKIP_BELOW_GPUS(1);
  const uint32_t tile = 100;
  for (const uint32_t knows : {0, 1, 35, 36, 37, 67, 68, 69, 98, 99}) {
    std::vector<unsigned long long> words(TileSums::WordsFor(tile + 1));
    uint32_t sum = 0;
    uint32_t expected = 0;
    for (uint32_t t = 0; t < tile; ++t) {
      const uint32_t own = 1 + t * t;
      sum = t == knows ? 5'000'000 : own;
      expected = t == knows ? sum : expected + own;
      words[1 + t] = (t == knows ? TileSums::kWhole : TileSums::kOwn) << 32 | sum;
    }
    DeviceArray<unsigned long long> on_device(words);
    DeviceArray<uint32_t> before(1);
    SumBefore<<<1, 32>>>(TileSums{on_device.data()}, tile, 7, before.data());
    EXPECT_EQ(before.Get()[0], expected) << knows;
    EXPECT_EQ(on_device.Get()[1 + tile], TileSums::kWhole << 32 | (expected + 7));
  }
}

TEST_F(BatchOnGpu, AnEmptyBatchHasNoKeys) {
  GroupUser user({4});
  Combined combined(1);
  combined.counts.Set({7, 7, 7, 7});
  CombineBatch(user.exec(), user.GroupOf({{}}), nullptr, nullptr, combined.ref(), {});
  user.Sync();
  EXPECT_EQ(combined.counts.Get(), (std::vector<uint32_t>{0, 0, 0, 0}));
}

void BatchOnGpu::Check(const std::vector<uint32_t>& dims, const OptimizerSpec& optimizer) {
  GroupUser user(dims, optimizer);
  UpdateModel model(user, optimizer);
  constexpr uint64_t kSteps = kGpuIsEmulated ? 2 : 4;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    const Keys keys = Drawn(user, 50 + step, 4'000);
    const std::vector<uint64_t> all = Joined(keys);
    for (size_t t = 0; t < user.tables(); ++t) user.table(t).start.score = 3 * step;
    const TableGroup group = user.GroupOf(keys);
    std::vector<float> gradients(group.elements);
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = static_cast<float>(static_cast<int64_t>(Mix64(i ^ step))) * 0x1p-62F;
    }
    gradients[17] = std::numeric_limits<float>::infinity();
    gradients.back() = std::numeric_limits<float>::quiet_NaN();
    const std::vector<uint32_t> ends = {3, static_cast<uint32_t>(all.size() / 2),
                                        static_cast<uint32_t>(all.size())};
    model.Apply(keys, gradients, step, ends);

    DeviceArray<uint64_t> on_device(all);
    DeviceArray<float> on_device_gradients(gradients);
    DeviceArray<uint32_t> on_device_ends(ends);
    Combined combined(all.size());
    CombineBatch(user.exec(), group, on_device.data(), nullptr, combined.ref(),
                 {combined.scratch.data(), CombineScratchBytes(all.size())});
    const size_t bytes = UpdateScratchBytes(all.size(), group.dim_max);
    DeviceArray<std::byte> scratch(bytes);
    UpdateRows(user.exec(), group, optimizer, step, combined.ref(),
               {on_device_gradients.data(), {on_device_ends.data(), ends.size()}},
               {scratch.data(), bytes});
    user.Sync();
  }
  EXPECT_GE(model.rejected(), kSteps);
  model.ExpectTablesAreThese();
}

TEST_F(BatchOnGpu, UpdatesRowsAsTheHostDoes) {
  // Rows in steps of four elements, of one, and in several steps of a warp.
  const std::vector<std::vector<uint32_t>> groups = {
      {16, 4, 128, 64}, {16, 3, 128, 1, 9}, {200, 8}};
  for (const OptimizerSpec& optimizer : PlainAndShapedOptimizers()) {
    for (const auto& dims : groups) Check(dims, optimizer);
  }
}

}  // namespace
}  // namespace strata
