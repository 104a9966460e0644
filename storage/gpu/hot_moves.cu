// How rows of a hot table come up from the table below: gathered by host threads, chunk by chunk.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/hash.h"
#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/reading.cuh"
#include "storage/gpu/told.cuh"

namespace strata {
namespace {

constexpr int kGatherersMax = 15;
// Of what a batch misses a chunk is at most such a part, the first ones are such a part, unless
// that is less than chunk_rows_min, and the last ones a part of these. None is larger than this.
constexpr size_t kChunkPart = 16;
constexpr size_t kFirstPart = 64;
constexpr size_t kFirstToLast = 4;
// Keys that come before all others: hardly more time on the link than one of them.
constexpr size_t kFirstKeys = 65536;
// How a hint's rows are cut that fit a slot: parts go to the GPU while others are gathered, which
// then takes in all at once, as that costs it little more for many rows than for some.
constexpr std::array<size_t, 4> kHintParts = {5, 5, 4, 2};
constexpr size_t kHintPartsSum = 16;

void Acquire(std::counting_semaphore<>& turn) {
  if (!SpinUntil([&] { return turn.try_acquire(); })) turn.acquire();
}

}  // namespace

Result<std::unique_ptr<WorkPool>> StartGatherers() {
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  // A table's own threads take part, and its lane is awake too.
  constexpr int kOthers = 3;
  return WorkPool::Start("gather", std::clamp(processors - kOthers, 0, kGatherersMax),
                         ThreadWait::kSpinFirst);
}

uint32_t HotTable::ChunkRows() const {
  return static_cast<uint32_t>(
      std::clamp<size_t>(ChunkSlot::RowsIn(kChunkBytes, words()), 256, 65536));
}

Status HotTable::MakeSlots(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (slots_[i] != nullptr) continue;
    STRATA_ASSIGN(slots_[i], ChunkSlot::Make(*host_, ChunkRows(), words()));
  }
  return {};
}

Status HotTable::StartFillers() {
  for (auto& filler : fillers_) {
    if (filler != nullptr) continue;
    STRATA_ASSIGN(filler, SideThread::Start("read-below", ThreadWait::kSpinFirst));
  }
  return {};
}

Status HotTable::Fill(const Reading& reading, size_t c, ChunkSlot& slot, size_t place) {
  const ReadRule& rule = reading.rule;
  const std::span<const Key> keys = reading.KeysOf(c);
  const size_t first = reading.first(c);
  const bool comes_up = reading.ComesUp(c);
  const bool may_have_expired = rule.alive_from != 0;
  const uint64_t score = rule.tick << kScoreTickShift | kScoreCopied;
  const auto put = [&](size_t i, const RowView& row) {
    const auto number = static_cast<uint32_t>(first + i);
    if (may_have_expired && HasExpired(row.counters->last_step, rule.alive_from)) return;
    if (!comes_up) return slot.PutAnswer(place + i, number, row.elements);
    const bool stays = row.counters->frequency >= rule.stays_from;
    slot.Put(place + i, stays ? ChunkSlot::kStays : ChunkSlot::kOther, number,
             {.key = keys[i],
              .last_step = row.counters->last_step,
              .score = score,
              .frequency = row.counters->frequency,
              .checkpoint_epoch = row.counters->checkpoint_epoch},
             row.elements);
  };
  const ReaderLock lock(below_mutex_);
  return below_->ReadRows(keys, {.from = rule.from, .counters = comes_up || may_have_expired},
                          workers_, put);
}

// The first ones are small, so that the link has work soon, and the last are smaller, so that
// little is left to do once they have been gathered.
std::vector<size_t> HotTable::ChunksOf(size_t keys) const {
  const size_t first = std::max(keys / kFirstPart, options_.chunk_rows_min);
  const size_t last = std::max<size_t>(first / kFirstToLast, 1);
  const size_t most = std::min<size_t>(ChunkRows(), std::max(keys / kChunkPart, first));
  std::vector<size_t> begins = {0};
  for (size_t begin = 0; begin < keys;) {
    const size_t left = keys - begin;
    const size_t wished = std::min(begin, left / 2);
    begin += std::min({std::max(wished, begin < left ? first : last), most, left});
    begins.push_back(begin);
  }
  return begins;
}

