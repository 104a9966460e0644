// ValueNumbers: the different values among many, numbered in the order in which they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/seeded_hash.h"

namespace strata {

// One thread at a time. Places are probed one after the other, in an order that depends on a
// secret, so that no file can make it slow.
class ValueNumbers {
 public:
  ValueNumbers() : places_(kPlacesMin) {}

  // The number of the value: a new one, from 0 on, where it has not come yet. Fewer than 2^32 - 1.
  uint32_t Of(uint64_t value);
  // The numbers of the values, in their order.
  std::vector<uint32_t> Of(std::span<const uint64_t> values);

  // By number.
  std::span<const uint64_t> values() const { return values_; }
  size_t size() const { return values_.size(); }

 private:
  static constexpr size_t kPlacesMin = 16;
  static constexpr uint32_t kNone = ~0U;

  // Memory waits are long where there are many values, so that a place holds its value, too.
  struct Place {
    uint64_t value = 0;
    uint32_t number = kNone;
  };

  // Where the value is, or would be.
  Place& PlaceOf(uint64_t value);
  size_t FirstPlace(uint64_t value) const { return hash_(value) & (places_.size() - 1); }
  void Grow();

  SeededHash hash_;
  std::vector<uint64_t> values_;
  std::vector<Place> places_;  // a power of two of them
};

}  // namespace strata
