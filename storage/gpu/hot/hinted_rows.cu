#include <utility>

#include "kernels/core/cuda_stream.cuh"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot/chunk_slot.cuh"
#include "storage/gpu/hot/hinted_rows.h"
#include "storage/gpu/hot/reading.cuh"

namespace strata {
namespace {

constexpr size_t kCountedHints = 2;

}  // namespace

HintedRows::HintedRows(const HintParts& parts)
    : parts_(parts),
      counted_(
          parts.host.Take((kCountedHints * sizeof(Counted) + sizeof(float) - 1) / sizeof(float))) {}

HintedRows::~HintedRows() {
  if (counted_here_ != nullptr) (void)cudaEventDestroy(static_cast<cudaEvent_t>(counted_here_));
}

HintedRows::Counted& HintedRows::CountedOf(uint64_t hint) const {
  return reinterpret_cast<Counted*>(counted_.get())[hint % kCountedHints];
}

uint32_t* HintedRows::distinct() {
  return &CountedOf(finished_ + (reading_ == nullptr ? 0 : 1)).distinct;
}

Status HintedRows::Begin(KeysDown& keys, uint32_t missing, uint64_t tick, const Status& listed) {
  // The rows of the hint before are gathered still. They are not in the map yet.
  RowGatherer& gatherer = parts_.gatherer;
  const bool are_few = missing <= gatherer.chunk_rows();
  const uint64_t number = finished_ + (reading_ == nullptr ? 0 : 1);
  const uint32_t* const distinct = this->distinct();
  Status ready = listed;
  if (ready.ok() && counted_here_ == nullptr) {
    const Result<cudaEvent_t> event = MakeEvent();
    ready = event.status();
    if (event.ok()) counted_here_ = *event;
  }
  if (ready.ok() && !are_few) {
    ready = parts_.residency.MakeRoom(missing + (reading_ == nullptr ? 0 : reading_->count()));
  }
  if (ready.ok()) ready = misses_.ReserveFor<uint32_t>(1 + gatherer.chunk_rows());
  if (ready.ok()) ready = gatherer.StartFillers();
  if (!are_few) Finish();  // whose slots it needs, too
  const std::unique_ptr<Reading> last = std::move(reading_);
  if (last != nullptr) Await(*last);
  const size_t slot = number % 2;  // not that of the last one
  if (ready.ok()) ready = gatherer.MakeSlots(are_few ? slot + 1 : RowGatherer::kSlots);
  if (ready.ok()) {
    keys_.Swap(keys);
    reading_ = std::make_unique<Reading>(
        keys_.first(missing), ReadRule{.from = ReadFrom::kMemory, .tick = tick},
        are_few ? gatherer.PartsOfSlot(missing) : gatherer.ChunksOf(missing));
    if (are_few) {
      reading_->one_slot = slot;
      gatherer.slot(slot).Begin(missing);
    }
    gatherer.Begin(*reading_, 0, [this, &reading = *reading_, missing, distinct](size_t) {
      keys_.Await(missing);
      reading.EndAt(*distinct);
    });
  }
  if (last != nullptr) TakeIn(*last);
  if (!ready.ok()) {
    Wait(parts_.exec);  // the keys are on their way, in memory that may be given back
    return ready;
  }
  Rows& rows = CountedOf(finished_).rows;
  CopyDown<unsigned long long>(parts_.exec, &parts_.map->ref().counts->rows, {&rows.before, 1});
  rows.gone_before = parts_.counts.gone;
  return {};
}

void HintedRows::Add(const RowChunk& chunk) {
  AddNewRows(parts_.exec, parts_.map->ref(), chunk.headers, chunk.rows, chunk.stay,
             {misses_.as<uint32_t>() + 1, misses_.as<uint32_t>()});
  MustBegin("rows of a hint");
}

void HintedRows::TakeInReady() {
  if (reading_ == nullptr || reading_->one_slot.has_value()) return;
  static_cast<void>(
      parts_.gatherer.UseReady(*reading_, [&](const RowChunk& chunk) { Add(chunk); }).ok());
}

bool HintedRows::Finish() {
  if (reading_ == nullptr) return false;
  const DeviceScope scope(parts_.exec.ordinal);
  Await(*reading_);
  TakeIn(*std::exchange(reading_, nullptr));
  return true;
}

void HintedRows::Await(Reading& reading) {
  if (reading.one_slot.has_value()) {
    parts_.gatherer.AwaitFillers(reading);
  } else {
    static_cast<void>(
        parts_.gatherer.UseAll(reading, [&](const RowChunk& chunk) { Add(chunk); }).ok());
    parts_.gatherer.End(reading);
  }
}

void HintedRows::TakeIn(Reading& reading) {
  const uint64_t count = reading.count();
  if (!reading.one_slot.has_value()) {
    // What was counted since it was given room did not count what was still to come.
    parts_.residency.NoteOnTheirWay(count);
  } else if (reading.IsFilled() && parts_.residency.MakeRoom(count).ok()) {
    ChunkSlot& slot = parts_.gatherer.slot(*reading.one_slot);
    slot.EndParts(count);
    if (const RowChunk chunk = slot.Take(parts_.exec); chunk.stay != 0) {
      Add(chunk);
      slot.End(parts_.exec);
    }
  }
  Settle();
  Rows& rows = CountedOf(finished_).rows;
  CopyDown<unsigned long long>(parts_.exec, &parts_.map->ref().counts->rows, {&rows.behind, 1});
  rows.gone = parts_.counts.gone;
  Must(FromCuda(cudaEventRecord(static_cast<cudaEvent_t>(counted_here_), StreamOf(parts_.exec)),
                "the GPU"));
  is_unsettled_ = true;
  ++finished_;
}

void HintedRows::Settle() {
  if (!is_unsettled_) return;
  Must(FromCuda(cudaEventSynchronize(static_cast<cudaEvent_t>(counted_here_)), "the GPU"));
  const Rows& rows = CountedOf(finished_ - 1).rows;
  const uint64_t came = rows.behind - rows.before + (rows.gone - rows.gone_before);
  parts_.counts.copies += came;
  parts_.counts.moved_up += came;
  is_unsettled_ = false;
}

uint64_t HintedRows::RowsHere(uint64_t rows) const {
  if (reading_ == nullptr) return 0;
  const Rows& counted = CountedOf(finished_).rows;
  return rows - counted.before + (parts_.counts.gone - counted.gone_before);
}

void HintedRows::Stop() {
  if (reading_ != nullptr) parts_.gatherer.End(*reading_);
}

}  // namespace strata
