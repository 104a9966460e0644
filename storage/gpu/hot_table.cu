#include <algorithm>

#include "base/seeded_hash.h"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/expired.h"
#include "kernels/sparse/list_pushes.h"
#include "storage/gpu/hot_table.h"
#include "storage/gpu/reading.cuh"
#include "storage/gpu/told.cuh"
#include "storage/memory/scan_pages.h"

namespace strata {
namespace {

// Operations for which a row that was prefetched is locked.
constexpr uint64_t kLockedFor = 16;
// Operations after one that missed within which another one may.
constexpr uint64_t kMissesSoon = 16;
constexpr uint64_t kPrefetchPart = 4;  // of the rows on the GPU
// A lookup of more keys that finds no memory is done by halves, before all rows go down for it.
constexpr size_t kHalvedFrom = 1024;
constexpr size_t kMapBytesMin = 3 * DevicePool::kPieceBytes;  // it has three arrays

// For rows or for a batch: the GPU, or the host, where rows were to go down.
bool IsShortOfMemory(const Status& status) { return status.code() == StatusCode::kRefused; }

}  // namespace

HotTable::Told* HotTable::told() const { return reinterpret_cast<Told*>(told_.get()); }

HotTable::HotTable(const TableSpec& spec, DevicePool& pool, std::shared_ptr<PinnedPool> host,
                   std::unique_ptr<LowerTable> below, WorkPool& workers,
                   const HotTableOptions& options)
    : GpuTable(spec, pool, std::move(host)),
      below_(std::move(below)),
      workers_(workers),
      options_(options),
      share_(pool.shares(), kMapBytesMin),
      map_bytes_first_(kMapBytesMin),
      told_(host_->Take((sizeof(Told) + sizeof(float) - 1) / sizeof(float))) {}

HotTable::~HotTable() {
  if (exec_.stream == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  if (hint_ != nullptr) EndReading(*hint_);
  Wait();  // chunks are on their way
  for (void* event : {first_keys_here_, all_keys_here_, counted_here_, hint_counted_}) {
    if (event != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
  }
}

RowStart HotTable::Start() const {
  RowStart start = GpuTable::Start();
  start.score = tick_ << kScoreTickShift | kScoreDirty;
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
  written_at_ = tick_;
}

void HotTable::BeginBesideHint() {
  ++tick_;
  rows_are_counted_ = false;
  NoteShare();
  ClearBelow();
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
    Wait();
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      if (places[i] == kNowhere) keys[kept++] = keys[i];
    }
    keys.resize(kept);
  }
  below_->DropExpired(keys);
}

Status HotTable::ReserveMissing(size_t keys) {
  STRATA_TRY(missing_positions_.ReserveFor<uint32_t>(keys));
  return missing_keys_.ReserveFor<Key>(keys);
}

bool HotTable::IsRecent(uint64_t tick) const { return tick != 0 && tick_ - tick <= kMissesSoon; }

Result<Counters> HotTable::LookUpHere(std::span<const Key> keys, uint64_t tick,
                                      const Answers& answers) {
  STRATA_TRY(ReserveFor(keys.size(), 0));
  STRATA_TRY(ReserveMissing(keys.size()));
  if (answers.only_finds) STRATA_TRY(places_.ReserveFor<uint64_t>(keys.size()));
  const std::span<const Key> here = KeysHere(keys);
  if (here.data() != keys.data()) CopyUp(exec_, keys, keys_.as<Key>());
  unsigned long long* const hits = &counters_.as<Counters>()->hits;
  if (answers.only_finds) {
    FindResidents(exec_, map_->ref(), here, tick, below_->AliveFrom(), places_.as<uint64_t>(),
                  MissingList(), missing_keys_.as<Key>(), hits);
  } else {
    LookUpResidents(exec_, map_->ref(), here, tick, Start(), below_->AliveFrom(), answers.out,
                    MissingList(), missing_keys_.as<Key>(), hits);
  }
  MustBegin("a lookup");
  const bool may_miss = IsRecent(missed_at_);
  if (may_miss) WakeGatherers();  // while the GPU searches
  if (!answers.down.empty()) CopyDown<float>(exec_, answers.out, answers.down);
  CopyDown<Counters>(exec_, counters_.as<Counters>(), {&told()->counters, 1});
  CopyDown<MapCounts>(exec_, map_->ref().counts, {&told()->map, 1});
  if (hint_ == nullptr) {
    Wait();
  } else {  // the GPU takes in more of it, which nobody waits for
    auto* const here = static_cast<cudaEvent_t>(counted_here_);
    Must(FromCuda(cudaEventRecord(here, StreamOf(exec_)), "the GPU"));
    TakeInGathered();
    Must(FromCuda(cudaEventSynchronize(here), "the GPU"));
  }
  const Counters counted = told()->counters;
  if (counted.absent == 0) return counted;
  if (!may_miss) WakeGatherers();
  missed_at_ = tick_;
  rows_most_ = told()->map.rows;
  rows_are_counted_ = true;
  return counted;
}

std::span<const Key> HotTable::KeysHere(std::span<const Key> keys) const {
  return IsOnGpu(keys.data()) ? keys : std::span<const Key>(keys_.as<Key>(), keys.size());
}

void HotTable::CopyHere(std::span<const Key> keys, float* out) {
  CopyResidents(exec_, map_->ref(), KeysHere(keys), places_.as<uint64_t>(), Start(),
                below_->AliveFrom(), out);
  MustBegin("a lookup");
}

uint32_t HotTable::CopiedOfBatch() {
  uint32_t* count = &counters_.as<Counters>()->window.copied;
  Clear(exec_, count, sizeof *count);
  CountCopied(exec_, map_->ref(), {distinct_.places, distinct_count_}, count);
  uint32_t copied = 0;
  CopyDown<uint32_t>(exec_, count, {&copied, 1});
  Wait();
  return copied;
}

uint32_t HotTable::CountMissing() {
  uint32_t missing = 0;
  CopyDown<uint32_t>(exec_, &counters_.as<Counters>()->absent, {&missing, 1});
  Wait();
  return missing;
}

MissList HotTable::MissingList() const {
  return {missing_positions_.as<uint32_t>(), &counters_.as<Counters>()->absent};
}

Status HotTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  STRATA_TRY(CheckBatch(keys.size()));
  const DeviceScope scope(exec_.ordinal);
  BeginBesideHint();
  passed_down_ = false;
  return keys.empty() ? Status() : LookUpPart(keys, out);
}

