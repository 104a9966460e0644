#include "worker/gbdt/lightgbm/train_conf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/gbdt/lightgbm/parameter_table.h"

namespace strata {
namespace {

constexpr uint64_t kConfBytesMax = 16 << 20;
constexpr const char* kCommandLine = "command line";  // an origin

}  // namespace

Result<TreeParameters> ParseLightGbmConf(std::string_view text, const std::string& file,
                                         std::span<const std::string> overrides) {
  std::vector<GivenParameter> all;
  // The command line comes first and wins; within one place a key stands once.
  const auto add = [&all](std::string_view assignment, size_t equals,
                          const std::string& origin) -> Status {
    GivenParameter one = {std::string(Trimmed(assignment.substr(0, equals))),
                          std::string(Trimmed(assignment.substr(equals + 1))), origin};
    const auto earlier = std::ranges::find_if(
        all, [&](const GivenParameter& other) { return NameOf(other.key) == NameOf(one.key); });
    if (earlier == all.end()) {
      all.push_back(std::move(one));
    } else if (earlier->origin != kCommandLine) {
      return Invalid(
          fmt::format("{}: {} is set again; it was at {}", origin, one.key, earlier->origin));
    }
    return {};
  };
  for (auto it = overrides.rbegin(); it != overrides.rend(); ++it) {  // the last one wins
    const size_t equals = it->find('=');
    if (equals == std::string::npos) {
      return Invalid(fmt::format("{}: '{}': expected key=value", kCommandLine, ShownBytes(*it)));
    }
    STRATA_TRY(add(*it, equals, kCommandLine));
  }
  uint64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    line = Trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Invalid(
          fmt::format("{}:{}: expected key = value, found '{}'", file, number, ShownBytes(line)));
    }
    STRATA_TRY(add(line, equals, fmt::format("{}:{}", file, number)));
  }
  return MakeTreeParameters(all, file);
}

Result<TreeParameters> LoadLightGbmConf(Disk& disk, const std::string& path,
                                        std::span<const std::string> overrides) {
  const Result<std::string> text = ReadTextFile(disk, path, kConfBytesMax);
  if (!text.ok()) return text.status().Prefixed("the configuration");
  return ParseLightGbmConf(*text, path, overrides);
}

}  // namespace strata
