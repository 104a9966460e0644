// Suite "tiered" on a GPU: a table of which half the rows fit its memory, the others lie on the
// host. HierarchicalKV's mode of that kind is beside it, with the figures of its README on an A100
// (16 GB of each, 2^20 keys a call). The limit is the lower of what the GPU finds when all rows are
// there, in this run, and what the host's link carries of the rows that are not.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/random.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/measure.h"
#include "bench/harness/workload.h"
#include "bench/suites/gpu_runs.h"
#include "storage/gpu/hot/hot_table.h"
#include "storage/memory/host_table.h"

namespace strata::bench {
namespace {

constexpr size_t kBatch = 1 << 20;
constexpr uint64_t kRows = uint64_t{64} << 20;
constexpr uint32_t kDim = 64;
constexpr double kGi = 1024.0 * 1024 * 1024;
constexpr double kLinkBytes = 55e9;  // a second, one way: PCIe 5 x16 as memcpy reaches it
// Behind so many it is the table that has chosen most of what the GPU has.
constexpr size_t kWarmBatches = 320;
constexpr size_t kWarmUpdates = 80;  // until all that goes was written to
constexpr size_t kTimedBatches = 15;
constexpr size_t kAnnouncedBatches = 200;  // behind one another, on one clock
constexpr const char* kPeer = "HierarchicalKV, hybrid, A100 (recorded)";

// The part of the time for which the GPU has the row of a rank, from 1 on, of a table that has been
// read by Zipf's law for long: q-LRU with q of 1 / ReadRule::kTurns, and half of the rows (Garetto,
// Leonardi, Martina 2016). Its characteristic time, so many batches, is what makes the parts of all
// ranks add up to that half. Batches would have to come for as long to get there.
double PartThere(uint64_t rank) {
  constexpr double kComesUp = 1.0 / ReadRule::kTurns;
  constexpr double kBatches = 1682.5;
  constexpr double kPowers = 12.458;  // those of all ranks
  static_assert(kRows == uint64_t{64} << 20 && kZipfExponent == 1.05 && ReadRule::kTurns == 8,
                "kBatches and kPowers are of these");
  const double drawn =  // in that time
      std::pow(static_cast<double>(rank), -kZipfExponent) / kPowers * kBatches * kBatch;
  const double goes = std::exp(-drawn);
  return kComesUp * (1 - goes) / (goes + kComesUp * (1 - goes));
}

class TieredBench {
 public:
  static Result<std::vector<Figure>> Run(Distribution distribution) {
    TieredBench bench(distribution);
    STRATA_TRY(bench.Start());
    STRATA_TRY(bench.Fill());
    STRATA_TRY(bench.FillGpu());
    STRATA_ASSIGN(Figure find, bench.MeasureFind());
    STRATA_ASSIGN(Figure announced, bench.MeasureAnnounced());
    STRATA_ASSIGN(Figure update, bench.MeasureUpdate());
    return std::vector<Figure>{std::move(find), std::move(announced), std::move(update)};
  }

 private:
  explicit TieredBench(Distribution distribution) : distribution_(distribution) {}

  Status Start() {
    TableSpec spec;
    spec.name = "tiered";
    spec.dim = kDim;
    const uint32_t slot = SlotBytes(kDim);
    STRATA_ASSIGN(const int device, CurrentGpu());
    STRATA_ASSIGN(pool_, DevicePool::Make(device, (kRows / 2) * (slot + 2) * 10 / 8));
    STRATA_ASSIGN(workers_, StartGatherers());
    auto below = std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome);
    below_ = below.get();
    table_ = std::make_unique<HotTable>(spec, *pool_, PinnedPool::Make(), std::move(below),
                                        *workers_, HotTableOptions{.rows_max = kRows / 2});
    STRATA_TRY(keys_.Make(kBatch));
    return rows_.Make(kBatch * kDim);
  }

