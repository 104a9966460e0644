// Suite "embedding" on a GPU: what a training step of a CTR model does with its tables. Peers'
// figures are recorded: torch.nn.functional.embedding_bag and torch.unique on one H200, FBGEMM's
// table without hashing on an H100 (benchmark of NVIDIA's dynamicemb).
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <tuple>

#include "base/random.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/gpu_time.cuh"
#include "bench/suites/gpu_runs.h"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/optim/apply.h"
#include "kernels/sparse/key_bins.h"
#include "kernels/sparse/pool_rows.h"
#include "kernels/sparse/update.h"
#include "storage/gpu/device_map.h"
#include "storage/gpu/distinct_buffers.h"
#include "storage/gpu/embedding_group.h"
#include "storage/gpu/gpu_store.h"
#include "storage/gpu/spread_group.h"
#include "strata/gpu/hash_map.h"
#include "strata/table_spec.h"

namespace strata::bench {
namespace {

constexpr size_t kSectorBytes = 32;  // what memory is read and written by

enum class Draw { kUniform, kZipf };

// Keys 0 to rows - 1, the frequent ones anywhere among them.
uint64_t DrawKey(Draw draw, uint64_t rows, uint64_t n) {
  if (draw == Draw::kUniform) return Mix64(n) % rows;
  const double u = static_cast<double>(Mix64(n) >> 11) * 0x1p-53;
  const double ends = std::pow(static_cast<double>(rows), -0.05) - 1;  // Zipf 1.05
  const auto rank = static_cast<uint64_t>(std::pow(1 + ends * u, 1 / -0.05));
  return Mix64(rank) % rows;
}
const char* DrawName(Draw draw) { return draw == Draw::kUniform ? "uniform" : "Zipf 1.05"; }

// A map with the rows 0 to rows - 1, as it is after it has grown to hold them.
Result<std::unique_ptr<DeviceMap>> FilledMap(const Exec& exec, DevicePool& pool, uint32_t dim,
                                             uint32_t state_width, uint64_t rows,
                                             ElementType value_type = ElementType::kFp32,
                                             StateTypes state_types = {}) {
  constexpr uint64_t kBatch = 1 << 20;
  STRATA_ASSIGN(auto map, DeviceMap::Make(exec, pool,
                                          {.dim = dim,
                                           .state_width = state_width,
                                           .value_type = value_type,
                                           .state_types = state_types,
                                           .rows_first = rows,
                                           .rows_max = 2 * rows}));
  GpuBuffer<uint64_t> keys;
  GpuBuffer<float> values;
  GpuBuffer<uint32_t> positions;
  GpuBuffer<uint32_t> missed;
  STRATA_TRY(keys.Make(kBatch));
  STRATA_TRY(values.Make(kBatch * dim));
  STRATA_TRY(positions.Make(kBatch));
  STRATA_TRY(missed.Make(1));
  std::vector<uint64_t> drawn(kBatch);
  for (uint64_t first = 0; first < rows; first += kBatch) {
    const uint64_t count = std::min(kBatch, rows - first);
    for (uint64_t i = 0; i < count; ++i) drawn[i] = first + i;
    STRATA_TRY(keys.Set(drawn));
    STRATA_TRY(map->MakeRoom(exec, count));
    InsertOrAssign(exec, map->ref(), keys.span().subspan(0, count), values.data(), nullptr,
                   RowStart{}, {positions.data(), missed.data()});
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "filling a map"));
  }
  return Result<std::unique_ptr<DeviceMap>>(std::move(map));
}

constexpr int kBatches =
    4;  // that take turns, so that no row is in the cache for the last call's sake

