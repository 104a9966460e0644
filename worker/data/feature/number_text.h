// Numbers in the fields of a row.
#pragma once

#include <cfloat>
#include <charconv>
#include <cmath>
#include <string_view>

namespace strata {

// A finite decimal number that a float can hold; false of any other text.
inline bool ParseNumber(std::string_view field, double* number) {
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, *number);
  return error == std::errc() && stop == end && std::abs(*number) <= FLT_MAX;
}

}  // namespace strata
