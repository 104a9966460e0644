#include "tools/admin/text/error_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace strata::admin {

std::string ErrorLines(const Status& status) {
  std::string lines;
  std::string_view rest = status.message();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    lines += fmt::format("strata-admin: {}: {}\n", StatusCodeName(status.code()), line);
  }
  if (status.code() == StatusCode::kDeadlineExceeded) {
    lines +=
        "strata-admin: see whether the servers named above run and what they are at (strata-admin "
        "status, and their logs); to wait longer for an answer, give --timeout\n";
  }
  return lines;
}

}  // namespace strata::admin