// What a pooled lookup of one key a bag reads and writes, without hashing, comparing and searching.
__global__ void TouchForPool(MapRef map, const uint64_t* keys, const uint64_t* places,
                             uint64_t count, float* out) {
  const uint64_t i = ThreadNumber();
  uint64_t place = i < count ? places[i] : kNowhere;
  if (place != kNowhere) {
    const uint4 line = LoadLine(map, place / kLineBytes);
    if (line.x == ~0U || map.HeaderOf(place)->key != keys[i]) place = kNowhere;  // never
  }
  CopyFloats(place == kNowhere ? nullptr : map.RowOf(place), out + i * map.dim, map.dim);
}

constexpr uint64_t kSamples = 65'536;
constexpr uint64_t kSlots = 26;
constexpr uint64_t kPooledRows = 20'000'000;

}  // namespace

Result<std::vector<Figure>> RunPooled(uint32_t dim) {
  constexpr uint64_t kLookups = kSamples * kSlots;
  Exec exec;
  exec.device = DeviceKind::kCuda;
  STRATA_ASSIGN(const int device, CurrentGpu());
  STRATA_ASSIGN(const auto pool,
                DevicePool::Make(device, kPooledRows * (SlotBytes(dim) + 2) * 3 / 2 +
                                             8 * DevicePool::kChunkBytes));
  STRATA_ASSIGN(const auto map, FilledMap(exec, *pool, dim, 0, kPooledRows));
  GpuBuffer<float> out;
  STRATA_TRY(out.Make(kLookups * dim));
  std::vector<Figure> figures;
  for (const Draw draw : {Draw::kUniform, Draw::kZipf}) {
    std::array<GpuBuffer<uint64_t>, kBatches> keys;
    std::array<GpuBuffer<uint64_t>, kBatches> places;
    std::vector<uint64_t> drawn(kLookups);
    for (int b = 0; b < kBatches; ++b) {
      for (uint64_t i = 0; i < kLookups; ++i) {
        drawn[i] = DrawKey(draw, kPooledRows, static_cast<uint64_t>(b) * kLookups + i);
      }
      STRATA_TRY(keys[b].Make(kLookups));
      STRATA_TRY(keys[b].Set(drawn));
      STRATA_TRY(places[b].Make(kLookups));
      LocateRows(exec, map->ref(), keys[b].span(), places[b].data());
    }
    STRATA_ASSIGN(const double seconds, SecondsOf([&](int call) {
                    PooledTable table{.map = map->ref(),
                                      .start = {},
                                      .keys = keys[call % kBatches].data(),
                                      .bags = kLookups,
                                      .out = out.data(),
                                      .stride = kSlots * dim,
                                      .vector_stride = dim,
                                      .slots = kSlots};
                    PoolRows(exec, {&table, 1}, PooledType::kFloat32);
                  }));
    STRATA_ASSIGN(const double limit, SecondsOf([&](int call) {
                    TouchForPool<<<BlocksFor(kLookups), kMapThreads>>>(
                        map->ref(), keys[call % kBatches].data(), places[call % kBatches].data(),
                        kLookups, out.data());
                  }));
    Figure figure;
    figure.name = fmt::format("pooled lookup dim={} {}", dim, DrawName(draw));
    figure.unit = "G lookups/s";
    figure.ours = kLookups / seconds * 1e-9;
    figure.limit = kLookups / limit * 1e-9;
    // A key, its digests' sector, its slot and what is written.
    figure.bytes = static_cast<double>(kLookups) *
                   (sizeof(uint64_t) + kSectorBytes + SlotBytes(dim) + dim * sizeof(float));
    if (draw == Draw::kUniform) {
      figure.peer = "torch embedding_bag (recorded)";
      figure.recorded = true;
      figure.peer_value = dim == 16 ? 2.44 : dim == 64 ? 1.24 : 0.63;
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

namespace {

// The arrays of one batch.
struct BatchMemory {
  DistinctBuffers arrays;
  GpuBuffer<DistinctCounts> counts;
  GpuBuffer<std::byte> scratch;
  GpuBuffer<std::byte> update_scratch;
  DistinctKeys distinct;

  Status Make(size_t count, uint32_t dim) {
    STRATA_TRY(arrays.Reserve(count));
    STRATA_TRY(counts.Make(1));
    STRATA_TRY(scratch.Make(CombineScratchBytes(count)));
    STRATA_TRY(update_scratch.Make(UpdateScratchBytes(count, dim)));
    distinct = arrays.With(counts.data());
    return {};
  }
  Result<uint32_t> Distinct() const {
    std::vector<DistinctCounts> found(1);
    STRATA_TRY(counts.Get(&found));
    return found[0].distinct;
  }
};

}  // namespace

Result<std::vector<Figure>> RunCombine() {
  constexpr uint64_t kKeys = kSamples * kSlots;
  constexpr uint32_t kDim = 16;
  Exec exec;
  exec.device = DeviceKind::kCuda;
  STRATA_ASSIGN(const int device, CurrentGpu());
  STRATA_ASSIGN(const auto pool, DevicePool::Make(device, size_t{8} << 30));
  STRATA_ASSIGN(const auto map, FilledMap(exec, *pool, kDim, 0, kPooledRows));
  BatchMemory memory;
  STRATA_TRY(memory.Make(kKeys, kDim));
  STRATA_ASSIGN(const double bandwidth, CopyBandwidth());
  std::vector<Figure> figures;
  for (const Draw draw : {Draw::kUniform, Draw::kZipf}) {
    std::array<GpuBuffer<uint64_t>, kBatches> keys;
    std::vector<uint64_t> drawn(kKeys);
    for (int b = 0; b < kBatches; ++b) {
      for (uint64_t i = 0; i < kKeys; ++i) {
        drawn[i] = DrawKey(draw, kPooledRows, static_cast<uint64_t>(b) * kKeys + i);
      }
      STRATA_TRY(keys[b].Make(kKeys));
      STRATA_TRY(keys[b].Set(drawn));
    }
    TableGroup group;
    group.Add(map->ref(), RowStart{}, kKeys);
    const std::span<std::byte> scratch(memory.scratch.data(), memory.scratch.size());
    STRATA_ASSIGN(const double whole, SecondsOf([&](int call) {
                    CombineBatch(exec, group, keys[call % kBatches].data(), nullptr,
                                 memory.distinct, scratch);
                  }));
    STRATA_ASSIGN(const uint32_t distinct, memory.Distinct());
    // A key and its position, twice; of each distinct key what it is, and where its positions are.
    const double combine_bytes = static_cast<double>(kKeys) * (8 + 4) + distinct * 16.0;
    // Of each distinct key its digests' sector and its slot's, and where it is.
    const double find_bytes = distinct * (2.0 * kSectorBytes + 8);
    Figure figure;
    figure.unit = "ms";
    figure.more_is_better = false;
    const auto add = [&](std::string name, double seconds, double bytes) {
      figure.name = std::move(name);
      figure.ours = seconds * 1e3;
      figure.bytes = bytes;
      figure.limit = bytes / bandwidth * 1e3;
      figures.push_back(figure);
    };
    figure.peer = "torch.unique (recorded)";
    figure.recorded = true;
    figure.peer_value = 0.38;
    if (const BinPlan plan(group); plan.Fits(exec)) {
      STRATA_ASSIGN(const double alone, SecondsOf([&](int call) {
                      CombineByBins(exec, plan, keys[call % kBatches].data(), memory.distinct,
                                    scratch);
                    }));
      add(fmt::format("combine {} keys, {} distinct, {}", kKeys, distinct, DrawName(draw)), alone,
          combine_bytes);
    }
    add(fmt::format("combine and find, {}", DrawName(draw)), whole, combine_bytes + find_bytes);
  }
  return figures;
}

namespace {

namespace training {

constexpr uint32_t kTables = 10;
constexpr uint64_t kRows = 1'000'000;  // of each
constexpr uint64_t kLookups = 1'048'570;
constexpr uint64_t kTableLookups = kLookups / kTables;
constexpr uint32_t kDim = 128;

// What a GPU brings to steps of training, in its memory.
struct Batches {
  // Those that take turns, and one more to make rows with.
  std::array<GpuBuffer<uint64_t>, kBatches + 1> keys;
  GpuBuffer<float> rows;
  GpuBuffer<float> gradients;

  Status Make(uint64_t rank) {
    STRATA_TRY(rows.Make(kLookups * kDim));
    STRATA_TRY(gradients.Make(kLookups * kDim));
    // Zeros would send the rule's root and division the slow way.
    std::vector<float> drawn_gradients(kLookups * kDim);
    for (size_t i = 0; i < drawn_gradients.size(); ++i) {
      drawn_gradients[i] = static_cast<float>(static_cast<int64_t>(Mix64(i))) * 0x1p-70F;
    }
    STRATA_TRY(gradients.Set(drawn_gradients));
    std::vector<uint64_t> drawn(kLookups);
    for (uint64_t b = 0; b <= kBatches; ++b) {
      for (uint64_t i = 0; i < kLookups; ++i) {
        drawn[i] = DrawKey(Draw::kZipf, kRows, (rank * kBatches + b) * kLookups + i);
      }
      STRATA_TRY(keys[b].Make(kLookups));
      STRATA_TRY(keys[b].Set(drawn));
    }
    return {};
  }
};
using Ranks = std::vector<std::unique_ptr<Batches>>;  // by GPU

Result<Ranks> MakeRanks(int gpus) {
  Ranks ranks;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const DeviceScope device(gpu);
    ranks.push_back(std::make_unique<Batches>());
    STRATA_TRY(ranks.back()->Make(static_cast<uint64_t>(gpu)));
  }
  return Result<Ranks>(std::move(ranks));
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (uint32_t t = 0; t < kTables; ++t) names.push_back(fmt::format("t{}", t));
  return names;
}

Result<std::unique_ptr<LocalStore>> MakeStore(const GpuStoreOptions& options,
                                              const OptimizerSpec& optimizer) {
  STRATA_ASSIGN(auto store, MakeLocalGpuStore(options));
  for (const std::string& name : Names()) {
    TableSpec spec;
    spec.name = name;
    spec.dim = kDim;
    spec.optimizer = optimizer;
    STRATA_TRY(store->CreateTable(spec));
  }
  return Result<std::unique_ptr<LocalStore>>(std::move(store));
}

// Seconds of step(b, n), which is step n with the keys b of each rank, once there is a row for each
// key.
template <typename Step>
Result<double> SecondsOfSteps(const Ranks& ranks, const Step& step) {
  uint64_t steps = 0;
  std::vector<uint64_t> drawn(kLookups);
  for (uint64_t first = 0; first < kRows; first += kTableLookups) {
    for (uint64_t i = 0; i < kLookups; ++i) {
      drawn[i] = std::min(first + i % kTableLookups, kRows - 1);
    }
    for (const auto& rank : ranks) STRATA_TRY(rank->keys[kBatches].Set(drawn));
    STRATA_TRY(step(kBatches, ++steps));
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "filling tables"));
  }
  Status failed;
  STRATA_ASSIGN(const double seconds, SecondsOf([&](int call) {
                  const Status status = step(call % kBatches, ++steps);
                  if (failed.ok()) failed = status;
                }));
  STRATA_TRY(failed);
  return seconds;
}

// ... through an EmbeddingGroup over tables of a store.
Result<double> SecondsInStore(const OptimizerSpec& optimizer, uint64_t bytes, const Ranks& ranks) {
  STRATA_ASSIGN(const auto store, MakeStore({.memory_bytes = bytes}, optimizer));
  Exec exec;
  exec.device = DeviceKind::kCuda;
  STRATA_ASSIGN(const auto group, EmbeddingGroup::Open(*store, Names(), exec));
  const std::vector<uint64_t> counts(kTables, kTableLookups);
  return SecondsOfSteps(ranks, [&](int b, uint64_t step) -> Status {
    STRATA_TRY(group->Forward(RowBatch{ranks[0]->keys[b].data(), counts, ranks[0]->rows.data()}));
    return group->Backward(ranks[0]->gradients.data(), step);
  });
}

// ... through a SpreadGroup over as many GPUs as there are ranks, each with a batch of that size
// and its share of the rows.
Result<double> SecondsSpread(const OptimizerSpec& optimizer, uint64_t bytes, const Ranks& ranks) {
  std::vector<std::unique_ptr<LocalStore>> stores;
  std::vector<TableStore*> of_stores;
  std::vector<Exec> execs;
  std::vector<std::vector<EmbeddingBags>> bags(ranks.size());
  std::vector<std::vector<const void*>> given(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    const int gpu = static_cast<int>(r);
    // Shares are not all equal, and a table's memory comes in chunks.
    const uint64_t share = bytes / ranks.size() * 5 / 4 + kTables * 2 * DevicePool::kChunkBytes;
    STRATA_ASSIGN(auto store, MakeStore({.device = gpu, .memory_bytes = share}, optimizer));
    stores.push_back(std::move(store));
    of_stores.push_back(stores.back().get());
    execs.push_back({DeviceKind::kCuda, gpu, nullptr});
    for (uint32_t t = 0; t < kTables; ++t) {
      const uint64_t element = t * kTableLookups * kDim;
      bags[r].push_back({.keys = kTableLookups,
                         .bags = kTableLookups,
                         .out = ranks[r]->rows.data() + element,
                         .stride = kDim});
      given[r].push_back(ranks[r]->gradients.data() + element);
    }
  }
  STRATA_ASSIGN(const auto group, SpreadGroup::Open(of_stores, Names(), execs));
  const std::vector<std::span<const void* const>> gradients(given.begin(), given.end());
  return SecondsOfSteps(ranks, [&](int b, uint64_t step) -> Status {
    std::vector<BagBatch> batches;
    for (size_t r = 0; r < ranks.size(); ++r) {
      batches.push_back({ranks[r]->keys[b].data(), bags[r], PooledType::kFloat32});
    }
    STRATA_TRY(group->Forward(batches));
    return group->Backward(gradients, step);
  });
}

// How many GPUs there are, if all of them read each other's memory; else 1.
Result<int> GpusTogether() {
  STRATA_ASSIGN(const int gpus, CountGpus());
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int peer = 0; peer < gpus; ++peer) {
      int can = 1;
      if (gpu == peer) continue;
      STRATA_TRY(FromCuda(cudaDeviceCanAccessPeer(&can, gpu, peer), "which GPUs reach which"));
      if (can == 0) return 1;
    }
  }
  return gpus;
}

