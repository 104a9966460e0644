#include "cluster/topology/host_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace strata {
namespace {

constexpr size_t kHostsMax = 65'536;

std::optional<uint32_t> ParseCount(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status Bad(std::string_view text, std::string_view what, std::string_view expected) {
  return Invalid(fmt::format("{} is '{}': expected {}", what, text, expected));
}

constexpr std::string_view kHostsForm = "hosts in the form node[01-04,07],login1";

// The parts between commas that are outside of brackets; nothing when brackets do not match.
std::optional<std::vector<std::string_view>> SplitOutside(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') {
      if (inside == (text[i] == '[')) return std::nullopt;
      inside = !inside;
    } else if (text[i] == ',' && !inside) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  if (inside) return std::nullopt;
  parts.push_back(text.substr(begin));
  return parts;
}

// "01-03" or "7", appended as texts; false when it is neither or there are too many.
bool AppendRange(std::string_view range, std::vector<std::string>* numbers) {
  const size_t dash = range.find('-');
  const std::string_view low_text = range.substr(0, dash);
  const auto low = ParseCount(low_text);
  const auto high = dash == std::string_view::npos ? low : ParseCount(range.substr(dash + 1));
  if (!low || !high || *high < *low || *high - *low >= kHostsMax) return false;
  const size_t width = low_text.starts_with('0') ? low_text.size() : 0;
  for (uint32_t number = *low; number <= *high; ++number) {
    numbers->push_back(fmt::format("{:0{}}", number, width));
  }
  return numbers->size() <= kHostsMax;
}

// One part, brackets and all; false when it is not of the form.
bool AppendHosts(std::string_view part, std::vector<std::string>* hosts) {
  std::vector<std::string> names = {""};
  while (!part.empty()) {
    const size_t open = std::min(part.find('['), part.size());
    for (std::string& name : names) name += part.substr(0, open);
    part.remove_prefix(open);
    if (part.empty()) break;
    const size_t close = part.find(']');
    std::vector<std::string> numbers;
    std::string_view ranges = part.substr(1, close - 1);
    part.remove_prefix(close + 1);
    for (bool more = true; more;) {
      const size_t comma = ranges.find(',');
      if (!AppendRange(ranges.substr(0, comma), &numbers)) return false;
      more = comma != std::string_view::npos;
      if (more) ranges.remove_prefix(comma + 1);
    }
    if (names.size() * numbers.size() > kHostsMax) return false;
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
  }
  if (names.front().empty()) return false;
  hosts->insert(hosts->end(), names.begin(), names.end());
  return hosts->size() <= kHostsMax;
}

}  // namespace

Result<std::vector<std::string>> ExpandHosts(std::string_view text, std::string_view what) {
  const auto parts = SplitOutside(text);
  if (!parts) return Bad(text, what, kHostsForm);
  std::vector<std::string> hosts;
  for (std::string_view part : *parts) {
    if (!AppendHosts(part, &hosts)) return Bad(text, what, kHostsForm);
  }
  return hosts;
}

Result<std::vector<int>> ExpandCounts(std::string_view text, std::string_view what) {
  std::vector<int> counts;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t times = part.find("(x");
    const auto count = ParseCount(part.substr(0, times));
    std::optional<uint32_t> repeats = 1;
    if (times != std::string_view::npos) {
      const std::string_view behind = part.substr(times + 2);
      repeats =
          behind.ends_with(')') ? ParseCount(behind.substr(0, behind.size() - 1)) : std::nullopt;
    }
    if (!count || !repeats || *count > kHostsMax || counts.size() + *repeats > kHostsMax) {
      return Bad(text, what, "numbers of tasks in the form 2(x3),1");
    }
    counts.insert(counts.end(), *repeats, static_cast<int>(*count));
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return counts;
}

}  // namespace strata
