#include "worker/tasks/status_board.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/human_text.h"
#include "base/log.h"
#include "base/resident_memory.h"
#include "base/signals.h"
#include "proto/control/control.pb.h"

namespace strata {

namespace {

constexpr TimeNs kWaitWorthALine = 2 * kSecond;
constexpr TimeNs kWaitLineEvery = 5 * kSecond;

}  // namespace

StatusBoard::StatusBoard(const Clock& clock) : clock_(clock), started_(clock.Now()) {
  for (size_t stage = 0; stage < kStages; ++stage) {
    stage_metrics_[stage] =
        &metrics_.AddGauge("strata_worker_stage_seconds",
                           "Where the time of training went: docs/training.md, \"Stages\".",
                           {{"stage", StageName(static_cast<Stage>(stage))}});
  }
}

void StatusBoard::SetIdentity(WorkerIdentity identity) {
  const MutexLock lock(mutex_);
  identity_ = std::move(identity);
}

void StatusBoard::SetHttp(const std::string& url) {
  const MutexLock lock(mutex_);
  http_ = url;
}

void StatusBoard::SetState(const std::string& state) {
  const MutexLock lock(mutex_);
  state_ = state;
}

void StatusBoard::Advance(uint64_t samples, uint64_t step, uint32_t epoch) {
  samples_metric_.Add(samples);
  const MutexLock lock(mutex_);
  if (step > step_) steps_metric_.Add(step - step_);
  step_ = step;
  epoch_ = epoch;
}

void StatusBoard::SetProgress(const ProgressState& progress, const Pace& pace) {
  loss_metric_.Set(progress.loss);
  const MutexLock lock(mutex_);
  progress_ = progress;
  pace_ = pace;
}

void StatusBoard::SetStages(const StageTimes& stages) {
  for (size_t stage = 0; stage < kStages; ++stage) {
    stage_metrics_[stage]->Set(static_cast<double>(stages.time(static_cast<Stage>(stage))) /
                               static_cast<double>(kSecond));
  }
}

void StatusBoard::SetWaits(std::vector<ServerWait> waits) {
  std::ranges::sort(waits, {}, &ServerWait::since);
  const MutexLock lock(mutex_);
  const bool waited = !waits_.empty();
  waits_ = std::move(waits);
  const TimeNs now = clock_.Now();
  if (waits_.empty()) {
    if (waited && next_wait_line_ != 0) Log(LogLevel::kInfo, "all servers serve again");
    next_wait_line_ = 0;
  } else if (now >= next_wait_line_ && now - waits_[0].since >= kWaitWorthALine) {
    next_wait_line_ = now + kWaitLineEvery;
    Log(LogLevel::kWarning, "{}", WaitText());
  }
}

std::string StatusBoard::WaitText() const {
  if (waits_.empty()) return "";
  const ServerWait& longest = waits_[0];
  const std::string others =
      waits_.size() == 1 ? "" : fmt::format(", and for {}", Counted(waits_.size() - 1, "other"));
  return fmt::format("waiting for {} for {}: {}{}", longest.name, HumanSeconds(WaitSeconds()),
                     longest.why, others);
}

double StatusBoard::WaitSeconds() const {
  if (waits_.empty()) return 0;
  return static_cast<double>(clock_.Now() - waits_[0].since) / kSecond;
}

std::string StatusBoard::WhyNotReady() const {
  const MutexLock lock(mutex_);
  return state_ == "starting" ? state_ : WaitText();
}

std::string StatusBoard::MetricsText() {
  {
    const MutexLock lock(mutex_);
    rate_metric_.Set(pace_.SamplesPerSecond(clock_.Now()));
    wait_metric_.Set(WaitSeconds());
  }
  return metrics_.PrometheusText();
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
  const MutexLock lock(mutex_);
  status.set_role("worker");
  status.set_rank(identity_.rank);
  status.set_address(identity_.address);
  status.set_state(waits_.empty() || state_ == "ending" ? state_ : "waiting");
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
  const double rate = known(pace_.SamplesPerSecond(clock_.Now()));
  worker.set_progress(ShownShare(progress_.share, rate));
  worker.set_samples_per_second(rate);
  worker.set_loss(known(progress_.loss));
  worker.set_auc(known(progress_.auc));
  worker.set_samples(progress_.samples);
  worker.set_eta_seconds(known(pace_.EtaSeconds(clock_.Now())));
  worker.set_waits_for(WaitText());
  worker.set_wait_seconds(WaitSeconds());
  worker.set_world(identity_.world);
}

}  // namespace strata
