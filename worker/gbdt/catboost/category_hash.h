// The number that CatBoost knows a category by: a hash of its text.
#pragma once

#include <cstdint>
#include <string_view>

namespace strata {

// CityHash64 in its version 1.0 (G. Pike and J. Alakuijala, Google, 2010). Later versions give
// other numbers.
uint64_t CityHash64(std::string_view bytes);

// The low half of the text's CityHash64. Any text is a category, the empty one too.
inline uint32_t CategoryHash(std::string_view text) {
  return static_cast<uint32_t>(CityHash64(text));
}

}  // namespace strata