std::vector<size_t> HotTable::PartsOfHint(size_t keys) const {
  static_assert(kHintParts.size() == kChunkSlots);
  const size_t least = std::min<size_t>(options_.chunk_rows_min, ChunkRows());
  std::vector<size_t> begins = {0};
  for (const size_t parts : kHintParts) {
    const size_t part = (keys * parts + kHintPartsSum - 1) / kHintPartsSum;
    const size_t begin = begins.back();
    if (begin != keys) begins.push_back(std::min(begin + std::max(part, least), keys));
  }
  return begins;
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
  return BringKeys({distinct.keys, missing});
}

Status HotTable::BringKeys(std::span<const Key> keys) {
  STRATA_TRY(MakeEvents());
  wanted_.Reserve(*host_, keys.size());
  const size_t first = std::min(kFirstKeys, keys.size());
  BringPart(keys.first(first), 0, first_keys_here_);
  if (first < keys.size()) BringPart(keys.subspan(first), first, all_keys_here_);
  return {};
}

Status HotTable::MakeEvents() {
  for (void** event : {&first_keys_here_, &all_keys_here_, &counted_here_, &hint_counted_}) {
    if (*event != nullptr) continue;
    STRATA_ASSIGN(*event, MakeEvent());
  }
  return {};
}

void HotTable::BringPart(std::span<const Key> keys, size_t at, void* here) {
  CopyDown<Key>(exec_, keys.data(), {wanted_.data() + at, keys.size()});
  Must(FromCuda(cudaEventRecord(static_cast<cudaEvent_t>(here), StreamOf(exec_)), "the GPU"));
}

void HotTable::WakeGatherers() {
  workers_.Wake();
  for (auto& filler : fillers_) {
    if (filler != nullptr) filler->Wake();
  }
}

void HotTable::FillChunk(Reading& reading, size_t c) {
  ChunkSlot& slot = *slots_[reading.SlotOf(c)];
  Reading::Turns& turns = reading.TurnsOf(c);
  const size_t keys = reading.KeysOf(c).size();
  if (reading.one_slot.has_value()) {
    const size_t place = reading.first(c);
    turns.filled = Fill(reading, c, slot, place);
    if (turns.filled.ok() && keys != 0) slot.SendPart(place, place + keys);
  } else {
    slot.Begin(keys);
    turns.filled = Fill(reading, c, slot, 0);
    if (turns.filled.ok()) slot.Send();
  }
  turns.full.release();
}

template <typename Before>
void HotTable::BeginReading(Reading& reading, size_t first, const Before& before) {
  const auto fill_some = [this, &reading, before](size_t begin) {
    const DeviceScope scope(exec_.ordinal);
    for (size_t c = begin; c < reading.chunks(); c += kFillers) {
      Acquire(reading.TurnsOf(c).empty);
      if (reading.stop) return;
      before(c);
      FillChunk(reading, c);
    }
  };
  reading.fillers = std::min(kFillers, reading.chunks() - first);
  for (size_t f = 0; f < reading.fillers; ++f) {
    fillers_[f]->Begin([fill_some, begin = first + f] { fill_some(begin); });
  }
}

template <typename Use>
Status HotTable::UseChunk(Reading& reading, const Use& use) {
  const size_t c = reading.used++;
  Reading::Turns& turns = reading.TurnsOf(c);
  if (!turns.filled.ok()) {
    reading.used = reading.chunks();
    return turns.filled;
  }
  ChunkSlot& slot = *slots_[reading.SlotOf(c)];
  Chunk chunk = slot.Take(exec_);
  chunk.first = static_cast<uint32_t>(reading.first(c));
  chunk.places = static_cast<uint32_t>(reading.KeysOf(c).size());
  if (chunk.count != 0) {
    use(chunk);
    slot.End(exec_);
  }
  turns.empty.release();
  return {};
}

template <typename Use>
Status HotTable::UseChunks(Reading& reading, const Use& use) {
  while (reading.used < reading.chunks()) {
    Acquire(reading.TurnsOf(reading.used).full);
    STRATA_TRY(UseChunk(reading, use));
  }
  return {};
}

