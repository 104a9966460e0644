// One line of CSV into fields, as RFC 4180 has them: fields may stand in double quotes, where the
// delimiter is text and "" is one quote. A quote inside an unquoted field is text. A quoted field
// that does not end on its line is an error: rows never go on over line ends, so that a file can be
// cut anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strata {

// The fields of a line, reused from line to line. They point into the line, or into `unquoted`.
struct CsvFields {
  std::vector<std::string_view> fields;
  std::string unquoted;  // what quoted fields with "" in them hold
};

// Splits a line; returns nullptr, or why it is no CSV line. `trim`: spaces and tabs around a field
// (before and behind the quotes of a quoted one) do not belong to it, unless they are the
// delimiter.
const char* SplitCsvLine(std::string_view line, char delimiter, bool trim, CsvFields* out);

}  // namespace strata
