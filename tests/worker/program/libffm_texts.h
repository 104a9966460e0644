// Data sets in libffm's format, for tests of jobs.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "base/random.h"

namespace strata {

// Rows of libffm whose fields are named as the columns are, and whose values are 1.
inline std::string AsLibffm(const std::string& csv) {
  std::string text;
  std::istringstream rows(csv);
  for (std::string row; std::getline(rows, row);) {
    const size_t first = row.find(',');
    const size_t second = row.find(',', first + 1);
    text += fmt::format("{} 5:{}:1 3:{}:1\n", row.substr(second + 1) == "1" ? "+1" : "-1",
                        row.substr(first + 1, second - first - 1), row.substr(0, first));
  }
  return text;
}

// Rows of libffm with 0 to 4 values of each of two fields, by whose means labels go.
inline std::string BagsInLibffm(size_t rows, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    std::string values;
    double score = 0;
    for (int field = 1; field <= 2; ++field) {
      const uint64_t keys = random.Below(5);
      for (uint64_t n = 0; n < keys; ++n) {
        const uint64_t key = random.Below(12);
        values += fmt::format(" {}:k{}:1", field, key);
        score += (key % 2 == 0 ? 1.0 : -1.0) / static_cast<double>(keys);
      }
    }
    if (row == 0) values += " 1:k0:1 2:k0:1";  // so that every data set has both fields
    text += fmt::format("{}{}\n", score > 0 ? 1 : 0, values);
  }
  return text;
}

}  // namespace strata
