// How rows of a tiered table move between memory and the cold tier.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "base/thread/while_waiting.h"
#include "storage/rocks/cold_rows.h"
#include "storage/tiered/tiered_table.h"

namespace strata {
namespace {

// Rows of a batch on its way down: some hundreds of kilobytes, copied twice.
constexpr uint64_t kDownRows = 8192;
constexpr uint64_t kDownRowsMin = 64;
// A row that came up for a request stays for the ones that follow, whatever its score.
constexpr uint32_t kYoung = 8;
constexpr size_t kUpKeys = 8192;
// Erased keys that are remembered before a batch takes them down, if no rows have to go.
constexpr size_t kDeadMax = 1024;

}  // namespace

bool TieredTable::HasRoom(uint64_t count) {
  const auto has = [&] {
    return warm_.rows() + count <= warm_rows_max_ && warm_.Reserve(count).ok();
  };
  if (has()) return true;
  AskForMore();
  return has();
}

Status TieredTable::MakeRoom(uint64_t count) {
  while (!HasRoom(count)) {
    DoWhileWaiting();
    const uint64_t free = warm_rows_max_ - std::min(warm_rows_max_, warm_.rows());
    const uint64_t lacking = count > free ? count - free : count;
    // Rows whose time has not come go too, before anything is refused.
    const bool is_done = down_.active() && down_.IsDone();
    if (!is_done && MoveDown(lacking, kYoung, kDue)) continue;
    if (!down_.active()) {
      if (MoveDown(lacking, 1, 0)) continue;
      // All rows in memory are of this batch. The share of a table is a goal, the budget a limit.
      const Status status = warm_.Reserve(count);
      if (status.ok()) return {};
      if (warm_shares_.is_limited()) {
        return status.Prefixed(fmt::format(
            "{} more for a batch than this table's share of memory, {} bytes, has room for, "
            "with all its others on disk; raise server.memory, or push smaller batches",
            Counted(count, "row"), share_bytes_));
      }
      budget_.SetMax(UINT64_MAX);
      share_bytes_ = 0;  // the next operation sets it again
      return warm_.Reserve(count);
    }
    if (!is_done) ++tier_stats_.waits;
    const Status status = SettleDown();
    if (!status.ok() && !HasRoom(count)) return status;
  }
  return {};
}

bool TieredTable::MoveDown(uint64_t count, uint32_t age_min, uint8_t flags_out) {
  bool is_step = false;
  const uint64_t count_min = std::clamp<uint64_t>(count, kDownRowsMin, kDownRows);
  // Only who cannot go on without looks at every row.
  const uint64_t visits_max = age_min == 1 ? UINT64_MAX : 16 * count_min;
  const auto flags = static_cast<uint8_t>(flags_out | kWriting | (down_.active() ? kDirty : 0));
  const WarmRows::Victims& victims =
      warm_.FindVictims(policy_, count_min, tick_, age_min, flags, visits_max);
  if (!victims.rows.empty()) score_gone_ = victims.score_max;
  std::vector<uint64_t> dirty;
  for (const uint64_t row : victims.rows) {
    const bool is_dead = IsDead(warm_.Counters(row));
    if (is_dead && is_below_) {
      // The answer (DropExpired) comes before the next operation. Until then the row is young, but
      // for who cannot go on without room, and takes it for one that is alive.
      expired_.push_back(warm_.KeyOf(row));
      warm_.Touch(row, tick_ - 1);
      if (age_min > 1) continue;
    }
    if (is_dead && !is_below_) {
      Bury(row);
    } else if ((warm_.flags(row) & kDirty) == 0) {
      Drop(row);
    } else {
      if (dirty.size() < kDownRows) dirty.push_back(row);
      continue;
    }
    is_step = true;
  }
  if (dirty.empty() || down_.active()) return is_step;
  StartDown(dirty);
  return true;
}

void TieredTable::MoveDownOld(uint64_t count) {
  // In a small table all rows may be young; those of the present operation stay.
  if (!MoveDown(count, kYoung, kDue)) MoveDown(count, 2, kDue);
}

void TieredTable::KeepRoomAhead() {
  if (down_.active() && down_.IsDone()) static_cast<void>(SettleDown());
  if (warm_.rows() + room_ahead_ > warm_rows_max_) AskForMore();
  const uint64_t used = warm_.rows() + room_ahead_;
  if (used > warm_rows_max_) MoveDownOld(used - warm_rows_max_);
  if (dead_.size() >= kDeadMax && !down_.active()) StartDown({});
}

void TieredTable::StartDown(std::span<const uint64_t> rows) {
  Down down;
  down.tick = tick_;
  ++downs_;
  for (auto& [key, batch] : dead_) {
    batch = downs_;
    down.dead.push_back(key);
  }
  down.keys.reserve(rows.size());
  down.rows.resize(rows.size() * row_bytes_);
  for (const uint64_t row : rows) {
    warm_.CopyTo(row, down.rows.data() + down.keys.size() * row_bytes_);
    down.keys.push_back(warm_.KeyOf(row));
    uint8_t& flags = warm_.flags(row);
    flags = static_cast<uint8_t>((flags & ~kDirty) | kColdCopy | kWriting);
  }
  cold_used_ = true;
  down_.Start(executor_, std::move(down),
              [&cold = cold_, space = space_, bytes = row_bytes_](Down& batch) {
                std::vector<ColdWrite> writes;
                writes.reserve(batch.dead.size() + batch.keys.size());
                for (const Key key : batch.dead) writes.push_back({key, nullptr});
                for (size_t i = 0; i < batch.keys.size(); ++i) {
                  writes.push_back({batch.keys[i], batch.rows.data() + i * bytes});
                }
                batch.status = cold.Write(space, writes);
              });
}

Status TieredTable::SettleDown() {
  const Down down = down_.Take();
  for (const Key key : down.keys) {
    const uint64_t row = warm_.Find(key);
    // Erased meanwhile, and perhaps made anew: then dead_ says what counts below.
    if (row == kNoRow || (warm_.flags(row) & kWriting) == 0) continue;
    uint8_t& flags = warm_.flags(row);
    flags = static_cast<uint8_t>(flags & ~kWriting);
    if (!down.status.ok()) {
      flags |= kDirty;
      continue;
    }
    ++tier_stats_.moved_down;
    const bool is_touched = static_cast<int32_t>(warm_.tick(row) - down.tick) > 0;
    if ((flags & kDirty) == 0 && !is_touched) Drop(row);
  }
  for (const Key key : down.dead) {
    const auto dead = dead_.find(key);
    if (dead == dead_.end() || dead->second != downs_) continue;  // erased again meanwhile
    if (down.status.ok()) {
      dead_.erase(dead);
    } else {
      dead->second = 0;
    }
  }
  return down.status;
}

void TieredTable::Drop(uint64_t row) {
  KeepForSnapshot(row);
  warm_.Remove(row);
  ++tier_stats_.dropped;
}

void TieredTable::Bury(uint64_t row) {
  KeepForSnapshot(row);
  const Key key = warm_.KeyOf(row);
  if ((warm_.flags(row) & kColdCopy) != 0) dead_[key] = 0;
  up_keys_.erase(key);
  warm_.Remove(row);
  --stats_.rows;
}

void TieredTable::Shed() {
  std::vector<uint64_t> dirty;
  uint64_t row = 0;
  do {
    // A batch that cannot go down leaves its rows where they are; the next operation tries again.
    if (down_.active() && !SettleDown().ok()) return;
    dirty.clear();
    for (; row < warm_.numbers() && dirty.size() < kDownRows; ++row) {
      if (!warm_.IsLive(row)) continue;
      if ((warm_.flags(row) & kDirty) != 0) {
        dirty.push_back(row);
      } else {
        Drop(row);
      }
    }
    if (!dirty.empty()) StartDown(dirty);
  } while (!dirty.empty());
  if (warm_.rows() == 0) warm_.Clear();
}

uint64_t TieredTable::AddCopy(Key key, const std::byte* bytes) {
  const uint64_t row = warm_.Add(key, tick_, kColdCopy);
  warm_.CopyFrom(bytes, row);
  up_keys_.erase(key);
  ++tier_stats_.moved_up;
  return row;
}

bool TieredTable::Prefetch(std::span<const Key> keys) {
  if (up_.active() && up_.IsDone()) SettleUp();
  const uint64_t wanted_max = std::min<uint64_t>(warm_rows_max_ / 4, 4 * kUpKeys);
  for (const Key key : keys) {
    if (up_wanted_.size() >= wanted_max) break;
    if (warm_.Find(key) == kNoRow) up_wanted_.push_back(key);
  }
  StartUp();
  return true;
}

bool TieredTable::AwaitUp(bool is_wanted) {
  if (!is_wanted) return false;
  SettleUp();
  return true;
}

void TieredTable::StartUp() {
  if (up_.active() || up_wanted_.empty() || !cold_used_) return;
  Up up;
  const size_t count = std::min(up_wanted_.size(), kUpKeys);
  for (const Key key : std::span(up_wanted_).first(count)) {
    if (warm_.Find(key) != kNoRow || dead_.contains(key)) continue;
    if (up_keys_.insert(key).second) up.keys.push_back(key);
  }
  up_wanted_.erase(up_wanted_.begin(), up_wanted_.begin() + static_cast<ptrdiff_t>(count));
  if (up.keys.empty()) return;
  up_.Start(executor_, std::move(up),
            [&cold = cold_, space = space_, bytes = row_bytes_](Up& batch) {
              batch.rows.resize(batch.keys.size() * bytes);
              batch.found.resize(batch.keys.size());
              batch.status = cold.Read(space, batch.keys, batch.rows, batch.found);
            });
}

void TieredTable::SettleUp() {
  const Up up = up_.Take();
  // An error is for the request that needs the row; this was a hint.
  if (up.status.ok()) {
    if (!HasRoom(up.keys.size())) MoveDownOld(up.keys.size());
    for (size_t i = 0; i < up.keys.size() && HasRoom(1); ++i) {
      // A key that was made or erased since the read began is not among them any more.
      if (up.found[i] == 0 || !up_keys_.contains(up.keys[i])) continue;
      AddCopy(up.keys[i], up.rows.data() + i * row_bytes_);
      ++tier_stats_.prefetched;
    }
  }
  up_keys_.clear();
  StartUp();
}

}  // namespace strata
