// WorkerProcess: what strata-worker does around a task, whatever the model is: its place in the
// cluster, the log, HTTP, what it shows, and what signals ask.
#pragma once

#include <functional>
#include <string>

#include "base/http/http_server.h"
#include "base/log.h"
#include "strata/status.h"
#include "worker/tasks/options.h"
#include "worker/tasks/session.h"
#include "worker/tasks/status_board.h"
#include "worker/tasks/stop.h"

namespace strata {

class WorkerProcess {
 public:
  // The options outlive it. Signals must be blocked.
  explicit WorkerProcess(const WorkerOptions& options);

  struct Start {
    std::string job;
    std::string task;
    LogLevel log_level = LogLevel::kInfo;
    // This worker's place; asked when the options have a cluster.
    std::function<Result<WorkerIdentity>(const ClusterConfig&)> find;
  };
  // Starts all of it, and returns what `work` returns. Until `work` attaches to `stop`, a signal
  // ends the process: nobody relies on it yet.
  Status Run(const Start& start, const std::function<Status(const WorkerIdentity&)>& work);

  StatusBoard& board() { return board_; }
  StopRequest& stop() { return stop_; }
  // What strata-admin reaches through the link port.
  SessionHooks Hooks();

 private:
  Status StartHttp();
  void OnSignal(int signal);

  const WorkerOptions& options_;
  StatusBoard board_;
  StopRequest stop_;
  HttpServer http_;  // goes first: its thread reads the board
};

// Prints why the worker ends; returns the process's exit code.
int FailWorker(const Status& status);

}  // namespace strata
