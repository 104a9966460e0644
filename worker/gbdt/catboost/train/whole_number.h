// Numbers of parameters and of classes' names.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace strata {

// Reads a number that is the whole of the text. False: it is none, or does not fit.
template <typename Number>
bool ReadWholeNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace strata
