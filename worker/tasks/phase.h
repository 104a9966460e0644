// What the tasks of strata-worker share: how a phase is counted and shown, and evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/ctr/metrics.h"
#include "worker/ctr/scorer.h"
#include "worker/data/batch/batch.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/tasks.h"

namespace strata {

// Counts samples and time of one phase, and shows them. One thread at a time.
class Phase {
 public:
  Phase(const TaskContext& context, std::string name);

  // Samples of this rank or of all, as the caller counts; `share` of the phase is done.
  void Advance(uint64_t samples, double share, double loss, const RecentSamples* recent);
  void Show(double share, double loss, const RecentSamples* recent);

  // Of those that go on beside it; shown from then on.
  void SetEvaluation(const std::optional<ShownEvaluation>& evaluation) { evaluation_ = evaluation; }

  double seconds() const { return SecondsBetween(begin_, context_.clock.Now()); }

 private:
  ProgressState Update(double share, double loss, const RecentSamples* recent);

  const TaskContext& context_;
  std::string name_;
  TimeNs begin_;
  UpdateTimer update_;
  Pace pace_;
  uint64_t samples_ = 0;
  std::optional<ShownEvaluation> evaluation_;
};

// Goes once over the source, shown as a phase. `check` is asked for each batch; where it fails on
// any rank, the evaluation does on all of them.
Result<Metrics> EvaluateOn(const TaskContext& context, BatchSource& source, Scorer& scorer,
                           const std::function<Status()>& check);

}  // namespace strata
