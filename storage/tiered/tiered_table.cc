#include "storage/tiered/tiered_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/thread/while_waiting.h"
#include "kernels/core/initializer.h"
#include "storage/rocks/cold_rows.h"

namespace strata {
namespace {

constexpr size_t kColdPiece = 4096;  // rows read from the cold tier at a time
// Keys that have no row yet are counted in this part of the table's share of memory.
constexpr uint64_t kPushCountsPart = 32;
// A target that gets no row yet.
constexpr uint64_t kNotAdmitted = kNoRow - 1;

}  // namespace

TieredTable::TieredTable(const TableSpec& spec, const TierPolicy& policy, WarmShares& warm,
                         RocksDb& cold, TierExecutor& executor)
    : spec_(spec),
      schema_(SchemaOf(spec)),
      row_bytes_(schema_.row_bytes()),
      policy_(policy),
      warm_shares_(warm),
      cold_(cold),
      space_(cold.MakeSpace(row_bytes_)),
      executor_(executor),
      budget_(0, &warm.budget()),
      warm_(schema_, &budget_),
      share_(warm.shares(), warm_.bytes_min()),
      updates_(spec) {
  if (policy_.admit_from > 1) {
    const uint64_t part = share_.EqualPartOf(warm.budget().bytes_max());
    push_counts_ = std::make_unique<PushCounts>(part / kPushCountsPart);
  }
}

TieredTable::~TieredTable() {
  // The executor reads and writes for this table no more.
  if (down_.active()) static_cast<void>(down_.Take());
  if (up_.active()) static_cast<void>(up_.Take());
  // Without it the rows only stay until the next start, which empties the cold tier.
  static_cast<void>(cold_.DropSpace(space_).ok());
}

void TieredTable::NoteShare() {
  // In steps, so that others give back a few times as it grows, and before it has the memory.
  share_.Need(std::bit_ceil(bytes()));
  const uint64_t whole = share_.Of(warm_shares_.budget().bytes_max());
  const uint64_t share = whole - std::min(whole, bytes() - warm_.bytes());
  if (share != share_bytes_) {
    share_bytes_ = share;
    warm_rows_max_ = std::min(WarmRows::RowsIn(schema_, share), warm_shares_.rows_max());
    room_ahead_ = std::clamp<uint64_t>(warm_rows_max_ / 8, 1, 16384);
    budget_.SetMax(std::max(share, warm_.bytes_min()));
  }
}

void TieredTable::AskForMore() {
  if (warm_rows_max_ == warm_shares_.rows_max()) return;
  share_.Need(std::bit_ceil(2 * bytes()));
  NoteShare();
}

void TieredTable::KeepToShare() {
  ForgetOldScans();
  NoteShare();
  ShedBeyondShare();
}

void TieredTable::ShedBeyondShare() {
  // Slabs do not shrink. An eighth and a slab more than the share are not worth the trouble.
  if (warm_.bytes() > share_bytes_ / 8 * 9 + (uint64_t{1} << 19) && !in_snapshot()) Shed();
}

void TieredTable::NoteStep(uint64_t step) {
  now_step_ = std::max(now_step_, step);
  if (step != 0) first_step_ = std::min(first_step_, step);
}

// Nobody visits rows when their time is up, so that an incremental checkpoint cannot name them, and
// those that it builds on would bring them back.
void TieredTable::NoteExpired() {
  if (IsExpired(policy_, first_step_, now_step_)) history_.ErasedUnnamed();
}

bool TieredTable::Admits(Key key, uint32_t pushes) const {
  return push_counts_ == nullptr ||
         IsAdmitted(policy_, uint64_t{push_counts_->Count(key)} + pushes);
}

void TieredTable::CountPush(Key key, uint32_t pushes) {
  push_counts_->Add(key, pushes);
  ++tier_stats_.not_admitted;
}

void TieredTable::Admit(std::span<const Key> keys, std::span<const uint32_t> pushes,
                        std::span<uint8_t> admitted) const {
  for (size_t i = 0; i < keys.size(); ++i) admitted[i] = Admits(keys[i], pushes[i]) ? 1 : 0;
}

void TieredTable::CountPushes(std::span<const Key> keys, std::span<const uint32_t> pushes) {
  for (size_t i = 0; i < keys.size(); ++i) CountPush(keys[i], pushes[i]);
}

void TieredTable::BeginOperation() {
  NoteShare();
  if (down_.active() && down_.IsDone()) static_cast<void>(SettleDown());
  if (up_.active() && up_.IsDone()) SettleUp();
  ShedBeyondShare();
  // Behind what may start a batch: a row that this operation touches must look younger than it.
  ++tick_;
}

Status TieredTable::ReadCold(std::span<const Key> keys) {
  cold_rows_.resize(keys.size() * row_bytes_);
  cold_found_.assign(keys.size(), 0);
  if (!cold_used_) return {};
  STRATA_TRY(cold_.Read(space_, keys, cold_rows_, cold_found_));
  if (dead_.empty()) return {};
  for (size_t i = 0; i < keys.size(); ++i) {
    if (dead_.contains(keys[i])) cold_found_[i] = 0;
  }
  return {};
}

template <typename KeyOf, typename Use>
Status TieredTable::ReadMissing(const KeyOf& key_of, const Use& use) {
  for (size_t begin = 0; begin < missing_.size(); begin += kColdPiece) {
    const auto some =
        std::span(missing_).subspan(begin, std::min(kColdPiece, missing_.size() - begin));
    DoWhileWaiting();
    cold_keys_.clear();
    for (const uint32_t i : some) cold_keys_.push_back(key_of(i));
    STRATA_TRY(ReadCold(cold_keys_));
    STRATA_TRY(use(std::span<const uint32_t>(some)));
  }
  return {};
}

Status TieredTable::Lookup(std::span<const Key> keys, std::span<float> out) {
  BeginOperation();
  const size_t dim = spec_.dim;
  const auto place_of = [&](size_t i) { return out.subspan(i * dim, dim); };
  const auto initial = [&](size_t i) { InitialValue(spec_, schema_, keys[i], place_of(i)); };
  missing_.clear();
  warm_.VisitRows(keys, row_bytes_, [&](size_t i, uint64_t row) {
    if (row == kNoRow) {
      missing_.push_back(static_cast<uint32_t>(i));
      return;
    }
    warm_.Touch(row, tick_);
    ++tier_stats_.warm_hits;
    if (IsDead(warm_.Counters(row))) {
      initial(i);
      return;
    }
    ReadElements(schema_, warm_.Elements(row), dim, place_of(i).data());
    ++stats_.lookup_hits;
  });
  stats_.lookups += keys.size();
  if (AwaitUp(
          std::ranges::any_of(missing_, [&](uint32_t i) { return up_keys_.contains(keys[i]); }))) {
    std::erase_if(missing_, [&](uint32_t i) {
      const uint64_t row = warm_.Find(keys[i]);
      if (row == kNoRow || IsDead(warm_.Counters(row))) return false;
      ReadElements(schema_, warm_.Elements(row), dim, place_of(i).data());
      ++tier_stats_.warm_hits;
      ++stats_.lookup_hits;
      return true;
    });
  }
  const auto key_of = [&](uint32_t i) { return keys[i]; };
  const auto answer = [&](std::span<const uint32_t> some) {
    for (size_t n = 0; n < some.size(); ++n) {
      const std::byte* row = cold_rows_.data() + n * row_bytes_;
      if (cold_found_[n] == 0 || IsDead(CountersOf(schema_, row))) {
        initial(some[n]);
        continue;
      }
      ReadElements(schema_, ElementsOf(row), dim, place_of(some[n]).data());
      ++stats_.lookup_hits;
      ++tier_stats_.cold_hits;
      const Key key = cold_keys_[n];
      const bool moves = MovesUp(policy_, key, CountersOf(schema_, row).frequency, score_gone_);
      if (moves && HasRoom(1) && warm_.Find(key) == kNoRow) AddCopy(key, row);
    }
    return Status::Ok();
  };
  STRATA_TRY(ReadMissing(key_of, answer).Prefixed("table '" + spec_.name + "'"));
  KeepRoomAhead();
  return {};
}

Status TieredTable::BringUp(bool with_admission) {
  missing_.clear();
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].row == kNoRow) missing_.push_back(static_cast<uint32_t>(i));
  }
  if (AwaitUp(std::ranges::any_of(
          missing_, [&](uint32_t i) { return up_keys_.contains(targets_[i].key); }))) {
    std::erase_if(missing_, [&](uint32_t i) {
      targets_[i].row = warm_.Find(targets_[i].key);
      if (targets_[i].row == kNoRow) return false;
      warm_.Touch(targets_[i].row, tick_);
      ++tier_stats_.warm_hits;
      return true;
    });
  }
  uint64_t fresh = 0;
  const auto key_of = [&](uint32_t i) { return targets_[i].key; };
  const auto bring = [&](std::span<const uint32_t> some) -> Status {
    const auto found = std::count(cold_found_.begin(), cold_found_.end(), uint8_t{1});
    STRATA_TRY(MakeRoom(static_cast<uint64_t>(found)));
    for (size_t n = 0; n < some.size(); ++n) {
      Target& target = targets_[some[n]];
      if (cold_found_[n] != 0) {
        target.row = AddCopy(target.key, cold_rows_.data() + n * row_bytes_);
        ++tier_stats_.cold_hits;
      } else if (with_admission && !Admits(target.key, target.parts)) {
        target.row = kNotAdmitted;
      } else {
        ++fresh;
      }
    }
    return {};
  };
  STRATA_TRY(ReadMissing(key_of, bring));
  return MakeRoom(fresh);
}

