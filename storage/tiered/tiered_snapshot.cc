// What reads a tiered table as a whole: scans, snapshots; and Load, which fills it.
#include <algorithm>

#include "storage/memory/scan_pages.h"
#include "storage/rocks/cold_rows.h"
#include "storage/tiered/tiered_table.h"

namespace strata {
namespace {

constexpr size_t kScanVisits = 262'144;  // rows that a page of a scan looks at; expired ones count
constexpr uint64_t kVisitsPerRow = 16;   // rows that a snapshot page visits for each wished

}  // namespace

Status TieredTable::Scan(ScanPage& page) const { return ScanBoth(page, nullptr); }

Status TieredTable::ScanWithExpired(ScanPage& page, std::vector<Key>* expired) const {
  expired->clear();
  return ScanBoth(page, expired);
}

// Of the rows that are in memory when the first page is asked for, and that are made afterwards.
void TieredTable::OrderForScans() const {
  scan_order_.Begin();
  scan_is_shared_ = false;
  for (uint64_t row = 0; row < warm_.numbers(); ++row) {
    if (warm_.IsLive(row)) scan_order_.Add(ColdHashOf(warm_.KeyOf(row)));
  }
}

// A scan that is alone needs the order no more at its end. Where there are several, ForgetOldScans
// ends it.
void TieredTable::EndScanPage(const ScanPage& page) const {
  scan_next_ = page.cursor;
  scan_tick_ = tick_;
  if (page.done && !scan_is_shared_) scan_order_.Clear();
}

// The order goes when no page was asked for during many operations. It also goes when keys that
// were made again and again have let it grow by far more than the rows.
void TieredTable::ForgetOldScans() {
  constexpr uint32_t kScanIdle = 65'536;
  const bool is_old = tick_ - scan_tick_ > kScanIdle;
  if (is_old || scan_order_.size() > 2 * warm_.rows() + kScanIdle) scan_order_.Clear();
}

// Rows may move between the pages, so each page takes a range of hashes out of both tiers. A row
// that came up since the order was made is still in the cold tier too, and one that went down is
// looked up in vain and found there.
Status TieredTable::ScanBoth(ScanPage& page, std::vector<Key>* expired) const {
  ClearPage(page);
  if (scan_order_.empty()) {
    OrderForScans();
  } else if (page.cursor != scan_next_) {
    scan_is_shared_ = true;
  }
  const auto cursor = cold_.Cursor(space_, page.cursor);
  size_t visits = 0;
  const auto has_room = [&] {
    return page.keys.size() + (expired == nullptr ? 0 : expired->size()) < page.rows_max &&
           ++visits < kScanVisits;
  };
  MergeEnd end{.next = page.cursor, .done = false};
  bool is_full = false;
  while (!is_full && !end.done) {
    const ScanOrder::Range range = scan_order_.From(end.next);
    end = MergeRows(
        schema_, range.hashes, *cursor,
        [&](Key key) {
          const uint64_t row = warm_.Find(key);
          return row == kNoRow ? RowView{} : warm_.View(row);
        },
        [&](Key key) { return dead_.contains(key); },
        [&](Key key, const RowView& row) {
          if (!IsDead(*row.counters)) {
            AppendRow(schema_, key, row, page.with_state, page);
          } else if (expired != nullptr) {
            expired->push_back(key);
          }
          is_full = !has_room();
          return !is_full;
        },
        range.last);
  }
  STRATA_TRY(cursor->status().Prefixed("table '" + spec_.name + "'"));
  page.cursor = end.next;
  page.done = end.done;
  EndScanPage(page);
  return {};
}

void TieredTable::MarkForSnapshot(uint32_t /*held*/) {
  // What a batch on its way down holds is neither in memory alone nor surely below.
  if (down_.active()) static_cast<void>(SettleDown());
  snapshot_ = cold_.Snapshot();
  for (uint64_t row = 0; row < warm_.numbers(); ++row) {
    if (!warm_.IsLive(row) || (warm_.flags(row) & kDirty) == 0) continue;
    warm_.flags(row) |= kDue;
    if ((warm_.flags(row) & kColdCopy) != 0) {
      snapshot_stale_.push_back(ColdHashOf(warm_.KeyOf(row)));
    }
  }
  for (const auto& [key, batch] : dead_) snapshot_stale_.push_back(ColdHashOf(key));
  std::sort(snapshot_stale_.begin(), snapshot_stale_.end());
  snapshot_rows_ = warm_.numbers();
  snapshot_step_ = now_step_;
}

bool TieredTable::IsInSnapshot(const RowCounters& counters) const {
  return counters.checkpoint_epoch >= history_.snapshot_since() &&
         !IsExpired(policy_, counters.last_step, snapshot_step_);
}

// Called before a row's bytes change, and before it leaves memory.
void TieredTable::KeepForSnapshot(uint64_t row) {
  if ((warm_.flags(row) & kDue) == 0) return;
  warm_.flags(row) = static_cast<uint8_t>(warm_.flags(row) & ~kDue);
  if (!IsInSnapshot(warm_.Counters(row))) return;
  AppendRow(schema_, warm_.KeyOf(row), warm_.View(row), true, PageAside());
}

Status TieredTable::TakeForSnapshot(ScanPage& page) {
  const uint64_t stop =
      std::min(snapshot_rows_, snapshot_row_ + kVisitsPerRow * std::max(page.rows_max, 1U));
  for (; snapshot_row_ < stop && page.keys.size() < page.rows_max; ++snapshot_row_) {
    if (!warm_.IsLive(snapshot_row_) || (warm_.flags(snapshot_row_) & kDue) == 0) continue;
    uint8_t& flags = warm_.flags(snapshot_row_);
    flags = static_cast<uint8_t>(flags & ~kDue);
    if (!IsInSnapshot(warm_.Counters(snapshot_row_))) continue;
    AppendRow(schema_, warm_.KeyOf(snapshot_row_), warm_.View(snapshot_row_), true, page);
  }
  if (snapshot_row_ == snapshot_rows_ && page.keys.size() < page.rows_max) {
    STRATA_TRY(SnapshotCold(page).Prefixed("table '" + spec_.name + "'"));
  }
  page.done = snapshot_cold_done_;
  return {};
}

Status TieredTable::SnapshotCold(ScanPage& page) {
  if (snapshot_cold_done_) return {};
  const auto cursor = cold_.Cursor(space_, snapshot_hash_, snapshot_.get());
  uint64_t visits = kVisitsPerRow * std::max(page.rows_max, 1U);
  auto stale = std::lower_bound(snapshot_stale_.begin(), snapshot_stale_.end(), snapshot_hash_);
  for (; cursor->Valid() && visits != 0 && page.keys.size() < page.rows_max; cursor->Next()) {
    --visits;
    const uint64_t hash = cursor->hash();
    snapshot_hash_ = hash + 1;
    if (hash == UINT64_MAX) snapshot_cold_done_ = true;
    while (stale != snapshot_stale_.end() && *stale < hash) ++stale;
    if (stale != snapshot_stale_.end() && *stale == hash) continue;
    const RowView row = ViewOf(schema_, cursor->row());
    if (!IsInSnapshot(*row.counters)) continue;
    AppendRow(schema_, cursor->key(), row, true, page);
  }
  STRATA_TRY(cursor->status());
  if (!cursor->Valid()) snapshot_cold_done_ = true;
  return {};
}

void TieredTable::UnmarkForSnapshot() {
  snapshot_.reset();
  snapshot_stale_ = {};
  for (uint64_t row = snapshot_row_; row < snapshot_rows_; ++row) {
    warm_.flags(row) = static_cast<uint8_t>(warm_.flags(row) & ~kDue);
  }
  snapshot_row_ = 0;
  snapshot_rows_ = 0;
  snapshot_hash_ = 0;
  snapshot_cold_done_ = false;
}

void TieredTable::CopyLoaded(const ScanPage& page, size_t i, float* elements,
                             RowCounters& counters) const {
  const size_t width = size_t{schema_.dim} + schema_.state_width;
  WriteElements(schema_, {page.rows.data() + i * width, width}, elements);
  counters = LoadedCounters(page, i);
}

Status TieredTable::LoadRows(const ScanPage& page) {
  BeginOperation();
  if (down_.active()) STRATA_TRY(SettleDown());
  std::vector<uint32_t> above, below;
  SeededSet below_keys;
  AppendOrder order = cold_.OrderOf(space_);
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const Key key = page.keys[i];
    NoteStep(page.counters[i].last_step);
    uint64_t row = warm_.Find(key);
    if (row == kNoRow && (cold_used_ || !above.empty() || below_keys.contains(key) ||
                          warm_shares_.IsFull() || !HasRoom(1))) {
      if (order.Take(key)) {
        above.push_back(static_cast<uint32_t>(i));
      } else {
        below.push_back(static_cast<uint32_t>(i));
        below_keys.insert(key);
      }
      continue;
    }
    if (row == kNoRow) row = MakeRow(key);
    BeforeWrite(row);
    CopyLoaded(page, i, warm_.Elements(row), warm_.Counters(row));
  }
  STRATA_TRY(LoadAbove(page, above));
  STRATA_TRY(LoadCold(page, below));
  NoteExpired();
  return {};
}

