// Several updates in one pass over the rows, beside the rule on the host for one after the other.
#include <limits>
#include <random>

#include "kernels/sparse/update.h"
#include "tests/kernels/sparse/update_model.cuh"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

class UpdatesInTurn : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

// Keys of one batch for each time, which may repeat within and across them, and their gradients.
struct Pushes {
  std::vector<uint64_t> keys;
  std::vector<float> gradients;
  std::vector<uint32_t> ends;
  std::vector<uint64_t> steps;

  Pushes(std::mt19937_64& random, uint32_t dim, const std::vector<size_t>& sizes) {
    for (const size_t size : sizes) {
      const std::vector<uint64_t> more = SkewedKeys(random, size);
      keys.insert(keys.end(), more.begin(), more.end());
      ends.push_back(static_cast<uint32_t>(keys.size()));
      steps.push_back(1 + random() % 20);  // time may run backward
    }
    for (size_t i = 0; i < keys.size() * dim; ++i) {
      gradients.push_back(static_cast<float>(static_cast<int64_t>(random())) * 0x1p-62F);
    }
    // A key that exists, and one that is new, each in one of the updates that bring it.
    gradients[dim * (ends[0] - 1)] = std::numeric_limits<float>::quiet_NaN();
    for (const uint64_t key : {uint64_t{77}, ~uint64_t{3}}) {
      const auto at = std::ranges::find(keys.begin() + ends[1], keys.end(), key) - keys.begin();
      if (at < std::ssize(keys)) {
        gradients[static_cast<size_t>(at) * dim] = std::numeric_limits<float>::infinity();
      }
    }
  }
};

// The first `count` of them.
void UpdateBy(GroupUser& user, const OptimizerSpec& optimizer, const Pushes& pushes, size_t count) {
  DeviceArray<uint64_t> keys(pushes.keys);
  DeviceArray<float> gradients(pushes.gradients);
  DeviceArray<uint32_t> ends(pushes.ends);
  Combined combined(pushes.keys.size());
  const TableGroup group = user.GroupOf({pushes.keys});
  CombineBatch(user.exec(), group, keys.data(), nullptr, combined.ref(),
               {combined.scratch.data(), CombineScratchBytes(pushes.keys.size())});
  const size_t bytes = UpdateScratchBytes(pushes.keys.size(), group.dim_max);
  DeviceArray<std::byte> scratch(bytes);
  UpdateRowsInTurn(user.exec(), group, optimizer, std::span(pushes.steps).first(count),
                   combined.ref(), {gradients.data(), {ends.data(), pushes.ends.size()}},
                   {scratch.data(), bytes});
  user.Sync();
}

void ApplyToModel(UpdateModel& model, const Pushes& pushes, uint32_t dim, size_t count) {
  uint32_t begin = 0;
  for (size_t i = 0; i < count; begin = pushes.ends[i++]) {
    const uint32_t end = pushes.ends[i];
    const std::vector<uint64_t> keys(pushes.keys.begin() + begin, pushes.keys.begin() + end);
    const std::vector<float> gradients(pushes.gradients.begin() + begin * dim,
                                       pushes.gradients.begin() + end * dim);
    model.Apply({keys}, gradients, pushes.steps[i], {end - begin});
  }
}

TEST_F(UpdatesInTurn, AreThoseOneAfterTheOther) {
  // Rows in steps of four elements, of one, and in several steps of a warp: each kind has two.
  constexpr uint32_t kDims[] = {16, 9, 132};
  size_t number = 0;
  for (const OptimizerSpec& optimizer : PlainAndShapedOptimizers()) {
    const uint32_t dim = kDims[number++ % 3];
    std::mt19937_64 random(dim);
    GroupUser user({dim}, optimizer);
    UpdateModel model(user, optimizer);
    // Key 77 has runs on both sides of kOften, within a batch that has more than kMostOften.
    for (const std::vector<size_t>& sizes :
         {std::vector<size_t>{300, 1, 90, 1'500, 40, 180, 0, 175}, std::vector<size_t>(64, 7)}) {
      const Pushes pushes(random, dim, sizes);
      user.table(0).start.score += 3;
      // Those behind the last one were not to be applied.
      for (const size_t count : {sizes.size(), sizes.size() / 2}) {
        UpdateBy(user, optimizer, pushes, count);
        ApplyToModel(model, pushes, dim, count);
      }
    }
    EXPECT_GE(model.rejected(), 4U);
    model.ExpectTablesAreThese();
  }
}

}  // namespace
}  // namespace strata
