#include "storage/memory/row_slabs.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace strata {
namespace {

// Large enough that the list of slabs stays small, small enough that a small table does too.
constexpr size_t kSlabBytes = size_t{256} << 10;
constexpr size_t kRowsPerSlabMin = 64;  // a word of live bits

int SlabShift(size_t stride) {
  return static_cast<int>(std::bit_width(std::max(kSlabBytes / stride, kRowsPerSlabMin))) - 1;
}

}  // namespace

RowSlabs::RowSlabs(RowSchema schema, MemoryBudget* budget)
    : schema_(schema),
      stride_(sizeof(Key) + schema.row_bytes()),
      slab_shift_(SlabShift(stride_)),
      slab_mask_((uint64_t{1} << slab_shift_) - 1),
      slab_bytes_((slab_mask_ + 1) * stride_ + (slab_mask_ + 1) / 8),
      budget_(budget) {}

RowSlabs::~RowSlabs() {
  if (budget_ != nullptr) budget_->Give(bytes_);
}

Status RowSlabs::AddSlab() {
  if (budget_ != nullptr && !budget_->Take(slab_bytes_)) {
    return Refused(fmt::format("{} bytes more for rows do not fit: {} of {} bytes are in use",
                               slab_bytes_, budget_->used(), budget_->bytes_max()));
  }
  auto* memory = new (std::nothrow) std::byte[(slab_mask_ + 1) * stride_];
  if (memory == nullptr) {
    if (budget_ != nullptr) budget_->Give(slab_bytes_);
    return Refused(fmt::format("the machine has no {} bytes more for rows", slab_bytes_));
  }
  slabs_.emplace_back(memory);
  live_.resize(live_.size() + (slab_mask_ + 1) / 64, 0);
  bytes_ += slab_bytes_;
  return {};
}

Status RowSlabs::Reserve(uint64_t count) {
  const uint64_t free = numbers_ - rows_;
  while (free + (slabs_.size() << slab_shift_) - numbers_ < count) STRATA_TRY(AddSlab());
  return {};
}

uint64_t RowSlabs::Add(Key key) {
  uint64_t row = free_;
  if (row != kNoRow) {
    free_ = KeyOf(row);
  } else {
    row = numbers_++;
    STRATA_CHECK(row >> slab_shift_ < slabs_.size());
  }
  memcpy(Place(row), &key, sizeof key);
  live_[row / 64] |= uint64_t{1} << (row % 64);
  ++rows_;
  return row;
}

void RowSlabs::Remove(uint64_t row) {
  STRATA_CHECK(IsLive(row));
  live_[row / 64] &= ~(uint64_t{1} << (row % 64));
  memcpy(Place(row), &free_, sizeof free_);
  free_ = row;
  --rows_;
}

}  // namespace strata
