// Numbers as people read them. JSON output never goes through these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace strata::admin {

std::string HumanCount(uint64_t count);    // 1,234,567
std::string HumanBytes(uint64_t bytes);    // 17 B, 4.0 KiB, 1.5 GiB
std::string HumanSeconds(double seconds);  // 0.3s, 42s, 5m07s, 3h04m, 2d05h
// 1 row, 1,234 rows: for nouns with a plural in s.
std::string Counted(uint64_t count, std::string_view noun);

// What stderr gets: "strata-admin: INVALID: ..." for each line of the message.
std::string ErrorLines(const Status& status);

}  // namespace strata::admin
