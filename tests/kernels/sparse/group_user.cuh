// Several tables on one GPU with rows that a test knows, for the kernels that work on all at once.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "base/hash.h"
#include "kernels/core/narrow.h"
#include "kernels/optim/apply.h"
#include "kernels/sparse/batch.h"
#include "tests/storage/gpu/map_user.cuh"

namespace strata {

// On the calling thread's GPU.
class GroupUser {
 public:
  static constexpr uint64_t kRows = 2'000;   // of each table: keys 0 to kRows - 1
  static constexpr uint64_t kRoom = 20'000;  // for rows that a test makes

  // Every other table, from the first on, is of `value_type`. Of the keys only those have rows that
  // `holds` names.
  explicit GroupUser(
      const std::vector<uint32_t>& dims, const OptimizerSpec& optimizer = {},
      ElementType value_type = ElementType::kFp32, ElementType state_type = ElementType::kFp32,
      const std::function<bool(uint64_t key)>& holds = [](uint64_t) { return true; })
      : dims_(dims), value_type_(value_type) {
    for (size_t t = 0; t < dims.size(); ++t) {
      const auto state_width = static_cast<uint32_t>(StateWidth(optimizer, dims[t]));
      const size_t bytes = 2 * (kRows + kRoom) * SlotBytes(dims[t] + state_width);
      tables_.push_back(std::make_unique<MapUser>(
          bytes + 4 * DevicePool::kChunkBytes,
          DeviceMapOptions{.dim = dims[t],
                           .state_width = state_width,
                           .value_type = TypeOf(t),
                           .state_types = StateTypesOf(optimizer.kind, state_type),
                           .rows_first = 200,
                           .rows_max = 100'000}));
      MapUser& table = *tables_.back();
      table.start.initializer = {.kind = InitializerKind::kUniform, .scale = 0.5F};
      table.start.seed = 100 + t;
      table.start.state = 0.125F;
      table.start.checkpoint_epoch = 9;
      std::vector<uint64_t> keys;
      std::vector<float> values;
      for (uint64_t key = 0; key < kRows; ++key) {
        if (!holds(key)) continue;
        const std::vector<float> value = Stored(t, key);
        keys.push_back(key);
        values.insert(values.end(), value.begin(), value.end());
      }
      EXPECT_TRUE(table.Assign(keys, values).ok());
      EXPECT_TRUE(table.map().MakeRoom(table.exec(), kRoom).ok());
      table.Sync();
    }
  }

  size_t tables() const { return dims_.size(); }
  uint32_t dim(size_t t) const { return dims_[t]; }
  MapUser& table(size_t t) { return *tables_[t]; }
  const Exec& exec() const { return tables_[0]->exec(); }
  void Sync() { tables_[0]->Sync(); }
  // Where a key of table t stands in the order of the table below.
  uint64_t HomeOf(size_t t, uint64_t key) const { return tables_[t]->map().ref().HomeOf(key); }

  // What the row of a key holds, one that is missing too.
  std::vector<float> RowOf(size_t t, uint64_t key) const {
    std::vector<float> row =
        key < kRows ? Stored(t, key) : InitialValue(tables_[t]->start, key, dims_[t]);
    if (const ElementType type = TypeOf(t); type != ElementType::kFp32) {
      for (float& x : row) x = narrow::FromBits(type, narrow::ToBits(type, x));
    }
    return row;
  }

  TableGroup GroupOf(const std::vector<std::vector<uint64_t>>& keys) const {
    TableGroup group;
    for (size_t t = 0; t < dims_.size(); ++t) {
      group.Add(tables_[t]->map().ref(), tables_[t]->start, keys[t].size());
    }
    return group;
  }

 private:
  ElementType TypeOf(size_t t) const { return t % 2 == 0 ? value_type_ : ElementType::kFp32; }
  std::vector<float> Stored(size_t t, uint64_t key) const {
    std::vector<float> value;
    for (uint32_t e = 0; e < dims_[t]; ++e) {
      value.push_back(static_cast<float>(static_cast<int64_t>(Mix64(key ^ Mix64(t * 7919 + e)))) *
                      0x1p-63F);
    }
    return value;
  }

  const std::vector<uint32_t> dims_;
  const ElementType value_type_;
  std::vector<std::unique_ptr<MapUser>> tables_;
};

// Keys as batches have them: few come very often, some are missing.
inline std::vector<uint64_t> SkewedKeys(std::mt19937_64& random, size_t count) {
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) {
    switch (random() % 8) {
      case 0:
        key = ~(random() % 500);  // has no row
        break;
      case 1:
      case 2:
      case 3:
        key = 77;
        break;
      case 4:
        key = random() % 4;
        break;
      default:
        key = random() % (GroupUser::kRows + 300);
    }
  }
  return keys;
}

}  // namespace strata
