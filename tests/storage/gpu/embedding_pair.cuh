// Tables on a GPU that a group trains, beside the same ones in host memory, and steps of training
// on both.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/device_pool.h"
#include "storage/gpu/embedding_group.h"
#include "storage/gpu/gpu_store.h"
#include "storage/gpu/hot/hot_table.h"
#include "storage/memory/host_store.h"
#include "storage/memory/host_table.h"
#include "tests/contract/table_bits.h"
#include "tests/kernels/sparse/bags.cuh"

namespace strata {

// As groups of tables take stores.
inline std::vector<TableStore*> Plain(const std::vector<LocalStore*>& stores) {
  return {stores.begin(), stores.end()};
}

constexpr size_t kPoolBytes = size_t{1} << 30;

inline TableSpec SpecOf(size_t t, uint32_t dim) {
  TableSpec spec;
  spec.name = fmt::format("t{}", t);
  spec.dim = dim;
  spec.seed = 40 + t;
  spec.optimizer = {.kind = OptimizerKind::kAdam, .learning_rate = 0.1F};
  spec.initializer = {.kind = InitializerKind::kUniform, .scale = 0.5F};
  return spec;
}

inline std::vector<TableSpec> SpecsOf(const std::vector<uint32_t>& dims) {
  std::vector<TableSpec> specs;
  for (size_t t = 0; t < dims.size(); ++t) specs.push_back(SpecOf(t, dims[t]));
  return specs;
}

inline std::vector<std::string> NamesOf(const std::vector<TableSpec>& specs) {
  std::vector<std::string> names;
  for (const TableSpec& spec : specs) names.push_back(spec.name);
  return names;
}

inline std::unique_ptr<LocalStore> OnGpu(size_t bytes = kPoolBytes, int device = 0) {
  auto store = MakeLocalGpuStore({.device = device, .memory_bytes = bytes});
  STRATA_CHECK_MSG(store.ok(), store.status().ToString());
  return std::move(*store);
}

// With so few rows on the GPU that each batch has to bring some up.
inline std::unique_ptr<LocalStore> OverHost(uint64_t rows_max) {
  struct Parts {
    std::unique_ptr<DevicePool> pool;
    std::unique_ptr<WorkPool> workers;
  };
  auto parts = std::make_shared<Parts>();
  auto pool = DevicePool::Make(0, kPoolBytes);
  auto workers = WorkPool::Start("gather", 1);
  STRATA_CHECK(pool.ok() && workers.ok());
  parts->pool = std::move(*pool);
  parts->workers = std::move(*workers);
  const auto factory = [parts, rows_max](const TableSpec& spec) {
    return std::make_unique<HotTable>(spec, *parts->pool, PinnedPool::Make(),
                                      std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome),
                                      *parts->workers,
                                      HotTableOptions{.rows_max = rows_max, .chunk_rows_min = 64});
  };
  return std::make_unique<LocalStore>("a store with a hot tier", factory, RealClock());
}

inline TableBits BitsOf(LocalStore& store, const std::string& name) {
  const auto entries = store.Find({&name, 1});
  STRATA_CHECK(entries.ok());
  return BitsOfTable(*(*entries)[0]->table);
}

inline Operation OperationOf(OpKind kind, uint64_t step = 1) {
  Operation operation;
  operation.kind = kind;
  operation.step = step;
  return operation;
}

inline float DrawFloat(std::mt19937_64& random) {
  return static_cast<float>(static_cast<int64_t>(random())) * 0x1p-63F;
}

// One table's bags of a batch and their vectors on the GPU.
template <typename T>
struct BagsOnGpu {
  BagsOnGpu(Bags drawn, uint32_t bag_slots, uint32_t dim, Combiner how, bool weighted)
      : bags(std::move(drawn)),
        offsets(bags.offsets),
        weights(bags.weights),
        slots(bag_slots),
        vector_stride(slots % 2 == 0 ? dim : (dim + 3) / 4 * 4),
        stride(slots * vector_stride + 4),
        combiner(how),
        has_weights(weighted),
        vectors(bags.count() / slots * stride),
        gradients(bags.count() / slots * stride) {
    vectors.Poison();
  }
  size_t ElementOf(uint64_t bag) const {
    return bag / slots * stride + bag % slots * vector_stride;
  }
  float WeightOf(size_t i) const { return has_weights ? bags.weights[i] : 1.0F; }
  EmbeddingBags ref() {
    return {.keys = bags.keys.size(),
            .offsets = offsets.data(),
            .weights = has_weights ? weights.data() : nullptr,
            .bags = bags.count(),
            .out = vectors.data(),
            .stride = stride,
            .slots = slots,
            .vector_stride = vector_stride,
            .combiner = combiner};
  }

  Bags bags;
  DeviceArray<uint32_t> offsets;
  DeviceArray<float> weights;
  const uint32_t slots;
  const uint64_t vector_stride;
  const uint64_t stride;
  const Combiner combiner;
  const bool has_weights;
  DeviceArray<T> vectors;
  DeviceArray<T> gradients;
};

