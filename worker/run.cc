#include "worker/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/disk.h"
#include "base/log.h"
#include "base/signals.h"
#include "worker/options.h"
#include "worker/result.h"
#include "worker/session.h"
#include "worker/status_board.h"
#include "worker/stop.h"
#include "worker/tasks.h"

namespace strata {
namespace {

int Fail(const Status& status) {
  FlushLog();
  fmt::print(stderr, "strata-worker: {}\n", status.ToString());
  return ExitCode(status);
}

class Worker {
 public:
  explicit Worker(const WorkerOptions& options) : options_(options), board_(RealClock()) {}

  Status Run() {
    STRATA_TRY(StartLogging(options_.log_level, NodeName(), options_.log_file));
    const SignalWatch watch([this](int signal) { OnSignal(signal); });
    STRATA_ASSIGN(const std::unique_ptr<Session> session, OpenSession());
    Group& group = session->group();
    board_.SetIdentity({.job = options_.job.name,
                        .task = TaskName(options_.task),
                        .address = session->address(),
                        .rank = static_cast<uint32_t>(group.rank()),
                        .world = static_cast<uint32_t>(group.world())});
    stop_.Attach(session.get());
    const Status outcome = RunIn(*session);
    board_.SetState("ending");
    stop_.Attach(nullptr);
    session->Close(outcome);
    return outcome;
  }

 private:
  std::string NodeName() const {
    const auto& cluster = options_.cluster;
    if (!cluster.has_value() || !cluster->rank.has_value()) return "worker";
    return fmt::format("worker-{}", *cluster->rank);
  }

  void OnSignal(int signal) {
    // While the group gathers nobody relies on this worker yet.
    if (!stop_.attached()) ExitAtOnce(signal);
    stop_.Stop(Cancelled(fmt::format("stopped by {}", signal == SIGINT ? "SIGINT" : "SIGTERM")));
  }

  Result<std::unique_ptr<Session>> OpenSession() {
    if (!options_.cluster.has_value()) return MakeEmbeddedSession();
    return OpenClusterSession(*options_.cluster, options_.job.name,
                              [this] { return board_.Serialized(); });
  }

  Status RunIn(Session& session) {
    const bool shown = session.group().rank() == 0;
    ProgressPrinter printer(RealClock(), shown ? stderr : nullptr, isatty(STDERR_FILENO) != 0,
                            shown && options_.json ? stdout : nullptr);
    const Result<TaskResult> result = RunTask({.options = options_,
                                               .session = session,
                                               .disk = RealDisk(),
                                               .clock = RealClock(),
                                               .board = board_,
                                               .printer = printer,
                                               .check = [this] { return stop_.reason(); }});
    printer.Finish();
    if (const Status stopped = stop_.reason(); !result.ok() && !stopped.ok()) return stopped;
    STRATA_TRY(result.status());
    const auto tell = options_.json ? ResultJson : ResultTable;
    fmt::print("{}{}", tell(options_, *result, session.group().world(), session.servers()),
               options_.json ? "\n" : "");
    std::fflush(stdout);
    return {};
  }

  const WorkerOptions& options_;
  StatusBoard board_;
  StopRequest stop_;
};

}  // namespace

int RunWorker(int argc, char** argv) {
  const Result<std::optional<WorkerOptions>> options = ParseWorkerOptions(argc, argv, RealDisk());
  if (!options.ok()) return Fail(options.status());
  if (!options->has_value()) return 0;
  const Status status = Worker(**options).Run();
  if (!status.ok()) return Fail(status);
  FlushLog();
  return 0;
}

}  // namespace strata
