// How rows of a hot table move between the GPU's memory and the table below.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/hash.h"
#include "base/human_text.h"
#include "base/log.h"
#include "storage/gpu/reading.cuh"
#include "storage/gpu/told.cuh"

namespace strata {
namespace {

// Of a map that may not grow: with more rows, searches for keys that are not there get long.
constexpr double kLoadFull = 0.85;
constexpr int kGatherersMax = 15;
// Of what a batch misses a chunk is at most such a part, the first ones are such a part, unless
// that is less than chunk_rows_min, and the last ones a part of these. None is larger than this.
constexpr size_t kChunkPart = 16;
constexpr size_t kFirstPart = 64;
constexpr size_t kFirstToLast = 4;
// Keys that come before all others: hardly more time on the link than one of them.
constexpr size_t kFirstKeys = 65536;
// Rows that are ranked for each that has to go.
constexpr uint64_t kRankedPerVictim = 4;
constexpr uint64_t kWindowPairsMin = 1024;
constexpr uint64_t kWindowPairsMax = uint64_t{1} << 20;
constexpr uint32_t kRowsDownMin = 256;
// So many rows more than have to go at a time, but no more than a part of all: a search costs some
// launches and waits, and most batches find room then.
constexpr uint64_t kGoAhead = 262144;
constexpr uint64_t kGoPart = 16;
// For so many operations behind one that wrote rows another one is expected.
constexpr uint64_t kWritesSoon = 256;
// With so much of all slots new, or changed hands, marks are set anew: pairs that were split have
// those of the pair that they were.
constexpr uint64_t kSweepPart = 8;
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
  const std::shared_lock lock(below_mutex_);
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
  ListDistinct(exec_, {missing_keys_.as<Key>(), missing}, distinct, scratch_.all());
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
    counted_.bytes_up += slot.bytes();
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

void HotTable::TakeIn(const Chunk& chunk, uint32_t count) {
  AddRows(exec_, map_->ref(), chunk.headers, chunk.rows, count);
  MustBegin("rows that come up");
  copies_ += count;
  counted_.moved_up += count;
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
  AddNewRows(exec_, map_->ref(), chunk.headers, chunk.rows, chunk.count,
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
    if (const Chunk chunk = slot.Take(exec_); chunk.count != 0) {
      counted_.bytes_up += slot.bytes();
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
      [&](const Chunk& chunk) { TakeIn(chunk, chunk.count); });
}

bool HotTable::ChoosesAmong(size_t rows) const {
  const uint64_t ahead = std::min(kGoAhead, rows_limit_ / kGoPart);
  const bool is_written = written_at_ != 0 && tick_ - written_at_ <= kWritesSoon;
  return options_.order == VictimOrder::kLeastRecent && !is_written && below_->IsInMemory() &&
         rows_most_ + rows + ahead > rows_limit_;
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
    if (has_room && chunk.stay != 0) TakeIn(chunk, chunk.stay);
    if (out == nullptr) return;
    const RowsFromBelow rows{chunk.rows, chunk.numbers, chunk.count, chunk.first, chunk.places};
    AnswerRows(exec_, map_->ref(), rows, missing, distinct_missing(), out);
  });
}

Status HotTable::Room(uint64_t rows) {
  const bool are_counted = std::exchange(rows_are_counted_, false);
  if (!are_counted && rows_most_ + rows > rows_limit_) {
    STRATA_ASSIGN(const MapCounts counts, map_->Counts(exec_));
    rows_most_ = counts.rows;
  }
  if (rows_most_ + rows > rows_limit_) {
    // As much again, so that others know it for one that would take more.
    if (rows_limit_ < options_.rows_max) share_.Need(2 * map_->bytes());
    const uint64_t lacking = rows_most_ + rows - rows_limit_;
    STRATA_TRY(Evict(std::max(lacking, std::min(lacking + kGoAhead, rows_limit_ / kGoPart))));
    if (rows_most_ + rows > rows_limit_) {
      return Refused(
          fmt::format("table '{}': its share of the GPU's memory, {}, has no room for {} more "
                      "beside what is in use",
                      spec_.name, Counted(rows_limit_, "row"), rows));
    }
  }
  Status status =
      map_->MakeRoom(exec_, rows, are_counted ? std::optional(rows_most_) : std::nullopt);
  if (!status.ok()) {
    // Others have more of the memory than their share: this is all for now. It needs as much again,
    // so that they do not give back a little many times.
    share_.Need(2 * map_->bytes());
    if (map_->MayGrow()) share_.Lack();
    rows_limit_ = std::min(rows_limit_, rows_most_);
    STRATA_TRY(Evict(rows));
    status = map_->MakeRoom(exec_, rows);
  }
  STRATA_TRY(status);
  SweepIfStale();
  rows_most_ += rows;
  return {};
}

Status HotTable::Evict(uint64_t rows) {
  const uint64_t pairs = map_->ref().pairs();
  for (uint64_t seen = 0; seen < pairs && rows > 0;) {
    if (hand_ >= pairs) hand_ = 0;
    const uint64_t wished =
        std::clamp(rows * kRankedPerVictim / kPairSlots, kWindowPairsMin, kWindowPairsMax);
    const uint64_t window = std::min({wished, pairs - hand_, pairs - seen});
    STRATA_ASSIGN(const uint64_t gone, EvictFrom(hand_, window, rows, tick_));
    rows -= gone;
    hand_ += window;
    seen += window;
  }
  return {};
}

void HotTable::SweepIfStale() {
  const uint64_t new_slots = (map_->ref().pairs() - pairs_swept_) * kPairSlots;
  if (gone_since_sweep_ + new_slots <= map_->slots() / kSweepPart) return;
  SweepMarks(exec_, map_->ref());
  gone_since_sweep_ = 0;
  pairs_swept_ = map_->ref().pairs();
}

Status HotTable::MakeMap() {
  STRATA_TRY(ReserveForVictims(kWindowPairsMin));
  STRATA_TRY(RoomFor(kRowsDownMin).status());
  if (map_ != nullptr) return {};
  Status made = GpuTable::MakeMap();
  if (made.ok()) {
    map_bytes_first_ = map_->bytes();
    LimitRows(share_.Of(pool_.bytes()));
  } else if (made.code() == StatusCode::kRefused) {
    share_.Lack();
  }
  return made;
}

Status HotTable::ReserveForVictims(uint64_t pairs) {
  const uint64_t places = pairs * 2 * kLineBytes;
  STRATA_TRY(victim_slots_.ReserveFor<uint32_t>(places));
  STRATA_TRY(victim_ranks_.ReserveFor<uint32_t>(places));
  STRATA_TRY(victim_scratch_.Reserve(ListVictimsScratchBytes(pairs)));
  victim_pairs_ = std::max(victim_pairs_, pairs);
  return {};
}

Result<uint64_t> HotTable::EvictFrom(uint64_t first, uint64_t pairs, uint64_t most, uint64_t now) {
  STRATA_TRY(ReserveForVictims(pairs));
  auto* counters = counters_.as<Counters>();
  const VictimList victims{victim_slots_.as<uint32_t>(), victim_ranks_.as<uint32_t>(),
                           &counters->victims};
  ListVictims(exec_, map_->ref(), first, pairs, now, options_.order, victims,
              victim_scratch_.all());
  MustBegin("a search for rows that may go");
  uint32_t may_go = 0;
  CopyDown<uint32_t>(exec_, victims.count, {&may_go, 1});
  Wait();
  const uint64_t count = std::min<uint64_t>(may_go, most);
  if (count == 0) return uint64_t{0};
  if (options_.order == VictimOrder::kLeastPushed && now == tick_) {
    uint32_t rank = 0;
    CopyDown<uint32_t>(exec_, victims.ranks + count - 1, {&rank, 1});
    Wait();
    pushes_gone_ = rank >> kRankAgeBits;
  }
  const WindowSlots window{first * 2 * kLineBytes, victims.slots, static_cast<uint32_t>(count)};
  Clear(exec_, &counters->window, sizeof counters->window);
  CountRows(exec_, map_->ref(), window, &counters->window);
  WindowCounts rows;
  CopyDown<WindowCounts>(exec_, &counters->window, {&rows, 1});
  Wait();
  if (rows.dirty != 0 || history_.in_snapshot()) STRATA_TRY(SaveRows(window));
  BeginGeneration();
  RemoveRows(exec_, map_->ref(), window);
  MustBegin("rows that go");
  copies_ -= rows.copied;
  rows_most_ -= std::min(rows_most_, count);
  gone_since_sweep_ += count;
  rows_gone_ += count;
  return count;
}

// What a snapshot has to take of them goes aside, what is dirty to the table below, while the next
// rows are on the link.
Status HotTable::SaveRows(const WindowSlots& window) {
  uint32_t rows_max = std::min(ChunkRows(), window.count);
  if (!RoomFor(rows_max).ok()) rows_max = kRowsDownMin;
  DownRows here;
  DownRows coming;
  const auto save = [&](const WindowSlots& some) -> Status {
    STRATA_ASSIGN(const RowList list, RoomFor(some.count));
    if (history_.in_snapshot()) {
      TakePendingAt(exec_, map_->ref(), some, list);
      ScanPage page;
      Bring(list, /*with_state=*/true, &page);
      if (!page.keys.empty()) aside_.push_back(std::move(page));
    }
    CopyOutDirty(exec_, map_->ref(), some, list);
    here = std::exchange(coming, {});
    coming = BringDown(list);
    return PutBelow(here);
  };
  Status status;
  for (uint32_t begin = 0; begin < window.count && status.ok(); begin += rows_max) {
    status = save({window.first, window.slots + begin, std::min(rows_max, window.count - begin)});
  }
  Wait();  // also where it failed: the memory is theirs until then
  return status.ok() ? PutBelow(coming) : status;
}

HotTable::DownRows HotTable::BringDown(const RowList& list) const {
  uint32_t count = 0;
  CopyDown<uint32_t>(exec_, list.count, {&count, 1});
  Wait();
  if (count == 0) return {};
  constexpr size_t kHeaderWords = sizeof(SlotHeader) / sizeof(float);
  DownRows down;
  down.memory = host_->Take(count * (kHeaderWords + words()));
  const std::span<SlotHeader> headers(reinterpret_cast<SlotHeader*>(down.memory.get()), count);
  const std::span<float> rows(down.memory.get() + count * kHeaderWords, count * words());
  CopyDown<SlotHeader>(exec_, list.headers, headers);
  CopyDown<float>(exec_, list.rows, rows);
  down.headers = headers;
  down.rows = rows;
  return down;
}

Status HotTable::PutBelow(const DownRows& down) const {
  constexpr size_t kPiece = 4096;
  const size_t count = down.headers.size();
  if (count == 0) return {};
  down_keys_.resize(count);
  down_counters_.resize(count);
  down_known_.resize(count);
  workers_.RunPieces(count, kPiece, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const SlotHeader& header = down.headers[i];
      down_keys_[i] = header.key;
      down_counters_[i] = {.frequency = header.frequency,
                           .checkpoint_epoch = header.checkpoint_epoch,
                           .last_step = header.last_step};
      down_known_[i] = (header.score & kScoreCopied) != 0 ? 1 : 0;
    }
  });
  {
    const std::lock_guard lock(below_mutex_);
    STRATA_TRY(below_->WriteRows({down_keys_, down.rows, down_counters_, down_known_}, workers_));
  }
  counted_.moved_down += count;
  counted_.bytes_down += down.headers.size_bytes() + down.rows.size_bytes();
  return {};
}