inline void ExpectSameStats(const TableStats& ours, const TableStats& model,
                            const std::string& table) {
  EXPECT_EQ(ours.rows, model.rows) << table;
  EXPECT_EQ(ours.lookups, model.lookups) << table;
  EXPECT_EQ(ours.lookup_hits, model.lookup_hits) << table;
  EXPECT_EQ(ours.updates, model.updates) << table;
  EXPECT_EQ(ours.steps, model.steps) << table;
  EXPECT_EQ(ours.rejected, model.rejected) << table;
}

// Tables in host memory, which say what is right.
class HostTables {
 public:
  // What a rank brings to an update, by table.
  struct Part {
    std::vector<std::vector<uint64_t>> keys;
    std::vector<std::vector<float>> gradients;
  };

  explicit HostTables(std::vector<TableSpec> specs)
      : specs_(std::move(specs)), host_(MakeHostStore()) {
    for (const TableSpec& spec : specs_) EXPECT_TRUE(host_->CreateTable(spec).ok());
  }

  LocalStore& host() { return *host_; }
  const std::vector<TableSpec>& specs() const { return specs_; }
  std::vector<float> HostRows(size_t t, const std::vector<uint64_t>& keys) {
    std::vector<float> rows(keys.size() * specs_[t].dim);
    Operation lookup = OperationOf(OpKind::kLookup);
    lookup.parts.push_back({.table = specs_[t].id(), .keys = keys, .out = rows});
    EXPECT_TRUE(SubmitAndWait(*host_, lookup).status.ok());
    return rows;
  }
  void UpdateHost(std::span<const Part> parts, uint64_t step) {
    for (size_t t = 0; t < specs_.size(); ++t) {
      const auto entries = host_->Find({&specs_[t].name, 1});
      ASSERT_TRUE(entries.ok());
      LocalTable& table = *(*entries)[0]->table;
      std::vector<GradientPart> of_table;
      for (const Part& part : parts) of_table.push_back({part.keys[t], part.gradients[t]});
      ASSERT_TRUE(table.PrepareUpdate(of_table).ok());
      table.CommitUpdate(step);
    }
  }
  void UpdateHost(const std::vector<std::vector<uint64_t>>& keys,
                  const std::vector<std::vector<float>>& gradients, uint64_t step) {
    const Part part{keys, gradients};
    UpdateHost({&part, 1}, step);
  }

  static TableStats Stats(LocalStore& store, const TableSpec& spec) {
    TableStats stats;
    Operation operation = OperationOf(OpKind::kStats);
    operation.parts.push_back({.table = spec.id(), .stats = &stats});
    EXPECT_TRUE(SubmitAndWait(store, operation).status.ok());
    return stats;
  }

 private:
  const std::vector<TableSpec> specs_;
  std::unique_ptr<LocalStore> host_;
};

// The same tables in a store on the GPU, which a group trains, and in one in host memory.
class Pair : public HostTables {
 public:
  explicit Pair(std::vector<TableSpec> specs, std::unique_ptr<LocalStore> gpu = OnGpu())
      : HostTables(std::move(specs)), gpu_(std::move(gpu)) {
    for (const TableSpec& spec : this->specs()) EXPECT_TRUE(gpu_->CreateTable(spec).ok());
    exec_.device = DeviceKind::kCuda;
    exec_.stream = stream_.get();
  }

  std::unique_ptr<EmbeddingGroup> Open() {
    auto group = EmbeddingGroup::Open(*gpu_, NamesOf(specs()), exec_);
    STRATA_CHECK_MSG(group.ok(), group.status().ToString());
    return std::move(*group);
  }
  LocalStore& gpu() { return *gpu_; }
  std::vector<LocalStore*> stores() { return {gpu_.get(), &host()}; }
  const Exec& exec() const { return exec_; }
  void Sync() { ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess); }

  // In both stores.
  void Run(const Operation& operation) {
    for (LocalStore* store : stores()) {
      const Outcome outcome = SubmitAndWait(*store, operation);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.ToString();
    }
  }

  void ExpectSameRows() {
    for (const TableSpec& spec : specs()) {
      EXPECT_TRUE(BitsOf(*gpu_, spec.name) == BitsOf(host(), spec.name)) << spec.name;
    }
  }
  void ExpectSameTables() {
    ExpectSameRows();
    for (const TableSpec& spec : specs()) {
      ExpectSameStats(Stats(*gpu_, spec), Stats(host(), spec), spec.name);
    }
  }

 private:
  Stream stream_;
  Exec exec_;
  std::unique_ptr<LocalStore> gpu_;
};

struct Shape {
  bool one_hot = false;
  bool weighted = false;
  Combiner combiner = Combiner::kSum;
  uint64_t samples = 45;  // of most tables; 0: of none
};

