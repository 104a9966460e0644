#include "storage/memory/checkpointed_table.h"

#include <fmt/format.h>

#include <utility>

#include "storage/memory/scan_pages.h"
#include "storage/row_schema.h"

namespace strata {
namespace {

constexpr size_t kAsideRows = 1024;  // of a page that rows are appended to one by one

size_t WidthOf(const TableSpec& spec) {
  const RowSchema schema = SchemaOf(spec);
  return size_t{schema.dim} + schema.state_width;
}

Status CheckSizes(const TableSpec& spec, const ScanPage& page) {
  const size_t elements = page.keys.size() * WidthOf(spec);
  if (page.rows.size() == elements && page.counters.size() == page.keys.size()) return {};
  return Invalid(fmt::format(
      "table '{}': {} rows to load: expected {} elements and as many counters, found {} and {}",
      spec.name, page.keys.size(), elements, page.rows.size(), page.counters.size()));
}

}  // namespace

uint32_t CheckpointedTable::BeginSnapshot(uint32_t since) {
  EndSnapshot();
  const uint32_t held = history_.BeginSnapshot(since);
  MarkForSnapshot(held);
  return held;
}

Status CheckpointedTable::SnapshotPage(ScanPage& page) {
  STRATA_CHECK(in_snapshot());
  ClearPage(page);
  if (!aside_.empty()) {
    page.keys.swap(aside_.back().keys);
    page.rows.swap(aside_.back().rows);
    page.counters.swap(aside_.back().counters);
    aside_.pop_back();
  }
  page.done = false;
  STRATA_TRY(TakeForSnapshot(page));
  page.done = page.done && aside_.empty();
  return {};
}

void CheckpointedTable::EndSnapshot() {
  if (!in_snapshot()) return;
  history_.EndSnapshot();
  aside_.clear();
  UnmarkForSnapshot();
}

Status CheckpointedTable::Load(const ScanPage& page) {
  STRATA_CHECK(!in_snapshot());
  STRATA_TRY(CheckSizes(spec(), page));
  STRATA_TRY(LoadRows(page));
  history_.Loaded();
  return {};
}

ScanPage& CheckpointedTable::PageAside() {
  if (aside_.empty() || aside_.back().keys.size() >= kAsideRows) {
    ScanPage& page = aside_.emplace_back();
    page.keys.reserve(kAsideRows);
    page.rows.reserve(kAsideRows * WidthOf(spec()));
    page.counters.reserve(kAsideRows);
  }
  return aside_.back();
}

void CheckpointedTable::KeepAside(ScanPage page) {
  if (!page.keys.empty()) aside_.push_back(std::move(page));
}

uint64_t CheckpointedTable::history_bytes() const {
  const uint64_t row_bytes = SchemaOf(spec()).row_bytes() + sizeof(Key);
  uint64_t bytes = history_.bytes();
  for (const ScanPage& page : aside_) bytes += page.keys.capacity() * row_bytes;
  return bytes;
}

}  // namespace strata
