#include "bench/peers/rocks_table.h"

#include <algorithm>
#include <cstring>

#include "base/seeded_hash.h"
#include "kernels/core/initializer.h"
#include "storage/memory/scan_pages.h"

namespace strata {
namespace {

constexpr size_t kLookupPiece = 4096;  // rows read at a time

}  // namespace

RocksTable::RocksTable(const TableSpec& spec, RocksDb& cold)
    : spec_(spec),
      schema_(SchemaOf(spec)),
      row_bytes_(schema_.row_bytes()),
      cold_(cold),
      space_(cold.MakeSpace(row_bytes_)),
      updates_(spec) {}

RocksTable::~RocksTable() {
  // Without it the rows only stay until the next start, which empties the cold tier.
  static_cast<void>(cold_.DropSpace(space_).ok());
}

Status RocksTable::Read(std::span<const Key> keys) {
  rows_.resize(keys.size() * row_bytes_);
  found_.resize(keys.size());
  STRATA_TRY(cold_.Read(space_, keys, rows_, found_));
  if (unwritten_.empty()) return {};
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto later = unwritten_.find(ColdHashOf(keys[i]));
    if (later == unwritten_.end()) continue;
    found_[i] = later->second.empty() ? 0 : 1;
    if (found_[i] != 0) memcpy(Row(i), later->second.data(), row_bytes_);
  }
  return {};
}

Status RocksTable::WriteUnwritten() {
  if (unwritten_.empty()) return {};
  std::vector<ColdWrite> writes;
  for (const auto& [hash, row] : unwritten_) {
    writes.push_back({KeyOfColdHash(hash), row.empty() ? nullptr : row.data()});
  }
  STRATA_TRY(cold_.Write(space_, writes).Prefixed("table '" + spec_.name + "'"));
  unwritten_.clear();
  return {};
}

void RocksTable::Write() {
  if (writes_.empty() || (unwritten_.empty() && cold_.Write(space_, writes_).ok())) return;
  for (const ColdWrite& write : writes_) {
    auto& row = unwritten_[ColdHashOf(write.key)];
    row.clear();
    if (write.row != nullptr) row.assign(write.row, write.row + row_bytes_);
  }
}

Status RocksTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  const size_t dim = spec_.dim;
  stats_.lookups += keys.size();
  for (size_t begin = 0; begin < keys.size(); begin += kLookupPiece) {
    const auto some = keys.subspan(begin, std::min(kLookupPiece, keys.size() - begin));
    STRATA_TRY(Read(some).Prefixed("table '" + spec_.name + "'"));
    for (size_t i = 0; i < some.size(); ++i) {
      const std::span<float> place = out.subspan((begin + i) * dim, dim);
      if (found_[i] != 0) {
        ReadElements(schema_, ElementsOf(Row(i)), dim, place.data());
        ++stats_.lookup_hits;
      } else {
        InitialValue(spec_, schema_, some[i], place);
      }
    }
  }
  return {};
}

Status RocksTable::PrepareUpdate(std::span<const GradientPart> parts) {
  STRATA_TRY(WriteUnwritten());
  combiner_.Combine(parts, spec_.dim);
  keys_.clear();
  groups_.clear();
  for (size_t i = 0; i < combiner_.keys().size(); ++i) {
    if (!AllFinite({combiner_.gradient(i), spec_.dim})) continue;
    keys_.push_back(combiner_.keys()[i]);
    groups_.push_back(i);
  }
  return Read(keys_).Prefixed("table '" + spec_.name + "'");
}

void RocksTable::CommitUpdate(uint64_t step) {
  updates_.Clear();
  writes_.clear();
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (found_[i] == 0) {
      MakeNew(keys_[i], Row(i));
      ++stats_.rows;
    }
    RowCounters& counters = CountersOf(schema_, Row(i));
    counters.frequency += std::min(combiner_.parts(groups_[i]), UINT32_MAX - counters.frequency);
    counters.checkpoint_epoch = history_.epoch();
    updates_.Add(keys_[i], ElementsOf(Row(i)), combiner_.gradient(groups_[i]), counters.last_step);
    counters.last_step = step;
    writes_.push_back({keys_[i], Row(i)});
  }
  updates_.Apply(step);
  Write();
  stats_.updates += combiner_.occurrences();
  stats_.rejected += combiner_.keys().size() - keys_.size();
  ++stats_.steps;
}

Status RocksTable::PrepareAssign(std::span<const Key> keys, std::span<const float> values) {
  STRATA_TRY(WriteUnwritten());
  assign_keys_ = keys;
  assign_values_ = values;
  return Read(keys).Prefixed("table '" + spec_.name + "'");
}

