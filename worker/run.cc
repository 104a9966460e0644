#include "worker/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/http/http_server.h"
#include "base/log.h"
#include "base/print.h"
#include "base/signals.h"
#include "worker/options.h"
#include "worker/result.h"
#include "worker/run_trees.h"
#include "worker/session.h"
#include "worker/status_board.h"
#include "worker/stop.h"
#include "worker/tasks.h"

namespace strata {
namespace {

constexpr TimeNs kGraceMin = 10 * kSecond;

class Worker {
 public:
  explicit Worker(const WorkerOptions& options) : options_(options), board_(RealClock()) {}

  Status Run() {
    WorkerIdentity identity;
    if (options_.cluster.has_value()) {
      STRATA_ASSIGN(identity, FindWorkerIdentity(*options_.cluster));
    }
    identity.job = options_.job.name;
    identity.task = TaskName(options_.task);
    STRATA_TRY(StartLogging(options_.log_level, fmt::format("worker-{}", identity.rank),
                            options_.log_file));
    if (!options_.log_file.empty()) ReopenLogOnHangup();
    board_.SetIdentity(identity);
    STRATA_TRY(StartHttp());
    const SignalWatch watch([this](int signal) { OnSignal(signal); });
    STRATA_ASSIGN(const std::unique_ptr<Session> session, OpenSession(identity));
    stop_.Attach(session.get());
    const Status outcome = RunIn(*session);
    board_.SetState("ending");
    stop_.Attach(nullptr);
    STRATA_TRY(session->Close(outcome));
    return told_;
  }

 private:
  Status StartHttp() {
    if (options_.http_port < 0) return {};
    http_.Handle("/metrics", [this] {
      return HttpReply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                       .body = board_.MetricsText()};
    });
    http_.Handle("/healthz", [] { return HttpReply{.body = "ok\n"}; });
    http_.Handle("/readyz", [this] {
      const std::string why = board_.WhyNotReady();
      return why.empty() ? HttpReply{.body = "ready\n"}
                         : HttpReply{.code = 503, .body = why + "\n"};
    });
    STRATA_TRY(http_.Start(options_.http_host, static_cast<uint16_t>(options_.http_port)));
    const std::string url = fmt::format("http://{}:{}", options_.http_host, http_.port());
    board_.SetHttp(url);
    Log(LogLevel::kInfo, "{}/metrics shows what this worker does", url);
    return {};
  }

  void OnSignal(int signal) {
    const Status stopped =
        Cancelled(fmt::format("stopped by {}", signal == SIGINT ? "SIGINT" : "SIGTERM"));
    if (stop_.attached()) return stop_.Stop(stopped, Grace());
    // While the group gathers or parts, nobody relies on this worker, and nothing can be cancelled.
    std::_Exit(FailWorker(stopped));
  }

  // For a last checkpoint.
  TimeNs Grace() const {
    const TimeNs shutdown = options_.cluster ? options_.cluster->shutdown_timeout : 0;
    return std::max(shutdown, kGraceMin);
  }

  Result<std::unique_ptr<Session>> OpenSession(const WorkerIdentity& identity) {
    if (!options_.cluster.has_value()) return MakeEmbeddedSession();
    return OpenClusterSession(
        *options_.cluster, identity,
        {.status = [this] { return board_.Serialized(); },
         .control = [this](std::string_view request) { return board_.Control(request); },
         .waits = [this](std::vector<ServerWait> waits) { board_.SetWaits(std::move(waits)); }});
  }

  Status RunIn(Session& session) {
    const bool shown = session.group().rank() == 0;
    ProgressPrinter printer(RealClock(), shown ? stderr : nullptr, isatty(STDERR_FILENO) != 0,
                            shown && options_.json ? stdout : nullptr);
    const Result<TaskResult> result =
        RunTask({.options = options_,
                 .session = session,
                 .disk = RealDisk(),
                 .clock = RealClock(),
                 .board = board_,
                 .printer = printer,
                 .check = [this] { return stop_.reason(); },
                 .is_unread = [shown] { return shown && IsStdoutUnread(); },
                 .set_ends_itself = [this](bool ends) { stop_.SetEndsItself(ends); },
                 .asked = [this] { return stop_.asked(); },
                 .ends_now = [this] { stop_.EndsNow(); }});
    printer.Finish();
    if (const Status stopped = stop_.reason(); !result.ok() && !stopped.ok()) return stopped;
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

  const WorkerOptions& options_;
  StatusBoard board_;
  StopRequest stop_;
  Status told_;      // how stdout took the result: other workers do not fail by that
  HttpServer http_;  // goes first: its thread reads the board
};

}  // namespace

int RunWorker(int argc, char** argv) {
  const Result<std::optional<WorkerOptions>> options = ParseWorkerOptions(argc, argv, RealDisk());
  if (!options.ok()) return FailWorker(options.status());
  if (!options->has_value()) return 0;
  if ((*options)->trees.has_value()) return RunTrees(**options);
  const Status status = Worker(**options).Run();
  if (!status.ok()) return FailWorker(status);
  FlushLog();
  return 0;
}

}  // namespace strata
