#include "storage/tiered/warm_rows.h"

#include <algorithm>
#include <cstring>

namespace strata {
namespace {

constexpr uint64_t kSampledPerVictim = 4;
constexpr uint64_t kIndexBytesMin = 16 << 10;
constexpr size_t kFlagBytes = sizeof(uint32_t) + sizeof(uint8_t);

}  // namespace

WarmRows::WarmRows(const RowSchema& schema, MemoryBudget* budget)
    : schema_(schema), budget_(budget), store_(std::make_unique<Store>(schema, budget, hash_)) {}

WarmRows::~WarmRows() {
  if (budget_ != nullptr) budget_->Give(flags_bytes_);
}

uint64_t WarmRows::RowsIn(const RowSchema& schema, uint64_t bytes) {
  constexpr uint64_t kIndexBytes = 24;  // of a row; RowIndex
  const uint64_t row_bytes = sizeof(Key) + schema.row_bytes() + kFlagBytes + kIndexBytes + 1;
  return std::max<uint64_t>(bytes / row_bytes, 1);
}

Status WarmRows::Reserve(uint64_t count) {
  STRATA_TRY(store_->rows.Reserve(count));
  return store_->index.Reserve(count);
}

uint64_t WarmRows::Add(Key key, uint32_t tick, uint8_t flags) {
  const uint64_t row = store_->rows.Add(key);
  store_->index.Insert(key, row);
  if (row >= flags_.size()) {
    // A little at a time: doubling would hold the old and the new array at once.
    const uint64_t size = row + row / 16 + 1024;
    flags_.reserve(size);
    ticks_.reserve(size);
    flags_.resize(size);
    ticks_.resize(size);
    const uint64_t bytes = size * kFlagBytes;
    // Part of what RowsIn counts for a row; a budget that others have used up by now overflows by
    // this little.
    if (budget_ != nullptr && budget_->Take(bytes - flags_bytes_)) flags_bytes_ = bytes;
  }
  ticks_[row] = tick;
  flags_[row] = flags;
  return row;
}

void WarmRows::Remove(uint64_t row) {
  store_->index.Erase(store_->rows.KeyOf(row));
  store_->rows.Remove(row);
}

void WarmRows::CopyTo(uint64_t row, std::byte* bytes) const {
  const RowSchema& schema = store_->rows.schema();
  memcpy(bytes, store_->rows.Elements(row), schema.counters_offset());
  memcpy(bytes + schema.counters_offset(), store_->rows.Counters(row), sizeof(RowCounters));
}

void WarmRows::CopyFrom(const std::byte* bytes, uint64_t row) {
  const RowSchema& schema = store_->rows.schema();
  memcpy(store_->rows.Elements(row), bytes, schema.counters_offset());
  memcpy(store_->rows.Counters(row), bytes + schema.counters_offset(), sizeof(RowCounters));
}

void WarmRows::Clear() {
  STRATA_CHECK(rows() == 0);
  store_.reset();  // first: the budget may have no room for both
  store_ = std::make_unique<Store>(schema_, budget_, hash_);
  ticks_ = {};
  flags_ = {};
  if (budget_ != nullptr) budget_->Give(flags_bytes_);
  flags_bytes_ = 0;
  hand_ = 0;
}

uint64_t WarmRows::bytes() const {
  return store_->rows.bytes() + store_->index.bytes() + flags_.size() * kFlagBytes;
}

uint64_t WarmRows::bytes_min() const { return store_->rows.slab_bytes() + kIndexBytesMin; }

const WarmRows::Victims& WarmRows::FindVictims(const TierPolicy& policy, uint64_t count,
                                               uint32_t tick, uint32_t age_min, uint8_t flags_out,
                                               uint64_t visits_max) {
  victims_.rows.clear();
  candidates_.clear();
  const uint64_t numbers = store_->rows.numbers();
  const uint64_t wanted = count * kSampledPerVictim;
  constexpr uint64_t kAhead = 16;
  const uint64_t visits = std::min(numbers, visits_max);
  for (uint64_t seen = 0; seen < visits && candidates_.size() < wanted; ++seen) {
    const uint64_t row = hand_ < numbers ? hand_ : 0;
    hand_ = row + 1;
    if (row + kAhead < numbers) __builtin_prefetch(store_->rows.Counters(row + kAhead));
    const uint32_t age = tick - ticks_[row];
    if (!store_->rows.IsLive(row) || age < age_min || (flags_[row] & flags_out) != 0) continue;
    const RowFacts facts{store_->rows.KeyOf(row), store_->rows.Counters(row)->frequency, age};
    candidates_.push_back({KeepScore(policy, facts), row});
  }
  const auto lower = [](const Candidate& a, const Candidate& b) { return a.score < b.score; };
  const size_t taken = std::min<size_t>(count, candidates_.size());
  if (taken == 0) return victims_;
  std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(taken - 1),
                   candidates_.end(), lower);
  victims_.score_max = candidates_[taken - 1].score;
  for (size_t i = 0; i < taken; ++i) victims_.rows.push_back(candidates_[i].row);
  return victims_;
}

}  // namespace strata
