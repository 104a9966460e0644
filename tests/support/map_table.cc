#include "tests/support/map_table.h"

#include <algorithm>

#include "kernels/core/initializer.h"
#include "kernels/core/narrow.h"
#include "kernels/optim/apply.h"
#include "storage/memory/local_store.h"
#include "storage/memory/scan_pages.h"

namespace strata {

MapTable::Row MapTable::NewRow(Key key) const {
  const RowSchema schema = SchemaOf(spec_);
  Row row;
  row.elements.resize(schema.dim + schema.state_width);
  const std::span<float> elements(row.elements);
  InitialRow(spec_.initializer, spec_.seed, key, elements.first(schema.dim));
  InitialState(spec_.optimizer, elements.subspan(schema.dim));
  RoundToNearest(row);
  return row;
}

template <typename Round>
void MapTable::RoundRow(Row& row, const Round& round) const {
  const RowSchema schema = SchemaOf(spec_);
  for (size_t i = 0; i < row.elements.size(); ++i) {
    const ElementType type = schema.TypeOf(i);
    if (type == ElementType::kFp32) continue;
    row.elements[i] = narrow::FromBits(type, round(type, i, row.elements[i]));
  }
}

void MapTable::RoundToNearest(Row& row) const {
  RoundRow(row, [](ElementType type, size_t, float value) { return narrow::ToBits(type, value); });
}

Status MapTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = rows_.find(keys[i]);
    const Row row = found == rows_.end() ? NewRow(keys[i]) : found->second;
    std::copy_n(row.elements.begin(), spec_.dim,
                out.begin() + static_cast<ptrdiff_t>(i * spec_.dim));
    ++stats_.lookups;
    if (found != rows_.end()) ++stats_.lookup_hits;
  }
  return {};
}

Status MapTable::PrepareUpdate(std::span<const GradientPart> parts) {
  prepared_update_.assign(parts.begin(), parts.end());
  return {};
}

void MapTable::CommitUpdate(uint64_t step) {
  struct Sum {
    std::vector<float> gradient;
    uint32_t parts = 0;
    size_t part_last = SIZE_MAX;
  };
  std::map<Key, Sum> sums;
  for (size_t p = 0; p < prepared_update_.size(); ++p) {
    const GradientPart& part = prepared_update_[p];
    for (size_t i = 0; i < part.keys.size(); ++i) {
      const std::span<const float> gradient = part.gradients.subspan(i * spec_.dim, spec_.dim);
      Sum& sum = sums[part.keys[i]];
      if (sum.gradient.empty()) {
        sum.gradient.assign(gradient.begin(), gradient.end());
      } else {
        for (size_t d = 0; d < spec_.dim; ++d) sum.gradient[d] += gradient[d];
      }
      if (sum.part_last != p) ++sum.parts;
      sum.part_last = p;
      ++stats_.updates;
    }
  }
  for (const auto& [key, sum] : sums) {
    if (!AllFinite(sum.gradient)) {
      ++stats_.rejected;
      continue;
    }
    Row& row = rows_.try_emplace(key, NewRow(key)).first->second;
    const RowUpdate update{row.elements.data(), sum.gradient.data(), row.counters.last_step};
    ApplyRows(Exec{}, spec_.optimizer, step, spec_.dim, {&update, 1});
    const uint64_t sequence = narrow::RoundingSequence(spec_.seed, key, step);
    RoundRow(row, [sequence](ElementType type, size_t i, float value) {
      return narrow::ToBitsStochastic(type, value, SequenceBits(sequence, i));
    });
    row.counters.frequency += std::min(sum.parts, UINT32_MAX - row.counters.frequency);
    row.counters.checkpoint_epoch = history_.epoch();
    row.counters.last_step = step;
  }
  ++stats_.steps;
}

Status MapTable::PrepareAssign(std::span<const Key> keys, std::span<const float> values) {
  prepared_assign_ = {keys, values};
  return {};
}

void MapTable::CommitAssign() {
  for (size_t i = 0; i < prepared_assign_.keys.size(); ++i) {
    Row row = NewRow(prepared_assign_.keys[i]);
    const auto value = prepared_assign_.gradients.subspan(i * spec_.dim, spec_.dim);
    std::copy(value.begin(), value.end(), row.elements.begin());
    RoundToNearest(row);
    row.counters.checkpoint_epoch = history_.epoch();
    rows_.insert_or_assign(prepared_assign_.keys[i], std::move(row));
  }
}

Status MapTable::PrepareErase(std::span<const Key> keys) {
  prepared_erase_ = keys;
  return {};
}

uint64_t MapTable::CommitErase() {
  const size_t before = rows_.size();
  for (const Key key : prepared_erase_) {
    if (rows_.erase(key) != 0) history_.Erased(key, rows_.size());
  }
  return before - rows_.size();
}

Status MapTable::Scan(ScanPage& page) const {
  ClearPage(page);
  auto row = rows_.lower_bound(page.cursor);
  for (; row != rows_.end() && page.keys.size() < page.rows_max; ++row) {
    const std::vector<float>& elements = row->second.elements;
    page.keys.push_back(row->first);
    page.rows.insert(page.rows.end(), elements.begin(),
                     page.with_state ? elements.end() : elements.begin() + spec_.dim);
    if (page.with_state) page.counters.push_back(row->second.counters);
  }
  page.done = row == rows_.end();
  if (!page.done) page.cursor = row->first;
  return {};
}

TableStats MapTable::Stats() const {
  constexpr uint64_t kNodeBytes = 64;  // about what a tree node and a vector add to the elements
  const RowSchema schema = SchemaOf(spec_);
  TableStats stats = stats_;
  stats.rows = rows_.size();
  stats.bytes = rows_.size() * (schema.row_bytes() + sizeof(Key) + kNodeBytes);
  return stats;
}

void MapTable::MarkForSnapshot(uint32_t held) {
  for (const auto& [key, row] : rows_) {
    if (row.counters.checkpoint_epoch >= held) snapshot_.emplace(key, row);
  }
}

Status MapTable::TakeForSnapshot(ScanPage& page) {
  while (!snapshot_.empty() && page.keys.size() < page.rows_max) {
    const auto& [key, row] = *snapshot_.begin();
    page.keys.push_back(key);
    page.rows.insert(page.rows.end(), row.elements.begin(), row.elements.end());
    page.counters.push_back(row.counters);
    snapshot_.erase(snapshot_.begin());
  }
  page.done = snapshot_.empty();
  return {};
}

Status MapTable::LoadRows(const ScanPage& page) {
  const size_t width = page.keys.empty() ? 0 : page.rows.size() / page.keys.size();
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const auto elements = std::span(page.rows).subspan(i * width, width);
    Row& row = rows_[page.keys[i]];
    row.elements.assign(elements.begin(), elements.end());
    RoundToNearest(row);
    row.counters = LoadedCounters(page, i);
  }
  return {};
}

std::unique_ptr<TableStore> MakeMapStore(const Clock& clock) {
  const auto factory = [](const TableSpec& spec) { return std::make_unique<MapTable>(spec); };
  return std::make_unique<LocalStore>("the std::map store", factory, clock);
}

}  // namespace strata
