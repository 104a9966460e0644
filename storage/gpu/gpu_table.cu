#include <algorithm>
#include <atomic>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/optim/apply.h"
#include "kernels/sparse/update.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/gpu_table.h"
#include "storage/memory/scan_pages.h"
#include "storage/row_elements.h"

namespace strata {
namespace {

constexpr uint64_t kRowsFirst = 1024;

}  // namespace

GpuTable::GpuTable(const TableSpec& spec, DevicePool& pool, std::shared_ptr<PinnedPool> host)
    : spec_(spec), schema_(SchemaOf(spec)), pool_(pool), host_(std::move(host)) {
  exec_.device = DeviceKind::kCuda;
  exec_.ordinal = pool.device();
  BeginGeneration();
}

GpuTable::~GpuTable() {
  if (exec_.stream == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  (void)cudaStreamSynchronize(StreamOf(exec_));
  map_.reset();
  if (lent_ != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(lent_));
  (void)cudaStreamDestroy(StreamOf(exec_));
}

void GpuTable::BeginGeneration() {
  static std::atomic<uint64_t> last = 0;
  generation_ = ++last;
}

RowStart GpuTable::Start() const {
  RowStart start;
  start.initializer = spec_.initializer;
  start.seed = spec_.seed;
  InitialState(spec_.optimizer, {&start.state, 1});
  start.checkpoint_epoch = history_.epoch();
  return start;
}

MissList GpuTable::misses() const { return {distinct_.missing, &counters_.as<Counters>()->missed}; }

DeviceMapOptions GpuTable::MapOptions() const {
  DeviceMapOptions options;
  options.dim = spec_.dim;
  options.state_width = schema_.state_width;
  options.value_type = schema_.value_type;
  options.state_types = schema_.state_types;
  options.rows_max = pool_.bytes() / SlotBytes(schema_.stored_words());
  options.rows_first = std::min(kRowsFirst, options.rows_max);
  return options;
}

Status GpuTable::MakeMap() {
  if (map_ != nullptr) return {};
  if (exec_.stream == nullptr) {
    STRATA_ASSIGN(exec_.stream, MakeStream());
  }
  STRATA_TRY(counters_.ReserveFor<Counters>(1));
  auto map = DeviceMap::Make(exec_, pool_, MapOptions());
  if (!map.ok()) return map.status().Prefixed("table '" + spec_.name + "'");
  map_ = std::move(*map);
  return {};
}

Status GpuTable::CheckBatch(size_t keys) const {
  if (keys < INT32_MAX) return {};
  return Invalid(fmt::format("table '{}': a batch of {} keys; at most {} go into one on a GPU",
                             spec_.name, keys, INT32_MAX - 1));
}

Status GpuTable::ReserveFor(size_t keys, size_t elements) {
  BeginGeneration();  // whatever the batch is for
  STRATA_TRY(CheckBatch(keys));
  STRATA_TRY(keys_.ReserveFor<Key>(keys));
  STRATA_TRY(in_.ReserveFor<float>(elements));
  STRATA_TRY(distinct_buffers_.Reserve(keys));
  distinct_ = distinct_buffers_.With(&counters_.as<Counters>()->batch);
  STRATA_TRY(scratch_.Reserve(CombineScratchBytes(keys)));
  // A commit, which must not fail, may have to copy as many rows aside.
  if (in_snapshot()) STRATA_TRY(taken_.RoomFor(keys).status());
  Clear(exec_, counters_.as<Counters>(), sizeof(Counters));
  return {};
}

Status GpuTable::ReserveOut(size_t elements) {
  const size_t before = out_.all().size();
  STRATA_TRY(out_.ReserveFor<float>(elements));
  if (out_.all().size() != before) Clear(exec_, out_.all().data(), out_.all().size());
  return {};
}

TableGroup GpuTable::GroupOf(size_t keys) const {
  TableGroup group;
  group.Add(map_->ref(), Start(), keys);
  return group;
}

void GpuTable::Combine(const Key* keys, size_t count) {
  CombineBatch(exec_, GroupOf(count), keys, nullptr, distinct_, scratch_.all());
  DistinctCounts counted = {};
  CopyDown<DistinctCounts>(exec_, &counters_.as<Counters>()->batch, {&counted, 1});
  Wait(exec_);
  distinct_count_ = counted.distinct;
  missing_count_ = counted.missing;
}

Status GpuTable::MakeRoom() {
  if (missing_count_ == 0) return {};
  const uint64_t pairs = map_->ref().pairs();
  STRATA_TRY(map_->MakeRoom(exec_, missing_count_).Prefixed("table '" + spec_.name + "'"));
  // Rows move when pairs are split.
  if (map_->ref().pairs() != pairs) LocateDistinct();
  return {};
}

void GpuTable::LocateDistinct() {
  LocateRows(exec_, map_->ref(), {distinct_.keys, distinct_count_}, distinct_.places);
}

void GpuTable::BringAside(const RowList& list) {
  ScanPage page;
  taken_.Bring(list, /*with_state=*/true, &page);
  KeepAside(std::move(page));
}

bool GpuTable::ReadsInPlace(std::span<const float> rows) const {
  const DeviceScope scope(exec_.ordinal);
  return IsPinned(rows.data());
}

Status GpuTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  STRATA_TRY(CheckBatch(keys.size()));
  if (map_ == nullptr || keys.empty()) {
    for (size_t i = 0; i < keys.size(); ++i) {
      InitialValue(spec_, schema_, keys[i], out.subspan(i * spec_.dim, spec_.dim));
    }
    stats_.lookups += keys.size();
    return {};
  }
  const DeviceScope scope(exec_.ordinal);
  STRATA_TRY(keys_.ReserveFor<Key>(keys.size()));
  STRATA_TRY(ReserveOut(out.size()));
  StageKeys(keys, 0);
  auto* hits = &counters_.as<Counters>()->hits;
  Clear(exec_, hits, sizeof *hits);
  LookUpBatch(exec_, GroupOf(keys.size()), keys_.as<Key>(), out_.as<float>(), hits);
  unsigned long long found = 0;
  CopyDown<float>(exec_, out_.as<float>(), out);
  CopyDown<unsigned long long>(exec_, hits, {&found, 1});
  Wait(exec_);
  stats_.lookups += keys.size();
  stats_.lookup_hits += found;
  return {};
}

void GpuTable::StageKeys(std::span<const Key> keys, size_t at) {
  if (keys.empty()) return;
  if (IsOnGpu(keys.data())) return CopyUp(exec_, keys, keys_.as<Key>() + at);
  if (staged_max_ < at + keys.size()) {
    Wait(exec_);  // for what is on its way from the smaller one
    staged_max_ = at + keys.size();
    staged_ = host_->Take(staged_max_ * sizeof(Key) / sizeof(float));
  }
  Key* const staged = reinterpret_cast<Key*>(staged_.get()) + at;
  std::ranges::copy(keys, staged);
  CopyUp<Key>(exec_, {staged, keys.size()}, keys_.as<Key>() + at);
}

Status GpuTable::PrepareUpdate(std::span<const GradientPart> parts) {
  const DeviceScope scope(exec_.ordinal);
  STRATA_TRY(MakeMap());
  part_ends_here_.clear();
  occurrences_ = 0;
  for (const GradientPart& part : parts) {
    occurrences_ += part.keys.size();
    part_ends_here_.push_back(static_cast<uint32_t>(occurrences_));
  }
  STRATA_TRY(ReserveFor(occurrences_, occurrences_ * spec_.dim));
  STRATA_TRY(update_scratch_.Reserve(UpdateScratchBytes(occurrences_, spec_.dim)));
  STRATA_TRY(part_ends_.ReserveFor<uint32_t>(parts.size()));
  size_t at = 0;
  for (const GradientPart& part : parts) {
    StageKeys(part.keys, at);
    CopyUp(exec_, part.gradients, in_.as<float>() + at * spec_.dim);
    at += part.keys.size();
  }
  CopyUp<uint32_t>(exec_, part_ends_here_, part_ends_.as<uint32_t>());
  Combine(keys_.as<Key>(), occurrences_);
  return MakeRoom();
}

BatchGradients GpuTable::Gradients() const {
  return {.values = in_.as<float>(),
          .part_ends = {part_ends_.as<uint32_t>(), part_ends_here_.size()}};
}

void GpuTable::CommitUpdate(uint64_t step) {
  const DeviceScope scope(exec_.ordinal);
  Must(KeepForSnapshot(keys_.as<Key>(), occurrences_));
  BeforeUpdate();
  UpdateRows(exec_, GroupOf(occurrences_), spec_.optimizer, step, distinct_, Gradients(),
             update_scratch_.all());
  MustBegin("an update");
  stats_.updates += occurrences_;
  ++stats_.steps;
}

Status GpuTable::PrepareUpdates(std::span<const GradientPart> updates) {
  static_assert(kUpdatesMax <= kUpdatesInTurnMax);
  if (schema_.IsNarrow()) {
    return LocalTable::PrepareUpdates(updates);
  }
  return GpuTable::PrepareUpdate(updates);
}

void GpuTable::CommitUpdates(std::span<const uint64_t> steps) {
  if (steps.empty()) return;
  const DeviceScope scope(exec_.ordinal);
  Must(KeepForSnapshot(keys_.as<Key>(), occurrences_));
  UpdateRowsInTurn(exec_, GroupOf(occurrences_), spec_.optimizer, steps, distinct_, Gradients(),
                   update_scratch_.all());
  MustBegin("updates");
  stats_.updates += part_ends_here_[steps.size() - 1];
  stats_.steps += steps.size();
}

Status GpuTable::PrepareAssign(std::span<const Key> keys, std::span<const float> values) {
  const DeviceScope scope(exec_.ordinal);
  STRATA_TRY(MakeMap());
  STRATA_TRY(ReserveFor(keys.size(), values.size()));
  StageKeys(keys, 0);
  CopyUp(exec_, values, in_.as<float>());
  occurrences_ = keys.size();
  Combine(keys_.as<Key>(), occurrences_);
  return MakeRoom();
}

void GpuTable::CommitAssign() {
  const DeviceScope scope(exec_.ordinal);
  Must(KeepForSnapshot(keys_.as<Key>(), occurrences_));
  InsertOrAssign(exec_, map_->ref(), {distinct_.keys, distinct_count_}, in_.as<float>(),
                 distinct_.lasts, Start(), misses());
  MustBegin("an assign");
}

Status GpuTable::PrepareErase(std::span<const Key> keys) {
  erase_keys_ = keys;
  if (map_ == nullptr) return {};
  const DeviceScope scope(exec_.ordinal);
  STRATA_TRY(ReserveFor(keys.size(), 0));
  CopyUp(exec_, keys, keys_.as<Key>());
  return {};
}

uint64_t GpuTable::CommitErase() {
  if (map_ == nullptr) return 0;
  const DeviceScope scope(exec_.ordinal);
  Must(KeepForSnapshot(keys_.as<Key>(), erase_keys_.size()));
  uint32_t* erased_count = &counters_.as<Counters>()->erased;
  EraseRows(exec_, map_->ref(), {keys_.as<Key>(), erase_keys_.size()}, distinct_.keys,
            erased_count);
  MustBegin("an erase");
  uint32_t count = 0;
  CopyDown<uint32_t>(exec_, erased_count, {&count, 1});
  Wait(exec_);
  std::vector<Key> erased(count);
  CopyDown<Key>(exec_, distinct_.keys, erased);
  Wait(exec_);
  const uint64_t rows = Stats().rows;
  for (const Key key : erased) history_.Erased(key, rows);
  return count;
}

Status GpuTable::Scan(ScanPage& page) const {
  ClearPage(page);
  page.done = map_ == nullptr;
  if (page.done) return {};
  const DeviceScope scope(exec_.ordinal);
  uint64_t cursor = page.cursor;
  std::vector<uint64_t> places;
  while (page.keys.size() < page.rows_max && cursor != kNowhere) {
    places.clear();
    cursor = map_->WalkFrom(cursor, page.rows_max - page.keys.size(), &places);
    STRATA_TRY(walk_.ReserveFor<uint64_t>(places.size()));
    CopyUp<uint64_t>(exec_, places, walk_.as<uint64_t>());
    STRATA_ASSIGN(const RowList list, taken_.RoomFor(places.size()));
    CopyOut(exec_, map_->ref(), {walk_.as<uint64_t>(), places.size()}, list);
    taken_.Bring(list, page.with_state, &page);
  }
  page.cursor = cursor;
  page.done = cursor == kNowhere;
  return {};
}

TableStats GpuTable::Stats() const {
  TableStats stats = stats_;
  if (map_ == nullptr) return stats;
  const DeviceScope scope(exec_.ordinal);
  const Result<MapCounts> counts = map_->Counts(exec_);
  Must(counts.status());
  stats.rows = counts->rows;
  stats.rejected += counts->rejected;
  stats.bytes = map_->bytes() + history_bytes();
  return stats;
}

void GpuTable::MarkForSnapshot(uint32_t held) {
  snapshot_next_ = 0;
  if (map_ == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  MarkPending(exec_, map_->ref(), held);
}

Status GpuTable::KeepForSnapshot(const Key* keys, size_t count) {
  if (!in_snapshot()) return {};
  STRATA_ASSIGN(const RowList list, taken_.RoomFor(count));
  TakePendingOf(exec_, map_->ref(), {keys, count}, list);
  BringAside(list);
  return {};
}

Status GpuTable::TakeForSnapshot(ScanPage& page) {
  // The map may grow meanwhile: pairs that are split give rows to new ones at the end.
  const uint64_t pairs = map_ == nullptr ? 0 : map_->ref().pairs();
  if (page.keys.size() < page.rows_max && snapshot_next_ < pairs) {
    const DeviceScope scope(exec_.ordinal);
    const uint64_t wished = std::max<uint64_t>(1, page.rows_max / kPairSlots);
    const uint64_t count = std::min(wished, pairs - snapshot_next_);
    STRATA_ASSIGN(const RowList list, taken_.RoomFor(count * kPairSlots));
    TakePending(exec_, map_->ref(), snapshot_next_, count, list);
    taken_.Bring(list, /*with_state=*/true, &page);
    snapshot_next_ += count;
  }
  page.done = snapshot_next_ >= pairs;
  return {};
}

void GpuTable::UnmarkForSnapshot() {
  if (map_ == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  const MapRef& map = map_->ref();
  Clear(exec_, map.pending, map.pairs() * sizeof(uint32_t));
}

Status GpuTable::Lend(const Exec& exec) {
  STRATA_TRY(MakeMap());
  if (lent_ == nullptr) {
    STRATA_ASSIGN(lent_, MakeEvent());
  }
  const auto lent = static_cast<cudaEvent_t>(lent_);
  Must(FromCuda(cudaEventRecord(lent, StreamOf(exec_)), "the GPU"));
  Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec), lent), "the GPU"));
  return {};
}

