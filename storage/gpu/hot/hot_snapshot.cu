// What reads a hot table as a whole: scans, statistics, snapshots; and Load, which fills it.
#include <algorithm>

#include "base/seeded_hash.h"
#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot/hot_table.h"
#include "storage/memory/scan_pages.h"

namespace strata {

Status HotTable::Scan(ScanPage& page) const {
  const DeviceScope scope(exec_.ordinal);
  if (page.cursor == 0) STRATA_TRY(TellBelow());
  const uint64_t cursor = page.cursor;
  std::vector<Key> expired;
  do {  // all of a page may have expired
    Status status = below_->ScanWithExpired(page, &expired);
    if (status.ok()) status = PutNewer(expired, &page);
    if (!status.ok()) {
      page.cursor = cursor;
      return status;
    }
  } while (page.keys.empty() && !page.done);
  return {};
}

Status HotTable::TellBelow() const {
  const uint64_t pairs = map_ == nullptr ? 0 : map_->ref().pairs();
  const uint64_t step = std::max<uint32_t>(1, gatherer_.chunk_rows() / kPairSlots);
  for (uint64_t first = 0; first < pairs; first += step) {
    const uint64_t window = std::min(step, pairs - first);
    STRATA_ASSIGN(const RowList list, taken_.RoomFor(window * kPairSlots));
    CopyOutUnknown(exec_, map_->ref(), first, window, list);
    const StoredRows down = taken_.BringStored(list);
    Wait(exec_);
    STRATA_TRY(lower_rows_.Write(down.headers, down.rows));
    counts_.copies += down.headers.size();
    MarkKnown(exec_, map_->ref(), first, window);
  }
  return {};
}

Status HotTable::PutNewer(std::span<const Key> expired, ScanPage* page) const {
  std::vector<Key> keys = page->keys;
  keys.insert(keys.end(), expired.begin(), expired.end());
  if (map_ == nullptr || keys.empty()) return {};
  STRATA_TRY(walk_.ReserveFor<uint64_t>(2 * keys.size()));
  auto* here = walk_.as<uint64_t>();
  CopyUp<Key>(exec_, keys, here);
  LocateRows(exec_, map_->ref(), {here, keys.size()}, here + keys.size());
  STRATA_ASSIGN(const RowList list, taken_.RoomFor(keys.size()));
  CopyOut(exec_, map_->ref(), {here + keys.size(), keys.size()}, list);
  ScanPage newer;
  taken_.Bring(list, /*with_state=*/true, &newer);
  SeededMap<size_t> places;
  for (size_t i = 0; i < page->keys.size(); ++i) places[page->keys[i]] = i;
  const size_t elements = page->with_state ? width() : spec_.dim;
  std::vector<uint8_t> is_gone(keys.size());
  for (size_t n = 0; n < newer.keys.size(); ++n) {
    const RowCounters& counters = newer.counters[n];
    const bool is_alive = !HasExpired(counters.last_step, below_->AliveFrom());
    const auto [place, is_new] = places.try_emplace(newer.keys[n], page->keys.size());
    const size_t i = place->second;
    is_gone[i] = is_alive ? 0 : 1;
    if (is_new) {
      page->keys.push_back(newer.keys[n]);
      page->rows.resize(page->rows.size() + elements);
      if (page->with_state) page->counters.emplace_back();
    }
    std::copy_n(newer.rows.data() + n * width(), elements, page->rows.data() + i * elements);
    if (page->with_state) page->counters[i] = counters;
  }
  KeepRows(page, [&](size_t i) { return is_gone[i] == 0; });
  return {};
}

TableStats HotTable::Stats() const {
  hinted_.Settle();
  TableStats stats = GpuTable::Stats();
  const TableStats below = below_->Stats();
  stats.rows += below.rows - counts_.copies - hinted_.RowsHere(stats.rows);
  stats.bytes += below.bytes;
  stats.lookups += below.lookups;
  stats.lookup_hits += below.lookup_hits;
  stats.updates += below.updates;
  stats.steps += below.steps;
  stats.rejected += below.rejected;
  stats.cold_rows = below.cold_rows;
  stats.not_admitted = below.not_admitted;
  stats.passed_down = batches_passed_down_;
  return stats;
}

std::array<TierUse, kTiers> HotTable::Tiers() const {
  std::array<TierUse, kTiers> tiers = below_->Tiers();
  const HotStats hot = hot_stats();
  const size_t row_bytes = sizeof(SlotHeader) + words() * sizeof(float);
  tiers[static_cast<size_t>(Tier::kHot)] = {.exists = true,
                                            .rows = hot.rows,
                                            .bytes = hot.bytes,
                                            .hits = hot.hits,
                                            .rows_in = hot.moved_up,
                                            .bytes_in = hot.moved_up * row_bytes};
  TierUse& warm = tiers[static_cast<size_t>(Tier::kWarm)];
  warm.rows_in += hot.moved_down;
  warm.bytes_in += hot.bytes_down;
  return tiers;
}

HotStats HotTable::hot_stats() const {
  hinted_.Settle();
  HotStats stats{.hits = hits_,
                 .moved_up = counts_.moved_up,
                 .moved_down = lower_rows_.rows_written(),
                 .bytes_down = lower_rows_.bytes_written(),
                 .passed_down = batches_passed_down_};
  if (map_ == nullptr) return stats;
  stats.rows = GpuTable::Stats().rows;
  stats.bytes = map_->bytes();
  return stats;
}

void HotTable::ExpectRows(uint64_t count) {
  FinishHint();
  below_->ExpectRows(count);
}

void HotTable::SetEpoch(uint32_t epoch) {
  GpuTable::SetEpoch(epoch);
  below_->SetEpoch(epoch);
}

uint32_t HotTable::BeginSnapshot(uint32_t since) {
  const uint32_t held = GpuTable::BeginSnapshot(since);
  if (below_->BeginSnapshot(held) == held) return held;
  // Either both have all that is needed to tell what has changed since, or neither does.
  static_cast<void>(GpuTable::BeginSnapshot(0));
  return below_->BeginSnapshot(0);
}

void HotTable::MarkForSnapshot(uint32_t held) {
  snapshot_next_ = 0;
  snapshot_alive_from_ = below_->AliveFrom();
  hot_part_done_ = false;
  if (map_ == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  MarkPendingDirty(exec_, map_->ref(), held);
}

Status HotTable::SnapshotPage(ScanPage& page) {
  if (!hot_part_done_) {
    STRATA_TRY(GpuTable::SnapshotPage(page));
    // Expired ones, too: what lies below may be older, and look as if it was alive.
    taken_keys_.insert(taken_keys_.end(), page.keys.begin(), page.keys.end());
    KeepRows(&page, [&](size_t i) {
      return !HasExpired(page.counters[i].last_step, snapshot_alive_from_);
    });
    if (page.done) {
      hot_part_done_ = true;
      std::sort(taken_keys_.begin(), taken_keys_.end());
      page.done = false;
    }
    return {};
  }
  STRATA_TRY(below_->SnapshotPage(page));
  KeepRows(&page, [&](size_t i) {  // at the cut it was older there than on the GPU if not
    return !std::binary_search(taken_keys_.begin(), taken_keys_.end(), page.keys[i]);
  });
  return {};
}

std::vector<Key> HotTable::SnapshotErased() const {
  std::vector<Key> keys = history_.SnapshotErased();
  const std::vector<Key> below = below_->SnapshotErased();
  keys.insert(keys.end(), below.begin(), below.end());
  return keys;
}

void HotTable::UnmarkForSnapshot() {
  GpuTable::UnmarkForSnapshot();
  below_->EndSnapshot();
  taken_keys_ = {};
}

void HotTable::ForgetErased(uint32_t epoch) {
  GpuTable::ForgetErased(epoch);
  below_->ForgetErased(epoch);
}

Status HotTable::LoadRows(const ScanPage& page) {
  const DeviceScope scope(exec_.ordinal);
  FinishHint();
  if (map_ != nullptr) STRATA_TRY(ReserveFor(page.keys.size(), 0));
  STRATA_TRY(below_->Load(page));
  if (map_ == nullptr || page.keys.empty()) return {};
  CopyUp<Key>(exec_, page.keys, keys_.as<Key>());
  Combine(keys_.as<Key>(), page.keys.size());
  counts_.copies -= CopiedOfBatch();
  EraseRows(exec_, map_->ref(), {distinct_.keys, distinct_count_});
  MustBegin("loading rows");
  Wait(exec_);
  return {};
}

}  // namespace strata