// None where there is one GPU, or they do not reach each other. in_store: seconds of a step on one.
Result<std::vector<Figure>> FiguresSpread(const OptimizerSpec& optimizer, uint64_t bytes,
                                          double in_store) {
  STRATA_ASSIGN(const int gpus, GpusTogether());
  if (gpus == 1) return std::vector<Figure>();
  STRATA_ASSIGN(const auto ranks, MakeRanks(gpus));
  STRATA_ASSIGN(const double seconds, SecondsSpread(optimizer, bytes, ranks));
  Figure figure;
  figure.name = fmt::format("... over {} GPUs, such a batch each: lookups of each", gpus);
  figure.unit = "G lookups/s";
  figure.ours = kLookups / seconds * 1e-9;
  figure.peer = "one GPU, EmbeddingGroup";
  figure.peer_value = kLookups / in_store * 1e-9;
  return std::vector<Figure>{figure};
}

}  // namespace training

}  // namespace

Result<std::vector<Figure>> RunTraining() {
  using training::kDim, training::kLookups, training::kRows, training::kTables;
  const OptimizerSpec optimizer{.kind = OptimizerKind::kAdam, .learning_rate = 0.001F};
  const auto state_width = static_cast<uint32_t>(StateWidth(optimizer, kDim));
  const uint32_t slot = SlotBytes(kDim + state_width);
  const uint64_t table_bytes = kTables * kRows * slot * 2;
  Exec exec;
  exec.device = DeviceKind::kCuda;
  STRATA_ASSIGN(const double bandwidth, CopyBandwidth());
  STRATA_ASSIGN(const int device, CurrentGpu());
  STRATA_ASSIGN(const auto pool, DevicePool::Make(device, table_bytes));
  std::vector<std::unique_ptr<DeviceMap>> maps;
  for (uint32_t t = 0; t < kTables; ++t) {
    STRATA_ASSIGN(auto map, FilledMap(exec, *pool, kDim, state_width, kRows));
    maps.push_back(std::move(map));
  }
  BatchMemory memory;
  STRATA_TRY(memory.Make(kLookups, kDim));
  STRATA_ASSIGN(const auto alone, training::MakeRanks(1));
  const auto& [keys, rows, gradients] = *alone[0];
  TableGroup group;
  for (const auto& map : maps) group.Add(map->ref(), RowStart{}, kLookups / kTables);
  const auto forward = [&](int call) {
    CombineBatch(exec, group, keys[call % kBatches].data(), rows.data(), memory.distinct,
                 {memory.scratch.data(), memory.scratch.size()});
  };
  uint64_t step = 0;
  const auto backward = [&](int) {
    UpdateRows(exec, group, optimizer, ++step, memory.distinct, {gradients.data(), {}},
               {memory.update_scratch.data(), memory.update_scratch.size()});
  };
  STRATA_ASSIGN(const double both, SecondsOf([&](int call) {
                  forward(call);
                  backward(call);
                }));
  STRATA_ASSIGN(const double only_forward, SecondsOf(forward));
  STRATA_ASSIGN(const double only_backward, SecondsOf(backward));
  STRATA_ASSIGN(const uint32_t distinct, memory.Distinct());
  STRATA_ASSIGN(const double in_store, training::SecondsInStore(optimizer, table_bytes, alone));
  const double batch_bytes = kLookups * kDim * 4.0;
  const auto figure = [&](std::string name, double seconds, double bytes) {
    Figure one;
    one.name = std::move(name);
    one.unit = "ms";
    one.more_is_better = false;
    one.ours = seconds * 1e3;
    one.limit = bytes / bandwidth * 1e3;
    one.bytes = bytes;
    return one;
  };
  const double rows_read = distinct * (32.0 + kDim * 4);
  const double forward_bytes = rows_read + batch_bytes;
  const double backward_bytes = batch_bytes + 2.0 * distinct * slot;
  std::vector<Figure> figures = {
      figure(fmt::format("training step, {} tables dim={}, {} lookups, {} distinct, Adam", kTables,
                         kDim, kLookups, distinct),
             both, forward_bytes + backward_bytes),
      figure("... through an EmbeddingGroup", in_store, forward_bytes + backward_bytes),
      figure("... lookup and combining", only_forward, forward_bytes),
      figure("... backward and Adam", only_backward, backward_bytes)};
  figures[0].peer = "FBGEMM without hashing, H100 (recorded)";
  figures[0].recorded = true;
  figures[0].peer_value = 1.35;
  STRATA_ASSIGN(const auto spread, training::FiguresSpread(optimizer, table_bytes, in_store));
  figures.insert(figures.end(), spread.begin(), spread.end());
  return figures;
}

