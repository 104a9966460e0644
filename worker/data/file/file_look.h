// What a file looks like that holds no rows as its reader expects them. The texts end error
// messages: "a Parquet file: write it as CSV (pandas: frame.to_csv(FILE, index=False))".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// kInvalid when the file's first bytes are not those of a text in UTF-8: names the path, what was
// expected, the kind of file and the step that helps. OK for texts, whatever they hold.
Status CheckIsText(const File& file, const std::string& path,
                   std::string_view expected = "rows as text");
// The same of a file whose first bytes are known, at least kHeadBytes of them if it has so many.
Status CheckIsText(std::string_view head, const std::string& path,
                   std::string_view expected = "rows as text");
inline constexpr size_t kHeadBytes = 4096;

// Whether a text's line looks like JSON, XML, HTML or libffm: which, and the step that helps.
// Otherwise "".
std::string ForeignTextLook(std::string_view line);

// An error of reading the file's lines, with the path in front. Where the file begins like JSON or
// markup, which may have no lines, it says that instead.
Status WithForeignLook(const Status& status, const File& file, const std::string& path);
// The same of a file whose first bytes are known.
Status WithForeignLook(const Status& status, std::string_view head, const std::string& path);

// "" unless the text holds a byte order mark, or goes on after a carriage return, which old Macs
// ended lines with: what to do.
std::string HiddenLook(std::string_view text);

// Whether a line looks like libsvm: "label index:value ...".
bool LooksLikeLibsvm(std::string_view line);

// Whether a line looks like libffm: "label field:index:value ...".
bool LooksLikeLibffm(std::string_view line);

// The character that seems to separate the line's fields, rather than `delimiter`: it gives
// `columns` of them, or among them all of `names`, where names are given. Where `delimiter` gives
// one field, any usual separator will do that gives several. '\0': none.
char LikelyDelimiter(std::string_view line, char delimiter, size_t columns,
                     std::span<const std::string> names);

}  // namespace strata
