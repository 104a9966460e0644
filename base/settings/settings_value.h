// Internal to base/settings*.cc: the value of one setting, how it is read from text and checked
// against its row. No TOML and no flags here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/settings/settings.h"
#include "strata/status.h"

namespace strata {

// kBool: bool. kInt, kDuration: int64_t. kFloat: double. kBytes: uint64_t. kText, kChoice: string.
using SettingValue = std::variant<bool, int64_t, double, uint64_t, std::string,
                                  std::vector<std::string>, std::vector<int64_t>>;

// The value that `text` stands for. Lists are "a,b" or, as in a file, ["a", "b"]. The error is only
// the second half of a sentence that begins with the setting's name: "must be ...; found '...'".
Result<SettingValue> ParseSettingValue(const Setting& setting, std::string_view text);

// Ok when the value is of the row's type, one of its choices and within its bounds; `found` is what
// the error says was found.
Status CheckSettingValue(const Setting& setting, const SettingValue& value, std::string_view found);

// "must be an integer from 1 to 64; found 'x'".
Status SettingMismatch(const Setting& setting, std::string_view found);

// "an integer from 1 to 64": what a value must be, for messages and docs.
std::string DescribeExpected(const Setting& setting);

// "64MiB", "500ms": the shortest exact form.
std::string FormatBytes(uint64_t bytes);
std::string FormatDuration(TimeNs duration);

// "; did you mean 'server.lanes'?", or "" when nothing is near. Candidates with the same last
// component count as near, so that a key in the wrong section is found.
std::string SuggestName(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace strata