void GpuTable::TakeBack(void* done) {
  Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec_), static_cast<cudaEvent_t>(done)), "the GPU"));
}

Status GpuTable::MakeRoomFor(const Exec& exec, uint64_t rows) {
  BeginGeneration();
  return map_->MakeRoom(exec, rows).Prefixed("table '" + spec_.name + "'");
}

Status GpuTable::MakeResident(std::span<const uint64_t> /*places*/, std::span<const Key> /*keys*/) {
  return {};
}

void GpuTable::NoteLookup(uint64_t keys, uint64_t hits, uint64_t /*here*/) {
  stats_.lookups += keys;
  stats_.lookup_hits += hits;
}

void GpuTable::NoteUpdate(uint64_t keys) {
  BeginGeneration();
  stats_.updates += keys;
  ++stats_.steps;
}

Status GpuTable::LoadRows(const ScanPage& page) {
  const DeviceScope scope(exec_.ordinal);
  STRATA_TRY(MakeMap());
  std::vector<SlotHeader> headers(page.keys.size());
  for (size_t i = 0; i < headers.size(); ++i) {
    const RowCounters counters = LoadedCounters(page, i);
    headers[i] = {.key = page.keys[i],
                  .last_step = counters.last_step,
                  .score = counters.last_step,
                  .frequency = counters.frequency,
                  .checkpoint_epoch = counters.checkpoint_epoch};
  }
  std::vector<float> rows(page.keys.size() * words());
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const auto elements = std::span(page.rows).subspan(i * width(), width());
    WriteElements(schema_, elements, rows.data() + i * words());
  }
  STRATA_TRY(ReserveFor(page.keys.size(), rows.size()));
  STRATA_TRY(headers_.ReserveFor<SlotHeader>(headers.size()));
  CopyUp<Key>(exec_, page.keys, keys_.as<Key>());
  CopyUp<float>(exec_, rows, in_.as<float>());
  CopyUp<SlotHeader>(exec_, headers, headers_.as<SlotHeader>());
  Combine(keys_.as<Key>(), page.keys.size());
  STRATA_TRY(MakeRoom());
  strata::LoadRows(exec_, map_->ref(), headers_.as<SlotHeader>(), in_.as<float>(), distinct_.lasts,
                   distinct_count_, misses());
  MustBegin("loading rows");
  Wait(exec_);
  return {};
}

}  // namespace strata
