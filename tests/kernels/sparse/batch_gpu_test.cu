// Batches on a GPU over several tables at once: rows out, keys combined, gradients applied.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "tests/kernels/sparse/update_model.cuh"

namespace strata {
namespace {

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

TEST_F(BatchOnGpu, CombinesRepeatedKeysInTheirOrder) {
  GroupUser user({4, 8, 20}, {.kind = OptimizerKind::kAdaGrad});
  for (const size_t most : {1, 40, 3'000, 20'000}) {
    const Keys keys = Drawn(user, most, most);
    const std::vector<uint64_t> all = Joined(keys);
    DeviceArray<uint64_t> on_device(all);
    const std::vector<float> expected_rows = RowsOf(user, keys);
    DeviceArray<float> out(expected_rows.size());
    out.Poison();
    Combined combined(all.size());
    CombineBatch(user.exec(), user.GroupOf(keys), on_device.data(), out.data(), combined.ref(),
                 {combined.scratch.data(), CombineScratchBytes(all.size())});
    user.Sync();
    ExpectSame(out.Get(), expected_rows);

    std::map<std::pair<size_t, uint64_t>, std::vector<uint32_t>> expected;
    uint32_t position = 0;
    for (size_t t = 0; t < keys.size(); ++t) {
      for (const uint64_t key : keys[t]) expected[{t, key}].push_back(position++);
    }
    const uint32_t count = combined.counts.Get()[0];
    ASSERT_EQ(count, expected.size());
    const auto order = combined.order.Get();
    const auto starts = combined.starts.Get();
    const auto lasts = combined.lasts.Get();
    const auto found_keys = combined.keys.Get();
    const auto places = combined.places.Get();
    std::set<uint32_t> missing, most_often, often;
    for (uint32_t j = 0; j < count; ++j) {
      const std::vector<uint32_t> positions(order.begin() + starts[j],
                                            order.begin() + starts[j + 1]);
      const size_t table = positions[0] < keys[0].size() ? 0 : 2;
      ASSERT_EQ(positions, (expected[{table, found_keys[j]}])) << "key " << found_keys[j];
      EXPECT_EQ(lasts[j], positions.back());
      EXPECT_EQ(places[j] == kNowhere, found_keys[j] >= GroupUser::kRows);
      if (places[j] == kNowhere) missing.insert(j);
      if (positions.size() > kMostOften) {
        most_often.insert(j);
      } else if (positions.size() > kOften) {
        often.insert(j);
      }
    }
    EXPECT_EQ(starts[count], all.size());
    const auto not_there = combined.missing.Get();
    const uint32_t missing_count = combined.counts.Get()[1];
    EXPECT_EQ(std::set<uint32_t>(not_there.begin(), not_there.begin() + missing_count), missing);
    EXPECT_EQ(missing_count, missing.size());
    const auto listed = combined.often.Get();
    const uint32_t front = combined.counts.Get()[2], back = combined.counts.Get()[3];
    EXPECT_EQ(std::set<uint32_t>(listed.begin(), listed.begin() + front), most_often);
    EXPECT_EQ(std::set<uint32_t>(listed.end() - back, listed.end()), often);
    EXPECT_EQ(front, most_often.size());
    EXPECT_EQ(back, often.size());
    if (most == 20'000) EXPECT_TRUE(front >= 2 && back >= 2) << front << ", " << back;
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
  for (uint64_t step = 1; step <= 4; ++step) {
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
  EXPECT_GE(model.rejected(), 4U);
  model.ExpectTablesAreThese();
}

TEST_F(BatchOnGpu, UpdatesRowsAsTheHostDoes) {
  // Rows in steps of four elements, of one, and in several steps of a warp.
  const std::vector<std::vector<uint32_t>> groups = {
      {16, 4, 128, 64}, {16, 3, 128, 1, 9}, {200, 8}};
  for (const OptimizerSpec& optimizer : Optimizers()) {
    for (const auto& dims : groups) Check(dims, optimizer);
  }
}

}  // namespace
}  // namespace strata
