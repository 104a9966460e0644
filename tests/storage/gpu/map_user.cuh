// A map on the GPU and what its calls need, for tests: keys and rows go in and come out as vectors.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "kernels/core/initializer.h"
#include "kernels/core/narrow.h"
#include "kernels/sparse/batch.h"
#include "storage/gpu/device_map.h"
#include "strata/gpu/hash_map.h"
#include "tests/support/device_memory.cuh"

namespace strata {

// What the test says a row holds.
struct ModelRow {
  std::vector<float> value;
  std::vector<float> state;
  uint32_t frequency = 0;
  uint32_t epoch = 0;
  uint64_t last_step = 0;
  uint64_t score = 0;
  friend bool operator==(const ModelRow&, const ModelRow&) = default;
};
using MapModel = std::map<uint64_t, ModelRow>;

// On the calling thread's GPU.
class MapUser {
 public:
  MapUser(size_t pool_bytes, const DeviceMapOptions& options) : options_(options) {
    EXPECT_EQ(cudaGetDevice(&exec_.ordinal), cudaSuccess);
    auto pool = DevicePool::Make(exec_.ordinal, pool_bytes);
    EXPECT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(*pool);
    exec_.device = DeviceKind::kCuda;
    exec_.stream = stream_.get();
    auto map = DeviceMap::Make(exec_, *pool_, options);
    EXPECT_TRUE(map.ok()) << map.status().ToString();
    map_ = std::move(*map);
  }

  DeviceMap& map() { return *map_; }
  const Exec& exec() const { return exec_; }
  RowStart start;  // of the calls that make rows

  void Sync() { ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess); }

  // Distinct keys. Rows that had to make room come out in *victims.
  Status Assign(const std::vector<uint64_t>& keys, const std::vector<float>& values,
                MapModel* victims = nullptr) {
    STRATA_TRY(map_->MakeRoom(exec_, keys.size()));
    DeviceArray<float> given(values);
    Insert(keys, victims,
           [&](std::span<const uint64_t> on_device, const MissList& misses, const WhenFull& full) {
             InsertOrAssign(exec_, map_->ref(), on_device, given.data(), nullptr, start, misses,
                            full);
           });
    return {};
  }
  // Rows that had to make room are lost.
  Status AssignAndLose(const std::vector<uint64_t>& keys, const std::vector<float>& values) {
    STRATA_TRY(map_->MakeRoom(exec_, keys.size()));
    DeviceArray<float> given(values);
    Insert(keys, nullptr,
           [&](std::span<const uint64_t> on_device, const MissList& misses, const WhenFull&) {
             InsertOrAssign(exec_, map_->ref(), on_device, given.data(), nullptr, start, misses,
                            {.evicts = true, .victims = {}});
           });
    return {};
  }
  Result<std::vector<float>> FindOrMake(const std::vector<uint64_t>& keys,
                                        MapModel* victims = nullptr) {
    STRATA_TRY(map_->MakeRoom(exec_, keys.size()));
    DeviceArray<float> out(keys.size() * options_.dim);
    Insert(keys, victims,
           [&](std::span<const uint64_t> on_device, const MissList& misses, const WhenFull& full) {
             FindOrInsert(exec_, map_->ref(), on_device, start, out.data(), misses, full);
           });
    return out.Get();
  }
  void Erase(const std::vector<uint64_t>& keys) {
    DeviceArray<uint64_t> on_device(keys);
    EraseRows(exec_, map_->ref(), {on_device.data(), keys.size()});
    Sync();
  }
  std::vector<float> LookUp(const std::vector<uint64_t>& keys, uint64_t* hits) {
    DeviceArray<uint64_t> on_device(keys);
    DeviceArray<float> out(keys.size() * options_.dim);
    DeviceArray<unsigned long long> count(std::vector<unsigned long long>{0});
    TableGroup group;
    group.Add(map_->ref(), start, keys.size());
    LookUpBatch(exec_, group, on_device.data(), out.data(), count.data());
    Sync();
    *hits = count.Get()[0];
    return out.Get();
  }
  std::vector<char> Found(const std::vector<uint64_t>& keys, std::vector<float>* rows) {
    DeviceArray<uint64_t> on_device(keys);
    DeviceArray<float> out(keys.size() * options_.dim);
    out.Poison();
    DeviceArray<char> found(keys.size());
    FindRows(exec_, map_->ref(), {on_device.data(), keys.size()}, out.data(),
             reinterpret_cast<bool*>(found.data()));
    Sync();
    *rows = out.Get();
    return found.Get();
  }