Status HotTable::EvictAll() {
  constexpr uint64_t kNever = UINT64_MAX >> kScoreTickShift;
  const uint64_t pairs = map_->ref().pairs();
  for (uint64_t first = 0; first < pairs; first += victim_pairs_) {
    const uint64_t window = std::min(victim_pairs_, pairs - first);
    STRATA_TRY(EvictFrom(first, window, UINT64_MAX, kNever).status());
  }
  return {};
}

Status HotTable::PassDown(const Status& why, const void* batch) {
  FinishHint();
  if (IsOnGpu(batch)) return why;
  if (map_ != nullptr) STRATA_TRY(EvictAll());
  passed_down_ = true;
  ++counted_.passed_down;
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

uint64_t HotTable::RowsIn(uint64_t bytes) const {
  constexpr double kPairBytes = 2.0 * kLineBytes + sizeof(uint32_t);
  const double slot_bytes = SlotBytes(schema_.stored_words()) + kPairBytes / kPairSlots;
  return static_cast<uint64_t>(static_cast<double>(bytes) / slot_bytes * kLoadFull);
}

void HotTable::NoteShare() {
  if (map_ != nullptr) share_.Need(map_->bytes());
  const uint64_t share = share_.Of(pool_.bytes());
  if (map_ != nullptr && !history_.in_snapshot()) {
    // What was taken beyond by an eighth and a chunk is not worth the trouble, unless somebody
    // lacks it.
    const uint64_t kept = share_.IsLacked() ? share : share / 8 * 9 + DevicePool::kChunkBytes;
    share_.AnswerLack();
    if (map_->bytes() > std::max(kept, map_bytes_first_)) Shed();
  }
  LimitRows(share);
}

// Anew for each operation: where others had more than their share, there may have been no room for
// so many.
void HotTable::LimitRows(uint64_t bytes) {
  uint64_t rows = std::min(options_.rows_max, RowsIn(bytes));
  if (map_ != nullptr) {
    map_->LimitBytes(bytes);
    // Memory comes by chunks, and the next one may be beyond.
    if (!map_->MayGrow()) {
      const auto slots = static_cast<double>(map_->slots_ready());
      rows = std::min(rows, static_cast<uint64_t>(slots * kLoadFull));
    }
  }
  rows_limit_ = std::max<uint64_t>(1, rows);
}

void HotTable::KeepToShare() {
  const DeviceScope scope(exec_.ordinal);
  NoteShare();
  below_->KeepToShare();
}

// Arrays do not shrink: all rows go down, hot ones come up again.
void HotTable::Shed() {
  FinishHint();
  if (!EvictAll().ok()) return;                  // the next operation tries again
  stats_.rejected = GpuTable::Stats().rejected;  // the map counts them
  BeginGeneration();
  map_.reset();
  rows_most_ = 0;
  hand_ = 0;
  gone_since_sweep_ = 0;
  pairs_swept_ = 0;
}

}  // namespace strata
