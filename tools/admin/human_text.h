// Numbers as people read them. JSON output never goes through these.
#pragma once

#include <cstdint>
#include <string>

namespace strata::admin {

std::string HumanCount(uint64_t count);    // 1,234,567
std::string HumanBytes(uint64_t bytes);    // 17 B, 4.0 KiB, 1.5 GiB
std::string HumanSeconds(double seconds);  // 0.3s, 42s, 5m07s, 3h04m, 2d05h

}  // namespace strata::admin
