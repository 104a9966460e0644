#include "storage/log/segment_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace strata {
namespace {

constexpr std::string_view kPrefix = "segment-";
constexpr std::string_view kSuffix = ".log";
constexpr std::string_view kCutSuffix = ".cut";
constexpr size_t kDigits = 20;

std::string Name(Lsn first, std::string_view suffix) {
  return fmt::format("{}{:0{}}{}", kPrefix, first, kDigits, suffix);
}

// The LSN in a name that Name makes.
std::optional<Lsn> FirstLsn(std::string_view name, std::string_view suffix) {
  if (name.size() != kPrefix.size() + kDigits + suffix.size()) return std::nullopt;
  Lsn first = 0;
  const char* digits = name.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(digits, digits + kDigits, first);
  if (error != std::errc() || first == 0 || Name(first, suffix) != name) return std::nullopt;
  return first;
}

}  // namespace

std::string SegmentPath(const std::string& folder, Lsn first) {
  return folder + "/" + Name(first, kSuffix);
}

std::string SpareSegmentPath(const std::string& folder) { return folder + "/segment-next.tmp"; }

std::string SmallSegmentPath(const std::string& folder) { return folder + "/segment-small.tmp"; }

std::string CutSegmentPath(const std::string& folder, Lsn first) {
  return folder + "/" + Name(first, kCutSuffix);
}

Result<LogFolder> ListLogFolder(const LogOptions& options) {
  const auto names = options.disk->List(options.folder);
  if (names.status().code() == StatusCode::kNotFound) return LogFolder();
  STRATA_TRY(names.status());
  LogFolder folder;
  for (const std::string& name : *names) {
    const std::string path = options.folder + "/" + name;
    if (const auto first = FirstLsn(name, kSuffix)) folder.segments.push_back({*first, path});
    if (const auto first = FirstLsn(name, kCutSuffix)) folder.cut.push_back({*first, path});
  }
  std::ranges::sort(folder.segments, {}, &SegmentFile::first);
  std::ranges::sort(folder.cut, {}, &SegmentFile::first);
  return folder;
}

}  // namespace strata
