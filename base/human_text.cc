#include "base/human_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

// Bytes of the UTF-8 character at the front; 0: it is none, or one that terminals obey or do not
// show.
size_t PrintableLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return 0;
  return text.starts_with("\xef\xbb\xbf") ? 0 : length;  // a byte order mark shows nothing
}

}  // namespace

std::string HumanCount(uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would print as "1024.0" of the smaller unit.
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string HumanRate(double rate) {
  if (rate >= 10 || rate <= 0) return HumanCount(static_cast<uint64_t>(std::max(0.0, rate)));
  return fmt::format("{:.2g}", rate);
}

int WholePercent(double share) {
  const int rounded = static_cast<int>(std::lround(100 * share));
  return share < 1 ? std::min(rounded, 99) : rounded;
}

std::string Counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", HumanCount(count), noun, count == 1 ? "" : "s");
}

std::string QuotedBytes(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') {
      text += fmt::format("\\{}", c);
    } else if (c >= ' ' && c <= '~') {
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text + "\"";
}

std::string ShownBytes(std::string_view bytes, size_t bytes_max) {
  const bool whole = bytes.size() <= bytes_max;
  std::string_view rest = bytes.substr(0, bytes_max);
  std::string text;
  while (!rest.empty()) {
    const size_t length = PrintableLength(rest);
    if (length > 0) {
      text += rest.substr(0, length);
    } else if (rest[0] == '\t') {
      text += "\\t";
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(rest[0]));
    }
    rest.remove_prefix(std::max<size_t>(1, length));
  }
  return whole ? text : text + "...";
}

}  // namespace strata