Status HotTable::LookUpPart(std::span<const Key> keys, std::span<float> out) {
  if (passed_down_) return below_->Lookup(keys, out);
  Status status;
  if (BelowIsEmpty() && below_->AliveFrom() == 0) {
    const uint64_t hits = stats_.lookup_hits;
    status = GpuTable::Lookup(keys, out);
    counted_.hits += stats_.lookup_hits - hits;
  } else {
    status = MakeMap();
    if (status.ok()) status = LookUpInTiers(keys, out);
  }
  if (!IsShortOfMemory(status)) return status;
  if (keys.size() > kHalvedFrom) {
    const size_t half = keys.size() / 2;
    STRATA_TRY(LookUpPart(keys.first(half), out.first(half * spec_.dim)));
    return LookUpPart(keys.subspan(half), out.subspan(half * spec_.dim));
  }
  STRATA_TRY(
      PassDown(status, IsOnGpu(out.data()) ? out.data() : static_cast<const void*>(keys.data())));
  return below_->Lookup(keys, out);
}

DistinctMissing HotTable::distinct_missing() const {
  return {distinct_keys_.as<uint64_t>(), distinct_numbers_.as<uint32_t>(),
          distinct_rows_.as<uint32_t>(), &counters_.as<Counters>()->batch.distinct};
}

template <typename Meanwhile>
Status HotTable::AnswerFromBelow(uint32_t missing, ReadFrom from, uint64_t tick, float* out,
                                 const Meanwhile& meanwhile) {
  STRATA_TRY(ListForBelow(missing, &told()->distinct));
  meanwhile();
  Must(FromCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(first_keys_here_)), "the GPU"));
  const MissingKeys keys{{missing_keys_.as<Key>(), missing}, missing_positions_.as<uint32_t>()};
  STRATA_TRY(ReadForAnswer(told()->distinct, from, tick, keys, out));
  if (out == nullptr) return {};
  AnswerInitial(exec_, map_->ref(), Start(), keys, distinct_missing(), out,
                &counters_.as<Counters>()->hits);
  MustBegin("answers from the tier below");
  return {};
}

Status HotTable::LookUpInTiers(std::span<const Key> keys, std::span<float> out) {
  float* rows = out.data();
  const bool to_host = !IsOnGpu(rows);
  if (to_host) {
    STRATA_TRY(ReserveOut(out.size()));
    rows = out_.as<float>();
  }
  // Where no key will be missing there is one wait, for rows and counts. Those of keys that are
  // missing all the same are copied as they are, and again once they are there. Where some may be,
  // all are only found first: what is here is copied while the others are gathered.
  const bool at_once = !IsRecent(lookup_missed_at_);
  const Answers answers = {
      .out = rows, .down = at_once && to_host ? out : std::span<float>(), .only_finds = !at_once};
  STRATA_ASSIGN(Counters counted, LookUpHere(keys, tick_, answers));
  if (counted.absent != 0 && hint_ != nullptr) {  // which may have what is missing
    FinishHint();
    STRATA_ASSIGN(counted, LookUpHere(keys, tick_, answers));
  }
  const auto copy_here = [&] {
    if (!at_once) CopyHere(keys, rows);
  };
  unsigned long long hits = counted.hits;
  if (counted.absent == 0) {
    copy_here();
  } else {
    lookup_missed_at_ = tick_;
    STRATA_TRY(AnswerFromBelow(counted.absent, ReadFrom::kAll, tick_, rows, copy_here));
    CopyDown<unsigned long long>(exec_, &counters_.as<Counters>()->hits, {&hits, 1});
  }
  if (to_host && (counted.absent != 0 || !at_once)) CopyDown<float>(exec_, rows, out);
  if (counted.absent != 0 || !at_once) Wait();
  stats_.lookups += keys.size();
  stats_.lookup_hits += hits;
  counted_.hits += keys.size() - counted.absent;
  return {};
}

