// Evaluations: those of a training run on data.test while it goes on, and the model of the best
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "storage/table.h"
#include "strata/status.h"
#include "worker/ctr/best_evaluation.h"
#include "worker/ctr/training_run.h"
#include "worker/data/batch/batch.h"
#include "worker/model/network.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/tasks.h"

namespace strata {

// What evaluations work with; all of it outlives them.
struct EvaluationParts {
  const TaskContext& context;
  BatchSource& test;
  Network& network;
  TrainingRun& run;
  std::vector<TableId> tables;
  // Saves the model as it stands. Every rank calls it.
  std::function<Status()> save = {};
};

// Every rank calls the same functions at the same steps, and gets the same answers. One thread at a
// time.
class Evaluations {
 public:
  explicit Evaluations(EvaluationParts parts);

  // Goes on from what the resumed run remembered, if that still holds.
  Status Resume(const std::optional<EvaluationState>& state);

  // As strata::BetweenSteps is called: evaluates when train.eval_every_steps says so. False:
  // training ends, by train.early_stopping, or because it was asked to during the evaluation, which
  // is then as if it had not begun.
  Result<bool> BetweenSteps(uint64_t epoch);
  // After an epoch, counted from 0: evaluates when train.eval_every says so, and after the last.
  // False: as BetweenSteps; never after the last.
  Result<bool> AfterEpoch(uint64_t epoch);

  // What a checkpoint has to hold; null without train.early_stopping.
  const BestEvaluation* best() const { return best_.has_value() ? &*best_ : nullptr; }
  bool wants_end() const { return best_.has_value() && best_->wants_end(); }
  // With train.early_stopping the model of the best evaluation is the run's, and has been saved.
  bool has_best() const { return best_.has_value() && best_->state().has_value(); }
  // The metrics of the run's model, and which evaluation they are of.
  void Tell(bool ended_early, TaskResult* result) const;
  // For progress lines; nothing before the first evaluation.
  const std::optional<ShownEvaluation>& shown() const { return shown_; }
  double seconds() const { return seconds_; }  // that all of it took

 private:
  // Unless there was one after the same steps.
  Status Evaluate(uint64_t epoch, bool is_between_steps);
  Status EvaluateNow(uint64_t epoch, bool is_between_steps);
  // The metrics, or nothing when the task was asked to end meanwhile, on whatever rank.
  Result<std::optional<Metrics>> Measure(bool is_between_steps);
  Status Note(const ClickEvaluation& evaluation, const std::string& name);

  const EvaluationParts parts_;
  const JobConfig& job_;
  std::optional<BestEvaluation> best_;  // with train.early_stopping
  std::optional<ClickEvaluation> newest_;
  std::optional<uint64_t> evaluated_steps_;  // before the newest one, also of a resumed run
  std::optional<ShownEvaluation> shown_;
  bool was_asked_to_end_ = false;
  double seconds_ = 0;
};

}  // namespace strata
