// Batches of updates on several tables of a GPU, and the model of what they leave there.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/optim/apply.h"
#include "kernels/sparse/update.h"
#include "storage/gpu/distinct_buffers.h"
#include "tests/kernels/sparse/group_user.cuh"

namespace strata {

using Keys = std::vector<std::vector<uint64_t>>;  // by table

inline std::vector<uint64_t> Joined(const Keys& keys) {
  std::vector<uint64_t> all;
  for (const auto& of_table : keys) all.insert(all.end(), of_table.begin(), of_table.end());
  return all;
}

// What `count` elements of a GPU's memory hold.
template <typename T>
std::vector<T> FromGpu(const T* array, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), array, count * sizeof(T), cudaMemcpyDefault), cudaSuccess);
  return values;
}

// The arrays of a batch, and what CombineBatch left in them.
struct Combined {
  explicit Combined(size_t keys_max) : counts(4), scratch(CombineScratchBytes(keys_max)) {
    EXPECT_TRUE(arrays.Reserve(keys_max).ok());
    // All of them are read, whatever was written.
    const auto poison = [](auto* array, size_t count) {
      EXPECT_EQ(cudaMemset(array, 0xEE, count * sizeof *array), cudaSuccess);
    };
    const DistinctKeys all = ref();
    poison(all.starts, keys_max + 1);
    for (uint64_t* array : {all.keys, all.places}) poison(array, keys_max);
    for (uint32_t* array : {all.order, all.lasts, all.often, all.missing}) poison(array, keys_max);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  DistinctKeys ref() { return arrays.With(reinterpret_cast<DistinctCounts*>(counts.data())); }

  DistinctBuffers arrays;
  DeviceArray<uint32_t> counts;  // DistinctCounts
  DeviceArray<std::byte> scratch;
};

// What UpdateRows makes of the tables, by the rule on the host, one gradient after the other.
class UpdateModel {
 public:
  UpdateModel(GroupUser& user, const OptimizerSpec& optimizer)
      : user_(user), optimizer_(optimizer), rows_(user.tables()), rejected_(user.tables()) {
    for (size_t t = 0; t < user.tables(); ++t) rows_[t] = user.table(t).Scan(512);
  }

  void Apply(const Keys& keys, const std::vector<float>& gradients, uint64_t step,
             const std::vector<uint32_t>& part_ends) {
    const TableGroup group = user_.GroupOf(keys);
    uint32_t position = 0;
    for (size_t t = 0; t < keys.size(); ++t) {
      const uint32_t dim = user_.dim(t);
      size_t at = group.tables[t].first_element;
      struct Sum {
        std::vector<float> values;
        std::set<size_t> parts;
      };
      std::map<uint64_t, Sum> sums;
      for (const uint64_t key : keys[t]) {
        const std::vector<float> g(gradients.begin() + static_cast<ptrdiff_t>(at),
                                   gradients.begin() + static_cast<ptrdiff_t>(at + dim));
        const auto [entry, is_first] = sums.try_emplace(key, Sum{g, {}});
        if (!is_first) {
          for (uint32_t e = 0; e < dim; ++e) entry->second.values[e] += g[e];
        }
        entry->second.parts.insert(
            static_cast<size_t>(std::ranges::upper_bound(part_ends, position) - part_ends.begin()));
        at += dim;
        ++position;
      }
      for (const auto& [key, sum] : sums) ApplyOne(t, key, sum.values, sum.parts.size(), step);
    }
  }

  const MapModel& rows(size_t t) const { return rows_[t]; }
  // What the row of a key holds, one that is missing too.
  std::vector<float> ValueOf(size_t t, uint64_t key) const {
    const auto row = rows_[t].find(key);
    return row == rows_[t].end() ? InitialValue(user_.table(t).start, key, user_.dim(t))
                                 : row->second.value;
  }
  uint64_t rejected() const { return std::accumulate(rejected_.begin(), rejected_.end(), 0ULL); }

  void ExpectTablesAreThese() {
    for (size_t t = 0; t < user_.tables(); ++t) {
      ASSERT_EQ(user_.table(t).Scan(512), rows_[t])
          << "table " << t << ", optimizer " << static_cast<int>(optimizer_.kind);
      EXPECT_EQ(user_.table(t).Rows(), rows_[t].size());
      EXPECT_EQ(user_.table(t).CountsNow().refused, 0U);
      EXPECT_EQ(user_.table(t).CountsNow().rejected, rejected_[t]);
    }
  }

 private:
  void ApplyOne(size_t t, uint64_t key, const std::vector<float>& sum, size_t parts,
                uint64_t step) {
    if (!std::ranges::all_of(sum, [](float g) { return std::isfinite(g); })) {
      ++rejected_[t];
      return;
    }
    const uint32_t dim = user_.dim(t);
    const RowStart& start = user_.table(t).start;
    ModelRow made{.value = InitialValue(start, key, dim),
                  .state = std::vector<float>(StateWidth(optimizer_, dim), start.state)};
    ModelRow& row = rows_[t].try_emplace(key, std::move(made)).first->second;
    std::vector<float> whole = row.value;
    whole.insert(whole.end(), row.state.begin(), row.state.end());
    const RowUpdate update{whole.data(), sum.data(), row.last_step};
    ApplyRows(Exec(), optimizer_, step, dim, {&update, 1});
    row.value.assign(whole.begin(), whole.begin() + dim);
    row.state.assign(whole.begin() + dim, whole.end());
    row.frequency += static_cast<uint32_t>(parts);
    row.last_step = step;
    row.score = start.score;
    row.epoch = start.checkpoint_epoch;
  }

  GroupUser& user_;
  const OptimizerSpec optimizer_;
  std::vector<MapModel> rows_;
  std::vector<uint64_t> rejected_;  // by table
};

// All kinds, each with and without what shapes gradients.
inline std::vector<OptimizerSpec> PlainAndShapedOptimizers() {
  std::vector<OptimizerSpec> all;
  for (int kind = 1; kind <= 9; ++kind) {
    OptimizerSpec plain{.kind = static_cast<OptimizerKind>(kind), .learning_rate = 0.1F};
    plain.momentum = 0.9F;
    plain.l1 = 0.01F;
    all.push_back(plain);
    OptimizerSpec shaped = plain;
    shaped.clip_value = 1.5F;
    shaped.clip_norm = 2.0F;
    shaped.weight_decay = 0.01F;
    all.push_back(shaped);
  }
  return all;
}

}  // namespace strata
