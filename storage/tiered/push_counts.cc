#include "storage/tiered/push_counts.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"

namespace strata {

PushCounts::PushCounts(uint64_t bytes)
    : width_(std::bit_floor(std::max<uint64_t>(bytes / kRows, 16))), counters_(kRows * width_, 0) {}

PushCounts::Places PushCounts::PlacesOf(Key key) const {
  Places places;
  for (size_t r = 0; r < kRows; ++r) {
    places[r] = r * width_ + (Mix64(Mix64(key) + r) & (width_ - 1));
  }
  return places;
}

uint32_t PushCounts::Count(Key key) const {
  uint32_t count = kCountMax;
  for (const uint64_t place : PlacesOf(key)) {
    count = std::min<uint32_t>(count, counters_[place]);
  }
  return count;
}

void PushCounts::Add(Key key, uint32_t pushes) {
  const uint32_t count = std::min(kCountMax, Count(key) + std::min(pushes, kCountMax));
  for (const uint64_t place : PlacesOf(key)) {
    counters_[place] = static_cast<uint8_t>(std::max<uint32_t>(count, counters_[place]));
  }
}

}  // namespace strata