namespace {

// Seconds of an update of tables whose values and states have this type, and the bytes that it
// moves.
struct TypedUpdate {
  double seconds = 0;
  double bytes = 0;
};
Result<TypedUpdate> UpdateOfType(const training::Batches& batches, ElementType type, uint32_t dim,
                                 const OptimizerSpec& optimizer) {
  using training::kLookups, training::kRows, training::kTables;
  const auto state_width = static_cast<uint32_t>(StateWidth(optimizer, dim));
  Exec exec;
  exec.device = DeviceKind::kCuda;
  STRATA_ASSIGN(const int device, CurrentGpu());
  STRATA_ASSIGN(const auto pool,
                DevicePool::Make(device, kTables * (kRows * SlotBytes(dim + state_width) * 2 +
                                                    8 * DevicePool::kChunkBytes)));
  std::vector<std::unique_ptr<DeviceMap>> maps;
  TableGroup group;
  for (uint32_t t = 0; t < kTables; ++t) {
    STRATA_ASSIGN(auto map, FilledMap(exec, *pool, dim, state_width, kRows, type,
                                      StateTypesOf(optimizer.kind, type)));
    group.Add(map->ref(), RowStart{}, kLookups / kTables);
    maps.push_back(std::move(map));
  }
  std::array<BatchMemory, kBatches> memory;
  for (int b = 0; b < kBatches; ++b) {
    STRATA_TRY(memory[b].Make(kLookups, dim));
    CombineBatch(exec, group, batches.keys[b].data(), nullptr, memory[b].distinct,
                 {memory[b].scratch.data(), memory[b].scratch.size()});
  }
  uint64_t step = 0;
  TypedUpdate update;
  STRATA_ASSIGN(update.seconds, SecondsOf([&](int call) {
                  const BatchMemory& one = memory[call % kBatches];
                  UpdateRows(exec, group, optimizer, ++step, one.distinct,
                             {batches.gradients.data(), {}},
                             {one.update_scratch.data(), one.update_scratch.size()});
                }));
  STRATA_ASSIGN(const uint32_t distinct, memory[0].Distinct());
  const double row = 16.0 + static_cast<double>((dim + state_width) * BytesOf(type));
  update.bytes = kLookups * dim * 4.0 + 2.0 * distinct * row;
  return update;
}

}  // namespace

