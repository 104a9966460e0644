#include "storage/memory/host_table.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "storage/memory/scan_pages.h"
#include "storage/row_elements.h"

namespace strata {
namespace {

constexpr size_t kCountersAhead = 16;   // rows whose counters are fetched before their turn
constexpr size_t kPieceKeys = 1024;     // that a thread looks up at a time
constexpr uint64_t kVisitsPerRow = 16;  // row numbers that a snapshot page visits for each wished

// Calls task(begin, end) for pieces of the keys. A thread that is alone reads ahead over all of
// them.
template <typename Task>
void ForPieces(WorkPool* threads, size_t keys, const Task& task) {
  if (threads == nullptr) return task(size_t{0}, keys);
  threads->RunPieces(keys, kPieceKeys, task);
}

}  // namespace

HostTable::HostTable(const TableSpec& spec, MemoryBudget* budget, RowOrder order, WorkPool* threads)
    : spec_(spec),
      schema_(SchemaOf(spec)),
      threads_(threads),
      rows_(schema_, budget, order),
      index_(rows_, budget),
      updates_(spec) {}

Status HostTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  const size_t dim = spec_.dim;
  std::atomic<uint64_t> hits = 0;
  ForPieces(threads_, keys.size(), [&](size_t begin, size_t end) {
    const std::span<const Key> its = keys.subspan(begin, end - begin);
    const std::span<float> places = out.subspan(begin * dim);
    uint64_t its_hits = 0;
    index_.VisitRows(its, dim * BytesOf(schema_.value_type), [&](size_t i, uint64_t row) {
      const std::span<float> place = places.subspan(i * dim, dim);
      if (row == kNoRow) {
        InitialValue(spec_, schema_, its[i], place);
      } else {
        ReadElements(schema_, rows_.Elements(row), dim, place.data());
        ++its_hits;
      }
    });
    hits += its_hits;
  });
  stats_.lookups += keys.size();
  stats_.lookup_hits += hits;
  return {};
}

Status HostTable::Reserve(uint64_t count) {
  STRATA_TRY(index_.Reserve(count).Prefixed("table '" + spec_.name + "'"));
  return rows_.Reserve(count).Prefixed("table '" + spec_.name + "'");
}

uint64_t HostTable::AddRow(Key key) {
  const uint64_t row = rows_.Add(key);
  index_.Insert(key, row);
  return row;
}

Status HostTable::PrepareUpdate(std::span<const GradientPart> parts) {
  combiner_.Combine(parts, spec_.dim);
  const std::span<const Key> keys = combiner_.keys();
  targets_.resize(keys.size());
  std::atomic<uint64_t> rejected = 0;
  std::atomic<uint64_t> missing = 0;
  // Of a large batch nothing that is read here is still in the cache when its turn to change comes.
  ForPieces(threads_, keys.size(), [&](size_t begin, size_t end) {
    uint64_t its_rejected = 0;
    uint64_t its_missing = 0;
    index_.VisitRows(keys.subspan(begin, end - begin), 0, [&](size_t i, uint64_t row) {
      const size_t key = begin + i;
      const float* gradient = combiner_.gradient(key);
      if (!AllFinite({gradient, spec_.dim})) {
        gradient = nullptr;
        ++its_rejected;
      } else if (row == kNoRow) {
        ++its_missing;
      }
      targets_[key] = {gradient, row, static_cast<uint32_t>(key), combiner_.parts(key), false};
    });
    rejected += its_rejected;
    missing += its_missing;
  });
  rejected_ = rejected;
  if (rejected_ != 0) {
    std::erase_if(targets_, [](const Target& target) { return target.gradient == nullptr; });
  }
  missing_ = missing;
  return missing_ == 0 ? Status::Ok() : Reserve(missing_);
}

// Only what makes rows, or keeps them for a snapshot, is of one thread.
void HostTable::CommitUpdate(uint64_t step) {
  if (missing_ != 0) {
    for (Target& target : targets_) {
      if (target.row != kNoRow) continue;
      const Key key = combiner_.keys()[target.key];
      target.row = AddRow(key);
      target.is_new = true;
      WriteInitialValue(spec_, schema_, key, rows_.Elements(target.row));
      WriteInitialState(spec_, schema_, rows_.Elements(target.row));
      *rows_.Counters(target.row) = RowCounters{};
    }
  }
  if (in_snapshot()) {
    for (const Target& target : targets_) {
      if (!target.is_new) KeepForSnapshot(target.row);
    }
  }
  updates_.Resize(targets_.size());
  ForPieces(threads_, targets_.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Target& target = targets_[i];
      if (i + kCountersAhead < end) rows_.PrefetchCounters(targets_[i + kCountersAhead].row);
      RowCounters& counters = *rows_.Counters(target.row);
      counters.checkpoint_epoch = history_.epoch();
      counters.frequency += std::min(target.parts, UINT32_MAX - counters.frequency);
      updates_.Set(i, combiner_.keys()[target.key], rows_.Elements(target.row), target.gradient,
                   counters.last_step);
      counters.last_step = step;
    }
  });
  updates_.Apply(step, threads_);
  stats_.updates += combiner_.occurrences();
  stats_.rejected += rejected_;
  ++stats_.steps;
}

