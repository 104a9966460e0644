// Suite "table" on a GPU: the hash map by HierarchicalKV's own method (benchmark/
// merlin_hashtable_benchmark.cc.cu of its repository): a table filled with the keys 0, 1, ... in
// batches of 2^20; a timed call has 60 % keys of the last batch and 40 % that are not there; the
// host's clock around launch and synchronisation; the best of two. Beside it HierarchicalKV's
// figures on one H200 (commit of 2026-05), recorded; and as the limit of finds a kernel that knows
// all places beforehand and touches the same memory sectors, of inserts those sectors (map_traffic)
// at the speed of a copy.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "base/random.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/gpu_time.cuh"
#include "bench/harness/measure.h"
#include "bench/suites/gpu_runs.h"
#include "bench/suites/map_traffic.h"
#include "kernels/hashmap/map_device.cuh"
#include "storage/gpu/device_map.h"
#include "strata/gpu/hash_map.h"

namespace strata::bench {
namespace {

constexpr uint64_t kBatch = 1 << 20;
constexpr uint64_t kPresent = kBatch * 6 / 10;   // of a timed call's keys
constexpr uint64_t kAbsent = uint64_t{1} << 63;  // marks the place of a key that is not there
constexpr double kGi = 1024.0 * 1024 * 1024;
constexpr const char* kPeer = "HierarchicalKV (recorded)";
static_assert(kScoresRead == kCandidates);

enum class Op { kFind, kInsertOrAssign, kFindOrInsert, kInsertAndEvict, kFindZipf };

struct Recorded {
  uint32_t dim;
  Op op;
  std::array<double, 3> at_load;  // 0.5, 0.75, 1.0
};
constexpr Recorded kRecorded[] = {
    {8, Op::kFind, {3.46, 3.51, 3.51}},         {8, Op::kInsertOrAssign, {2.08, 2.00, 1.30}},
    {8, Op::kFindOrInsert, {2.13, 2.03, 1.21}}, {8, Op::kInsertAndEvict, {1.89, 1.74, 0.85}},
    {32, Op::kFind, {3.55, 3.45, 3.67}},        {32, Op::kInsertOrAssign, {2.06, 1.97, 1.31}},
};

const char* OpName(Op op) {
  switch (op) {
    case Op::kFind:
      return "find";
    case Op::kInsertOrAssign:
      return "insert_or_assign";
    case Op::kFindOrInsert:
      return "find_or_insert";
    case Op::kInsertAndEvict:
      return "insert_and_evict";
    case Op::kFindZipf:
      break;
  }
  return "find, Zipf 1.05 with repeats";
}

std::optional<double> PeerValue(const MapShape& shape, Op op) {
  for (const Recorded& recorded : kRecorded) {
    if (recorded.dim == shape.dim && recorded.op == op) {
      return recorded.at_load[shape.load < 0.6 ? 0 : shape.load < 0.9 ? 1 : 2];
    }
  }
  return std::nullopt;
}

// What the map's kernels read and write, without hashing, comparing and searching.
__global__ void TouchForFind(MapRef map, const uint64_t* places, uint64_t count, float* out,
                             bool* found) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < count ? places[i] & ~kAbsent : 0;
  const bool present = i < count && place == places[i];
  const uint4 line = LoadLine(map, place / kLineBytes);
  const bool wanted = present && line.x != ~0U;  // no digests: but it must be read to know
  if (i < count) found[i] = wanted && map.HeaderOf(place)->key != kNowhere;
  CopyFloats(wanted ? map.RowOf(place) : nullptr, out + i * map.dim, map.dim);
}

class Bench {
 public:
  static Result<std::vector<Figure>> Run(const MapShape& shape) {
    Bench bench(shape);
    STRATA_TRY(bench.Start());
    STRATA_TRY(bench.Fill());
    std::vector<Figure> figures;
    for (const Op op :
         {Op::kFind, Op::kFindZipf, Op::kInsertOrAssign, Op::kFindOrInsert, Op::kInsertAndEvict}) {
      if (op == Op::kInsertAndEvict) bench.evicting_ = true;
      STRATA_ASSIGN(Figure figure, bench.Measure(op));
      figures.push_back(std::move(figure));
    }
    return figures;
  }

