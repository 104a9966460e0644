// How a hot table keeps to its part of a GPU's memory: room for rows that come, and rows that go
// down to the table below for it.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "base/log.h"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot_table.h"

namespace strata {
namespace {

// Of a map that may not grow: with more rows, searches for keys that are not there get long.
constexpr double kLoadFull = 0.85;
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

}  // namespace

bool HotTable::ChoosesAmong(size_t rows) const {
  const bool is_written = written_at_ != 0 && tick_ - written_at_ <= kWritesSoon;
  if (options_.order != VictimOrder::kLeastRecent || is_written || !below_->IsInMemory()) {
    return false;
  }
  // Room that was made ahead is for rows for which others have gone.
  const uint64_t ahead = rows_have_gone_ ? std::min(kGoAhead, rows_limit_ / kGoPart) : 0;
  return rows_most_ + rows + ahead > rows_limit_;
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
    rows_have_gone_ = true;
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
  if (rows.dirty != 0 || in_snapshot()) STRATA_TRY(SaveRows(window));
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
    if (in_snapshot()) {
      TakePendingAt(exec_, map_->ref(), some, list);
      ScanPage page;
      Bring(list, /*with_state=*/true, &page);
      KeepAside(std::move(page));
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
    const WriterLock lock(below_mutex_);
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
  rows_have_gone_ = false;
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
  if (map_ != nullptr && !in_snapshot()) {
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
