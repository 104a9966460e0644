#include "worker/gbdt/catboost/train/value_numbers.h"

namespace strata {

uint32_t ValueNumbers::Of(uint64_t value) {
  size_t place = PlaceOf(value);
  if (places_[place] != kNone) return places_[place];
  if (2 * (values_.size() + 1) > places_.size()) {
    Grow();
    place = PlaceOf(value);
  }
  places_[place] = static_cast<uint32_t>(values_.size());
  values_.push_back(value);
  return places_[place];
}

// Where the value is, or would be.
size_t ValueNumbers::PlaceOf(uint64_t value) const {
  size_t at = hash_(value) & (places_.size() - 1);
  while (places_[at] != kNone && values_[places_[at]] != value)
    at = (at + 1) & (places_.size() - 1);
  return at;
}

void ValueNumbers::Grow() {
  places_.assign(2 * places_.size(), kNone);
  for (size_t i = 0; i < values_.size(); ++i) {
    places_[PlaceOf(values_[i])] = static_cast<uint32_t>(i);
  }
}

}  // namespace strata