 private:
  explicit Bench(const MapShape& shape) : shape_(shape) {}

  Status Start() {
    STRATA_ASSIGN(bandwidth_, CopyBandwidth());
    const uint32_t slot = SlotBytes(shape_.dim);
    const size_t bytes = shape_.rows * (slot + 2) + 8 * DevicePool::kChunkBytes;
    STRATA_ASSIGN(const int device, CurrentGpu());
    STRATA_ASSIGN(pool_, DevicePool::Make(device, bytes));
    exec_.device = DeviceKind::kCuda;
    STRATA_ASSIGN(map_,
                  DeviceMap::Make(exec_, *pool_,
                                  {.dim = shape_.dim, .rows_max = shape_.rows, .fixed = true}));
    STRATA_TRY(keys_.Make(kBatch));
    STRATA_TRY(places_.Make(kBatch));
    STRATA_TRY(rows_.Make(kBatch * shape_.dim));
    STRATA_TRY(found_.Make(kBatch));
    STRATA_TRY(positions_.Make(kBatch));
    STRATA_TRY(counts_.Make(2));
    STRATA_TRY(victim_headers_.Make(kBatch));
    STRATA_TRY(victim_rows_.Make(kBatch * shape_.dim));
    misses_ = {positions_.data(), counts_.data()};
    victims_ = {victim_headers_.data(), victim_rows_.data(), counts_.data() + 1};
    return {};
  }

  // Batches of new keys until the load is reached; a full table evicts.
  Status Fill() {
    const auto wanted = static_cast<uint64_t>(shape_.load * static_cast<double>(shape_.rows));
    std::vector<uint64_t> keys(kBatch);
    uint64_t rows = 0;
    // Where rows go to make room it takes more keys than rows, up to a load that is as good as
    // full.
    for (int extra = 0; rows < wanted && extra < 64;) {
      for (uint64_t& key : keys) key = filled_++;
      STRATA_TRY(keys_.Set(keys));
      ++start_.score;
      STRATA_TRY(map_->MakeRoom(exec_, kBatch));
      InsertOrAssign(exec_, map_->ref(), keys_.span(), rows_.data(), nullptr, start_, misses_,
                     {.evicts = true, .victims = {}});
      if (filled_ < wanted) continue;
      STRATA_ASSIGN(const MapCounts counts, map_->Counts(exec_));
      rows = counts.rows;
      ++extra;
    }
    STRATA_ASSIGN(const MapCounts counts, map_->Counts(exec_));
    load_ = static_cast<double>(counts.rows) / static_cast<double>(map_->slots());
    last_batch_ = filled_ - kBatch;
    return {};
  }

  Status DrawKeys(Op op) {
    std::vector<uint64_t> keys(kBatch);
    if (op == Op::kFindZipf) {
      for (uint64_t i = 0; i < kBatch; ++i) {
        const double u = static_cast<double>(Mix64(i + drawn_) >> 11) * 0x1p-53;
        const double ends = std::pow(static_cast<double>(filled_), -0.05) - 1;
        const auto rank = static_cast<uint64_t>(std::pow(1 + ends * u, 1 / -0.05));
        keys[i] = Mix64(rank) % filled_;
      }
      drawn_ += kBatch;
    } else {
      for (uint64_t i = 0; i < kBatch; ++i) {
        keys[i] = i < kPresent ? last_batch_ + i : absent_--;
      }
    }
    return keys_.Set(keys);
  }

  // As HierarchicalKV's: only insert_and_evict hands out what has to go.
  WhenFull IfFull() const {
    if (evicting_) return {.evicts = true, .victims = victims_};
    return {.evicts = shape_.load > 0.9, .victims = {}};
  }

  void Call(Op op) {
    const WhenFull when_full = IfFull();
    switch (op) {
      case Op::kFind:
      case Op::kFindZipf:
        FindRows(exec_, map_->ref(), keys_.span(), rows_.data(), found_.data());
        return;
      case Op::kInsertOrAssign:
      case Op::kInsertAndEvict:
        InsertOrAssign(exec_, map_->ref(), keys_.span(), rows_.data(), nullptr, start_, misses_,
                       when_full);
        return;
      case Op::kFindOrInsert:
        FindOrInsert(exec_, map_->ref(), keys_.span(), start_, rows_.data(), misses_, when_full);
        return;
    }
  }

