#include "storage/memory/host_table.h"

#include <algorithm>

#include "kernels/core/initializer.h"

namespace strata {

HostTable::HostTable(const TableSpec& spec, MemoryBudget* budget)
    : spec_(spec), schema_(SchemaOf(spec)), rows_(schema_, budget), index_(rows_, budget) {}

void HostTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  const size_t dim = spec_.dim;
  uint64_t hits = 0;
  index_.VisitRows(keys, dim * sizeof(float), [&](size_t i, uint64_t row) {
    const std::span<float> place = out.subspan(i * dim, dim);
    if (row == kNoRow) {
      InitialRow(spec_.initializer, spec_.seed, keys[i], place);
    } else {
      std::copy_n(rows_.Elements(row), dim, place.data());
      ++hits;
    }
  });
  stats_.lookups += keys.size();
  stats_.lookup_hits += hits;
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
  targets_.clear();
  rejected_ = 0;
  uint64_t missing = 0;
  index_.VisitRows(combiner_.keys(), schema_.row_bytes(), [&](size_t i, uint64_t row) {
    const float* gradient = combiner_.gradient(i);
    if (!AllFinite({gradient, spec_.dim})) {
      ++rejected_;
      return;
    }
    if (row == kNoRow) ++missing;
    targets_.push_back({gradient, row, static_cast<uint32_t>(i), combiner_.parts(i)});
  });
  return missing == 0 ? Status::Ok() : Reserve(missing);
}

void HostTable::CommitUpdate(uint64_t step) {
  updates_.clear();
  for (const Target& target : targets_) {
    uint64_t row = target.row;
    if (row == kNoRow) {
      const Key key = combiner_.keys()[target.key];
      row = AddRow(key);
      InitialRow(spec_.initializer, spec_.seed, key, {rows_.Elements(row), spec_.dim});
      InitialState(spec_.optimizer, {rows_.Elements(row) + spec_.dim, schema_.state_width});
      *rows_.Counters(row) = RowCounters{};
    }
    RowCounters& counters = *rows_.Counters(row);
    counters.frequency += std::min(target.parts, UINT32_MAX - counters.frequency);
    counters.last_step = step;
    updates_.push_back({rows_.Elements(row), target.gradient});
  }
  ApplyRows(Exec{}, spec_.optimizer, step, spec_.dim, updates_);
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
    if (row == kNoRow) row = AddRow(assign_keys_[i]);
    std::copy_n(assign_values_.data() + i * dim, dim, rows_.Elements(row));
    InitialState(spec_.optimizer, {rows_.Elements(row) + dim, schema_.state_width});
    *rows_.Counters(row) = RowCounters{};
  }
}

void HostTable::Erase(std::span<const Key> keys) {
  for (const Key key : keys) {
    const uint64_t row = index_.Find(key);
    if (row == kNoRow) continue;
    index_.Erase(key);
    rows_.Remove(row);
  }
}

void HostTable::Scan(ScanPage& page) const {
  page.keys.clear();
  page.rows.clear();
  page.counters.clear();
  const size_t width = spec_.dim + (page.with_state ? schema_.state_width : 0);
  uint64_t row = page.cursor;
  for (; row < rows_.numbers() && page.keys.size() < page.rows_max; ++row) {
    if (!rows_.IsLive(row)) continue;
    page.keys.push_back(rows_.KeyOf(row));
    page.rows.insert(page.rows.end(), rows_.Elements(row), rows_.Elements(row) + width);
    if (page.with_state) page.counters.push_back(*rows_.Counters(row));
  }
  page.cursor = row;
  page.done = row >= rows_.numbers();
}

TableStats HostTable::Stats() const {
  TableStats stats = stats_;
  stats.rows = rows_.rows();
  stats.bytes = rows_.bytes() + index_.bytes();
  return stats;
}

}  // namespace strata
