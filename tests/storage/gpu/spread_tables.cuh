// Tables spread over several GPUs beside the same ones in host memory, and steps of training on
// both.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "proto/wire/shard_map.h"
#include "storage/gpu/spread_group.h"
#include "tests/storage/gpu/embedding_pair.cuh"

namespace strata {

// A store on each GPU, one in host memory.
class Spread : public HostTables {
 public:
  Spread(std::vector<TableSpec> specs, int gpus, std::vector<uint16_t> owner_of_shard = {},
         size_t bytes = kPoolBytes)
      : HostTables(std::move(specs)), owner_of_shard_(std::move(owner_of_shard)) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const DeviceScope device(gpu);
      stores_.push_back(OnGpu(bytes, gpu));
      streams_.push_back(std::make_unique<Stream>());
      execs_.push_back({DeviceKind::kCuda, gpu, streams_.back()->get()});
      for (const TableSpec& spec : this->specs()) {
        EXPECT_TRUE(stores_.back()->CreateTable(spec).ok());
      }
    }
  }

  std::unique_ptr<SpreadGroup> Open() {
    auto group = SpreadGroup::Open(Plain(stores()), NamesOf(specs()), execs_, owner_of_shard_);
    STRATA_CHECK_MSG(group.ok(), group.status().ToString());
    return std::move(*group);
  }
  std::vector<LocalStore*> stores() const {
    std::vector<LocalStore*> all;
    for (const auto& store : stores_) all.push_back(store.get());
    return all;
  }
  std::vector<LocalStore*> AllStores() {
    std::vector<LocalStore*> all = stores();
    all.push_back(&host());
    return all;
  }
  const std::vector<Exec>& execs() const { return execs_; }
  size_t gpus() const { return stores_.size(); }
  void Sync() const {
    for (const auto& stream : streams_) {
      EXPECT_EQ(cudaStreamSynchronize(stream->get()), cudaSuccess);
    }
  }
  size_t OwnerOf(uint64_t key) const {
    const uint32_t shard = wire::ShardOf(key);
    return owner_of_shard_.empty() ? shard * gpus() / wire::kShards : owner_of_shard_[shard];
  }

  // In the stores that own the keys, and in host memory.
  void Run(OpKind kind, size_t t, const std::vector<uint64_t>& keys,
           const std::vector<float>& values, uint64_t step = 1) {
    const size_t dim = specs()[t].dim;
    for (size_t s = 0; s <= gpus(); ++s) {
      std::vector<uint64_t> own;
      std::vector<float> in;
      for (size_t i = 0; i < keys.size(); ++i) {
        if (s < gpus() && OwnerOf(keys[i]) != s) continue;
        own.push_back(keys[i]);
        const auto from = values.begin() + static_cast<ptrdiff_t>(i * dim);
        if (kind != OpKind::kErase) in.insert(in.end(), from, from + static_cast<ptrdiff_t>(dim));
      }
      Operation operation = OperationOf(kind, step);
      operation.parts.push_back({.table = specs()[t].id(), .keys = own, .in = in});
      const Outcome outcome = SubmitAndWait(*AllStores()[s], operation);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    }
  }

  void ExpectSameRows() {
    for (const TableSpec& spec : specs()) {
      TableBits all;
      for (size_t o = 0; o < gpus(); ++o) {
        for (const auto& [key, row] : BitsOf(*stores_[o], spec.name)) {
          ASSERT_EQ(OwnerOf(key), o) << "key " << key << " of " << spec.name;
          all[key] = row;
        }
      }
      EXPECT_TRUE(all == BitsOf(host(), spec.name)) << spec.name;
    }
  }
  void ExpectSameTables() {
    ExpectSameRows();
    for (const TableSpec& spec : specs()) {
      const TableStats model = Stats(host(), spec);
      TableStats sum;
      for (const auto& store : stores_) {
        const TableStats ours = Stats(*store, spec);
        sum.rows += ours.rows;
        sum.lookups += ours.lookups;
        sum.lookup_hits += ours.lookup_hits;
        sum.updates += ours.updates;
        sum.rejected += ours.rejected;
        EXPECT_EQ(ours.steps, model.steps) << spec.name;
        sum.steps = ours.steps;  // of each store as many
      }
      ExpectSameStats(sum, model, spec.name);
    }
  }

 private:
  const std::vector<uint16_t> owner_of_shard_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Exec> execs_;
  std::vector<std::unique_ptr<LocalStore>> stores_;
};

