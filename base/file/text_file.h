// Text files that people and other programs write. Many editors put the UTF-8 byte order mark
// (EF BB BF) at a file's beginning; it never belongs to the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The text without a byte order mark at its beginning.
std::string_view WithoutByteOrderMark(std::string_view text);

// Whether all of the text is UTF-8: no overlong forms, no halves of UTF-16 pairs.
bool IsUtf8(std::string_view text);

// The whole file without a byte order mark. Errors are ReadFile's; kInvalid: it is UTF-16.
Result<std::string> ReadTextFile(Disk& disk, const std::string& path, uint64_t bytes_max);

// The offset in bytes at which a file's text begins: 3 after a byte order mark, else 0. For files
// that are read piece by piece.
Result<uint64_t> TextBegin(const File& file);

}  // namespace strata