Result<std::vector<Figure>> RunNarrowRows(uint32_t dim) {
  training::Batches batches;
  STRATA_TRY(batches.Make(0));
  STRATA_ASSIGN(const double bandwidth, CopyBandwidth());
  std::vector<Figure> figures;
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdaGrad, OptimizerKind::kAdam}) {
    const OptimizerSpec optimizer{.kind = kind, .learning_rate = 0.001F};
    STRATA_ASSIGN(const TypedUpdate wide,
                  UpdateOfType(batches, ElementType::kFp32, dim, optimizer));
    for (const ElementType type : {ElementType::kBf16, ElementType::kFp16}) {
      STRATA_ASSIGN(const TypedUpdate narrow, UpdateOfType(batches, type, dim, optimizer));
      Figure figure;
      figure.name = fmt::format("update of {} rows and states, dim={}, {}", ElementTypeName(type),
                                dim, OptimizerKindName(kind));
      figure.unit = "ms";
      figure.more_is_better = false;
      figure.ours = narrow.seconds * 1e3;
      figure.bytes = narrow.bytes;
      figure.limit = narrow.bytes / bandwidth * 1e3;
      figure.peer = "fp32 rows and states";
      figure.peer_value = wide.seconds * 1e3;
      figures.push_back(std::move(figure));
    }
  }
  return figures;
}