// A step over bags; `between` runs between forward and backward.
template <typename T>
class BagStep {
 public:
  // Over tables that `host` has too. On the calling thread's GPU.
  BagStep(HostTables& host, std::mt19937_64& random, const Shape& shape, PooledType type)
      : host_(host), type_(type) {
    EXPECT_EQ(cudaGetDevice(&device_), cudaSuccess);
    const std::vector<TableSpec>& specs = host.specs();
    for (size_t t = 0; t < specs.size(); ++t) {
      const uint32_t dim = specs[t].dim;
      const auto slots = static_cast<uint32_t>(t % 3 + 1);
      // One table has no bags, and the last one a key that comes very often.
      const bool is_last = t + 1 == specs.size() && shape.samples != 0;
      const uint64_t samples = t == 1 ? 0 : is_last ? 700 : shape.samples;
      Bags bags =
          samples == 0 ? Bags{{}, {0}, {}} : DrawBags(random, samples * slots, shape.one_hot);
      keys_.insert(keys_.end(), bags.keys.begin(), bags.keys.end());
      tables_.push_back(std::make_unique<BagsOnGpu<T>>(std::move(bags), slots, dim, shape.combiner,
                                                       shape.weighted));
      std::vector<T> gradients(tables_[t]->vectors.Get().size());
      for (T& g : gradients) g = OnHost<T>::Rounded(DrawFloat(random));
      if (t == 0 && samples != 0) {  // of the first bag that has keys
        const auto begin = std::ranges::upper_bound(tables_[t]->bags.offsets, 0U);
        const auto bag = static_cast<uint64_t>(begin - tables_[t]->bags.offsets.begin() - 1);
        gradients[tables_[t]->ElementOf(bag)] =
            OnHost<T>::Rounded(std::numeric_limits<float>::infinity());
      }
      tables_[t]->gradients.Set(gradients);
      refs_.push_back(tables_[t]->ref());
      given_.push_back(tables_[t]->gradients.data());
    }
    on_gpu_ = std::make_unique<DeviceArray<uint64_t>>(keys_);
  }

  BagBatch batch() const { return {on_gpu_->data(), refs_, type_}; }
  std::span<const void* const> gradients() const { return given_; }

  // The vectors are what the host makes of its rows.
  void ExpectVectors() {
    const DeviceScope device(device_);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (size_t t = 0; t < tables_.size(); ++t) {
      const uint32_t dim = host_.specs()[t].dim;
      BagsOnGpu<T>& table = *tables_[t];
      const std::vector<float> rows = host_.HostRows(t, table.bags.keys);
      std::vector<T> expected = table.vectors.Get();
      for (uint64_t bag = 0; bag < table.bags.count(); ++bag) {
        const uint32_t begin = table.bags.offsets[bag], end = table.bags.offsets[bag + 1];
        for (uint32_t e = 0; e < dim; ++e) {
          float sum = 0.0F;
          for (uint32_t i = begin; i < end; ++i) {
            const float x = rows[uint64_t{i} * dim + e];
            sum += table.has_weights ? table.WeightOf(i) * x : x;
          }
          if (table.combiner == Combiner::kMean && end > begin + 1) {
            sum /= static_cast<float>(end - begin);
          }
          expected[table.ElementOf(bag) + e] = OnHost<T>::Rounded(sum);
        }
      }
      ExpectSame(table.vectors.Get(), expected);
    }
  }

  // The gradients of keys.
  HostTables::Part ToPart() const {
    HostTables::Part part;
    for (size_t t = 0; t < tables_.size(); ++t) {
      const uint32_t dim = host_.specs()[t].dim;
      const BagsOnGpu<T>& table = *tables_[t];
      const std::vector<T> of_bags = table.gradients.Get();
      part.keys.push_back(table.bags.keys);
      std::vector<float>& of_keys = part.gradients.emplace_back();
      for (uint64_t bag = 0; bag < table.bags.count(); ++bag) {
        const uint32_t begin = table.bags.offsets[bag], end = table.bags.offsets[bag + 1];
        for (uint32_t i = begin; i < end; ++i) {
          float scale = table.WeightOf(i);
          if (table.combiner == Combiner::kMean) scale /= static_cast<float>(end - begin);
          for (uint32_t e = 0; e < dim; ++e) {
            of_keys.push_back(scale * OnHost<T>::Widened(of_bags[table.ElementOf(bag) + e]));
          }
        }
      }
    }
    return part;
  }
  void UpdateHost(uint64_t step) {
    const HostTables::Part all = ToPart();
    host_.UpdateHost({&all, 1}, step);
  }

 private:
  HostTables& host_;
  const PooledType type_;
  int device_ = 0;
  std::vector<uint64_t> keys_;
  std::unique_ptr<DeviceArray<uint64_t>> on_gpu_;
  std::vector<std::unique_ptr<BagsOnGpu<T>>> tables_;
  std::vector<EmbeddingBags> refs_;
  std::vector<const void*> given_;
};

}  // namespace strata