  Status Fill() {
    constexpr size_t kPage = 1 << 16;
    below_->ExpectRows(kRows);
    ScanPage page;
    page.rows.resize(kPage * kDim, 0.5F);
    page.counters.resize(kPage);
    page.keys.resize(kPage);
    for (uint64_t first = 0; first < kRows; first += kPage) {
      for (size_t i = 0; i < kPage; ++i) page.keys[i] = KeyAt(first + i);
      STRATA_TRY(table_->Load(page));
    }
    return {};
  }

  // With half of the rows, those that are asked for least first.
  Status FillGpu() {
    Random random(1);
    std::vector<Key> keys;
    for (uint64_t rank = kRows; rank != 0; --rank) {
      const double part = distribution_ == Distribution::kZipf ? PartThere(rank) : 0.5;
      if (random.Uniform() < part) keys.push_back(KeyAt(rank - 1));
      if (keys.size() < kBatch && (rank != 1 || keys.empty())) continue;
      keys.resize(kBatch, keys.back());
      STRATA_TRY(keys_.Set(keys));
      STRATA_TRY(BringUp());
      keys.clear();
    }
    return {};
  }
  // Those rows of the batch that are not there.
  Status BringUp() {
    table_->Prefetch(keys_.span());
    return Lookup().status();
  }

  // The keys of the next batches. All are drawn at once: Zipf's law is a table as long as the rows
  // are.
  std::vector<Key> Draw(size_t batches) {
    if (drawn_.empty()) {
      constexpr size_t kBatches =
          kWarmBatches + kWarmUpdates + 3 * kTimedBatches + kAnnouncedBatches + 1;
      drawn_ = DrawKeys(distribution_, kRows, kBatches * kBatch, 1);
    }
    const auto first = drawn_.end() - static_cast<std::ptrdiff_t>(batches * kBatch);
    std::vector<Key> keys(first, drawn_.end());
    drawn_.erase(first, drawn_.end());
    return keys;
  }

  uint64_t RowsRead() const { return below_->Tiers()[static_cast<size_t>(Tier::kWarm)].hits; }

  Status NextBatch() { return keys_.Set(Draw(1)); }

  // Seconds of one lookup, keys and rows in the GPU's memory.
  Result<double> Lookup() {
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before a batch"));
    const TimeNs began = RealClock().Now();
    STRATA_TRY(table_->Lookup(keys_.span(), {rows_.data(), kBatch * kDim}));
    return static_cast<double>(RealClock().Now() - began) / kSecond;
  }

  // Each batch is announced while the one before it has still to be looked up. Announcing is in the
  // time, as is all that it begins.
  Result<Figure> MeasureAnnounced() {
    GpuBuffer<uint64_t> keys;
    STRATA_TRY(keys.Make((kAnnouncedBatches + 1) * kBatch));
    STRATA_TRY(keys.Set(Draw(kAnnouncedBatches + 1)));
    const auto batch = [&](size_t n) { return keys.span().subspan(n * kBatch, kBatch); };
    const std::span<float> rows(rows_.data(), kBatch * kDim);
    table_->Prefetch(batch(0));
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before the batches"));
    const HotStats before = table_->hot_stats();
    const TimeNs began = RealClock().Now();
    for (size_t n = 0; n < kAnnouncedBatches; ++n) {
      table_->Prefetch(batch(n + 1));
      STRATA_TRY(table_->Lookup(batch(n), rows));
    }
    const double seconds = static_cast<double>(RealClock().Now() - began) / kSecond;
    const HotStats after = table_->hot_stats();
    constexpr double kKeys = static_cast<double>(kAnnouncedBatches) * kBatch;
    const auto up = static_cast<double>(after.moved_up - before.moved_up);
    const auto missed = kKeys - static_cast<double>(after.hits - before.hits);
    Figure figure;
    figure.name = fmt::format(
        "find dim={} half on the host, {}, each batch announced one ahead: {:.1f} % of it comes "
        "up, "
        "{:.2f} % of the keys are not there in time",
        kDim, Name(), 100 * up / kKeys, 100 * missed / kKeys);
    figure.unit = "Gi keys/s";
    figure.ours = kKeys / seconds / kGi;
    figure.bytes = up / kAnnouncedBatches * kDim * sizeof(float);  // over the link, of a batch
    figure.limit = static_cast<double>(kBatch) / std::max(*figure.bytes / kLinkBytes, found_) / kGi;
    return figure;
  }

