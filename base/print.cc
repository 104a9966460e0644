#include "base/print.h"

#include <cerrno>
#include <system_error>

namespace strata {

bool WriteOut(std::FILE* file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

Status WriteStdout(std::string_view text) {
  if (WriteOut(stdout, text)) return {};
  return Failed(fmt::format("cannot write to stdout: {}", std::generic_category().message(errno)));
}

}  // namespace strata
