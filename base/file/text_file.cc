#include "base/file/text_file.h"

#include <span>

namespace strata {
namespace {

// By its mark, or, without one, as one of the first two bytes is 0, which no text has.
bool LooksLikeUtf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
         text.substr(0, 2).find('\0') != std::string_view::npos;
}

// Bytes of the character at the front; 0: it is no UTF-8.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || length > text.size()) return 0;
  // After four of the first bytes the second one has narrower bounds.
  const unsigned min = byte(0) == 0xe0 ? 0xa0 : byte(0) == 0xf0 ? 0x90 : 0x80;
  const unsigned max = byte(0) == 0xed ? 0x9f : byte(0) == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < min || byte(1) > max) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

Result<std::string> ReadTextFile(Disk& disk, const std::string& path, uint64_t bytes_max) {
  STRATA_ASSIGN(std::string text, ReadFile(disk, path, bytes_max));
  if (LooksLikeUtf16(text)) {
    return Invalid(
        path +
        ": expected text in UTF-8, found UTF-16: convert it (iconv -f UTF-16 -t UTF-8 FILE)");
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

Result<uint64_t> TextBegin(const File& file) {
  char head[3];
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, std::as_writable_bytes(std::span(head))));
  return uint64_t{std::string_view(head, read) == kByteOrderMark ? read : 0};
}

}  // namespace strata