  // Seconds of the call, with launch and synchronisation.
  template <typename F>
  Result<double> Time(const F& call) {
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before a call"));
    const TimeNs began = RealClock().Now();
    call();
    STRATA_TRY(FromCuda(cudaStreamSynchronize(nullptr), "a call"));
    return static_cast<double>(RealClock().Now() - began) / kSecond;
  }

  // Of the last call, which made rows; the map's counts before it.
  Result<MapKeys> KeysInserted(const MapCounts& before) const {
    std::vector<uint32_t> counts(2);
    STRATA_TRY(counts_.Get(&counts));
    const uint64_t absent = counts[0];
    STRATA_ASSIGN(const MapCounts now, map_->Counts(exec_));
    const uint64_t evicting = absent - (now.rows - before.rows) - (now.refused - before.refused);
    return MapKeys{.present = kBatch - absent,
                   .absent = absent,
                   .evicting = evicting,
                   .handed = evicting_ ? evicting : 0};
  }

  Result<Figure> Measure(Op op) {
    const bool finds = op == Op::kFind || op == Op::kFindZipf;
    double best = 1e9;
    double limit = 1e9;
    MapKeys keys;
    MapCounts before = {};
    for (int round = 0; round < 2; ++round) {
      STRATA_TRY(DrawKeys(op));
      STRATA_TRY(map_->MakeRoom(exec_, kBatch));
      STRATA_ASSIGN(before, map_->Counts(exec_));
      ++start_.score;
      if (finds) STRATA_TRY(LimitOnce(&limit, &keys));
      STRATA_ASSIGN(const double seconds, Time([&] { Call(op); }));
      best = std::min(best, seconds);
    }
    if (!finds) {
      STRATA_ASSIGN(keys, KeysInserted(before));
    }
    Figure figure;
    figure.name = fmt::format("{} dim={} load={:.2f} ({:.3f} reached)", OpName(op), shape_.dim,
                              shape_.load, load_);
    figure.unit = "Gi keys/s";
    figure.ours = kBatch / best / kGi;
    figure.peer_value = PeerValue(shape_, op);
    if (figure.peer_value) {
      figure.peer = kPeer;
      figure.recorded = true;
    }
    const uint64_t bytes = finds ? FindBytes(shape_.dim, keys) : InsertBytes(shape_.dim, keys);
    figure.bytes = static_cast<double>(bytes);
    if (!finds) limit = *figure.bytes / bandwidth_;
    figure.limit = kBatch / limit / kGi;
    return figure;
  }

  // Absent keys: a random bucket's line.
  Status LimitOnce(double* best, MapKeys* keys) {
    LocateRows(exec_, map_->ref(), keys_.span(), places_.data());
    std::vector<uint64_t> places(kBatch);
    STRATA_TRY(places_.Get(&places));
    const uint64_t buckets = 2 * map_->ref().pairs();
    keys->absent = 0;
    for (uint64_t i = 0; i < kBatch; ++i) {
      if (places[i] != kNowhere) continue;
      ++keys->absent;
      places[i] = Mix64(i) % buckets * kLineBytes | kAbsent;
    }
    keys->present = kBatch - keys->absent;
    STRATA_TRY(places_.Set(places));
    for (int round = 0; round < 3; ++round) {
      STRATA_ASSIGN(const double seconds, Time([&] {
                      TouchForFind<<<BlocksFor(kBatch), kMapThreads>>>(
                          map_->ref(), places_.data(), kBatch, rows_.data(), found_.data());
                    }));
      *best = std::min(*best, seconds);
    }
    return {};
  }

