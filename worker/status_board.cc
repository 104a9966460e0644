#include "worker/status_board.h"

#include <unistd.h>

#include <cmath>

#include "base/resident_memory.h"
#include "base/signals.h"
#include "proto/control/control.pb.h"

namespace strata {

StatusBoard::StatusBoard(const Clock& clock)
    : clock_(clock),
      started_(clock.Now()),
      samples_metric_(metrics_.AddCounter("strata_worker_samples_total",
                                          "Samples of all workers that this task has gone over.")),
      steps_metric_(metrics_.AddCounter("strata_worker_steps_total", "Training steps.")),
      loss_metric_(metrics_.AddGauge("strata_worker_loss", "Recent mean training loss.")),
      rate_metric_(metrics_.AddGauge("strata_worker_samples_per_second",
                                     "Samples a second, all workers together.")) {}

void StatusBoard::SetIdentity(WorkerIdentity identity) {
  const std::lock_guard lock(mutex_);
  identity_ = std::move(identity);
}

void StatusBoard::SetHttp(const std::string& url) {
  const std::lock_guard lock(mutex_);
  http_ = url;
}

void StatusBoard::SetState(const std::string& state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}

void StatusBoard::Advance(uint64_t samples, uint64_t step, uint32_t epoch) {
  samples_metric_.Add(samples);
  const std::lock_guard lock(mutex_);
  if (step > step_) steps_metric_.Add(step - step_);
  step_ = step;
  epoch_ = epoch;
}

void StatusBoard::SetProgress(const ProgressState& progress) {
  loss_metric_.Set(progress.loss);
  rate_metric_.Set(progress.samples_per_second);
  const std::lock_guard lock(mutex_);
  progress_ = progress;
}

bool StatusBoard::ready() const {
  const std::lock_guard lock(mutex_);
  return state_ != "starting";
}

std::string StatusBoard::Serialized() const {
  control::NodeStatus status;
  Fill(&status);
  return status.SerializeAsString();
}

std::string StatusBoard::Control(std::string_view request) {
  control::ControlRequest parsed;
  if (parsed.ParseFromArray(request.data(), static_cast<int>(request.size())) &&
      parsed.has_shutdown()) {
    SetState("draining");
    RequestShutdown();
  }
  control::ControlReply reply;
  Fill(reply.mutable_status());
  return reply.SerializeAsString();
}

void StatusBoard::Fill(control::NodeStatus* to) const {
  const auto known = [](double value) { return std::isfinite(value) ? value : 0.0; };
  control::NodeStatus& status = *to;
  const std::lock_guard lock(mutex_);
  status.set_role("worker");
  status.set_rank(identity_.rank);
  status.set_address(identity_.address);
  status.set_state(state_);
  status.set_version(STRATA_VERSION);
  status.set_uptime_seconds(static_cast<double>(clock_.Now() - started_) / kSecond);
  status.set_memory_bytes(ResidentBytes());
  status.set_http(http_);
  status.set_pid(static_cast<uint32_t>(getpid()));
  control::WorkerStatus& worker = *status.mutable_worker();
  worker.set_job(identity_.job);
  worker.set_task(identity_.task);
  worker.set_step(step_);
  worker.set_epoch(epoch_);
  worker.set_progress(progress_.share);
  worker.set_samples_per_second(known(progress_.samples_per_second));
  worker.set_loss(known(progress_.loss));
  worker.set_auc(known(progress_.auc));
  worker.set_samples(progress_.samples);
  worker.set_eta_seconds(known(progress_.eta_seconds));
  worker.set_world(identity_.world);
}

}  // namespace strata