namespace {

// What launches cost: the same step (combine, update; Zipf keys) as the launches that it is, and as
// a CUDA graph that was captured once, which is only possible because these batches are of one
// size.
Result<std::vector<Figure>> RunAsGraph(uint32_t tables, uint32_t dim, uint64_t lookups) {
  constexpr uint64_t kRows = 1'000'000;
  const OptimizerSpec optimizer{.kind = OptimizerKind::kAdaGrad};
  const auto state_width = static_cast<uint32_t>(StateWidth(optimizer, dim));
  STRATA_ASSIGN(const int device, CurrentGpu());
  STRATA_ASSIGN(const auto pool,
                DevicePool::Make(device, tables * kRows * SlotBytes(dim + state_width) * 2 +
                                             tables * 8 * DevicePool::kChunkBytes));
  Exec exec;
  exec.device = DeviceKind::kCuda;
  std::vector<std::unique_ptr<DeviceMap>> maps;
  TableGroup group;
  for (uint32_t t = 0; t < tables; ++t) {
    STRATA_ASSIGN(auto map, FilledMap(exec, *pool, dim, state_width, kRows));
    group.Add(map->ref(), RowStart{}, lookups / tables);
    maps.push_back(std::move(map));
  }
  BatchMemory memory;
  STRATA_TRY(memory.Make(lookups, dim));
  GpuBuffer<uint64_t> keys;
  GpuBuffer<float> gradients;
  std::vector<uint64_t> drawn(lookups);
  for (uint64_t i = 0; i < lookups; ++i) drawn[i] = DrawKey(Draw::kZipf, kRows, i);
  STRATA_TRY(keys.Make(lookups));
  STRATA_TRY(keys.Set(drawn));
  STRATA_TRY(gradients.Make(lookups * dim));
  STRATA_TRY(gradients.Set(std::vector<float>(lookups * dim, 0.01F)));

  cudaStream_t stream = nullptr;
  STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  exec.stream = stream;
  const auto step = [&](int) {
    CombineBatch(exec, group, keys.data(), nullptr, memory.distinct,
                 {memory.scratch.data(), memory.scratch.size()});
    UpdateRows(exec, group, optimizer, 1, memory.distinct, {gradients.data(), {}},
               {memory.update_scratch.data(), memory.update_scratch.size()});
  };
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t steps = nullptr;
  STRATA_TRY(FromCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capturing"));
  step(0);
  STRATA_TRY(FromCuda(cudaStreamEndCapture(stream, &graph), "capturing"));
  size_t nodes = 0;
  STRATA_TRY(FromCuda(cudaGraphGetNodes(graph, nullptr, &nodes), "a graph's nodes"));
  STRATA_TRY(FromCuda(cudaGraphInstantiate(&steps, graph, 0), "a graph"));
  const auto replay = [&](int) { (void)cudaGraphLaunch(steps, stream); };
  // Each step waited for, and behind one another, as a trainer makes them.
  const auto waited = [&](const auto& call) {
    return [&](int n) {
      call(n);
      (void)cudaStreamSynchronize(stream);
    };
  };
  STRATA_ASSIGN(const double launched, SecondsOf(step));
  STRATA_ASSIGN(const double replayed, SecondsOf(replay));
  STRATA_ASSIGN(const double launched_alone, SecondsOf(waited(step)));
  STRATA_ASSIGN(const double replayed_alone, SecondsOf(waited(replay)));
  (void)cudaGraphExecDestroy(steps);
  (void)cudaGraphDestroy(graph);
  (void)cudaStreamDestroy(stream);
  const auto figure = [&](const char* how, double ours, double peer) {
    Figure one;
    one.name =
        fmt::format("{} lookups of {} x dim={}, {} launches, {}", lookups, tables, dim, nodes, how);
    one.unit = "us";
    one.more_is_better = false;
    one.ours = ours * 1e6;
    one.peer = "as a CUDA graph";
    one.peer_value = peer * 1e6;
    return one;
  };
  return std::vector<Figure>{figure("in a row", launched, replayed),
                             figure("waited for", launched_alone, replayed_alone)};
}

}  // namespace

Result<std::vector<Figure>> RunAsGraphs() {
  std::vector<Figure> figures;
  for (const auto& [tables, dim, lookups] : {std::tuple(1U, 16U, uint64_t{4096}),
                                             {1, 16, 65'536},
                                             {10, 128, 65'530},
                                             {10, 128, training::kLookups}}) {
    STRATA_ASSIGN(const auto more, RunAsGraph(tables, dim, lookups));
    figures.insert(figures.end(), more.begin(), more.end());
  }
  return figures;
}

}  // namespace strata::bench
