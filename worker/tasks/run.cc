#include "worker/tasks/run.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/log.h"
#include "base/print.h"
#include "strata/key_order.h"
#include "worker/tasks/catboost/run_calc.h"
#include "worker/tasks/catboost/run_fit.h"
#include "worker/tasks/job_network.h"
#include "worker/tasks/options.h"
#include "worker/tasks/print_graph.h"
#include "worker/tasks/result.h"
#include "worker/tasks/session.h"
#include "worker/tasks/tasks.h"
#include "worker/tasks/trees/run_trees.h"
#include "worker/tasks/worker_process.h"

namespace strata {
namespace {

// A task of a model of click probability.
class CtrRun {
 public:
  explicit CtrRun(const WorkerOptions& options) : options_(options), process_(options) {}

  Status Run() {
    const auto work = [this](const WorkerIdentity& identity) -> Status {
      STRATA_ASSIGN(threads_, StartStepThreads(options_.threads));
      STRATA_ASSIGN(const std::unique_ptr<Session> session, OpenSession(identity));
      process_.stop().Attach([&](const Status& why) { session->Cancel(why); });
      const Status outcome = RunIn(*session);
      process_.board().SetState("ending");
      process_.stop().Attach(nullptr);
      STRATA_TRY(session->Close(outcome));
      return told_;
    };
    return process_.Run({.job = options_.job.name,
                         .task = TaskName(options_.task),
                         .log_level = options_.log_level,
                         .find = FindWorkerIdentity},
                        work);
  }

 private:
  Result<std::unique_ptr<Session>> OpenSession(const WorkerIdentity& identity) {
    if (!options_.cluster.has_value()) return MakeEmbeddedSession(options_.job, threads_.get());
    if (options_.job.rows_on_gpu) {
      return Invalid(fmt::format(
          "{}: sparse.placement = \"gpu\" is for a job without servers: with them, rows are there",
          options_.job.file));
    }
    const bool on_cpu = options_.job.device.kind == DeviceKind::kCpu;
    // By what all ranks know alike, as they need equally many connections.
    constexpr uint32_t kSamplesOfAConnection = 4096;
    const uint32_t samples = options_.job.batch_size / identity.world;
    const uint32_t connections =
        std::bit_floor(std::clamp(samples / kSamplesOfAConnection, 1U, kKeyQuarters));
    return OpenClusterSession(*options_.cluster, identity, process_.Hooks(),
                              {.copying = StepThreads(on_cpu ? "CPU" : "GPU", options_.threads),
                               .connections = static_cast<int>(connections)});
  }

  Status RunIn(Session& session) {
    const bool shown = session.group().rank() == 0;
    ProgressPrinter printer(RealClock(), shown ? stderr : nullptr, isatty(STDERR_FILENO) != 0,
                            shown && options_.json ? stdout : nullptr);
    StopRequest& stop = process_.stop();
    const Result<TaskResult> result =
        RunTask({.options = options_,
                 .session = session,
                 .disk = RealDisk(),
                 .clock = RealClock(),
                 .board = process_.board(),
                 .printer = printer,
                 .threads = threads_.get(),
                 .check = [&] { return stop.reason(); },
                 .is_unread = [shown] { return shown && IsStdoutUnread(); },
                 .set_ends_itself = [&](bool ends) { stop.SetEndsItself(ends); },
                 .asked = [&] { return stop.asked(); },
                 .ends_now = [&] { stop.EndsNow(); }});
    printer.Finish();
    if (const Status stopped = stop.reason(); !result.ok() && !stopped.ok())
      return WithKept(stopped);
    STRATA_TRY(result.status());
    const auto tell = options_.json ? ResultJson : ResultTable;
    const std::string text = tell(options_, *result, session.group().world(), session.servers());
    if (WritesToStandardOutput(options_)) {
      PrintStderr("{}", text);
    } else {
      told_ = PrintStdout("{}{}", text, options_.json ? "\n" : "");
    }
    return {};
  }

  // Says what is left of training that was stopped before it could take a last checkpoint.
  Status WithKept(const Status& stopped) const {
    if (options_.task != Task::kTrain) return stopped;
    const bool has_checkpoints = options_.job.checkpoint.every_steps > 0;
    return Cancelled(stopped.message() +
                     (has_checkpoints ? ": the same job goes on from its newest checkpoint"
                                      : ": nothing of it is kept, as checkpoint.every_steps is 0"));
  }

  const WorkerOptions& options_;
  WorkerProcess process_;
  std::unique_ptr<WorkPool> threads_;
  Status told_;  // how stdout took the result: other workers do not fail by that
};

}  // namespace

int RunWorker(int argc, char** argv) {
  const Result<std::optional<WorkerOptions>> parsed = ParseWorkerOptions(argc, argv, RealDisk());
  if (!parsed.ok()) return FailWorker(parsed.status());
  if (!parsed->has_value()) return 0;
  const WorkerOptions& options = **parsed;
  if (options.print_graph) {
    const Status printed = PrintGraph(RealDisk(), options);
    return printed.ok() ? 0 : FailWorker(printed);
  }
  const bool applies_catboost = options.calc.has_value() || options.apply.has_value();
  const Status status = applies_catboost            ? RunCalc(options)
                        : options.fit.has_value()   ? RunFit(options)
                        : options.trees.has_value() ? RunTrees(options)
                                                    : CtrRun(options).Run();
  if (!status.ok()) return FailWorker(status);
  FlushLog();
  return 0;
}

}  // namespace strata