Status HostTable::PrepareAssign(std::span<const Key> keys, std::span<const float> values) {
  assign_keys_ = keys;
  assign_values_ = values;
  uint64_t missing = 0;  // a repeated key counts again: an upper bound
  index_.VisitRows(keys, 0, [&](size_t, uint64_t row) { missing += row == kNoRow ? 1 : 0; });
  return missing == 0 ? Status::Ok() : Reserve(missing);
}

void HostTable::CommitAssign() {
  const size_t dim = spec_.dim;
  for (size_t i = 0; i < assign_keys_.size(); ++i) {
    uint64_t row = index_.Find(assign_keys_[i]);
    if (row == kNoRow) {
      row = AddRow(assign_keys_[i]);
    } else {
      KeepForSnapshot(row);
    }
    WriteElements(schema_, assign_values_.subspan(i * dim, dim), rows_.Elements(row));
    WriteInitialState(spec_, schema_, rows_.Elements(row));
    *rows_.Counters(row) = RowCounters{.checkpoint_epoch = history_.epoch()};
  }
}

Status HostTable::PrepareErase(std::span<const Key> keys) {
  erase_keys_ = keys;
  return {};
}

uint64_t HostTable::CommitErase() {
  const uint64_t before = rows_.rows();
  for (const Key key : erase_keys_) {
    const uint64_t row = index_.Find(key);
    if (row == kNoRow) continue;
    KeepForSnapshot(row);
    index_.Erase(key);
    rows_.Remove(row);
    history_.Erased(key, rows_.rows());
  }
  return before - rows_.rows();
}

Status HostTable::Scan(ScanPage& page) const {
  ClearPage(page);
  const size_t width = spec_.dim + (page.with_state ? schema_.state_width : 0);
  uint64_t row = page.cursor;
  for (; row < rows_.numbers() && page.keys.size() < page.rows_max; ++row) {
    if (!rows_.IsLive(row)) continue;
    page.keys.push_back(rows_.KeyOf(row));
    AppendElements(schema_, rows_.Elements(row), width, page.rows);
    if (page.with_state) page.counters.push_back(*rows_.Counters(row));
  }
  page.cursor = row;
  page.done = row >= rows_.numbers();
  return {};
}

void HostTable::MarkForSnapshot(uint32_t /*held*/) { snapshot_end_ = rows_.numbers(); }

// Rows made behind the cut carry a higher epoch, also those that took the number of an erased one.
bool HostTable::IsInSnapshot(uint64_t row) const {
  const uint32_t epoch = rows_.Counters(row)->checkpoint_epoch;
  return epoch <= history_.snapshot_epoch() && epoch >= history_.snapshot_since();
}

void HostTable::CopyRun(uint64_t begin, uint64_t end, ScanPage& page, size_t at) const {
  if (begin == end) return;
  const size_t width = schema_.dim + schema_.state_width;
  const auto rows = static_cast<size_t>(end - begin);
  memcpy(&page.counters[at], rows_.Counters(begin), rows * sizeof(RowCounters));
  rows_.CopyKeys(begin, {&page.keys[at], rows});
  if (rows_.ElementsAreDense()) {
    memcpy(&page.rows[at * width], rows_.Elements(begin), rows * width * sizeof(float));
    return;
  }
  for (size_t i = 0; i < rows; ++i) {
    ReadElements(schema_, rows_.Elements(begin + i), width, &page.rows[(at + i) * width]);
  }
}

void HostTable::CopyAside(uint64_t row) {
  if (!IsInSnapshot(row)) return;
  ScanPage& page = PageAside();
  page.keys.push_back(rows_.KeyOf(row));
  AppendElements(schema_, rows_.Elements(row), schema_.dim + schema_.state_width, page.rows);
  page.counters.push_back(*rows_.Counters(row));
}