void RocksTable::CommitAssign() {
  std::map<Key, size_t> last;  // place of a key's last occurrence
  for (size_t i = 0; i < assign_keys_.size(); ++i) last[assign_keys_[i]] = i;
  writes_.clear();
  for (const auto& [key, i] : last) {
    if (found_[i] == 0) ++stats_.rows;
    MakeNew(key, Row(i));
    WriteElements(schema_, assign_values_.subspan(i * spec_.dim, spec_.dim), ElementsOf(Row(i)));
    CountersOf(schema_, Row(i)).checkpoint_epoch = history_.epoch();
    writes_.push_back({key, Row(i)});
  }
  Write();
}

Status RocksTable::PrepareErase(std::span<const Key> keys) {
  keys_.assign(keys.begin(), keys.end());
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  return Read(keys_).Prefixed("table '" + spec_.name + "'");
}

uint64_t RocksTable::CommitErase() {
  writes_.clear();
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (found_[i] == 0) continue;
    writes_.push_back({keys_[i], nullptr});
    history_.Erased(keys_[i], --stats_.rows);
  }
  const uint64_t erased = writes_.size();
  Write();
  return erased;
}

Status RocksTable::FillPage(const Unwritten& unwritten, const RocksSnapshot* snapshot,
                            uint32_t epoch_min, bool with_state, ScanPage& page) const {
  std::vector<uint64_t> hashes;
  for (auto row = unwritten.lower_bound(page.cursor); row != unwritten.end(); ++row) {
    hashes.push_back(row->first);
  }
  const auto cursor = cold_.Cursor(space_, page.cursor, snapshot);
  uint32_t rows_left = std::max(page.rows_max, 1U);
  const MergeEnd end = MergeRows(
      schema_, hashes, *cursor,
      [&](Key key) {
        const auto row = unwritten.find(ColdHashOf(key));
        const bool is_there = row != unwritten.end() && !row->second.empty();
        return is_there ? ViewOf(schema_, row->second.data()) : RowView{};
      },
      [&](Key key) { return unwritten.contains(ColdHashOf(key)); },
      [&](Key key, const RowView& row) {
        if (row.counters->checkpoint_epoch >= epoch_min) {
          AppendRow(schema_, key, row, with_state, page);
        }
        return --rows_left != 0;
      });
  STRATA_TRY(cursor->status().Prefixed("table '" + spec_.name + "'"));
  page.cursor = end.next;
  page.done = end.done;
  return {};
}

Status RocksTable::Scan(ScanPage& page) const {
  ClearPage(page);
  return FillPage(unwritten_, nullptr, 0, page.with_state, page);
}

TableStats RocksTable::Stats() const {
  TableStats stats = stats_;
  stats.bytes = stats.rows * (row_bytes_ + sizeof(Key));
  return stats;
}

void RocksTable::MarkForSnapshot(uint32_t /*held*/) {
  snapshot_ = cold_.Snapshot();
  snapshot_unwritten_ = unwritten_;
}

Status RocksTable::TakeForSnapshot(ScanPage& page) {
  page.cursor = snapshot_place_.cursor;
  STRATA_TRY(FillPage(snapshot_unwritten_, snapshot_.get(), history_.snapshot_since(), true, page));
  snapshot_place_.cursor = page.cursor;
  return {};
}

void RocksTable::UnmarkForSnapshot() {
  snapshot_.reset();
  snapshot_unwritten_.clear();
  snapshot_place_.cursor = 0;
}

Status RocksTable::LoadRows(const ScanPage& page) {
  STRATA_TRY(WriteUnwritten());
  const size_t width = size_t{schema_.dim} + schema_.state_width;
  AppendOrder order = cold_.OrderOf(space_);
  const bool is_above = std::ranges::all_of(page.keys, [&](Key key) { return order.Take(key); });
  if (is_above) {
    rows_.resize(page.keys.size() * row_bytes_);
    found_.assign(page.keys.size(), 0);
  } else {
    STRATA_TRY(Read(page.keys));
  }
  writes_.clear();
  uint64_t fresh = 0;
  SeededSet fresh_keys;
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const Key key = page.keys[i];
    if (found_[i] == 0 && (is_above || fresh_keys.insert(key).second)) ++fresh;
    WriteElements(schema_, {page.rows.data() + i * width, width}, ElementsOf(Row(i)));
    CountersOf(schema_, Row(i)) = LoadedCounters(page, i);
    writes_.push_back({key, Row(i)});
  }
  const Status written = is_above ? cold_.Append(space_, writes_) : cold_.Write(space_, writes_);
  STRATA_TRY(written.Prefixed("table '" + spec_.name + "'"));
  stats_.rows += fresh;
  return {};
}

}  // namespace strata
