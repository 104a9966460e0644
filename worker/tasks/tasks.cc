#include "worker/tasks/tasks.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/random.h"
#include "worker/ctr/agree.h"
#include "worker/ctr/model_file.h"
#include "worker/ctr/predictions.h"
#include "worker/ctr/scorer.h"
#include "worker/data/file/bad_rows.h"
#include "worker/tasks/job_agreement.h"
#include "worker/tasks/job_data.h"
#include "worker/tasks/job_network.h"
#include "worker/tasks/job_outputs.h"
#include "worker/tasks/model_settings.h"
#include "worker/tasks/phase.h"
#include "worker/tasks/train_task.h"

namespace strata {
namespace {

// evaluate and predict: both go once over data.test with a saved model.
class ApplyTask {
 public:
  explicit ApplyTask(const TaskContext& context)
      : context_(context), job_(context.options.job), group_(context.session.group()) {}

  Result<TaskResult> Run() {
    const bool predicting = context_.options.task == Task::kPredict;
    if (job_.model_path.empty()) {
      return NoPath(job_.file, "output.model", "the folder of a saved model");
    }
    if (predicting && job_.predictions_path.empty()) {
      return NoPath(job_.file, "output.predictions", "the file to write");
    }
    STRATA_TRY(TryTest(context_.disk, job_, !predicting, group_));
    STRATA_TRY(CheckJobOutputs(context_));
    STRATA_ASSIGN(LoadedModel loaded, LoadModel(context_.disk, job_.model_path));
    STRATA_ASSIGN(const std::vector<FittedFeature> features,
                  FeaturesOf(loaded.model, job_.model_path));
    STRATA_TRY(CheckModelSettings(job_, loaded.model, job_.model_path));
    STRATA_ASSIGN(const std::unique_ptr<BatchSource> source,
                  OpenTest(context_.disk, job_, features, !predicting, group_, context_.check));
    // A table of its own, so that a training run of the same job goes on undisturbed.
    STRATA_ASSIGN(const uint64_t run, NumberOfRank0(group_, SystemRandom64()));
    const std::vector<TableSpec> tables = RestoredTables(
        loaded.model,
        fmt::format("{}.{}.{:016x}", job_.name, TaskName(context_.options.task), run));
    result_.model = loaded.model.shape.kind;
    result_.model_path = job_.model_path;
    const Status outcome = ApplyWith(loaded, *source, tables);
    if (!outcome.ok()) return GiveUp(outcome, tables);
    return std::move(result_);
  }

 private:
  // Goes over the data with the model's rows in tables that are there only meanwhile.
  Status ApplyWith(const LoadedModel& loaded, BatchSource& source,
                   std::span<const TableSpec> tables) {
    STRATA_TRY(RestoreTables(loaded, tables, context_.session.store(), group_));
    STRATA_ASSIGN(const std::unique_ptr<Network> network,
                  MakeJobNetwork(job_, GraphOf(loaded.model.shape), context_.threads));
    Scorer scorer(*network, loaded.model.dense, context_.session.store(), TableIds(tables));
    const TimeNs begin = context_.clock.Now();
    const bool predicting = context_.options.task == Task::kPredict;
    STRATA_TRY(predicting ? Predict(source, scorer) : Evaluate(source, scorer));
    result_.seconds = SecondsBetween(begin, context_.clock.Now());
    // Only rank 0 drops, once all are done.
    STRATA_TRY(AgreeOnStatus(group_, {}));
    Status dropped;
    for (const TableSpec& table : tables) {
      if (group_.rank() != 0 || !dropped.ok()) break;
      dropped = context_.session.store().DropTable(table.name);
    }
    return AgreeOnStatus(group_, dropped);
  }

  // Each rank drops the tables when it fails: the last one to do so can no longer make them anew.
  Status GiveUp(const Status& outcome, std::span<const TableSpec> tables) {
    // The others hear of the failure itself, not of a table that is gone.
    context_.session.Cancel(outcome);
    for (const TableSpec& table : tables) {
      const Status dropped = context_.session.DropLeftover(table.name);
      if (dropped.ok() || dropped.code() == StatusCode::kNotFound) continue;
      Log(LogLevel::kWarning,
          "table '{}' may be left on the servers; drop it with: strata-admin table drop {} --yes "
          "({})",
          table.name, table.name, dropped.ToString());
    }
    return outcome;
  }

  Status Evaluate(BatchSource& source, Scorer& scorer) {
    STRATA_ASSIGN(const Metrics metrics, EvaluateOn(context_, source, scorer, context_.check));
    if (metrics.samples == 0) return NoTestRows(job_);  // of standard input, which was not tried
    result_.samples = metrics.samples;
    result_.bad_rows = metrics.bad_rows;
    result_.metrics = metrics;
    return {};
  }

  Status Predict(BatchSource& source, Scorer& scorer) {
    context_.board.SetState("predicting");
    Phase phase(context_, "predict");
    std::vector<float> mine;
    BadRows bad;
    STRATA_TRY(scorer.Score(source, [&](const Batch& batch, std::span<const float> logits) {
      const size_t begin = mine.size();
      mine.insert(mine.end(), logits.begin(), logits.end());
      for (const BadRow& row : batch.bad) {
        mine[begin + row.row] = std::numeric_limits<float>::quiet_NaN();
        bad.Add(begin + row.row, row.reason);
      }
      phase.Advance(batch.samples, source.Progress(), kUnknown, nullptr);
      return context_.check();
    }));
    std::vector<uint64_t> rows(static_cast<size_t>(group_.world()));
    const auto rank = static_cast<size_t>(group_.rank());
    rows[rank] = mine.size();
    STRATA_TRY(group_.Allgather(std::span(rows)));
    const auto own = rows.begin() + static_cast<ptrdiff_t>(rank);
    bad.Log(std::accumulate(rows.begin(), own, uint64_t{0}));
    result_.samples = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
    STRATA_ASSIGN(result_.bad_rows, SumOverRanks(group_, bad.count()));
    result_.predictions_path = job_.predictions_path;
    return WritePredictions(context_.disk, job_.predictions_path, group_, mine, job_.loss);
  }

  const TaskContext& context_;
  const JobConfig& job_;
  Group& group_;
  TaskResult result_;
};

// Labels of one class are no error: a model has a logloss on them all the same.
void WarnOfMissingAuc(const Metrics& metrics) {
  const std::string why = WhyNoAuc(metrics);
  if (!why.empty()) Log(LogLevel::kWarning, "data.test: AUC cannot be computed: {}", why);
}

}  // namespace

Result<TaskResult> RunTask(const TaskContext& context) {
  const JobConfig& job = context.options.job;
  STRATA_TRY(
      AgreeOnJob(context.session.group(), context.disk, job, TaskName(context.options.task)));
  if (context.session.group().rank() == 0) {
    for (const std::string& warning : job.warnings) Log(LogLevel::kWarning, "{}", warning);
  }
  Result<TaskResult> result =
      OrOutOfMemory("the network and a batch need more than the machine gives", [&] {
        if (context.options.task == Task::kTrain) return RunTraining(context);
        return ApplyTask(context).Run();
      });
  const bool is_told = context.session.group().rank() == 0 && result.ok();
  if (is_told && result->metrics.has_value()) WarnOfMissingAuc(*result->metrics);
  return result;
}

}  // namespace strata
