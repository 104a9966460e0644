#include "worker/tasks/evaluations.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "base/log.h"
#include "worker/ctr/agree.h"
#include "worker/ctr/model_file.h"
#include "worker/ctr/scorer.h"
#include "worker/tasks/phase.h"

namespace strata {

Evaluations::Evaluations(EvaluationParts parts)
    : parts_(std::move(parts)), job_(parts_.context.options.job) {
  if (job_.early_stopping == 0) return;
  best_.emplace(BestByOf(job_.best_by).value(), job_.early_stopping);  // one of the choices
}

// Checkpoint and model are two files: either may be older than the other, or of another run.
Status Evaluations::Resume(const std::optional<EvaluationState>& state) {
  if (!best_.has_value() || !state.has_value()) return {};
  Group& group = parts_.context.session.group();
  const uint64_t best_steps = state->best.steps;
  if (!best_->Resume(*state)) {
    if (group.rank() != 0) return {};
    Log(LogLevel::kWarning,
        "train.best_by was \"{}\" and is \"{}\" now: the evaluations before, the best of which was "
        "that of step {}, count no more",
        BestByName(state->by), job_.best_by, best_steps);
    return {};
  }
  // A model of later steps was saved after the checkpoint. Training gets there again.
  const bool is_there =
      job_.model_path.empty() ||
      (group.rank() == 0 &&
       HoldsModel(parts_.context.disk, job_.model_path, job_.name, job_.seed, state->best.samples));
  STRATA_ASSIGN(const uint64_t keeps, NumberOfRank0(group, is_there ? 1 : 0));
  if (keeps != 0) {
    evaluated_steps_ = state->evaluated_steps;
    return {};
  }
  best_->Forget();
  if (group.rank() != 0) return {};
  Log(LogLevel::kWarning,
      "output.model = {} does not hold the model of the best evaluation, that of step {}, any "
      "more: the evaluations before count no more",
      job_.model_path, best_steps);
  return {};
}

Result<bool> Evaluations::BetweenSteps(uint64_t epoch) {
  const uint64_t steps = parts_.run.steps();
  if (job_.eval_every_steps > 0 && steps > 0 && steps % job_.eval_every_steps == 0) {
    STRATA_TRY(Evaluate(epoch, /*is_between_steps=*/true));
    parts_.context.board.SetState("training");
  }
  return !wants_end() && !was_asked_to_end_;
}

Result<bool> Evaluations::AfterEpoch(uint64_t epoch) {
  const bool is_last = epoch + 1 == job_.epochs;
  const bool is_due = job_.eval_every > 0 && (epoch + 1) % job_.eval_every == 0;
  if (is_last || is_due) STRATA_TRY(Evaluate(epoch, /*is_between_steps=*/false));
  return is_last || !wants_end();
}

Status Evaluations::Evaluate(uint64_t epoch, bool is_between_steps) {
  if (evaluated_steps_ == parts_.run.steps()) return {};
  const Clock& clock = parts_.context.clock;
  const TimeNs begin = clock.Now();
  STRATA_TRY(EvaluateNow(epoch, is_between_steps));
  seconds_ += SecondsBetween(begin, clock.Now());
  return {};
}

// Between two steps a task that takes checkpoints is asked to end, and can: it does not wait for
// the rest of the evaluation, which the run that goes on makes anew.
Result<std::optional<Metrics>> Evaluations::Measure(bool is_between_steps) {
  const TaskContext& context = parts_.context;
  const std::vector<float> dense = parts_.run.Dense();
  Scorer scorer(parts_.network, dense, context.session.store(), parts_.tables);
  const auto check = [&]() -> Status {
    STRATA_TRY(context.check());
    return is_between_steps ? context.asked() : Status::Ok();
  };
  Result<Metrics> metrics = EvaluateOn(context, parts_.test, scorer, check);
  if (!metrics.ok() && is_between_steps && metrics.status().code() == StatusCode::kCancelled) {
    STRATA_ASSIGN(const uint64_t asked,
                  SumOverRanks(context.session.group(), context.asked().ok() ? 0 : 1));
    if (asked > 0) return std::optional<Metrics>();
  }
  STRATA_TRY(metrics.status());
  return std::optional<Metrics>(*metrics);
}

Status Evaluations::EvaluateNow(uint64_t epoch, bool is_between_steps) {
  const TrainingRun& run = parts_.run;
  STRATA_ASSIGN(const std::optional<Metrics> metrics, Measure(is_between_steps));
  if (!metrics.has_value()) {
    was_asked_to_end_ = true;
    return {};
  }
  const std::string epochs = fmt::format("epoch {} of {}", epoch + 1, job_.epochs);
  const std::string name =
      is_between_steps ? fmt::format("step {}, {}", run.steps(), epochs) : epochs;
  return Note({.steps = run.steps(), .samples = run.samples(), .metrics = *metrics}, name);
}

Status Evaluations::Note(const ClickEvaluation& evaluation, const std::string& name) {
  newest_ = evaluation;
  evaluated_steps_ = evaluation.steps;
  bool is_best = false;
  std::string comparison;
  if (best_.has_value()) {
    STRATA_ASSIGN(is_best, best_->Add(evaluation));
    const EvaluationState& state = *best_->state();
    comparison = is_best ? "; the best so far"
                         : fmt::format("; the best is that of step {}, {} ago", state.best.steps,
                                       Counted(state.since_best, "evaluation"));
  }
  const Metrics& metrics = evaluation.metrics;
  const bool in_groups = !job_.data.group.empty();
  const bool is_mse = metrics.loss == LossKind::kMse;
  const std::string found =
      is_mse ? SquaredErrorText(metrics)
             : fmt::format("AUC {}, logloss {}, calibration {}{}", MetricText(metrics.auc, 5),
                           MetricText(metrics.logloss, 5), MetricText(metrics.calibration, 4),
                           in_groups ? ", GAUC " + MetricText(metrics.gauc, 5) : "");
  Log(LogLevel::kInfo, "{}: {}{}", name, found, comparison);
  shown_ = {.steps = evaluation.steps, .auc = metrics.auc, .logloss = metrics.logloss};
  if (is_mse) shown_->mse = metrics.mse;
  if (in_groups) shown_->gauc = metrics.gauc;
  if (best_.has_value()) shown_->best_steps = best_->state()->best.steps;
  return is_best ? parts_.save() : Status::Ok();
}

void Evaluations::Tell(bool ended_early, TaskResult* result) const {
  if (!has_best()) {
    if (newest_.has_value()) result->metrics = newest_->metrics;
    return;
  }
  const EvaluationState& state = *best_->state();
  result->metrics = state.best.metrics;
  result->early_stopping = {.ended = ended_early,
                            .best_by = BestByName(state.by),
                            .best_steps = state.best.steps,
                            .since_best = state.since_best};
}

}  // namespace strata