  // All rows, so many slots at a time. Fails if a key comes twice.
  MapModel Scan(size_t slots) {
    MapModel rows;
    Listed listed(slots, map_->ref());
    std::vector<uint64_t> places;
    for (uint64_t cursor = 0; cursor != kNowhere;) {
      places.clear();
      cursor = map_->WalkFrom(cursor, slots, &places);
      DeviceArray<uint64_t> on_device(places);
      const RowList out{listed.headers.data(), listed.rows.data(), listed.count.data()};
      CopyOut(exec_, map_->ref(), {on_device.data(), places.size()}, out);
      Sync();
      listed.AddTo(&rows);
    }
    return rows;
  }

  uint64_t Rows() { return CountsNow().rows; }
  MapCounts CountsNow() {
    const auto counts = map_->Counts(exec_);
    EXPECT_TRUE(counts.ok()) << counts.status().ToString();
    return counts.ok() ? *counts : MapCounts{};
  }

 private:
  // Rows as scans and victims list them.
  struct Listed {
    Listed(size_t count_max, const MapRef& of_map)
        : map(of_map),
          headers(count_max),
          rows(count_max * map.row_words),
          count(std::vector<uint32_t>{0}) {
      headers.Poison();  // all of it is read, whatever was listed
      rows.Poison();
    }
    void AddTo(MapModel* model) {
      const uint32_t listed = count.Get()[0];
      const auto all_headers = headers.Get();
      const auto all_rows = rows.Get();
      for (size_t i = 0; i < listed; ++i) {
        const SlotHeader& header = all_headers[i];
        const auto* row = reinterpret_cast<const std::byte*>(&all_rows[i * map.row_words]);
        const auto state = [&](uint32_t n) { return map.state_types.Of(n, map.dim); };
        ModelRow found{.value = Elements([&](uint32_t) { return map.value_type; }, row, map.dim),
                       .state = Elements(state, row + map.state_offset, map.state_width),
                       .frequency = header.frequency,
                       .epoch = header.checkpoint_epoch,
                       .last_step = header.last_step,
                       .score = header.score};
        EXPECT_TRUE(model->emplace(header.key, std::move(found)).second)
            << "key " << header.key << " came twice";
      }
    }
    // type_of(element)
    template <typename TypeOf>
    static std::vector<float> Elements(const TypeOf& type_of, const std::byte* array,
                                       uint32_t elements) {
      std::vector<float> all;
      for (uint32_t i = 0; i < elements; ++i) {
        const ElementType type = type_of(i);
        const size_t bytes = BytesOf(type);
        uint32_t bits = 0;
        std::memcpy(&bits, array + i * bytes, bytes);
        all.push_back(type == ElementType::kFp32
                          ? std::bit_cast<float>(bits)
                          : narrow::FromBits(type, static_cast<uint16_t>(bits)));
      }
      return all;
    }
    const MapRef map;
    DeviceArray<SlotHeader> headers;
    DeviceArray<float> rows;
    DeviceArray<uint32_t> count;
  };

  template <typename Call>
  void Insert(const std::vector<uint64_t>& keys, MapModel* victims, const Call& call) {
    DeviceArray<uint64_t> on_device(keys);
    DeviceArray<uint32_t> positions(keys.size());
    DeviceArray<uint32_t> count(1);
    const MissList misses{positions.data(), count.data()};
    Listed listed(victims == nullptr ? 0 : keys.size(), map_->ref());
    WhenFull when_full;
    if (victims != nullptr) {
      when_full.evicts = true;
      when_full.victims = {listed.headers.data(), listed.rows.data(), listed.count.data()};
    }
    call({on_device.data(), keys.size()}, misses, when_full);
    Sync();
    if (victims != nullptr) listed.AddTo(victims);
  }

  const DeviceMapOptions options_;
  Stream stream_;
  Exec exec_;
  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<DeviceMap> map_;
};

inline std::vector<float> InitialValue(const RowStart& start, uint64_t key, uint32_t dim) {
  std::vector<float> value(dim);
  InitialRow(start.initializer, start.seed, key, value);
  return value;
}

}  // namespace strata