  // Batches all of whose rows are there.
  Status MeasureFound() {
    std::vector<double> seconds;
    for (size_t batch = 0; batch < kTimedBatches; ++batch) {
      STRATA_TRY(NextBatch());
      STRATA_TRY(BringUp());
      const uint64_t before = RowsRead();
      STRATA_ASSIGN(const double taken, Lookup());
      if (RowsRead() != before) return Internal("a batch that was announced missed keys");
      seconds.push_back(taken);
    }
    found_ = Median(seconds);
    return {};
  }

  Result<Figure> MeasureFind() {
    std::vector<double> seconds;
    std::vector<double> missed;
    for (size_t batch = 0; batch < kWarmBatches + kTimedBatches; ++batch) {
      STRATA_TRY(NextBatch());
      const uint64_t before = RowsRead();
      STRATA_ASSIGN(const double taken, Lookup());
      if (batch < kWarmBatches) continue;
      seconds.push_back(taken);
      missed.push_back(static_cast<double>(RowsRead() - before));
    }
    STRATA_TRY(MeasureFound());
    const double row_bytes = kDim * sizeof(float);
    const double link = Median(missed) * row_bytes / kLinkBytes;
    Figure figure;
    figure.name =
        fmt::format("find dim={} half on the host, {}: {:.1f} % of the batch is read there", kDim,
                    Name(), 100 * Median(missed) / kBatch);
    figure.unit = "Gi keys/s";
    figure.ours = static_cast<double>(kBatch) / Median(seconds) / kGi;
    figure.peer = kPeer;
    figure.peer_value = 0.124;
    figure.recorded = true;
    figure.limit = static_cast<double>(kBatch) / std::max(link, found_) / kGi;
    figure.bytes = Median(missed) * row_bytes;  // over the link
    return figure;
  }

  Result<Figure> MeasureUpdate() {
    std::vector<double> seconds;
    std::vector<float> gradients(kBatch * kDim, 0.01F);
    GpuBuffer<float> on_gpu;
    STRATA_TRY(on_gpu.Make(gradients.size()));
    STRATA_TRY(on_gpu.Set(gradients));
    std::vector<double> down;
    for (size_t batch = 0; batch < kWarmUpdates + kTimedBatches; ++batch) {
      STRATA_TRY(NextBatch());
      const uint64_t before = table_->hot_stats().moved_down;
      STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before a batch"));
      const TimeNs began = RealClock().Now();
      const GradientPart part{keys_.span(), on_gpu.span()};
      STRATA_TRY(table_->ApplyGradients({&part, 1}, batch + 1));
      STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "a batch"));
      if (batch < kWarmUpdates) continue;
      seconds.push_back(static_cast<double>(RealClock().Now() - began) / kSecond);
      down.push_back(static_cast<double>(table_->hot_stats().moved_down - before));
    }
    Figure figure;
    figure.name = fmt::format(
        "update (SGD) dim={} half on the host, {}: as many rows as {:.0f} % of the batch go down",
        kDim, Name(), 100 * Median(down) / kBatch);
    figure.unit = "Gi keys/s";
    figure.ours = static_cast<double>(kBatch) / Median(seconds) / kGi;
    return figure;
  }

  const char* Name() const {
    return distribution_ == Distribution::kZipf ? "Zipf 1.05 with repeats" : "uniform";
  }

  const Distribution distribution_;
  std::vector<Key> drawn_;  // batches to come, the last one first
  double found_ = 0;        // seconds of a batch whose rows are all on the GPU
  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<WorkPool> workers_;
  HostTable* below_ = nullptr;
  std::unique_ptr<HotTable> table_;
  GpuBuffer<uint64_t> keys_;
  GpuBuffer<float> rows_;
};

}  // namespace

Result<std::vector<Figure>> RunGpuTiers(Distribution distribution) {
  return TieredBench::Run(distribution);
}

}  // namespace strata::bench