Status HostTable::TakeForSnapshot(ScanPage& page) {
  // Of an incremental snapshot most rows are only looked at; a page's time stays bounded.
  const uint64_t stop =
      std::min(snapshot_end_, snapshot_next_ + kVisitsPerRow * std::max(page.rows_max, 1U));
  // A page that is used again has its full size already.
  const size_t width = schema_.dim + schema_.state_width;
  size_t count = page.keys.size();
  const size_t room = std::max<size_t>(page.rows_max, count);
  page.keys.resize(room);
  page.rows.resize(room * width);
  page.counters.resize(room);
  while (snapshot_next_ < stop && count < room) {
    const uint64_t begin = snapshot_next_;
    const uint64_t end = std::min({stop, rows_.SlabEnd(begin), begin + (room - count)});
    while (snapshot_next_ < end && rows_.IsLive(snapshot_next_) && IsInSnapshot(snapshot_next_)) {
      ++snapshot_next_;
    }
    CopyRun(begin, snapshot_next_, page, count);
    count += snapshot_next_ - begin;
    if (snapshot_next_ < end) ++snapshot_next_;  // that one is no row of the snapshot
  }
  page.keys.resize(count);
  page.rows.resize(count * width);
  page.counters.resize(count);
  page.done = snapshot_next_ == snapshot_end_;
  return {};
}

void HostTable::UnmarkForSnapshot() {
  snapshot_next_ = 0;
  snapshot_end_ = 0;
}

Status HostTable::LoadRows(const ScanPage& page) {
  const size_t width = schema_.dim + schema_.state_width;
  STRATA_TRY(FindOrReserve(page.keys));
  for (size_t i = 0; i < page.keys.size(); ++i) {
    uint64_t row = load_rows_[i];
    if (row == kNoRow) row = index_.Find(page.keys[i]);  // a key that comes twice
    if (row == kNoRow) row = AddRow(page.keys[i]);
    WriteElements(schema_, {page.rows.data() + i * width, width}, rows_.Elements(row));
    *rows_.Counters(row) = LoadedCounters(page, i);
  }
  return {};
}

Status HostTable::FindOrReserve(std::span<const Key> keys) {
  uint64_t missing = 0;
  load_rows_.resize(keys.size());
  index_.VisitRows(keys, 0, [&](size_t i, uint64_t row) {
    load_rows_[i] = row;
    missing += row == kNoRow ? 1 : 0;
  });
  return missing == 0 ? Status::Ok() : Reserve(missing);
}

Status HostTable::ReadRows(std::span<const Key> keys, const ReadOptions& options, WorkPool& pool,
                           const RowVisit& visit) {
  const size_t row_bytes = schema_.stored_words() * sizeof(float);
  const bool counters = options.counters;
  const auto fetch = [ this, row_bytes, counters ](uint64_t row) __attribute__((always_inline)) {
    rows_.Prefetch<false>(row, row_bytes);
    if (counters) rows_.PrefetchCountersToRead(row);  // which lie apart
  };
  pool.RunPieces(keys.size(), RowPieceOf(keys.size()), [&](size_t begin, size_t end) {
    size_t taken = 0;
    index_.VisitFetched<true>(keys.subspan(begin, end - begin), fetch, [&](size_t i, uint64_t row) {
      if (row == kNoRow) return;
      visit(begin + i, {rows_.Elements(row), rows_.Counters(row)});
      ++taken;
    });
    read_hits_ += taken;
  });
  return {};
}

Status HostTable::WriteRows(const RowsDown& down, WorkPool& pool) {
  const uint64_t missing = index_.FindRows(down.keys, pool, &load_rows_, [](uint64_t) {});
  if (missing != 0) STRATA_TRY(Reserve(missing));
  if (missing != 0 || in_snapshot()) {
    for (size_t i = 0; i < down.keys.size(); ++i) {
      uint64_t& row = load_rows_[i];
      if (row == kNoRow) {
        row = AddRow(down.keys[i]);
      } else {
        KeepForSnapshot(row);
      }
    }
  }
  rows_.Write(load_rows_, down.rows, down.counters, pool);
  return {};
}

std::array<TierUse, kTiers> HostTable::Tiers() const {
  const TableStats stats = Stats();
  return {TierUse(),
          {.exists = true,
           .rows = stats.rows,
           .bytes = stats.bytes,
           .hits = stats.lookup_hits + read_hits_}};
}

TableStats HostTable::Stats() const {
  TableStats stats = stats_;
  stats.rows = rows_.rows();
  stats.bytes = rows_.bytes() + index_.bytes() + history_bytes();
  return stats;
}

}  // namespace strata
