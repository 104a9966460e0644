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

// Whether the whole text is a decimal number, of any size.
inline bool IsDecimal(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ptr == end &&
         (parsed.ec == std::errc() || parsed.ec == std::errc::result_out_of_range);
}

}  // namespace strata::admin
