#include "tools/admin/id_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"
#include "tools/admin/parse_whole.h"

namespace strata::admin {
namespace {

constexpr uint64_t kFileBytesMax = uint64_t{1} << 30;

}  // namespace

Result<std::vector<DocumentId>> ParseIds(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r,\n";
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
  STRATA_ASSIGN(const std::string text, ReadFile(disk, path, kFileBytesMax));
  Result<std::vector<DocumentId>> ids = ParseIds(text);
  if (!ids.ok()) return ids.status().Prefixed(path);
  return ids;
}

}  // namespace strata::admin