// `places` are those of rows that neither memory nor the cold tier has, in its AppendOrder: as a
// snapshot gives most of them.
Status TieredTable::LoadAbove(const ScanPage& page, std::span<const uint32_t> places) {
  if (places.empty()) return {};
  cold_rows_.resize(places.size() * row_bytes_);
  std::vector<ColdWrite> writes;
  for (size_t n = 0; n < places.size(); ++n) {
    std::byte* row = cold_rows_.data() + n * row_bytes_;
    CopyLoaded(page, places[n], ElementsOf(row), CountersOf(schema_, row));
    writes.push_back({page.keys[places[n]], row});
    if (!up_keys_.empty()) up_keys_.erase(page.keys[places[n]]);
  }
  cold_used_ = true;
  STRATA_TRY(cold_.Append(space_, writes).Prefixed("table '" + spec_.name + "'"));
  stats_.rows += places.size();
  return {};
}

// `places` are those of rows in the page whose keys are not in memory.
Status TieredTable::LoadCold(const ScanPage& page, std::span<const uint32_t> places) {
  if (places.empty()) return {};
  // Erased keys go first: a batch later on would take the loaded rows with them.
  if (!dead_.empty()) {
    StartDown({});
    STRATA_TRY(SettleDown());
  }
  cold_keys_.clear();
  for (const uint32_t place : places) cold_keys_.push_back(page.keys[place]);
  STRATA_TRY(ReadCold(cold_keys_));
  SeededSet fresh;
  std::vector<ColdWrite> writes;
  for (size_t n = 0; n < places.size(); ++n) {
    const Key key = cold_keys_[n];
    if (cold_found_[n] == 0) fresh.insert(key);
    std::byte* row = cold_rows_.data() + n * row_bytes_;
    CopyLoaded(page, places[n], ElementsOf(row), CountersOf(schema_, row));
    writes.push_back({key, row});
    up_keys_.erase(key);
  }
  cold_used_ = true;
  STRATA_TRY(cold_.Write(space_, writes).Prefixed("table '" + spec_.name + "'"));
  stats_.rows += fresh.size();
  return {};
}

}  // namespace strata
