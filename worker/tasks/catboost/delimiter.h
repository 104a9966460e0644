// The option `delimiter` of CatBoost's tasks.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/human_text.h"
#include "strata/status.h"

namespace strata {

// "\t" is a tab. kInvalid: not one character, or a double quote.
inline Result<char> ParseDelimiter(const std::string& text) {
  if (text == "\\t") return '\t';
  if (text.size() == 1 && text[0] != '"') return text[0];
  return Invalid(
      fmt::format("delimiter: expected one character, or \\t, found '{}'", ShownBytes(text)));
}

}  // namespace strata