Status TieredTable::PrepareUpdate(std::span<const GradientPart> parts) {
  BeginOperation();
  combiner_.Combine(parts, spec_.dim);
  targets_.clear();
  rejected_ = 0;
  warm_.VisitRows(combiner_.keys(), row_bytes_, [&](size_t i, uint64_t row) {
    const float* gradient = combiner_.gradient(i);
    if (!AllFinite({gradient, spec_.dim})) {
      ++rejected_;
      return;
    }
    if (row != kNoRow) {
      warm_.Touch(row, tick_);
      ++tier_stats_.warm_hits;
    }
    targets_.push_back({gradient, row, combiner_.keys()[i], combiner_.parts(i)});
  });
  return BringUp(/*with_admission=*/true).Prefixed("table '" + spec_.name + "'");
}

void TieredTable::BeforeWrite(uint64_t row) {
  KeepForSnapshot(row);
  warm_.flags(row) |= kDirty;
}

void TieredTable::Reset(Key key, uint64_t row) {
  MakeNewRow(spec_, schema_, key, warm_.Elements(row), warm_.Counters(row));
}

uint64_t TieredTable::MakeRow(Key key) {
  const uint64_t row = warm_.Add(key, tick_, kDirty);
  Reset(key, row);
  up_keys_.erase(key);
  ++stats_.rows;
  if (!scan_order_.empty()) scan_order_.Add(ColdHashOf(key));
  return row;
}

