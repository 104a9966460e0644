#include "storage/memory/row_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr uint64_t kBucketsMin = 64;  // a page
// Buckets that the sweep empties for each insertion. After a quarter as many insertions as the old
// array has buckets it is done: the old array is never used by more than 85 %, and the new one has
// room for three times as many before it must grow itself.
constexpr uint64_t kSweptPerInsert = 4;
constexpr uint64_t kSweepStretch = 64;  // buckets emptied at a time, at least

}  // namespace

RowIndex::RowIndex(const RowSlabs& rows, MemoryBudget* budget)
    : rows_(rows), hash_(rows.hash()), budget_(budget) {}

RowIndex::~RowIndex() {
  if (budget_ != nullptr) budget_->Give(bytes());
}

Status RowIndex::Reserve(uint64_t count) {
  if (count > kRowNumbersMax || count_ + count > kRowNumbersMax) {
    return Refused(
        fmt::format("{} rows and {} more: one lane holds at most {} rows of a table; run "
                    "more lanes or servers",
                    count_, count, kRowNumbersMax));
  }
  return count_ + count <= current_.keys_max() ? Status() : Grow(count);
}

Status RowIndex::Grow(uint64_t count_min) {
  // Only a batch larger than all before it comes here while a sweep is under way.
  Sweep(old_.count);
  uint64_t count = std::max(current_.count / 4 * 5, kBucketsMin);
  while (Buckets{{}, count}.keys_max() < count_ + count_min) count = count / 4 * 5;
  const uint64_t bytes = count * sizeof(Bucket);
  if (budget_ != nullptr && !budget_->Take(bytes)) {
    return Refused(fmt::format("{} bytes more for the index do not fit: {} of {} bytes are in use",
                               bytes, budget_->used(), budget_->bytes_max()));
  }
  Pages pages = Pages::Allocate(bytes);
  if (pages.data() == nullptr) {
    if (budget_ != nullptr) budget_->Give(bytes);
    return Refused(fmt::format("the machine has no {} bytes more for the index", bytes));
  }
  old_ = std::exchange(current_, {std::move(pages), count});
  swept_ = 0;
  sweep_start_ = 0;
  sweep_due_ = 0;
  if (old_.count == 0) return {};
  while (old_.data()[(sweep_start_ == 0 ? old_.count : sweep_start_) - 1].full()) ++sweep_start_;
  return {};
}

void RowIndex::Sweep(uint64_t buckets_min) {
  if (old_.count == 0) return;
  sweep_due_ = 0;
  const uint64_t goal = std::min(swept_ + buckets_min, old_.count);
  // Stops behind a bucket that is not full only, so that no run is cut.
  for (bool in_run = true; swept_ < old_.count && (swept_ < goal || in_run); ++swept_) {
    const uint64_t turned = sweep_start_ + swept_;
    Bucket& bucket = old_.data()[turned < old_.count ? turned : turned - old_.count];
    in_run = bucket.full();
    for (uint32_t slot = 0; slot < bucket.used; ++slot) {
      InsertIn(current_, bucket.hashes[slot], bucket.rows[slot]);
    }
    bucket.used = 0;  // a run that grows up to here ends here
    ++buckets_swept_;
  }
  if (swept_ < old_.count) return;
  if (budget_ != nullptr) budget_->Give(old_.count * sizeof(Bucket));
  old_ = Buckets{};
}

void RowIndex::InsertIn(Buckets& into, uint64_t hash, uint32_t row) {
  uint64_t at = into.Home(hash);
  while (into.data()[at].full()) at = into.Next(at);
  into.data()[at].Add(hash, row);
}

bool RowIndex::InsertUnswept(uint64_t hash, uint32_t row) {
  for (uint64_t at = old_.Home(hash); !Swept(at); at = old_.Next(at)) {
    if (old_.data()[at].full()) continue;
    old_.data()[at].Add(hash, row);
    return true;
  }
  return false;
}

void RowIndex::Insert(Key key, uint64_t row) {
  STRATA_CHECK(count_ < current_.keys_max() && row < kRowNumbersMax);
  ++count_;
  const uint64_t hash = hash_(key);
  const auto number = static_cast<uint32_t>(row);
  if (old_.count == 0) return InsertIn(current_, hash, number);
  if (!InsertUnswept(hash, number)) InsertIn(current_, hash, number);
  sweep_due_ += kSweptPerInsert;
  if (sweep_due_ >= kSweepStretch) Sweep(sweep_due_);
}

uint64_t RowIndex::BucketsRead(Key key) const {
  const uint64_t hash = hash_(key);
  uint64_t read = 0;
  const auto search = [&](const Buckets& in) {
    if (in.count == 0) return true;
    for (uint64_t at = in.Home(hash);; at = in.Next(at)) {
      ++read;
      if (in.data()[at].Matches(hash) != 0) return true;
      if (!in.data()[at].full()) return false;
    }
  };
  const Buckets& home = HomeBuckets(hash);
  if (!search(home) && &home != &current_) search(current_);
  return read;
}

void RowIndex::Erase(Key key) {
  const uint64_t hash = hash_(key);
  Buckets& home = &HomeBuckets(hash) == &old_ ? old_ : current_;
  const Place place = FindIn(home, hash);
  if (place.bucket != nullptr) {
    EraseIn(home, place);
  } else {
    const Place young = FindIn(current_, hash);
    STRATA_CHECK(&home == &old_ && young.bucket != nullptr);
    EraseIn(current_, young);
  }
  --count_;
}

// D. Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm R, with buckets for
// slots: a key from further on in the run moves into the gap unless its home lies behind the gap.
void RowIndex::EraseIn(Buckets& in, const Place& place) {
  bool run_goes_on = place.bucket->full();
  place.bucket->Remove(place.slot);
  uint64_t gap = place.at;
  for (uint64_t next = in.Next(gap); run_goes_on; next = in.Next(next)) {
    Bucket& bucket = in.data()[next];
    run_goes_on = bucket.full();
    for (uint32_t slot = 0; slot < bucket.used; ++slot) {
      const uint64_t home = in.Home(bucket.hashes[slot]);
      if (in.Distance(home, next) < in.Distance(gap, next)) continue;
      in.data()[gap].Add(bucket.hashes[slot], bucket.rows[slot]);
      bucket.Remove(slot);
      gap = next;
      break;
    }
  }
}

}  // namespace strata
