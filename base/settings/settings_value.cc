#include "base/settings/settings_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace strata {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename T>
bool ParseNumber(std::string_view text, T* out) {
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && stop == end && !text.empty();
}

// Whether the text is a list in brackets, or the broken beginning of one. It is none where the
// first bracket closes before the end, as in the pattern "[ab]_*", unless it holds a text in
// quotes.
bool IsBracketed(std::string_view text) {
  if (text.empty() || text.front() != '[') return false;
  if (Trim(text.substr(1)).starts_with('"')) return true;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size();
  }
  return true;
}

// The items of "a,b" or ["a", "b"]; false when brackets or quotes do not match.
bool SplitList(std::string_view text, std::vector<std::string>* items) {
  text = Trim(text);
  const bool bracketed = IsBracketed(text);
  if (bracketed) {
    if (text.size() < 2 || text.back() != ']') return false;
    text = Trim(text.substr(1, text.size() - 2));
  }
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view item = Trim(text.substr(0, comma));
    if (bracketed && !item.empty() && item.front() == '"') {
      if (item.size() < 2 || item.back() != '"') return false;
      item = item.substr(1, item.size() - 2);
    }
    items->emplace_back(item);
    if (comma == std::string_view::npos) break;
    text = text.substr(comma + 1);
    if (text.empty() && !bracketed) items->emplace_back();  // "a," has two items
  }
  return true;
}

bool IsChoice(std::string_view choices, std::string_view value) {
  while (true) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    choices = choices.substr(bar + 1);
  }
}

bool InBounds(const Setting& setting, double value) {
  return value >= setting.min && value <= setting.max;
}

std::string FormatBound(SettingType type, double bound) {
  // 2^63 and above, and what no such unit has, stay plain numbers.
  const bool whole = bound >= 0 && bound < 9.2e18;
  if (whole && type == SettingType::kBytes) return FormatBytes(static_cast<uint64_t>(bound));
  if (whole && type == SettingType::kDuration) return FormatDuration(static_cast<TimeNs>(bound));
  return fmt::format("{}", bound);
}

// " from 1 to 64", " of at least 1", " of at most 64" or "".
std::string DescribeBounds(const Setting& setting) {
  const bool has_min = setting.min > -1e307;
  const bool has_max = setting.max < 1e307;
  const std::string min = FormatBound(setting.type, setting.min);
  const std::string max = FormatBound(setting.type, setting.max);
  if (has_min && has_max) return fmt::format(" from {} to {}", min, max);
  if (has_min) return fmt::format(" of at least {}", min);
  if (has_max) return fmt::format(" of at most {}", max);
  return "";
}

struct Unit {
  std::string_view name;
  uint64_t factor;
};
constexpr Unit kByteUnits[] = {
    {"", 1},
    {"B", 1},
    {"KiB", 1ULL << 10},
    {"MiB", 1ULL << 20},
    {"GiB", 1ULL << 30},
    {"TiB", 1ULL << 40},
};
constexpr Unit kDurationUnits[] = {
    {"ns", 1},      {"us", kMicrosecond},  {"ms", kMillisecond},
    {"s", kSecond}, {"min", 60 * kSecond}, {"h", 3600 * kSecond},
};

// A whole number followed by one of the units; false for anything else and beyond `max`.
bool ParseWithUnit(std::string_view text, std::span<const Unit> units, uint64_t max,
                   uint64_t* out) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  uint64_t count = 0;
  if (!ParseNumber(text.substr(0, digits), &count)) return false;
  const std::string_view name = Trim(text.substr(digits));
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (count > max / unit.factor) return false;
    *out = count * unit.factor;
    return true;
  }
  return false;
}

// The same with a fraction of a unit other than the first, rounded down: "39.9GiB".
bool ParseFraction(std::string_view text, std::span<const Unit> units, uint64_t max,
                   uint64_t* out) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr size_t kPlacesMax = 18;
  const size_t point = std::min(text.find_first_not_of(kDigits), text.size());
  if (point == text.size() || text[point] != '.') return false;
  const std::string_view behind = text.substr(point + 1);
  const std::string_view places =
      behind.substr(0, std::min(behind.find_first_not_of(kDigits), behind.size()));
  const std::string_view name = Trim(behind.substr(places.size()));
  uint64_t whole = 0;
  uint64_t fraction = 0;
  if (places.size() > kPlacesMax || !ParseNumber(text.substr(0, point), &whole) ||
      !ParseNumber(places, &fraction)) {
    return false;
  }
  uint64_t one = 1;
  for (size_t i = 0; i < places.size(); ++i) one *= 10;
  for (const Unit& unit : units) {
    if (unit.name != name || unit.factor == 1) continue;
    __extension__ using Wide = unsigned __int128;
    const auto behind_point = static_cast<uint64_t>(Wide{fraction} * unit.factor / one);
    if (whole > max / unit.factor || behind_point > max - whole * unit.factor) return false;
    *out = whole * unit.factor + behind_point;
    return true;
  }
  return false;
}

std::string FormatWithUnit(uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units[0];
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  return fmt::format("{}{}", value / best->factor, best->name);
}

Result<SettingValue> ParseIntList(const Setting& setting, std::string_view text) {
  std::vector<std::string> items;
  if (!SplitList(text, &items)) return SettingMismatch(setting, fmt::format("'{}'", text));
  std::vector<int64_t> numbers(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!ParseNumber(items[i], &numbers[i])) {
      return SettingMismatch(setting, fmt::format("'{}'", items[i]));
    }
  }
  return SettingValue(std::move(numbers));
}