  const MapShape shape_;
  Exec exec_;
  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<DeviceMap> map_;
  GpuBuffer<uint64_t> keys_;
  GpuBuffer<uint64_t> places_;
  GpuBuffer<float> rows_;
  GpuBuffer<bool> found_;
  GpuBuffer<uint32_t> positions_;
  GpuBuffer<uint32_t> counts_;
  GpuBuffer<SlotHeader> victim_headers_;
  GpuBuffer<float> victim_rows_;
  MissList misses_;
  RowList victims_;
  RowStart start_;
  double bandwidth_ = 0;  // of a copy, bytes a second
  bool evicting_ = false;
  double load_ = 0;
  uint64_t filled_ = 0;
  uint64_t last_batch_ = 0;
  uint64_t absent_ = ~uint64_t{0};
  uint64_t drawn_ = 0;
};

// A map grows from nothing to `rows`, batch by batch of new keys.
Result<std::vector<Figure>> RunGrowth(uint32_t dim, uint64_t rows) {
  Exec exec;
  exec.device = DeviceKind::kCuda;
  const uint32_t slot = SlotBytes(dim);
  STRATA_ASSIGN(const double bandwidth, CopyBandwidth());
  STRATA_ASSIGN(const int device, CurrentGpu());
  STRATA_ASSIGN(const auto pool, DevicePool::Make(device, rows * (slot + 2) * 3));
  STRATA_ASSIGN(const auto map, DeviceMap::Make(exec, *pool,
                                                {.dim = dim,
                                                 .state_width = 0,
                                                 .rows_first = kBatch / 8,
                                                 .rows_max = rows,
                                                 .fixed = false}));
  GpuBuffer<uint64_t> keys;
  GpuBuffer<float> values;
  GpuBuffer<uint32_t> positions;
  GpuBuffer<uint32_t> missed;
  STRATA_TRY(keys.Make(kBatch));
  STRATA_TRY(values.Make(kBatch * dim));
  STRATA_TRY(positions.Make(kBatch));
  STRATA_TRY(missed.Make(1));
  std::vector<uint64_t> drawn(kBatch);
  std::vector<double> times_ms;
  double bytes_most = 0;
  double bytes_end = 0;
  for (uint64_t first = 0; first < rows; first += kBatch) {
    for (uint64_t i = 0; i < kBatch; ++i) drawn[i] = first + i;
    STRATA_TRY(keys.Set(drawn));
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before a batch"));
    const TimeNs began = RealClock().Now();
    STRATA_TRY(map->MakeRoom(exec, kBatch));
    InsertOrAssign(exec, map->ref(), keys.span(), values.data(), nullptr, RowStart{},
                   {positions.data(), missed.data()});
    STRATA_TRY(FromCuda(cudaStreamSynchronize(nullptr), "a batch"));
    times_ms.push_back(static_cast<double>(RealClock().Now() - began) / kMillisecond);
    const double raw = static_cast<double>(first + kBatch) * (sizeof(uint64_t) + 4.0 * dim);
    bytes_end = static_cast<double>(map->bytes()) / raw;
    if (first >= rows / 16) bytes_most = std::max(bytes_most, bytes_end);
  }
  const auto figure = [&](const char* what, const char* unit, double value, bool more) {
    Figure result;
    result.name = fmt::format("{} dim={} rows={}", what, dim, rows);
    result.unit = unit;
    result.more_is_better = more;
    result.ours = value;
    return result;
  };
  // What the new rows of a batch take; that rows move as the map grows is our affair.
  const auto batch_bytes = static_cast<double>(InsertBytes(dim, {.absent = kBatch}));
  const double limit_ms = batch_bytes / bandwidth * 1e3;
  const auto batch_figure = [&](const char* what, const char* unit, double value, double limit,
                                bool more) {
    Figure result = figure(what, unit, value, more);
    result.limit = limit;
    result.bytes = batch_bytes;
    return result;
  };
  double all_ms = 0;
  for (const double ms : times_ms) all_ms += ms;
  return std::vector<Figure>{
      batch_figure("insert while it grows", "Gi keys/s",
                   static_cast<double>(rows) / all_ms * 1e3 / kGi, kBatch / limit_ms * 1e3 / kGi,
                   true),
      batch_figure("median batch while it grows", "ms", Median(times_ms), limit_ms, false),
      batch_figure("longest batch while it grows", "ms", std::ranges::max(times_ms), limit_ms,
                   false),
      figure("memory over raw rows and keys", "x", bytes_end, false),
      figure("memory at its worst in growth", "x", bytes_most, false)};
}

}  // namespace

Result<std::vector<Figure>> RunMap(const MapShape& shape) { return Bench::Run(shape); }

Result<std::vector<Figure>> RunMapGrowth(uint32_t dim, uint64_t rows) {
  return RunGrowth(dim, rows);
}

}  // namespace strata::bench
