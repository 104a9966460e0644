// StatusBoard: what a worker shows of itself while it runs, to strata-admin (through its link port)
// and to Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/thread/mutex.h"
#include "ps/client/server_wait.h"
#include "worker/ctr/stage_times.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/session.h"

namespace strata {

namespace control {
class NodeStatus;
}

// Thread-safe.
class StatusBoard {
 public:
  explicit StatusBoard(const Clock& clock);

  void SetIdentity(WorkerIdentity identity);
  void SetHttp(const std::string& url);
  void SetState(const std::string& state);  // "starting", "training", "evaluating", ...
  // After a step or batch; `samples` are those of this call.
  void Advance(uint64_t samples, uint64_t step, uint32_t epoch);
  // `pace` says how fast it went on, also later, while nothing is set any more.
  void SetProgress(const ProgressState& progress, const Pace& pace);
  // Where the time of training has gone so far.
  void SetStages(const StageTimes& stages);
  // The servers that it waits for now; see RemoteStoreOptions::on_waits. A line of the log says so
  // every few seconds.
  void SetWaits(std::vector<ServerWait> waits);

  // "": ready. "starting", or for which server it waits, why, and for how long.
  std::string WhyNotReady() const;
  // A serialised control::NodeStatus.
  std::string Serialized() const;
  // Answers a serialised control::ControlRequest. A shutdown is carried out as SIGTERM would be.
  std::string Control(std::string_view request);
  // As Prometheus reads it.
  std::string MetricsText();

 private:
  const Clock& clock_;
  const TimeNs started_;
  MetricsRegistry metrics_;
  Counter& samples_metric_ = metrics_.AddCounter(
      "strata_worker_samples_total", "Samples of all workers that this task has gone over.");
  Counter& steps_metric_ = metrics_.AddCounter("strata_worker_steps_total", "Training steps.");
  Gauge& loss_metric_ = metrics_.AddGauge("strata_worker_loss", "Recent mean training loss.");
  Gauge& rate_metric_ = metrics_.AddGauge("strata_worker_samples_per_second",
                                          "Samples a second, all workers together.");
  Gauge& wait_metric_ = metrics_.AddGauge("strata_worker_wait_seconds",
                                          "Since when the worker waits for a server that does not "
                                          "serve; 0: for none.");
  std::array<Gauge*, kStages> stage_metrics_;
  void Fill(control::NodeStatus* status) const;
  // Of the wait that is the longest; "" and 0 without one.
  std::string WaitText() const STRATA_REQUIRES(mutex_);
  double WaitSeconds() const STRATA_REQUIRES(mutex_);

  mutable Mutex mutex_;
  WorkerIdentity identity_ STRATA_GUARDED_BY(mutex_);
  std::string http_ STRATA_GUARDED_BY(mutex_);
  std::string state_ STRATA_GUARDED_BY(mutex_) = "starting";
  uint64_t step_ STRATA_GUARDED_BY(mutex_) = 0;
  uint32_t epoch_ STRATA_GUARDED_BY(mutex_) = 0;
  ProgressState progress_ STRATA_GUARDED_BY(mutex_);
  Pace pace_ STRATA_GUARDED_BY(mutex_);
  std::vector<ServerWait> waits_ STRATA_GUARDED_BY(mutex_);  // the longest first
  TimeNs next_wait_line_ STRATA_GUARDED_BY(mutex_) = 0;
};

}  // namespace strata
