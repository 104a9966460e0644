// Numbers of parameters, of names of classes, and of files.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace strata {

// Reads a text that is one number and nothing else. False: it is none, or does not fit.
template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace strata
