#include <algorithm>
#include <utility>

#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot/row_evictor.h"

namespace strata {
namespace {

// Rows that are ranked for each that has to go.
constexpr uint64_t kRankedPerVictim = 4;
constexpr uint64_t kWindowPairsMin = 1024;
constexpr uint64_t kWindowPairsMax = uint64_t{1} << 20;
constexpr uint32_t kRowsDownMin = 256;
// With so much of all slots new, or changed hands, marks are set anew: pairs that were split have
// those of the pair that they were.
constexpr uint64_t kSweepPart = 8;

}  // namespace

RowEvictor::RowEvictor(const EvictorParts& parts, VictimOrder order, uint32_t rows_at_once,
                       KeepForSnapshot keep)
    : parts_(parts), order_(order), rows_at_once_(rows_at_once), keep_(std::move(keep)) {}

Status RowEvictor::Reserve() {
  STRATA_TRY(ReserveFor(kWindowPairsMin));
  return parts_.taken.RoomFor(kRowsDownMin).status();
}

Status RowEvictor::ReserveFor(uint64_t pairs) {
  const uint64_t places = pairs * 2 * kLineBytes;
  STRATA_TRY(counted_.ReserveFor<Counted>(1));
  STRATA_TRY(slots_.ReserveFor<uint32_t>(places));
  STRATA_TRY(ranks_.ReserveFor<uint32_t>(places));
  STRATA_TRY(scratch_.Reserve(ListVictimsScratchBytes(pairs)));
  pairs_max_ = std::max(pairs_max_, pairs);
  return {};
}

Status RowEvictor::Evict(uint64_t rows) {
  const uint64_t pairs = parts_.map->ref().pairs();
  for (uint64_t seen = 0; seen < pairs && rows > 0;) {
    if (hand_ >= pairs) hand_ = 0;
    const uint64_t wished =
        std::clamp(rows * kRankedPerVictim / kPairSlots, kWindowPairsMin, kWindowPairsMax);
    const uint64_t window = std::min({wished, pairs - hand_, pairs - seen});
    STRATA_ASSIGN(const uint64_t gone, EvictFrom(hand_, window, rows, parts_.counts.tick));
    rows -= gone;
    hand_ += window;
    seen += window;
  }
  return {};
}

Status RowEvictor::EvictAll() {
  constexpr uint64_t kNever = UINT64_MAX >> kScoreTickShift;
  const uint64_t pairs = parts_.map->ref().pairs();
  for (uint64_t first = 0; first < pairs; first += pairs_max_) {
    const uint64_t window = std::min(pairs_max_, pairs - first);
    STRATA_TRY(EvictFrom(first, window, UINT64_MAX, kNever).status());
  }
  return {};
}

void RowEvictor::SweepIfStale() {
  const DeviceMap& map = *parts_.map;
  const uint64_t new_slots = (map.ref().pairs() - pairs_swept_) * kPairSlots;
  if (gone_since_sweep_ + new_slots <= map.slots() / kSweepPart) return;
  SweepMarks(parts_.exec, map.ref());
  gone_since_sweep_ = 0;
  pairs_swept_ = map.ref().pairs();
}

void RowEvictor::BeginAnew() {
  hand_ = 0;
  gone_since_sweep_ = 0;
  pairs_swept_ = 0;
}

Result<uint64_t> RowEvictor::EvictFrom(uint64_t first, uint64_t pairs, uint64_t most,
                                       uint64_t now) {
  STRATA_TRY(ReserveFor(pairs));
  const Exec& exec = parts_.exec;
  const MapRef& map = parts_.map->ref();
  auto* const counted = counted_.as<Counted>();
  const VictimList victims{slots_.as<uint32_t>(), ranks_.as<uint32_t>(), &counted->victims};
  ListVictims(exec, map, first, pairs, now, order_, victims, scratch_.all());
  MustBegin("a search for rows that may go");
  uint32_t may_go = 0;
  CopyDown<uint32_t>(exec, victims.count, {&may_go, 1});
  Wait(exec);
  const uint64_t count = std::min<uint64_t>(may_go, most);
  if (count == 0) return uint64_t{0};
  if (order_ == VictimOrder::kLeastPushed && now == parts_.counts.tick) {
    uint32_t rank = 0;
    CopyDown<uint32_t>(exec, victims.ranks + count - 1, {&rank, 1});
    Wait(exec);
    pushes_gone_ = rank >> kRankAgeBits;
  }
  const WindowSlots window{first * 2 * kLineBytes, victims.slots, static_cast<uint32_t>(count)};
  Clear(exec, &counted->window, sizeof counted->window);
  CountRows(exec, map, window, &counted->window);
  WindowCounts rows;
  CopyDown<WindowCounts>(exec, &counted->window, {&rows, 1});
  Wait(exec);
  if (rows.dirty != 0 || parts_.history.in_snapshot()) STRATA_TRY(SaveRows(window));
  RemoveRows(exec, map, window);
  MustBegin("rows that go");
  ResidentCounts& counts = parts_.counts;
  counts.copies -= rows.copied;
  counts.most -= std::min(counts.most, count);
  counts.gone += count;
  gone_since_sweep_ += count;
  return count;
}

// What is dirty goes to the table below while the next rows are on the link.
Status RowEvictor::SaveRows(const WindowSlots& window) {
  uint32_t rows_max = std::min(rows_at_once_, window.count);
  if (!parts_.taken.RoomFor(rows_max).ok()) rows_max = kRowsDownMin;
  StoredRows here;
  StoredRows coming;
  const auto save = [&](const WindowSlots& some) -> Status {
    STRATA_ASSIGN(const RowList list, parts_.taken.RoomFor(some.count));
    if (parts_.history.in_snapshot()) keep_(some, list);
    CopyOutDirty(parts_.exec, parts_.map->ref(), some, list);
    here = std::exchange(coming, {});
    coming = parts_.taken.BringStored(list);
    return parts_.below.Write(here.headers, here.rows);
  };
  Status status;
  for (uint32_t begin = 0; begin < window.count && status.ok(); begin += rows_max) {
    status = save({window.first, window.slots + begin, std::min(rows_max, window.count - begin)});
  }
  Wait(parts_.exec);  // also where it failed: the memory is theirs until then
  return status.ok() ? parts_.below.Write(coming.headers, coming.rows) : status;
}

}  // namespace strata