void HotTable::EndReading(Reading& reading) {
  reading.stop = true;
  for (Reading::Turns& turns : reading.turns) turns.empty.release();
  for (size_t f = 0; f < reading.fillers; ++f) fillers_[f]->Wait();
}

template <typename Prepare, typename Use>
Status HotTable::ReadBelow(size_t count, const ReadRule& rule, const Prepare& prepare,
                           const Use& use) {
  Reading reading({wanted_.data(), count}, rule, ChunksOf(count));
  Status made = MakeSlots(std::min(reading.chunks(), kChunkSlots));
  if (made.ok() && reading.chunks() > 1) made = StartFillers();
  if (!made.ok()) {
    Wait();  // the keys are on their way, in memory that is the caller's
    return made;
  }
  const auto await_keys = [this, &reading](size_t c) {
    const bool are_first = reading.first(c) + reading.KeysOf(c).size() <= kFirstKeys;
    auto* const here = static_cast<cudaEvent_t>(are_first ? first_keys_here_ : all_keys_here_);
    Must(FromCuda(cudaEventSynchronize(here), "the GPU"));
  };
  reading.turns[0].empty.acquire();  // before a chunk further on can have it
  BeginReading(reading, 1, await_keys);
  await_keys(0);
  FillChunk(reading, 0);  // before other threads have woken
  Status status = prepare(reading);
  if (status.ok()) status = UseChunks(reading, use);
  EndReading(reading);
  if (!status.ok()) Wait();  // keys may be on their way still, and rows to who asked
  return status;
}

void HotTable::TakeIn(const Chunk& chunk) {
  if (chunk.stay == 0) return;
  AddRows(exec_, map_->ref(), chunk.headers, chunk.rows, chunk.stay);
  MustBegin("rows that come up");
  copies_ += chunk.stay;
  counted_.moved_up += chunk.stay;
}

Status HotTable::BeginHint(uint32_t missing, uint64_t tick) {
  // The rows of the hint before are gathered still. They are not in the map yet.
  const bool are_few = missing <= ChunkRows();
  const uint64_t number = hints_finished_ + (hint_ == nullptr ? 0 : 1);
  uint32_t* const distinct = &told()->OfHint(number).distinct;
  Status ready = ListForBelow(missing, distinct);
  if (ready.ok() && !are_few) ready = Room(missing + (hint_ == nullptr ? 0 : hint_->count()));
  if (ready.ok()) ready = hint_misses_.ReserveFor<uint32_t>(1 + ChunkRows());
  if (ready.ok()) ready = StartFillers();
  if (!are_few) FinishHint();  // whose slots it needs, too
  const std::unique_ptr<Reading> last = std::move(hint_);
  if (last != nullptr) AwaitHint(*last);
  const size_t slot = number % 2;  // not that of the last one
  if (ready.ok()) ready = MakeSlots(are_few ? slot + 1 : kChunkSlots);
  if (ready.ok()) {
    std::swap(wanted_, hinted_);
    hint_ = std::make_unique<Reading>(std::span<const Key>(hinted_.data(), missing),
                                      ReadRule{.from = ReadFrom::kMemory, .tick = tick},
                                      are_few ? PartsOfHint(missing) : ChunksOf(missing));
    if (are_few) {
      hint_->one_slot = slot;
      slots_[slot]->Begin(missing);
    }
    void* const here = missing > kFirstKeys ? all_keys_here_ : first_keys_here_;
    BeginReading(*hint_, 0, [&hint = *hint_, here, distinct](size_t) {
      Must(FromCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(here)), "the GPU"));
      hint.EndAt(*distinct);
    });
  }
  if (last != nullptr) TakeInHint(*last);
  if (!ready.ok()) {
    Wait();  // the keys are on their way, in memory that may be given back
    return ready;
  }
  HintRows& rows = told()->OfHint(hints_finished_).rows;
  CopyDown<unsigned long long>(exec_, &map_->ref().counts->rows, {&rows.before, 1});
  rows.gone_before = rows_gone_;
  return {};
}

void HotTable::AddHinted(const Chunk& chunk) {
  AddNewRows(exec_, map_->ref(), chunk.headers, chunk.rows, chunk.stay,
             {hint_misses_.as<uint32_t>() + 1, hint_misses_.as<uint32_t>()});
  MustBegin("rows of a hint");
}