// The value without a look at bounds and choices.
Result<SettingValue> ParseByType(const Setting& setting, std::string_view text) {
  const Status mismatch = SettingMismatch(setting, fmt::format("'{}'", text));
  switch (setting.type) {
    case SettingType::kBool:
      if (text == "true") return SettingValue(true);
      if (text == "false") return SettingValue(false);
      return mismatch;
    case SettingType::kInt: {
      int64_t number = 0;
      if (!ParseNumber(text, &number)) return mismatch;
      return SettingValue(number);
    }
    case SettingType::kFloat: {
      double number = 0;
      if (!ParseNumber(text, &number)) return mismatch;
      return SettingValue(number);
    }
    case SettingType::kText:
    case SettingType::kChoice:
      return SettingValue(std::string(text));
    case SettingType::kBytes: {
      Result<uint64_t> bytes = ParseBytes(text);
      if (!bytes.ok()) return mismatch;
      return SettingValue(*bytes);
    }
    case SettingType::kDuration: {
      Result<TimeNs> duration = ParseDuration(text);
      if (!duration.ok()) return mismatch;
      return SettingValue(*duration);
    }
    case SettingType::kTextList:
    case SettingType::kTextOrList: {
      std::vector<std::string> items;
      if (!SplitList(text, &items)) return mismatch;
      return SettingValue(std::move(items));
    }
    case SettingType::kIntList:
      return ParseIntList(setting, text);
  }
  return Internal("setting of an unknown type");
}

}  // namespace

Result<SettingValue> ParseSettingValue(const Setting& setting, std::string_view text) {
  STRATA_ASSIGN(SettingValue value, ParseByType(setting, text));
  STRATA_TRY(CheckSettingValue(setting, value, fmt::format("'{}'", text)));
  return value;
}

Status CheckSettingValue(const Setting& setting, const SettingValue& value,
                         std::string_view found) {
  bool good = true;
  switch (setting.type) {
    case SettingType::kBool:
    case SettingType::kText:
    case SettingType::kTextList:
    case SettingType::kTextOrList:
      break;
    case SettingType::kInt:
    case SettingType::kDuration:
      good = InBounds(setting, static_cast<double>(std::get<int64_t>(value)));
      break;
    case SettingType::kFloat: {
      const double number = std::get<double>(value);
      good = std::isfinite(number) && InBounds(setting, number);
      break;
    }
    case SettingType::kBytes:
      good = InBounds(setting, static_cast<double>(std::get<uint64_t>(value)));
      break;
    case SettingType::kChoice:
      good = IsChoice(setting.choices, std::get<std::string>(value));
      break;
    case SettingType::kIntList:
      for (int64_t number : std::get<std::vector<int64_t>>(value)) {
        good = good && InBounds(setting, static_cast<double>(number));
      }
      break;
  }
  return good ? Status::Ok() : SettingMismatch(setting, found);
}

Status SettingMismatch(const Setting& setting, std::string_view found) {
  return Invalid(fmt::format("must be {}; found {}", DescribeExpected(setting), found));
}

std::string DescribeExpected(const Setting& setting) {
  const std::string bounds = DescribeBounds(setting);
  switch (setting.type) {
    case SettingType::kBool:
      return "true or false";
    case SettingType::kInt:
      return "an integer" + bounds;
    case SettingType::kFloat:
      return "a number" + bounds;
    case SettingType::kText:
      return "a text";
    case SettingType::kChoice: {
      std::string names(setting.choices);
      for (size_t bar = names.find('|'); bar != std::string::npos; bar = names.find('|', bar)) {
        names.replace(bar, 1, ", ");
      }
      return "one of " + names;
    }
    case SettingType::kBytes:
      return "a size (such as 4096, 64MiB, 1.5GiB)" + bounds;
    case SettingType::kDuration:
      return "a duration (such as 500ms, 10s, 2min)" + bounds;
    case SettingType::kTextList:
      return "a list of texts";
    case SettingType::kTextOrList:
      return "a text or a list of texts";
    case SettingType::kIntList:
      return "a list of integers" + bounds;
  }
  return "";
}

std::string FormatBytes(uint64_t bytes) { return FormatWithUnit(bytes, kByteUnits); }

std::string FormatDuration(TimeNs duration) {
  if (duration <= 0) return fmt::format("{}s", duration / kSecond);
  return FormatWithUnit(static_cast<uint64_t>(duration), kDurationUnits);
}

Result<uint64_t> ParseBytes(std::string_view text) {
  uint64_t bytes = 0;
  if (ParseWithUnit(text, kByteUnits, UINT64_MAX, &bytes)) return bytes;
  if (ParseFraction(text, kByteUnits, UINT64_MAX, &bytes)) return bytes;
  return Invalid(
      fmt::format("expected a size: a whole number, alone or with B, KiB, MiB, GiB or TiB, or "
                  "with one of the last four and a fraction (64MiB, 1.5GiB); found '{}'",
                  text));
}

Result<TimeNs> ParseDuration(std::string_view text) {
  uint64_t duration = 0;
  if (text == "0") return TimeNs{0};
  if (ParseWithUnit(text, kDurationUnits, INT64_MAX, &duration)) {
    return static_cast<TimeNs>(duration);
  }
  return Invalid(fmt::format(
      "expected a duration: a whole number with ns, us, ms, s, min or h (500ms); found '{}'",
      text));
}

}  // namespace strata
