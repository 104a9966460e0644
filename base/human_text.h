// Numbers and bytes as people read them. Output for programs never goes through these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

std::string HumanCount(uint64_t count);    // 1,234,567
std::string HumanBytes(uint64_t bytes);    // 17 B, 4.0 KiB, 1.5 GiB
std::string HumanSeconds(double seconds);  // 0.3s, 42s, 5m07s, 3h04m, 2d05h
std::string HumanRate(double rate);        // 1,234, 12, 0.4: what is not 0 does not read as 0
// Rounds a share from 0 to 1 to a percentage. Only a share of 1 gives 100.
int WholePercent(double share);
// 1 row, 1,234 rows: for nouns with a plural in s.
std::string Counted(uint64_t count, std::string_view noun);
// Bytes that may be anything, between quotes: printable ASCII as it is, all else escaped. fmt's own
// {:?} ends the process at bytes that are no UTF-8 where libspdlog brings another copy of it.
std::string QuotedBytes(std::string_view bytes);
// What an error quotes of a file that may hold anything: control characters and bytes that are no
// UTF-8 escaped, cut behind so many bytes with "...".
std::string ShownBytes(std::string_view bytes, size_t bytes_max = 40);

}  // namespace strata
