#include "worker/tasks/worker_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/print.h"
#include "base/signals.h"

namespace strata {
namespace {

constexpr TimeNs kGraceMin = 10 * kSecond;

}  // namespace

WorkerProcess::WorkerProcess(const WorkerOptions& options)
    : options_(options), board_(RealClock()) {}

Status WorkerProcess::Run(const Start& start,
                          const std::function<Status(const WorkerIdentity&)>& work) {
  WorkerIdentity identity;
  if (options_.cluster.has_value()) {
    STRATA_ASSIGN(identity, start.find(*options_.cluster));
  }
  identity.job = start.job;
  identity.task = start.task;
  STRATA_TRY(
      StartLogging(start.log_level, fmt::format("worker-{}", identity.rank), options_.log_file));
  if (!options_.log_file.empty()) ReopenLogOnHangup();
  board_.SetIdentity(identity);
  STRATA_TRY(StartHttp());
  const SignalWatch watch([this](int signal) { OnSignal(signal); });
  return work(identity);
}

SessionHooks WorkerProcess::Hooks() {
  return {
      .links = {.status = [this] { return board_.Serialized(); },
                .control = [this](std::string_view request) { return board_.Control(request); }},
      .waits = [this](std::vector<ServerWait> waits) { board_.SetWaits(std::move(waits)); }};
}

Status WorkerProcess::StartHttp() {
  if (options_.http_port < 0) return {};
  http_.Handle("/metrics", [this] {
    return HttpReply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = board_.MetricsText()};
  });
  http_.Handle("/healthz", [] { return HttpReply{.body = "ok\n"}; });
  http_.Handle("/readyz", [this] {
    const std::string why = board_.WhyNotReady();
    return why.empty() ? HttpReply{.body = "ready\n"} : HttpReply{.code = 503, .body = why + "\n"};
  });
  STRATA_TRY(http_.Start(options_.http_host, static_cast<uint16_t>(options_.http_port)));
  const std::string url = fmt::format("http://{}:{}", options_.http_host, http_.port());
  board_.SetHttp(url);
  Log(LogLevel::kInfo, "{}/metrics shows what this worker does", url);
  return {};
}

void WorkerProcess::OnSignal(int signal) {
  const Status stopped =
      Cancelled(fmt::format("stopped by {}", signal == SIGINT ? "SIGINT" : "SIGTERM"));
  // While the group gathers or parts, nobody relies on this worker, and nothing can be cancelled.
  if (!stop_.attached()) std::_Exit(FailWorker(stopped));
  const TimeNs shutdown = options_.cluster ? options_.cluster->shutdown_timeout : 0;
  stop_.Stop(stopped, std::max(shutdown, kGraceMin));  // for a last checkpoint
}

int FailWorker(const Status& status) {
  FlushLog();
  PrintStderr("strata-worker: {}\n", status.ToString());
  return ExitCode(status);
}

}  // namespace strata
