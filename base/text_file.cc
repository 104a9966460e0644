#include "base/text_file.h"

#include <span>

namespace strata {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

Result<std::string> ReadTextFile(Disk& disk, const std::string& path, uint64_t bytes_max) {
  STRATA_ASSIGN(std::string text, ReadFile(disk, path, bytes_max));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

Result<uint64_t> TextBegin(const File& file) {
  char head[3];
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, std::as_writable_bytes(std::span(head))));
  return uint64_t{std::string_view(head, read) == kByteOrderMark ? read : 0};
}

}  // namespace strata
