// Batches of samples turned into those of tables on a GPU beside the same in plain loops.
#include <memory>
#include <random>

#include "kernels/sparse/csr.h"
#include "strata/exec.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

using Slots = std::vector<std::vector<uint32_t>>;  // by table

struct Samples {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> offsets = {0};
};

Samples DrawSamples(uint64_t bags, bool one_hot) {
  std::mt19937_64 random(bags);
  Samples samples;
  for (uint64_t bag = 0; bag < bags; ++bag) {
    uint64_t length = random() % 3 == 0 ? 0 : random() % 5;
    if (bag == bags / 2) length = 300;
    if (one_hot) length = 1;
    for (uint64_t k = 0; k < length; ++k) samples.keys.push_back(random());
    samples.offsets.push_back(static_cast<uint32_t>(samples.keys.size()));
  }
  return samples;
}

class CsrOnGpu : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  enum class Offsets { kGiven, kNone, kOnlyOut };

  static void Check(uint64_t samples, uint32_t slots, const Slots& of_tables, Offsets offsets) {
    SCOPED_TRACE(testing::Message() << samples << " samples of " << slots << " slots");
    const Samples drawn = DrawSamples(samples * slots, offsets != Offsets::kGiven);
    std::vector<uint64_t> keys;
    std::vector<uint32_t> counts;
    std::vector<std::vector<uint32_t>> table_offsets;
    uint64_t bags = 0;
    for (const auto& of_table : of_tables) {
      const size_t first_key = keys.size();
      table_offsets.push_back({0});
      for (uint64_t i = 0; i < samples; ++i) {
        for (const uint32_t slot : of_table) {
          const uint64_t bag = i * slots + slot;
          for (uint32_t k = drawn.offsets[bag]; k < drawn.offsets[bag + 1]; ++k) {
            keys.push_back(drawn.keys[k]);
          }
          table_offsets.back().push_back(static_cast<uint32_t>(keys.size() - first_key));
        }
      }
      counts.push_back(static_cast<uint32_t>(keys.size() - first_key));
      bags += samples * of_table.size();
    }

    Stream stream;
    Exec exec;
    exec.device = DeviceKind::kCuda;
    exec.stream = stream.get();
    DeviceArray<uint64_t> on_device(drawn.keys);
    DeviceArray<uint32_t> on_device_offsets(drawn.offsets);
    DeviceArray<uint64_t> found_keys(keys.size() + 1);
    DeviceArray<uint32_t> found_counts(counts.size() + 1);
    found_keys.Poison();
    found_counts.Poison();
    std::vector<std::unique_ptr<DeviceArray<uint32_t>>> found_offsets;
    std::vector<TableSlots> tables;
    for (size_t t = 0; t < of_tables.size(); ++t) {
      found_offsets.push_back(std::make_unique<DeviceArray<uint32_t>>(table_offsets[t].size() + 1));
      found_offsets.back()->Poison();
      tables.push_back(
          {of_tables[t], offsets == Offsets::kNone ? nullptr : found_offsets.back()->data()});
    }
    const size_t bytes = SplitScratchBytes(bags);
    DeviceArray<std::byte> scratch(bytes);
    scratch.Poison();
    SplitByTable(exec,
                 {.keys = on_device.data(),
                  .offsets = offsets == Offsets::kGiven ? on_device_offsets.data() : nullptr,
                  .samples = samples,
                  .slots = slots},
                 tables, found_keys.data(), found_counts.data(), {scratch.data(), bytes});
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    ExpectSame(found_keys.Get(), keys);
    ExpectSame(found_counts.Get(), counts);
    for (size_t t = 0; t < of_tables.size() && offsets != Offsets::kNone; ++t) {
      SCOPED_TRACE(testing::Message() << "table " << t);
      ExpectSame(found_offsets[t]->Get(), table_offsets[t]);
    }
  }

  static void CheckSizes(Offsets offsets) {
    Slots one_each;
    for (uint32_t slot = 0; slot < 26; ++slot) one_each.push_back({slot});
    for (const uint64_t samples : {0, 1, 31, 32, 33, 255, 257, 1'000}) {
      // Out of order, one slot in two tables, and one in none.
      Check(samples, 7, {{5, 0, 3}, {6}, {1, 3}}, offsets);
      Check(samples, 26, one_each, offsets);
    }
    Check(20'000, 1, {{0}}, offsets);
  }
};

TEST_F(CsrOnGpu, TablesTakeTheirSlotsOfEachSample) { CheckSizes(Offsets::kGiven); }
TEST_F(CsrOnGpu, BagsOfOneKeyNeedNoOffsets) {
  CheckSizes(Offsets::kNone);
  CheckSizes(Offsets::kOnlyOut);
}
TEST_F(CsrOnGpu, AsManyTablesAndSlotsAsFit) {
  Slots slots(kSplitTablesMax);
  for (uint32_t s = 0; s < kSplitSlotsMax; ++s) {
    slots[s % kSplitTablesMax].push_back(kSplitSlotsMax - 1 - s);
  }
  Check(3, kSplitSlotsMax, slots, Offsets::kGiven);
}

}  // namespace
}  // namespace strata
