#include "worker/tasks/trees/run_trees.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/log.h"
#include "base/print.h"
#include "worker/tasks/status_board.h"
#include "worker/tasks/trees/tree_progress_display.h"
#include "worker/tasks/trees/tree_ranks.h"
#include "worker/tasks/trees/tree_result.h"
#include "worker/tasks/trees/tree_task.h"
#include "worker/tasks/worker_process.h"

namespace strata {
namespace {

// LightGBM's verbosity bounds what is logged, as --log_level does.
LogLevel LogLevelOf(const WorkerOptions& options) {
  const int64_t verbosity = options.trees->task.verbosity;
  if (verbosity > 0) return options.log_level;
  return std::max(options.log_level, verbosity == 0 ? LogLevel::kWarning : LogLevel::kError);
}

// As the tasks of click models say it.
std::string StateOf(const std::string& task) {
  if (task == "train") return "training";
  if (task == "refit") return "refitting";
  if (task == "evaluate") return "evaluating";
  if (task == "predict") return "predicting";
  if (task == "convert") return "converting";
  return task;
}

class TreeRun {
 public:
  explicit TreeRun(const WorkerOptions& options)
      : options_(options), parameters_(*options.trees), process_(options) {}

  Status Run() {
    return process_.Run(
        {.job = "trees",
         .task = parameters_.task.name,
         .log_level = LogLevelOf(options_),
         .find = FindIdentity},
        [this](const WorkerIdentity& identity) -> Status {
          for (const std::string& warning : parameters_.warnings) {
            Log(LogLevel::kWarning, "{}", warning);
          }
          STRATA_TRY(options_.cluster.has_value() ? WorkInCluster(identity) : WorkAlone());
          return told_;
        });
  }

 private:
  // It asks by itself whether it is to stop, and waits for nobody.
  Status WorkAlone() {
    process_.stop().Attach([](const Status&) {});
    return Work(nullptr);
  }

  Status WorkInCluster(const WorkerIdentity& identity) {
    STRATA_ASSIGN(
        const std::unique_ptr<LinkedGroup> ranks,
        JoinTreeRanks(*options_.cluster, parameters_.machine, identity, process_.Hooks()));
    process_.stop().Attach([&](const Status& why) { ranks->Cancel(why); });
    const Status outcome = Work(ranks->alone() ? nullptr : &ranks->group());
    process_.board().SetState("ending");
    process_.stop().Attach([](const Status&) {});  // parting: what was to be written is
    const Status closed = ranks->Close(outcome);
    process_.stop().Attach(nullptr);
    return closed;
  }

  Status Work(Group* group) {
    process_.board().SetState(StateOf(parameters_.task.name));
    const bool shown = group == nullptr || group->rank() == 0;
    TreeProgressDisplay progress(
        RealClock(), process_.board(),
        {.lines = shown && parameters_.task.verbosity > 0 ? stderr : nullptr,
         .terminal = isatty(STDERR_FILENO) != 0,
         .objects = shown && options_.json ? stdout : nullptr});
    const TreeTaskContext context = {
        .disk = RealDisk(),
        .clock = RealClock(),
        .progress = [&progress](const TreeProgress& at) { progress.Advance(at); },
        .check = [this] { return process_.stop().reason(); },
        .is_unread = IsStdoutUnread,
        .group = group,
        .files = options_.files};
    const Result<TreeTaskResult> result = RunTreeTask(parameters_, context);
    progress.Finish();
    const Status stopped = process_.stop().reason();
    if (!result.ok() && !stopped.ok() && result.status().code() != stopped.code()) return stopped;
    STRATA_TRY(result.status());
    told_ = Tell(*result);
    return {};
  }

  // With verbosity below 1 people get no table, unless it is what the task is for.
  Status Tell(const TreeTaskResult& result) const {
    if (options_.json) return WriteStdout(TreeResultJson(result) + "\n");
    if (parameters_.task.verbosity < 1 && result.task != "evaluate") return {};
    if (!WritesToStandardOutput(options_)) return WriteStdout(TreeResultText(result));
    PrintStderr("{}", TreeResultText(result));
    return {};
  }

  const WorkerOptions& options_;
  const TreeParameters& parameters_;
  WorkerProcess process_;
  Status told_;  // how stdout took the result: other workers do not fail by that
};

}  // namespace

Status RunTrees(const WorkerOptions& options) { return TreeRun(options).Run(); }

}  // namespace strata
