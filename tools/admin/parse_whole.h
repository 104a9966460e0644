// Numbers on the command line.
#pragma once

#include <charconv>
#include <string_view>
#include <type_traits>

namespace strata::admin {

// Whether the whole text is a number, which *number then is; base: of whole numbers.
template <typename Number>
bool ParseWhole(std::string_view text, Number* number, int base = 10) {
  const char* end = text.data() + text.size();
  std::from_chars_result parsed{};
  if constexpr (std::is_floating_point_v<Number>) {
    parsed = std::from_chars(text.data(), end, *number);
  } else {
    parsed = std::from_chars(text.data(), end, *number, base);
  }
  return parsed.ec == std::errc() && parsed.ptr == end;
}

}  // namespace strata::admin
