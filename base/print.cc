#include "base/print.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
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

bool IsStdoutUnread() {
  pollfd output = {.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

void OpenMissingStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    std::array<int, 2> ends = {};
    if (pipe(ends.data()) != 0) return;  // the two lowest numbers that are free
    const int kept = stream == STDIN_FILENO ? ends[0] : ends[1];
    if (kept != stream) dup2(kept, stream);
    for (const int end : ends) {
      if (end != stream) close(end);
    }
  }
}

}  // namespace strata