void TieredTable::Stepped(uint64_t step) {
  NoteStep(step);
  NoteExpired();
}

// Before any push of this update is counted.
void TieredTable::RefuseExpired() {
  if (push_counts_ == nullptr || !RowsExpire()) return;
  for (Target& target : targets_) {
    if (target.row == kNoRow || target.row == kNotAdmitted) continue;
    if (IsDead(warm_.Counters(target.row)) && !Admits(target.key, target.parts)) {
      target.row = kNotAdmitted;
    }
  }
}

void TieredTable::CommitUpdate(uint64_t step) {
  Stepped(step);
  RefuseExpired();
  updates_.Clear();
  for (const Target& target : targets_) {
    uint64_t row = target.row;
    if (row == kNotAdmitted) {
      CountPush(target.key, target.parts);
      continue;
    }
    if (row == kNoRow) {
      row = MakeRow(target.key);
    } else {
      BeforeWrite(row);
      if (IsDead(warm_.Counters(row))) Reset(target.key, row);
    }
    RowCounters& counters = warm_.Counters(row);
    counters.checkpoint_epoch = history_.epoch();
    counters.frequency += std::min(target.parts, UINT32_MAX - counters.frequency);
    updates_.Add(target.key, warm_.Elements(row), target.gradient, counters.last_step);
    counters.last_step = step;
  }
  updates_.Apply(step);
  stats_.updates += combiner_.occurrences();
  stats_.rejected += rejected_;
  ++stats_.steps;
  KeepRoomAhead();
}

