#include <algorithm>
#include <thread>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/residents.h"
#include "storage/gpu/hot/chunk_slot.cuh"
#include "storage/gpu/hot/reading.cuh"
#include "storage/gpu/hot/row_gatherer.h"

namespace strata {
namespace {

constexpr int kGatherersMax = 15;
// Of what a batch misses a chunk is at most such a part, the first ones are such a part, unless
// that is less than chunk_rows_min, and the last ones a part of these. None is larger than this.
constexpr size_t kChunkPart = 16;
constexpr size_t kFirstPart = 64;
constexpr size_t kFirstToLast = 4;
// How rows are cut that fit a slot: parts go to the GPU while others are gathered, which then takes
// in all at once, as that costs it little more for many rows than for some.
constexpr std::array<size_t, RowGatherer::kSlots> kSlotParts = {5, 5, 4, 2};
constexpr size_t kSlotPartsSum = 16;

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

RowGatherer::RowGatherer(const Exec& exec, PinnedPool& host, LowerRows& below, WorkPool& workers,
                         size_t row_words, size_t chunk_rows_min)
    : exec_(exec),
      host_(host),
      below_(below),
      workers_(workers),
      row_words_(row_words),
      chunk_rows_min_(chunk_rows_min),
      chunk_rows_(static_cast<uint32_t>(
          std::clamp<size_t>(ChunkSlot::RowsIn(kChunkBytes, row_words), 256, 65536))) {}

RowGatherer::~RowGatherer() = default;

Status RowGatherer::MakeSlots(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (slots_[i] != nullptr) continue;
    STRATA_ASSIGN(slots_[i], ChunkSlot::Make(host_, chunk_rows_, row_words_));
  }
  return {};
}

Status RowGatherer::StartFillers() {
  for (auto& filler : fillers_) {
    if (filler != nullptr) continue;
    STRATA_ASSIGN(filler, SideThread::Start("read-below", ThreadWait::kSpinFirst));
  }
  return {};
}

void RowGatherer::Wake() {
  workers_.Wake();
  for (auto& filler : fillers_) {
    if (filler != nullptr) filler->Wake();
  }
}

Status RowGatherer::Fill(const Reading& reading, size_t c, ChunkSlot& slot, size_t place) {
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
  return below_.Read(keys, {.from = rule.from, .counters = comes_up || may_have_expired}, put);
}

// The first ones are small, so that the link has work soon, and the last are smaller, so that
// little is left to do once they have been gathered.
std::vector<size_t> RowGatherer::ChunksOf(size_t keys) const {
  const size_t first = std::max(keys / kFirstPart, chunk_rows_min_);
  const size_t last = std::max<size_t>(first / kFirstToLast, 1);
  const size_t most = std::min<size_t>(chunk_rows_, std::max(keys / kChunkPart, first));
  std::vector<size_t> begins = {0};
  for (size_t begin = 0; begin < keys;) {
    const size_t left = keys - begin;
    const size_t wished = std::min(begin, left / 2);
    begin += std::min({std::max(wished, begin < left ? first : last), most, left});
    begins.push_back(begin);
  }
  return begins;
}

std::vector<size_t> RowGatherer::PartsOfSlot(size_t keys) const {
  const size_t least = std::min<size_t>(chunk_rows_min_, chunk_rows_);
  std::vector<size_t> begins = {0};
  for (const size_t parts : kSlotParts) {
    const size_t part = (keys * parts + kSlotPartsSum - 1) / kSlotPartsSum;
    const size_t begin = begins.back();
    if (begin != keys) begins.push_back(std::min(begin + std::max(part, least), keys));
  }
  return begins;
}

void RowGatherer::FillChunk(Reading& reading, size_t c) {
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

void RowGatherer::Begin(Reading& reading, size_t first, const std::function<void(size_t)>& before) {
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

Status RowGatherer::UseNext(Reading& reading, const Use& use) {
  const size_t c = reading.used++;
  Reading::Turns& turns = reading.TurnsOf(c);
  if (!turns.filled.ok()) {
    reading.used = reading.chunks();
    return turns.filled;
  }
  ChunkSlot& slot = *slots_[reading.SlotOf(c)];
  RowChunk chunk = slot.Take(exec_);
  chunk.first = static_cast<uint32_t>(reading.first(c));
  chunk.places = static_cast<uint32_t>(reading.KeysOf(c).size());
  if (chunk.count != 0) {
    use(chunk);
    slot.End(exec_);
  }
  turns.empty.release();
  return {};
}

Status RowGatherer::UseAll(Reading& reading, const Use& use) {
  while (reading.used < reading.chunks()) {
    Acquire(reading.TurnsOf(reading.used).full);
    STRATA_TRY(UseNext(reading, use));
  }
  return {};
}

Status RowGatherer::UseReady(Reading& reading, const Use& use) {
  while (reading.used < reading.chunks() && reading.TurnsOf(reading.used).full.try_acquire()) {
    STRATA_TRY(UseNext(reading, use));
  }
  return {};
}

void RowGatherer::AwaitFillers(const Reading& reading) {
  for (size_t f = 0; f < reading.fillers; ++f) fillers_[f]->Wait();
}

void RowGatherer::End(Reading& reading) {
  reading.stop = true;
  for (Reading::Turns& turns : reading.turns) turns.empty.release();
  AwaitFillers(reading);
}

Status RowGatherer::Read(const KeysDown& keys, size_t count, const ReadRule& rule,
                         const std::function<Status(const Reading&)>& prepare, const Use& use) {
  Reading reading(keys.first(count), rule, ChunksOf(count));
  Status made = MakeSlots(std::min(reading.chunks(), kSlots));
  if (made.ok() && reading.chunks() > 1) made = StartFillers();
  if (!made.ok()) {
    Wait(exec_);  // the keys are on their way, in memory that is the caller's
    return made;
  }
  const auto await_keys = [&](size_t c) {
    keys.Await(reading.first(c) + reading.KeysOf(c).size());
  };
  reading.turns[0].empty.acquire();  // before a chunk further on can have it
  Begin(reading, 1, await_keys);
  await_keys(0);
  FillChunk(reading, 0);  // before other threads have woken
  Status status = prepare(reading);
  if (status.ok()) status = UseAll(reading, use);
  End(reading);
  if (!status.ok()) Wait(exec_);  // keys may be on their way still, and rows to who asked
  return status;
}

}  // namespace strata
