#include "storage/memory/row_slabs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace strata {
namespace {

// Large enough that the list of slabs stays small, small enough that a small table does too.
constexpr size_t kSlabBytes = size_t{256} << 10;
constexpr size_t kRowsPerSlabMin = 64;  // a word of live bits
// A table of so many slabs takes them by the block, which is large enough for huge pages. Memory
// counts slab by slab: what of a block is not yet touched is only address space.
constexpr size_t kSlabsAlone = 16;
constexpr size_t kBlockBytes = size_t{32} << 20;
// A region has about so many, of which one is not full.
constexpr uint64_t kSlabsPerRegion = 32;

int SlabShift(size_t row_bytes) {
  return static_cast<int>(std::bit_width(std::max(kSlabBytes / row_bytes, kRowsPerSlabMin))) - 1;
}

// The next push_back allocates nothing.
template <typename T>
void MakeRoomForOne(std::vector<T>& values) {
  if (values.size() == values.capacity()) values.reserve(2 * values.size() + 1);
}

}  // namespace

RowSlabs::RowSlabs(RowSchema schema, MemoryBudget* budget, RowOrder order, SeededHash hash)
    : schema_(schema),
      order_(order),
      hash_(hash),
      elements_bytes_(schema.counters_offset()),
      slab_shift_(SlabShift(schema.row_bytes() + sizeof(Key))),
      slab_mask_((uint64_t{1} << slab_shift_) - 1),
      counters_at_((slab_mask_ + 1) * elements_bytes_),
      keys_at_(counters_at_ + (slab_mask_ + 1) * sizeof(RowCounters)),
      slab_memory_(keys_at_ + (slab_mask_ + 1) * sizeof(Key)),
      slab_bytes_(slab_memory_ + (slab_mask_ + 1) / 8),
      budget_(budget) {}

RowSlabs::~RowSlabs() {
  if (budget_ != nullptr) budget_->Give(bytes_);
}

Status RowSlabs::AddSlab() {
  if ((slabs_.size() + 1) << slab_shift_ > kRowNumbersMax) {
    return Refused(
        fmt::format("{} rows and a slab more: one lane holds at most {} rows of a table; run more "
                    "lanes or servers",
                    rows_, slabs_.size() << slab_shift_));
  }
  // What may run out of memory comes first: then nothing has been begun.
  live_.resize((slabs_.size() + 1) * (slab_mask_ + 1) / 64, 0);
  MakeRoomForOne(slabs_);
  MakeRoomForOne(blocks_);
  if (budget_ != nullptr && !budget_->Take(slab_bytes_)) {
    return Refused(fmt::format("{} bytes more for rows do not fit: {} of {} bytes are in use",
                               slab_bytes_, budget_->used(), budget_->bytes_max()));
  }
  if (slabs_left_ == 0) {
    const uint64_t count = slabs_.size() < kSlabsAlone ? 1 : kBlockBytes / slab_memory_ + 1;
    Pages block = Pages::Allocate(count * slab_memory_);
    if (block.data() == nullptr) {
      if (budget_ != nullptr) budget_->Give(slab_bytes_);
      return Refused(fmt::format("the machine has no {} bytes more for rows", slab_bytes_));
    }
    next_slab_ = block.data();
    slabs_left_ = count;
    blocks_.push_back(std::move(block));
  }
  slabs_.push_back(next_slab_);
  next_slab_ += slab_memory_;
  --slabs_left_;
  bytes_ += slab_bytes_;
  return {};
}

Status RowSlabs::Reserve(uint64_t count) {
  const auto room = [&] { return (slabs_.size() << slab_shift_) - rows_; };
  while (room() < count) STRATA_TRY(AddSlab());
  if (order_ == RowOrder::kAsTheyCome) return {};
  // So many regions more will be full then.
  const uint64_t spare = 1 + (count >> slab_shift_);
  while (slabs_.size() - slabs_begun_ < spare && AddSlab().ok()) {
  }
  return {};
}

RowSlabs::Region& RowSlabs::RegionOf(Key key) {
  if (regions_.size() == 1) return regions_[0];
  return regions_[hash_(key) >> (65 - std::bit_width(regions_.size()))];
}

void RowSlabs::BeginSlab(Region& region) {
  region.next = slabs_begun_ << slab_shift_;
  region.end = region.next + slab_mask_ + 1;
  ++slabs_begun_;
}

RowSlabs::Region& RowSlabs::RegionWithRoom(Key key) {
  Region& own = RegionOf(key);
  if (own.HasRoom()) return own;
  if (slabs_begun_ < slabs_.size()) {
    BeginSlab(own);
    return own;
  }
  for (size_t asked = 0; asked < regions_.size(); ++asked) {
    lender_ = (lender_ + 1) % regions_.size();
    if (regions_[lender_].HasRoom()) return regions_[lender_];
  }
  STRATA_CHECK_MSG(false, "a row that Reserve has not made room for");
  return own;
}

// Of the two halves of a region the first keeps its room.
void RowSlabs::SplitRegions() {
  std::vector<Region> halves(2 * regions_.size());
  for (size_t r = 0; r < regions_.size(); ++r) halves[2 * r] = regions_[r];
  regions_ = std::move(halves);
}

uint64_t RowSlabs::Add(Key key) {
  if (order_ == RowOrder::kByHome && slabs_begun_ >= 2 * regions_.size() * kSlabsPerRegion) {
    SplitRegions();
  }
  Region& region = RegionWithRoom(key);
  uint64_t row = region.free;
  if (row != kNoRow) {
    region.free = KeyOf(row);
  } else {
    row = region.next++;
    numbers_ = std::max(numbers_, row + 1);
  }
  memcpy(KeyPlace(row), &key, sizeof key);
  live_[row / 64] |= uint64_t{1} << (row % 64);
  ++rows_;
  return row;
}

void RowSlabs::Write(std::span<const uint64_t> rows, std::span<const float> stored,
                     std::span<const RowCounters> counters, WorkPool& pool) {
  constexpr size_t kAhead = 16;
  const size_t words = schema_.stored_words();
  pool.RunPieces(rows.size(), kRowPiece, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) PrefetchToWrite(rows[i + kAhead]);
      std::copy_n(stored.data() + i * words, words, Elements(rows[i]));
      *Counters(rows[i]) = counters[i];
    }
  });
}

void RowSlabs::Remove(uint64_t row) {
  STRATA_CHECK(IsLive(row));
  live_[row / 64] &= ~(uint64_t{1} << (row % 64));
  Region& region = RegionOf(KeyOf(row));
  memcpy(KeyPlace(row), &region.free, sizeof region.free);
  region.free = row;
  --rows_;
}

}  // namespace strata
