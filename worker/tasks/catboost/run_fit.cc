#include "worker/tasks/catboost/run_fit.h"

#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/print.h"
#include "worker/tasks/catboost/fit_task.h"
#include "worker/tasks/trees/tree_progress_display.h"
#include "worker/tasks/trees/tree_result.h"
#include "worker/tasks/worker_process.h"

namespace strata {

Status RunFit(const WorkerOptions& options) {
  WorkerProcess process(options);
  const auto work = [&](const WorkerIdentity&) -> Status {
    process.stop().Attach([](const Status&) {});  // the task asks by itself, and waits for nobody
    process.board().SetState("training");
    TreeProgressDisplay progress(RealClock(), process.board(),
                                 {.lines = options.fit->display.shows_progress ? stderr : nullptr,
                                  .terminal = options.json && isatty(STDERR_FILENO) != 0,
                                  .has_line_each = !options.json,
                                  .objects = options.json ? stdout : nullptr});
    const TreeTaskContext context = {
        .disk = RealDisk(),
        .clock = RealClock(),
        .progress = [&](const TreeProgress& at) { progress.Advance(at); },
        .check = [&] { return process.stop().reason(); },
        .is_unread = IsStdoutUnread,
        .files = options.files};
    const Result<TreeTaskResult> result = RunFitTask(*options.fit, context);
    progress.Finish();
    STRATA_TRY(result.status());
    if (options.json) return WriteStdout(TreeResultJson(*result) + "\n");
    if (!WritesToStandardOutput(options)) return WriteStdout(TreeResultText(*result));
    PrintStderr("{}", TreeResultText(*result));
    return {};
  };
  return process.Run(
      {.job = "catboost", .task = "train", .log_level = options.log_level, .find = {}}, work);
}

}  // namespace strata