// A step of all ranks; those in `idle` have no samples.
template <typename T>
class Ranks {
 public:
  Ranks(Spread& spread, std::mt19937_64& random, const Shape& shape, PooledType type,
        const std::vector<size_t>& idle = {})
      : spread_(spread) {
    for (size_t r = 0; r < spread.gpus(); ++r) {
      const DeviceScope device(spread.execs()[r].ordinal);
      Shape of_rank = shape;
      of_rank.samples += 9 * r;
      if (std::ranges::find(idle, r) != idle.end()) of_rank.samples = 0;
      steps_.push_back(std::make_unique<BagStep<T>>(spread, random, of_rank, type));
      batches_.push_back(steps_[r]->batch());
      gradients_.push_back(steps_[r]->gradients());
    }
  }

  ~Ranks() { spread_.Sync(); }  // others may be reading the gradients
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::span<const BagBatch> batches() const { return batches_; }
  std::span<const std::span<const void* const>> gradients() const { return gradients_; }
  void ExpectVectors() {
    for (size_t r = 0; r < steps_.size(); ++r) {
      SCOPED_TRACE(testing::Message() << "rank " << r);
      steps_[r]->ExpectVectors();
    }
  }
  void UpdateHost(uint64_t step) {
    std::vector<HostTables::Part> parts;
    for (const auto& of_rank : steps_) parts.push_back(of_rank->ToPart());
    spread_.UpdateHost(parts, step);
  }

 private:
  Spread& spread_;
  std::vector<std::unique_ptr<BagStep<T>>> steps_;
  std::vector<BagBatch> batches_;
  std::vector<std::span<const void* const>> gradients_;
};

// A step in which two ranks have `count` keys each of table 0, all different but for half of them,
// which both have; of tables that follow they have none.
class FreshKeys {
 public:
  FreshKeys(Spread& spread, uint64_t first, uint64_t count) : spread_(spread) {
    const uint32_t dim = spread.specs()[0].dim;
    for (size_t r = 0; r < 2; ++r) {
      const DeviceScope device(spread.execs()[r].ordinal);
      std::vector<uint64_t> keys(count);
      std::iota(keys.begin(), keys.end(), first + r * count / 2);
      std::mt19937_64 random(first + r);
      std::vector<float> values(count * dim);
      for (float& x : values) x = DrawFloat(random);
      keys_.push_back(std::make_unique<DeviceArray<uint64_t>>(keys));
      gradients_.push_back(std::make_unique<DeviceArray<float>>(values));
      vectors_.push_back(std::make_unique<DeviceArray<float>>(values.size()));
      std::vector<EmbeddingBags>& bags = bags_[r];
      for (const TableSpec& spec : spread.specs()) bags.push_back({.stride = spec.dim});
      bags[0] = {.keys = count, .bags = count, .out = vectors_[r]->data(), .stride = dim};
      given_[r].resize(bags.size());
      given_[r][0] = gradients_[r]->data();
      batches_.push_back({keys_[r]->data(), bags, PooledType::kFloat32});
      spans_.push_back(given_[r]);
      parts_.emplace_back();
      parts_[r].keys.resize(bags.size());
      parts_[r].gradients.resize(bags.size());
      parts_[r].keys[0] = keys;
      parts_[r].gradients[0] = values;
    }
  }
  ~FreshKeys() { spread_.Sync(); }
  FreshKeys(const FreshKeys&) = delete;
  FreshKeys& operator=(const FreshKeys&) = delete;

  std::span<const BagBatch> batches() const { return batches_; }
  std::span<const std::span<const void* const>> gradients() const { return spans_; }
  void UpdateHost(uint64_t step) { spread_.UpdateHost(parts_, step); }
  const std::vector<HostTables::Part>& parts() const { return parts_; }
  std::vector<float> Vectors(size_t rank) const { return vectors_[rank]->Get(); }

 private:
  Spread& spread_;
  std::vector<std::unique_ptr<DeviceArray<uint64_t>>> keys_;
  std::vector<std::unique_ptr<DeviceArray<float>>> gradients_;
  std::vector<std::unique_ptr<DeviceArray<float>>> vectors_;
  std::array<std::vector<EmbeddingBags>, 2> bags_;
  std::array<std::vector<const void*>, 2> given_;
  std::vector<BagBatch> batches_;
  std::vector<std::span<const void* const>> spans_;
  std::vector<HostTables::Part> parts_;
};

}  // namespace strata