Status TieredTable::PrepareAssign(std::span<const Key> keys, std::span<const float> values) {
  BeginOperation();
  assign_keys_ = keys;
  assign_values_ = values;
  targets_.clear();
  warm_.VisitRows(keys, 0, [&](size_t i, uint64_t row) {
    if (row != kNoRow) {
      warm_.Touch(row, tick_);
    } else {
      targets_.push_back({nullptr, kNoRow, keys[i], 0});
    }
  });
  const auto by_key = [](const Target& a, const Target& b) { return a.key < b.key; };
  const auto same_key = [](const Target& a, const Target& b) { return a.key == b.key; };
  std::sort(targets_.begin(), targets_.end(), by_key);
  targets_.erase(std::unique(targets_.begin(), targets_.end(), same_key), targets_.end());
  return BringUp(/*with_admission=*/false).Prefixed("table '" + spec_.name + "'");
}

void TieredTable::CommitAssign() {
  const size_t dim = spec_.dim;
  for (size_t i = 0; i < assign_keys_.size(); ++i) {
    const Key key = assign_keys_[i];
    uint64_t row = warm_.Find(key);
    if (row == kNoRow) {
      row = MakeRow(key);
    } else {
      BeforeWrite(row);
    }
    Reset(key, row);
    WriteElements(schema_, assign_values_.subspan(i * dim, dim), warm_.Elements(row));
    warm_.Counters(row).checkpoint_epoch = history_.epoch();
  }
  KeepRoomAhead();
}

Status TieredTable::PrepareErase(std::span<const Key> keys) {
  BeginOperation();
  erase_keys_ = keys;
  erase_cold_.clear();
  std::vector<Key> below;
  for (const Key key : keys) {
    if (warm_.Find(key) == kNoRow) below.push_back(key);
  }
  std::sort(below.begin(), below.end());
  below.erase(std::unique(below.begin(), below.end()), below.end());
  for (size_t begin = 0; begin < below.size(); begin += kColdPiece) {
    const auto some = std::span(below).subspan(begin, std::min(kColdPiece, below.size() - begin));
    STRATA_TRY(ReadCold(some).Prefixed("table '" + spec_.name + "'"));
    for (size_t n = 0; n < some.size(); ++n) {
      if (cold_found_[n] != 0) erase_cold_.push_back(some[n]);
    }
  }
  return {};
}

uint64_t TieredTable::CommitErase() {
  uint64_t erased = erase_cold_.size();
  for (const Key key : erase_keys_) {
    const uint64_t row = warm_.Find(key);
    if (row == kNoRow) continue;
    ++erased;
    Bury(row);
    history_.Erased(key, stats_.rows);
  }
  for (const Key key : erase_cold_) {
    dead_[key] = 0;
    up_keys_.erase(key);
    history_.Erased(key, --stats_.rows);
  }
  KeepRoomAhead();
  return erased;
}

Status TieredTable::ReadRows(std::span<const Key> keys, const ReadOptions& options, WorkPool& pool,
                             const RowVisit& visit) {
  const MutexLock lock(reading_);
  is_below_ = true;
  BeginOperation();
  if (up_.active() && std::ranges::any_of(keys, [&](Key key) { return up_keys_.contains(key); })) {
    SettleUp();
  }
  std::vector<uint8_t> is_warm(keys.size());
  pool.RunPieces(keys.size(), RowPieceOf(keys.size()), [&](size_t begin, size_t end) {
    warm_.VisitRows<true>(keys.subspan(begin, end - begin), row_bytes_,
                          [&](size_t i, uint64_t row) {
                            if (row == kNoRow) return;
                            is_warm[begin + i] = 1;
                            warm_.Touch(row, tick_);
                            visit(begin + i, warm_.View(row));
                          });
  });
  missing_.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (is_warm[i] == 0) missing_.push_back(static_cast<uint32_t>(i));
  }
  tier_stats_.warm_hits += keys.size() - missing_.size();
  if (options.from == ReadFrom::kMemory || !cold_used_) return {};
  const auto key_of = [&](uint32_t i) { return keys[i]; };
  const auto show = [&](std::span<const uint32_t> some) {
    for (size_t n = 0; n < some.size(); ++n) {
      if (cold_found_[n] == 0) continue;
      ++tier_stats_.cold_hits;
      visit(some[n], ViewOf(schema_, cold_rows_.data() + n * row_bytes_));
    }
    return Status::Ok();
  };
  return ReadMissing(key_of, show).Prefixed("table '" + spec_.name + "'");
}

