// What a hot table does before and in operations that write, and when memory is short. Lookups are
// in hot_lookup.cu, what reads the table as a whole in hot_snapshot.cu.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/expired.h"
#include "kernels/sparse/list_pushes.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot/chunk_slot.cuh"
#include "storage/gpu/hot/host_counts.cuh"
#include "storage/gpu/hot/hot_table.h"

namespace strata {

bool HotTable::IsShortOfMemory(const Status& status) {
  return status.code() == StatusCode::kRefused;
}

HotTable::HotTable(const TableSpec& spec, DevicePool& pool, std::shared_ptr<PinnedPool> host,
                   std::unique_ptr<LowerTable> below, WorkPool& workers,
                   const HotTableOptions& options)
    : GpuTable(spec, pool, std::move(host)),
      below_(std::move(below)),
      options_(options),
      lower_rows_(*below_, workers),
      gatherer_(exec_, *host_, lower_rows_, workers, words(), options.chunk_rows_min),
      evictor_({exec_, map_, taken_, lower_rows_, counts_, history_}, options.order,
               gatherer_.chunk_rows(),
               [this](const WindowSlots& rows, const RowList& list) {
                 TakePendingAt(exec_, map_->ref(), rows, list);
                 BringAside(list);
               }),
      residency_({spec_, schema_, exec_, map_, pool, evictor_, counts_}, options.rows_max),
      hinted_({exec_, map_, *host_, gatherer_, residency_, counts_}),
      host_counts_(host_->Take((sizeof(HostCounts) + sizeof(float) - 1) / sizeof(float))) {}

HotTable::~HotTable() {
  if (exec_.stream == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  hinted_.Stop();
  Wait(exec_);  // chunks are on their way
  if (counted_here_ != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(counted_here_));
}

RowStart HotTable::Start() const {
  RowStart start = GpuTable::Start();
  start.score = counts_.tick << kScoreTickShift | kScoreDirty;
  return start;
}

DeviceMapOptions HotTable::MapOptions() const {
  DeviceMapOptions options = GpuTable::MapOptions();
  options.score_kept = kScoreCopied;
  options.home_seed = below_->home_seed();
  return options;
}

void HotTable::BeginOperation() {
  FinishHint();
  BeginBesideHint();
}

void HotTable::BeginWrite() {
  BeginOperation();
  written_at_ = counts_.tick;
}

void HotTable::BeginBesideHint() {
  ++counts_.tick;
  residency_.NoteOperation();
  KeepToShareHere();
  ClearBelow();
}

void HotTable::FinishHint() {
  if (hinted_.Finish()) BeginGeneration();
}

void HotTable::ClearBelow() {
  std::vector<Key> keys = below_->TakeExpired();
  if (keys.empty()) return;
  if (map_ != nullptr) {
    const size_t count = keys.size();
    if (!walk_.ReserveFor<uint64_t>(2 * count).ok()) return;  // it will ask again
    auto* here = walk_.as<uint64_t>();
    CopyUp<Key>(exec_, keys, here);
    LocateRows(exec_, map_->ref(), {here, count}, here + count);
    MustBegin("a search for expired rows");
    std::vector<uint64_t> places(count);
    CopyDown<uint64_t>(exec_, here + count, places);
    Wait(exec_);
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      if (places[i] == kNowhere) keys[kept++] = keys[i];
    }
    keys.resize(kept);
  }
  below_->DropExpired(keys);
}

uint32_t HotTable::CopiedOfBatch() {
  uint32_t* count = &counters_.as<Counters>()->copied;
  Clear(exec_, count, sizeof *count);
  CountCopied(exec_, map_->ref(), {distinct_.places, distinct_count_}, count);
  uint32_t copied = 0;
  CopyDown<uint32_t>(exec_, count, {&copied, 1});
  Wait(exec_);
  return copied;
}

Status HotTable::Lend(const Exec& exec) {
  if (below_->admission() != nullptr || below_->RowsExpire()) {
    return Refused(fmt::format(
        "table '{}' gives keys a row after several pushes (admission), or rows expire; a model on "
        "the GPU asks for neither: let it use a table without",
        spec_.name));
  }
  BeginOperation();
  return GpuTable::Lend(exec);
}

Status HotTable::MakeResident(std::span<const uint64_t> places, std::span<const Key> keys) {
  if (keys.empty()) return {};
  STRATA_CHECK(!hinted_.is_under_way());  // since Lend
  written_at_ = counts_.tick;
  BeginGeneration();
  TouchRows(exec_, map_->ref(), places, counts_.tick);
  const auto count = static_cast<uint32_t>(keys.size());
  STRATA_TRY(BelowIsEmpty() ? residency_.MakeRoom(count) : BringUp(keys));
  MustBegin("rows of a batch");
  Wait(exec_);
  return {};
}

Status HotTable::MakeRoom() {
  if (missing_count_ == 0) return {};
  // Whatever goes below to make room is not of this batch.
  const bool is_all_here = BelowIsEmpty();
  const uint64_t pairs = map_->ref().pairs();
  const std::span<const uint64_t> places(distinct_.places, distinct_count_);
  TouchRows(exec_, map_->ref(), places, counts_.tick);
  if (is_all_here) {
    STRATA_TRY(residency_.MakeRoom(missing_count_));
    if (map_->ref().pairs() != pairs) LocateDistinct();
    MustBegin("rows of a batch");
    return {};
  }
  STRATA_TRY(ReserveMissing(distinct_count_));
  ListMissing(exec_, places, distinct_.keys, MissingList(), missing_keys_.as<Key>());
  STRATA_TRY(BringUp({missing_keys_.as<Key>(), missing_count_}));
  LocateDistinct();
  ListMissing(exec_, places, distinct_.keys, {distinct_.missing, distinct_.missing_count},
              missing_keys_.as<Key>());
  MustBegin("rows of a batch");
  return {};
}

Status HotTable::PrepareUpdate(std::span<const GradientPart> parts) {
  const DeviceScope scope(exec_.ordinal);
  BeginWrite();
  passed_down_ = false;
  late_keys_.clear();
  late_pushes_.clear();
  Status status = GpuTable::PrepareUpdate(parts);
  if (status.ok()) status = AdmitMissing();
  if (status.ok() && below_->RowsExpire()) status = ReserveMissing(distinct_count_);
  if (status.ok() && below_->RowsExpire()) status = expired_.ReserveFor<uint32_t>(distinct_count_);
  if (!IsShortOfMemory(status)) return status;
  STRATA_TRY(PassDown(status, parts.empty() ? nullptr : parts[0].keys.data()));
  return below_->PrepareUpdate(parts);
}

Status HotTable::AdmitMissing() {
  if (below_->admission() == nullptr || missing_count_ == 0) return {};
  // Rows have come up since they were counted.
  CopyDown<uint32_t>(exec_, distinct_.missing_count, {&missing_count_, 1});
  Wait(exec_);
  const size_t count = missing_count_;
  STRATA_TRY(ReserveMissing(count));
  ListPushes(exec_, distinct_, {distinct_.missing, count}, Gradients(), spec_.dim,
             missing_keys_.as<Key>(), missing_positions_.as<uint32_t>());
  MustBegin("a look at new keys");
  std::vector<uint32_t> missing(count);
  CopyDown<uint32_t>(exec_, distinct_.missing, missing);
  const std::vector<uint32_t> pushes = AskForAdmission(count);
  size_t kept = 0;
  for (size_t n = 0; n < count; ++n) {
    if (pushes[n] != kPassOver) missing[kept++] = missing[n];
  }
  missing.resize(kept);
  missing_count_ = static_cast<uint32_t>(kept);
  CopyUp<uint32_t>(exec_, missing, distinct_.missing);
  CopyUp<uint32_t>(exec_, {&missing_count_, 1}, distinct_.missing_count);
  Wait(exec_);
  return {};
}

std::vector<uint32_t> HotTable::AskForAdmission(size_t count) {
  std::vector<Key> keys(count);
  std::vector<uint32_t> pushes(count);
  CopyDown<Key>(exec_, missing_keys_.as<Key>(), keys);
  CopyDown<uint32_t>(exec_, missing_positions_.as<uint32_t>(), pushes);
  Wait(exec_);
  std::vector<uint8_t> admitted(count);
  below_->admission()->Admit(keys, pushes, admitted);
  for (size_t n = 0; n < count; ++n) {
    if (admitted[n] != 0 || pushes[n] == 0) continue;  // what is not finite the update rejects
    late_keys_.push_back(keys[n]);
    late_pushes_.push_back(pushes[n]);
    pushes[n] = kPassOver;
  }
  return pushes;
}

// Behind the last moment at which a row could expire, and with what the update would reject left
// alone.
void HotTable::BeforeUpdate() {
  const uint64_t alive_from = below_->AliveFrom();
  if (alive_from == 0 || distinct_count_ == 0) return;
  ListExpired(exec_, map_->ref(), distinct_, distinct_count_, alive_from,
              {expired_.as<uint32_t>(), &counters_.as<Counters>()->absent});
  MustBegin("a search for expired rows");
  const uint32_t count = CountMissing();
  if (count == 0) return;
  const std::span<const uint32_t> numbers(expired_.as<uint32_t>(), count);
  auto* pushes = missing_positions_.as<uint32_t>();
  ListPushes(exec_, distinct_, numbers, Gradients(), spec_.dim, missing_keys_.as<Key>(), pushes);
  if (below_->admission() != nullptr) {
    const std::vector<uint32_t> answers = AskForAdmission(count);
    CopyUp<uint32_t>(exec_, answers, pushes);
    Wait(exec_);
  }
  BeginAnew(exec_, map_->ref(), distinct_, numbers, pushes, Start());
  MustBegin("expired rows of an update");
}

void HotTable::CommitUpdate(uint64_t step) {
  if (passed_down_) {
    below_->CommitUpdate(step);
  } else {
    below_->Stepped(step);
    GpuTable::CommitUpdate(step);
    if (!late_keys_.empty()) below_->admission()->CountPushes(late_keys_, late_pushes_);
  }
}

Status HotTable::PrepareUpdates(std::span<const GradientPart> updates) {
  if (below_->admission() != nullptr || below_->RowsExpire()) {
    return LocalTable::PrepareUpdates(updates);
  }
  const DeviceScope scope(exec_.ordinal);
  BeginWrite();
  return GpuTable::PrepareUpdates(updates);
}

void HotTable::CommitUpdates(std::span<const uint64_t> steps) {
  for (const uint64_t step : steps) below_->Stepped(step);
  GpuTable::CommitUpdates(steps);
}

Status HotTable::PrepareAssign(std::span<const Key> keys, std::span<const float> values) {
  const DeviceScope scope(exec_.ordinal);
  BeginWrite();
  passed_down_ = false;
  const Status status = GpuTable::PrepareAssign(keys, values);
  if (!IsShortOfMemory(status)) return status;
  STRATA_TRY(PassDown(status, keys.data()));
  return below_->PrepareAssign(keys, values);
}

void HotTable::CommitAssign() {
  if (passed_down_) {
    below_->CommitAssign();
  } else {
    GpuTable::CommitAssign();
  }
}

Status HotTable::PrepareErase(std::span<const Key> keys) {
  const DeviceScope scope(exec_.ordinal);
  BeginOperation();
  STRATA_TRY(below_->PrepareErase(keys));
  return GpuTable::PrepareErase(keys);
}

uint64_t HotTable::CommitErase() {
  uint64_t only_here = 0;
  if (map_ != nullptr && !erase_keys_.empty()) {
    const DeviceScope scope(exec_.ordinal);
    Combine(keys_.as<Key>(), erase_keys_.size());
    const uint32_t copied = CopiedOfBatch();
    only_here = GpuTable::CommitErase() - copied;
    counts_.copies -= copied;
  }
  return only_here + below_->CommitErase();
}

Status HotTable::MakeMap() {
  STRATA_TRY(evictor_.Reserve());
  if (map_ != nullptr) return {};
  Status made = GpuTable::MakeMap();
  residency_.NoteMap(made);
  return made;
}

// Expired rows, too: what becomes of them is known when the step is (BeforeUpdate).
Status HotTable::BringUp(std::span<const Key> keys) {
  gatherer_.Wake();
  STRATA_TRY(wanted_.Bring(exec_, *host_, keys));
  return gatherer_.Read(
      wanted_, keys.size(), {.tick = counts_.tick},
      [&](const Reading&) { return residency_.MakeRoom(keys.size()); },
      [&](const RowChunk& chunk) { TakeIn(chunk); });
}

void HotTable::TakeIn(const RowChunk& chunk) {
  if (chunk.stay == 0) return;
  AddRows(exec_, map_->ref(), chunk.headers, chunk.rows, chunk.stay);
  MustBegin("rows that come up");
  counts_.copies += chunk.stay;
  counts_.moved_up += chunk.stay;
}

Status HotTable::PassDown(const Status& why, const void* batch) {
  FinishHint();
  if (IsOnGpu(batch)) return why;
  if (map_ != nullptr) {
    BeginGeneration();
    STRATA_TRY(residency_.EvictAll());
  }
  passed_down_ = true;
  ++batches_passed_down_;
  if (!options_.warned->exchange(true)) {
    const std::string name = "table '" + spec_.name + "'";
    Log(LogLevel::kWarning,
        "GPU {}: the tiers below do a batch that the GPU's memory has no room for, and will do "
        "others like it, which is slower: {}; what helps: smaller batches; where rows have no "
        "room, more server.gpu_memory or fewer tables, as they share it; where batches have none, "
        "less of it, which leaves them more; strata-admin stats counts them, for each table",
        exec_.ordinal, (why.message().starts_with(name) ? why : why.Prefixed(name)).message());
  }
  return {};
}

void HotTable::KeepToShare() {
  const DeviceScope scope(exec_.ordinal);
  KeepToShareHere();
  below_->KeepToShare();
}

// Arrays do not shrink: all rows go down, hot ones come up again.
void HotTable::KeepToShareHere() {
  if (!residency_.NoteShare(!in_snapshot())) return;
  FinishHint();
  BeginGeneration();
  if (!residency_.EvictAll().ok()) return;       // the next operation tries again
  stats_.rejected = GpuTable::Stats().rejected;  // the map counts them
  map_.reset();
  residency_.BeginAnew();
}

}  // namespace strata
