#include "worker/gbdt/catboost/train/value_numbers.h"

namespace strata {

uint32_t ValueNumbers::Of(uint64_t value) {
  Place* place = &PlaceOf(value);
  if (place->number != kNone) return place->number;
  if (2 * (values_.size() + 1) > places_.size()) {
    Grow();
    place = &PlaceOf(value);
  }
  *place = {.value = value, .number = static_cast<uint32_t>(values_.size())};
  values_.push_back(value);
  return place->number;
}

std::vector<uint32_t> ValueNumbers::Of(std::span<const uint64_t> values) {
  constexpr size_t kAhead = 12;  // values whose places are on their way from memory
  std::vector<uint32_t> numbers;
  numbers.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (i + kAhead < values.size()) {
      __builtin_prefetch(&places_[FirstPlace(values[i + kAhead])]);
    }
    numbers.push_back(Of(values[i]));
  }
  return numbers;
}

ValueNumbers::Place& ValueNumbers::PlaceOf(uint64_t value) {
  size_t at = FirstPlace(value);
  while (places_[at].number != kNone && places_[at].value != value) {
    at = (at + 1) & (places_.size() - 1);
  }
  return places_[at];
}

void ValueNumbers::Grow() {
  places_.assign(2 * places_.size(), Place{});
  for (size_t i = 0; i < values_.size(); ++i) {
    PlaceOf(values_[i]) = {.value = values_[i], .number = static_cast<uint32_t>(i)};
  }
}

}  // namespace strata