Status TieredTable::WriteRows(const RowsDown& down, WorkPool& pool) {
  is_below_ = true;
  BeginOperation();
  const uint64_t missing =
      warm_.FindRows(down.keys, pool, &down_rows_, [&](uint64_t row) { warm_.Touch(row, tick_); });
  STRATA_TRY(MakeRoom(missing).Prefixed("table '" + spec_.name + "'"));
  for (size_t i = 0; i < down.keys.size(); ++i) {
    const Key key = down.keys[i];
    uint64_t& row = down_rows_[i];
    if (row == kNoRow) row = warm_.Find(key);  // it may have come up while room was made
    if (row != kNoRow) {
      BeforeWrite(row);
    } else if (down.known[i] == 0) {
      row = MakeRow(key);
    } else {
      row = warm_.Add(key, tick_, kDirty | kColdCopy);
      up_keys_.erase(key);
    }
    NoteStep(down.counters[i].last_step);
  }
  warm_.Write(down_rows_, down.rows, down.counters, pool);
  KeepRoomAhead();
  return {};
}

void TieredTable::DropExpired(std::span<const Key> keys) {
  missing_.clear();
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t row = warm_.Find(keys[i]);
    if (row == kNoRow) {
      missing_.push_back(static_cast<uint32_t>(i));  // gone down since
    } else if (IsDead(warm_.Counters(row))) {
      Bury(row);
    }
  }
  const auto key_of = [&](uint32_t i) { return keys[i]; };
  const auto drop = [&](std::span<const uint32_t> some) {
    for (size_t n = 0; n < some.size(); ++n) {
      const std::byte* row = cold_rows_.data() + n * row_bytes_;
      if (cold_found_[n] == 0 || !IsDead(CountersOf(schema_, row))) continue;
      if (!dead_.try_emplace(cold_keys_[n], 0).second) continue;  // told twice
      up_keys_.erase(cold_keys_[n]);
      --stats_.rows;
    }
    return Status::Ok();
  };
  // What cannot be read stays, and is an error for who needs it.
  static_cast<void>(ReadMissing(key_of, drop).ok());
}

TableStats TieredTable::Stats() const {
  TableStats stats = stats_;
  const TierStats tiers = tier_stats();
  stats.cold_rows = stats.rows - std::min(stats.rows, tiers.warm_rows);
  stats.not_admitted = tiers.not_admitted;
  stats.bytes = tiers.warm_bytes + history_bytes() + scan_order_.size() * sizeof(uint64_t);
  return stats;
}

std::array<TierUse, kTiers> TieredTable::Tiers() const {
  const TierStats tiers = tier_stats();
  return {TierUse(),
          {.exists = true,
           .rows = tiers.warm_rows,
           .bytes = tiers.warm_bytes,
           .hits = tiers.warm_hits,
           .rows_in = tiers.moved_up,
           .bytes_in = tiers.moved_up * row_bytes_},
          {.exists = true,
           .rows = Stats().cold_rows,
           .hits = tiers.cold_hits,
           .rows_in = tiers.moved_down,
           .bytes_in = tiers.moved_down * row_bytes_}};
}

TierStats TieredTable::tier_stats() const {
  TierStats stats = tier_stats_;
  stats.warm_rows = warm_.rows();
  stats.warm_bytes = bytes();
  return stats;
}

}  // namespace strata