void HotTable::TakeInGathered() {
  if (hint_ == nullptr || hint_->one_slot.has_value()) return;
  while (hint_->used < hint_->chunks() && hint_->TurnsOf(hint_->used).full.try_acquire()) {
    static_cast<void>(UseChunk(*hint_, [&](const Chunk& chunk) { AddHinted(chunk); }));
  }
}

void HotTable::FinishHint() {
  if (hint_ == nullptr) return;
  const DeviceScope scope(exec_.ordinal);
  AwaitHint(*hint_);
  TakeInHint(*std::exchange(hint_, nullptr));
}

void HotTable::AwaitHint(Reading& hint) {
  if (hint.one_slot.has_value()) {
    for (size_t f = 0; f < hint.fillers; ++f) fillers_[f]->Wait();
  } else {
    BeginGeneration();
    static_cast<void>(UseChunks(hint, [&](const Chunk& chunk) { AddHinted(chunk); }));
    EndReading(hint);
  }
}

void HotTable::TakeInHint(Reading& hint) {
  const uint64_t count = hint.count();
  if (!hint.one_slot.has_value()) {
    // What was counted since it was given room did not count what was still to come.
    rows_most_ += count;
    rows_are_counted_ = false;
  } else if (hint.IsFilled() && Room(count).ok()) {
    BeginGeneration();
    ChunkSlot& slot = *slots_[*hint.one_slot];
    slot.EndParts(count);
    if (const Chunk chunk = slot.Take(exec_); chunk.stay != 0) {
      AddHinted(chunk);
      slot.End(exec_);
    }
  }
  SettleHint();
  HintRows& rows = told()->OfHint(hints_finished_).rows;
  CopyDown<unsigned long long>(exec_, &map_->ref().counts->rows, {&rows.behind, 1});
  rows.gone = rows_gone_;
  Must(FromCuda(cudaEventRecord(static_cast<cudaEvent_t>(hint_counted_), StreamOf(exec_)),
                "the GPU"));
  hint_is_unsettled_ = true;
  ++hints_finished_;
}

void HotTable::SettleHint() const {
  if (!hint_is_unsettled_) return;
  Must(FromCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(hint_counted_)), "the GPU"));
  const HintRows& rows = told()->OfHint(hints_finished_ - 1).rows;
  const uint64_t came = rows.behind - rows.before + (rows.gone - rows.gone_before);
  copies_ += came;
  counted_.moved_up += came;
  hint_is_unsettled_ = false;
}

uint64_t HotTable::HintRowsHere(uint64_t rows) const {
  if (hint_ == nullptr) return 0;
  const HintRows& counted = told()->OfHint(hints_finished_).rows;
  return rows - counted.before + (rows_gone_ - counted.gone_before);
}

// Expired rows, too: what becomes of them is known when the step is (BeforeUpdate).
Status HotTable::BringUp(std::span<const Key> keys) {
  WakeGatherers();
  STRATA_TRY(BringKeys(keys));
  return ReadBelow(
      keys.size(), {.tick = tick_}, [&](const Reading&) { return Room(keys.size()); },
      [&](const Chunk& chunk) { TakeIn(chunk); });
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
    has_room = rows != 0 && Room(rows).ok();
    return Status();
  };
  const bool may_stay_out = options_.order == VictimOrder::kLeastPushed && from == ReadFrom::kAll;
  ReadRule rule = {.from = from,
                   .tick = tick,
                   .alive_from = below_->AliveFrom(),
                   .stays_from = may_stay_out ? pushes_gone_ : 0};
  if (out != nullptr && ChoosesAmong(keys)) rule.turn = Mix64(tick) % kTurns;
  return ReadBelow(keys, rule, prepare, [&](const Chunk& chunk) {
    if (has_room) TakeIn(chunk);
    if (out == nullptr) return;
    const RowsFromBelow rows{chunk.rows, chunk.numbers, chunk.count, chunk.first, chunk.places};
    AnswerRows(exec_, map_->ref(), rows, missing, distinct_missing(), out);
  });
}

}  // namespace strata
