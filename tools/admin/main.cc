// strata-admin: shows and steers a running cluster. Answers go to stdout, errors to stderr; the
// exit code is the final status's.
#include <fmt/format.h>

#include <cstdio>

#include "tools/admin/command_line.h"
#include "tools/admin/commands.h"
#include "tools/admin/error_lines.h"
#include "tools/admin/watch.h"

namespace {

int Fail(const strata::Status& status) {
  fmt::print(stderr, "{}", strata::admin::ErrorLines(status));
  return strata::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  const strata::Result<strata::admin::ParsedLine> line = strata::admin::ParseAdminLine(argc, argv);
  if (!line.ok()) return Fail(line.status());
  if (!line->request) {
    fmt::print("{}", line->text);
    return 0;
  }
  strata::Status status;
  if (line->request->watch_interval > 0) {
    status = strata::admin::Watch(*line->request);
  } else {
    std::string answer;
    status = strata::admin::RunCommand(*line->request, &answer);
    fmt::print("{}", answer);
  }
  if (std::fflush(stdout) != 0) status = strata::Failed("cannot write to stdout");
  return status.ok() ? 0 : Fail(status);
}
