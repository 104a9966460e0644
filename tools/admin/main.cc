// strata-admin: shows and steers a running cluster. Answers go to stdout, errors to stderr; the
// exit code is the final status's.
#include <cstdio>

#include "base/print.h"
#include "base/signals.h"
#include "tools/admin/command_line.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/error_lines.h"
#include "tools/admin/text/watch.h"

namespace {

int Fail(const strata::Status& status) {
  strata::PrintStderr("{}", strata::admin::ErrorLines(status));
  return strata::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  strata::OpenMissingStreams();
  strata::IgnoreWriteSignals();
  const strata::Result<strata::admin::ParsedLine> line = strata::admin::ParseAdminLine(argc, argv);
  if (!line.ok()) return Fail(line.status());
  if (!line->request) {
    const strata::Status written = strata::WriteStdout(line->text);
    return written.ok() ? 0 : Fail(written);
  }
  strata::Status status;
  if (line->request->watch_interval > 0) {
    status = strata::admin::Watch(*line->request);
  } else {
    std::string answer;
    status = strata::admin::RunCommand(*line->request, &answer);
    const strata::Status written = strata::WriteStdout(answer);
    if (!written.ok()) status = written;
  }
  return status.ok() ? 0 : Fail(status);
}
