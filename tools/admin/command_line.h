// The command line of strata-admin, by CLI11, which only command_line.cc sees.
#pragma once

#include <optional>
#include <string>

#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

struct ParsedLine {
  std::optional<Request> request;  // empty: print `text` on stdout and exit 0 (--help, --version)
  std::string text;
};

// kInvalid says what is wrong with the line, and where a name is unknown, the nearest known one.
Result<ParsedLine> ParseAdminLine(int argc, const char* const* argv);

}  // namespace strata::admin
