#include "worker/tasks/phase.h"

#include <utility>

namespace strata {

Phase::Phase(const TaskContext& context, std::string name)
    : context_(context),
      name_(std::move(name)),
      begin_(context.clock.Now()),
      update_(context.clock) {}

void Phase::Advance(uint64_t samples, double share, double loss, const RecentSamples* recent) {
  samples_ += samples;
  pace_.Advance(context_.clock.Now(), samples_, share);
  if (context_.printer.Due()) {
    Show(share, loss, recent);
  } else if (update_.Due()) {
    Update(share, loss, recent);
  }
}

void Phase::Show(double share, double loss, const RecentSamples* recent) {
  context_.printer.Print(name_, Update(share, loss, recent));
}

// For strata-admin and /metrics: what it costs, the AUC of the recent samples, is paid now and then
// only.
ProgressState Phase::Update(double share, double loss, const RecentSamples* recent) {
  update_.Restart();
  const ProgressState state{.share = share,
                            .samples = samples_,
                            .samples_per_second = pace_.SamplesPerSecond(),
                            .eta_seconds = pace_.EtaSeconds(),
                            .loss = loss,
                            .auc = recent == nullptr ? kUnknown : recent->Auc(),
                            .evaluation = evaluation_};
  context_.board.SetProgress(state, pace_);
  return state;
}

Result<Metrics> EvaluateOn(const TaskContext& context, BatchSource& source, Scorer& scorer,
                           const std::function<Status()>& check) {
  context.board.SetState("evaluating");
  Phase phase(context, "evaluate");
  const auto on_batch = [&](size_t samples) -> Status {
    phase.Advance(samples, source.Progress(), kUnknown, nullptr);
    return check();
  };
  return scorer.Evaluate(source, context.session.group(), on_batch,
                         !context.options.job.data.group.empty());
}

}  // namespace strata
