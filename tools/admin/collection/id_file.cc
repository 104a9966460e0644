#include "tools/admin/collection/id_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file/npy_numbers.h"
#include "base/file/text_file.h"
#include "base/human_text.h"
#include "storage/itemset/set_files.h"
#include "tools/admin/text/parse_whole.h"

namespace strata::admin {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 30;

}  // namespace

Result<std::vector<DocumentId>> ParseIds(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r,\n";
  text = WithoutByteOrderMark(text);
  std::vector<DocumentId> ids;
  size_t line = 1;
  for (size_t at = 0; at < text.size();) {
    if (kBetween.find(text[at]) != std::string_view::npos) {
      if (text[at++] == '\n') ++line;
      continue;
    }
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    DocumentId id = 0;
    if (!ParseWhole(word, &id)) {
      return Invalid(
          fmt::format("line {}: expected an id, a whole number from 0 to 2^64 - 1, found '{}'",
                      line, ShownBytes(word, 20)));
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

Result<std::vector<DocumentId>> ReadIds(Disk& disk, const std::string& path) {
  if (IsNpyName(path)) {
    STRATA_ASSIGN(const auto file, NpyNumbers::Open(disk, path, 1, "save x.ravel()"));
    return file->ReadUnsigned(0, file->rows());
  }
  STRATA_ASSIGN(const std::string text, ReadFile(disk, path, kFileBytesMax));
  Result<std::vector<DocumentId>> ids = ParseIds(text);
  if (!ids.ok()) return ids.status().Prefixed(path);
  return ids;
}

Status CheckIdsOnce(std::span<const DocumentId> ids, const std::string& path) {
  std::vector<std::pair<DocumentId, size_t>> places;
  places.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) places.emplace_back(ids[i], i);
  std::ranges::sort(places);
  const auto twice = std::ranges::adjacent_find(
      places, [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == places.end()) return {};
  return Invalid(
      fmt::format("{}: expected each id once, found {} for documents {} and {}, which "
                  "count from 0: leave one of them out, or give it another id",
                  path, twice->first, twice->second, (twice + 1)->second));
}

}  // namespace strata::admin
