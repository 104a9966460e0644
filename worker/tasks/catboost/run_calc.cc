#include "worker/tasks/catboost/run_calc.h"

#include <string>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/print.h"
#include "worker/tasks/catboost/apply_task.h"
#include "worker/tasks/catboost/calc_task.h"
#include "worker/tasks/trees/tree_result.h"
#include "worker/tasks/worker_process.h"

namespace strata {

Status RunCalc(const WorkerOptions& options) {
  WorkerProcess process(options);
  const std::string& task = options.apply.has_value() ? options.apply->task : options.calc->task;
  const auto work = [&](const WorkerIdentity&) -> Status {
    process.stop().Attach([](const Status&) {});  // the task asks by itself, and waits for nobody
    process.board().SetState(task == "convert"    ? "converting"
                             : task == "evaluate" ? "evaluating"
                                                  : "predicting");
    const TreeTaskContext context = {.disk = RealDisk(),
                                     .clock = RealClock(),
                                     .progress = {},
                                     .check = [&] { return process.stop().reason(); },
                                     .files = options.files};
    STRATA_ASSIGN(const TreeTaskResult result, options.apply.has_value()
                                                   ? RunApplyTask(*options.apply, context)
                                                   : RunCalcTask(*options.calc, context));
    if (options.json) return WriteStdout(TreeResultJson(result) + "\n");
    if (!WritesToStandardOutput(options)) return WriteStdout(TreeResultText(result));
    PrintStderr("{}", TreeResultText(result));
    return {};
  };
  return process.Run({.job = "catboost", .task = task, .log_level = options.log_level, .find = {}},
                     work);
}

}  // namespace strata
