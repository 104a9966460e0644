#include "tools/admin/text/watch.h"

#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <string>

#include "base/print.h"
#include "base/signals.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/error_lines.h"

namespace strata::admin {
namespace {

constexpr const char* kHomeAndClear = "\x1b[H\x1b[J";

// Waits for SIGINT or SIGTERM; false when the interval passed first.
bool Interrupted(TimeNs interval) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  const timespec wait = {.tv_sec = interval / kSecond, .tv_nsec = interval % kSecond};
  return sigtimedwait(&signals, nullptr, &wait) > 0;
}

}  // namespace

Status Watch(const Request& request) {
  BlockShutdownSignals();
  const bool screen = request.output == Request::Output::kTable && isatty(STDOUT_FILENO) == 1;
  do {
    std::string answer;
    const Status status = RunCommand(request, &answer);
    if (ExitCode(status) == 2) return status;
    STRATA_TRY(PrintStdout("{}{}", screen ? kHomeAndClear : "", answer));
    if (!status.ok()) PrintStderr("{}", ErrorLines(status));
  } while (!Interrupted(request.watch_interval));
  return {};
}

}  // namespace strata::admin