bool HotTable::Prefetch(std::span<const Key> keys) {
  const DeviceScope scope(exec_.ordinal);
  BeginBesideHint();
  below_->Prefetch(keys);
  if (BelowIsEmpty() || keys.empty() || !MakeMap().ok()) return true;
  keys = keys.first(std::min<size_t>(keys.size(), rows_limit_ / kPrefetchPart));
  const uint64_t tick = tick_ + kLockedFor;
  const Result<Counters> counted =
      LookUpHere(keys, tick, {.out = nullptr, .down = {}, .only_finds = true});
  SettleHint();  // which is there, as it came before the search
  // A hint that finds no memory is none; an error is for the request that needs the row.
  if (!counted.ok() || counted->absent == 0) {
    FinishHint();
  } else if (below_->ReadsBesideItsThread()) {
    static_cast<void>(BeginHint(counted->absent, tick).ok());
  } else {
    static_cast<void>(
        AnswerFromBelow(counted->absent, ReadFrom::kMemory, tick, nullptr, [] {}).ok());
  }
  return true;
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
  STRATA_CHECK(hint_ == nullptr);  // since Lend
  written_at_ = tick_;
  BeginGeneration();
  TouchRows(exec_, map_->ref(), places, tick_);
  const auto count = static_cast<uint32_t>(keys.size());
  STRATA_TRY(BelowIsEmpty() ? Room(count) : BringUp(keys));
  MustBegin("rows of a batch");
  Wait();
  return {};
}

void HotTable::NoteLookup(uint64_t keys, uint64_t hits, uint64_t here) {
  GpuTable::NoteLookup(keys, hits, here);
  counted_.hits += here;
}

Status HotTable::MakeRoom() {
  if (missing_count_ == 0) return {};
  // Whatever goes below to make room is not of this batch.
  const bool is_all_here = BelowIsEmpty();
  const uint64_t pairs = map_->ref().pairs();
  const std::span<const uint64_t> places(distinct_.places, distinct_count_);
  TouchRows(exec_, map_->ref(), places, tick_);
  if (is_all_here) {
    STRATA_TRY(Room(missing_count_));
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
  Wait();
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
  Wait();
  return {};
}

std::vector<uint32_t> HotTable::AskForAdmission(size_t count) {
  std::vector<Key> keys(count);
  std::vector<uint32_t> pushes(count);
  CopyDown<Key>(exec_, missing_keys_.as<Key>(), keys);
  CopyDown<uint32_t>(exec_, missing_positions_.as<uint32_t>(), pushes);
  Wait();
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
    Wait();
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
    copies_ -= copied;
  }
  return only_here + below_->CommitErase();
}

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
  const uint64_t step = std::max<uint32_t>(1, ChunkRows() / kPairSlots);
  for (uint64_t first = 0; first < pairs; first += step) {
    const uint64_t window = std::min(step, pairs - first);
    STRATA_ASSIGN(const RowList list, RoomFor(window * kPairSlots));
    CopyOutUnknown(exec_, map_->ref(), first, window, list);
    const DownRows down = BringDown(list);
    Wait();
    STRATA_TRY(PutBelow(down));
    copies_ += down.headers.size();
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
  STRATA_ASSIGN(const RowList list, RoomFor(keys.size()));
  CopyOut(exec_, map_->ref(), {here + keys.size(), keys.size()}, list);
  ScanPage newer;
  Bring(list, /*with_state=*/true, &newer);
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
  SettleHint();
  TableStats stats = GpuTable::Stats();
  const TableStats below = below_->Stats();
  stats.rows += below.rows - copies_ - HintRowsHere(stats.rows);
  stats.bytes += below.bytes;
  stats.lookups += below.lookups;
  stats.lookup_hits += below.lookup_hits;
  stats.updates += below.updates;
  stats.steps += below.steps;
  stats.rejected += below.rejected;
  stats.cold_rows = below.cold_rows;
  stats.not_admitted = below.not_admitted;
  stats.passed_down = counted_.passed_down;
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
  SettleHint();
  HotStats stats = counted_;
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
  copies_ -= CopiedOfBatch();
  EraseRows(exec_, map_->ref(), {distinct_.keys, distinct_count_});
  MustBegin("loading rows");
  Wait();
  return {};
}

}  // namespace strata
