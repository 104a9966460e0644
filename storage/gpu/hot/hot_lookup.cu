// Lookups of a hot table, and hints of lookups to come.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot/chunk_slot.cuh"
#include "storage/gpu/hot/host_counts.cuh"
#include "storage/gpu/hot/hot_table.h"
#include "storage/gpu/hot/reading.cuh"

namespace strata {
namespace {

// Operations for which a row that was prefetched is locked.
constexpr uint64_t kLockedFor = 16;
// Operations after one that missed within which another one may.
constexpr uint64_t kMissesSoon = 16;
// For so many operations behind one that wrote rows another one is expected.
constexpr uint64_t kWritesSoon = 256;
constexpr uint64_t kPrefetchPart = 4;  // of the rows on the GPU
// A lookup of more keys that finds no memory is done by halves, before all rows go down for it.
constexpr size_t kHalvedFrom = 1024;

}  // namespace

Status HotTable::ReserveMissing(size_t keys) {
  STRATA_TRY(missing_positions_.ReserveFor<uint32_t>(keys));
  return missing_keys_.ReserveFor<Key>(keys);
}

bool HotTable::IsRecent(uint64_t tick) const {
  return tick != 0 && counts_.tick - tick <= kMissesSoon;
}

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
  if (may_miss) gatherer_.Wake();  // while the GPU searches
  if (!answers.down.empty()) CopyDown<float>(exec_, answers.out, answers.down);
  CopyDown<Counters>(exec_, counters_.as<Counters>(), {&host_counts().counters, 1});
  CopyDown<MapCounts>(exec_, map_->ref().counts, {&host_counts().map, 1});
  if (!hinted_.is_under_way()) {
    Wait(exec_);
  } else {  // the GPU takes in more of it, which nobody waits for
    if (counted_here_ == nullptr) {
      STRATA_ASSIGN(counted_here_, MakeEvent());
    }
    auto* const here = static_cast<cudaEvent_t>(counted_here_);
    Must(FromCuda(cudaEventRecord(here, StreamOf(exec_)), "the GPU"));
    hinted_.TakeInReady();
    Must(FromCuda(cudaEventSynchronize(here), "the GPU"));
  }
  const Counters counted = host_counts().counters;
  if (counted.absent == 0) return counted;
  if (!may_miss) gatherer_.Wake();
  missed_at_ = counts_.tick;
  residency_.SetCounted(host_counts().map.rows);
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

uint32_t HotTable::CountMissing() {
  uint32_t missing = 0;
  CopyDown<uint32_t>(exec_, &counters_.as<Counters>()->absent, {&missing, 1});
  Wait(exec_);
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
    hits_ += stats_.lookup_hits - hits;
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

Status HotTable::AnswerFromBelow(uint32_t missing, ReadFrom from, uint64_t tick, float* out,
                                 const std::function<void()>& meanwhile) {
  STRATA_TRY(ListForBelow(missing, &host_counts().distinct));
  meanwhile();
  wanted_.Await(1);  // and, with the first keys, for their number
  const MissingKeys keys{{missing_keys_.as<Key>(), missing}, missing_positions_.as<uint32_t>()};
  STRATA_TRY(ReadForAnswer(host_counts().distinct, from, tick, keys, out));
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
  STRATA_ASSIGN(Counters counted, LookUpHere(keys, counts_.tick, answers));
  if (counted.absent != 0 && hinted_.is_under_way()) {  // which may have what is missing
    FinishHint();
    STRATA_ASSIGN(counted, LookUpHere(keys, counts_.tick, answers));
  }
  const auto copy_here = [&] {
    if (!at_once) CopyHere(keys, rows);
  };
  unsigned long long hits = counted.hits;
  if (counted.absent == 0) {
    copy_here();
  } else {
    lookup_missed_at_ = counts_.tick;
    STRATA_TRY(AnswerFromBelow(counted.absent, ReadFrom::kAll, counts_.tick, rows, copy_here));
    CopyDown<unsigned long long>(exec_, &counters_.as<Counters>()->hits, {&hits, 1});
  }
  if (to_host && (counted.absent != 0 || !at_once)) CopyDown<float>(exec_, rows, out);
  if (counted.absent != 0 || !at_once) Wait(exec_);
  stats_.lookups += keys.size();
  stats_.lookup_hits += hits;
  hits_ += keys.size() - counted.absent;
  return {};
}

bool HotTable::Prefetch(std::span<const Key> keys) {
  const DeviceScope scope(exec_.ordinal);
  BeginBesideHint();
  below_->Prefetch(keys);
  if (BelowIsEmpty() || keys.empty() || !MakeMap().ok()) return true;
  keys = keys.first(std::min<size_t>(keys.size(), residency_.rows_limit() / kPrefetchPart));
  const uint64_t tick = counts_.tick + kLockedFor;
  const Result<Counters> counted =
      LookUpHere(keys, tick, {.out = nullptr, .down = {}, .only_finds = true});
  hinted_.Settle();  // which is there, as it came before the search
  // A hint that finds no memory is none; an error is for the request that needs the row.
  if (!counted.ok() || counted->absent == 0) {
    FinishHint();
  } else if (below_->ReadsBesideItsThread()) {
    const Status listed = ListForBelow(counted->absent, hinted_.distinct());
    static_cast<void>(hinted_.Begin(wanted_, counted->absent, tick, listed).ok());
  } else {
    static_cast<void>(
        AnswerFromBelow(counted->absent, ReadFrom::kMemory, tick, nullptr, [] {}).ok());
  }
  return true;
}

void HotTable::NoteLookup(uint64_t keys, uint64_t hits, uint64_t here) {
  GpuTable::NoteLookup(keys, hits, here);
  hits_ += here;
}

bool HotTable::ChoosesAmong(size_t rows) const {
  const bool is_written = written_at_ != 0 && counts_.tick - written_at_ <= kWritesSoon;
  if (options_.order != VictimOrder::kLeastRecent || is_written || !below_->IsInMemory()) {
    return false;
  }
  return residency_.IsFullFor(rows);
}

Status HotTable::ListForBelow(uint32_t missing, uint32_t* distinct_here) {
  if (missing > options_.missing_max) {
    return Refused(
        fmt::format("table '{}': {} keys of a batch are not on the GPU", spec_.name, missing));
  }
  // All are brought before it is known how many there are: what was never written is zero.
  const size_t before = distinct_keys_.all().size();
  STRATA_TRY(distinct_keys_.ReserveFor<uint64_t>(missing));
  if (const auto all = distinct_keys_.all(); all.size() != before) {
    Clear(exec_, all.data(), all.size());
  }
  STRATA_TRY(distinct_numbers_.ReserveFor<uint32_t>(missing));
  STRATA_TRY(distinct_rows_.ReserveFor<uint32_t>(missing));
  STRATA_TRY(scratch_.Reserve(ListDistinctScratchBytes(missing)));
  const DistinctMissing distinct = distinct_missing();
  ListDistinct(exec_, {missing_keys_.as<Key>(), missing}, below_->home_seed(), distinct,
               scratch_.all());
  MustBegin("keys for the tier below");
  CopyDown<uint32_t>(exec_, distinct.count, {distinct_here, 1});
  return wanted_.Bring(exec_, *host_, {distinct.keys, missing});
}

Status HotTable::ReadForAnswer(size_t keys, ReadFrom from, uint64_t tick,
                               const MissingKeys& missing, float* out) {
  // Where there is no room they are answered all the same.
  bool has_room = false;
  const auto prepare = [&](const Reading& reading) {
    uint64_t rows = 0;
    for (size_t c = 0; c < reading.chunks(); ++c) {
      if (reading.ComesUp(c)) rows += reading.KeysOf(c).size();
    }
    has_room = rows != 0 && residency_.MakeRoom(rows).ok();
    return Status();
  };
  const bool may_stay_out = options_.order == VictimOrder::kLeastPushed && from == ReadFrom::kAll;
  ReadRule rule = {.from = from,
                   .tick = tick,
                   .alive_from = below_->AliveFrom(),
                   .stays_from = may_stay_out ? evictor_.pushes_gone() : 0};
  if (out != nullptr && ChoosesAmong(keys)) rule.turn = Mix64(tick) % ReadRule::kTurns;
  return gatherer_.Read(wanted_, keys, rule, prepare, [&](const RowChunk& chunk) {
    if (has_room) TakeIn(chunk);
    if (out == nullptr) return;
    const RowsFromBelow rows{chunk.rows, chunk.numbers, chunk.count, chunk.first, chunk.places};
    AnswerRows(exec_, map_->ref(), rows, missing, distinct_missing(), out);
  });
}

HostCounts& HotTable::host_counts() const {
  return *reinterpret_cast<HostCounts*>(host_counts_.get());
}

}  // namespace strata
