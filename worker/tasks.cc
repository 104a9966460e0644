#include "worker/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "worker/ctr/agree.h"
#include "worker/ctr/job_agreement.h"
#include "worker/ctr/job_data.h"
#include "worker/ctr/model_file.h"
#include "worker/ctr/predictions.h"
#include "worker/ctr/scorer.h"
#include "worker/ctr/trainer.h"

namespace strata {
namespace {

constexpr TimeNs kUpdateEvery = 200 * kMillisecond;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double SecondsBetween(TimeNs begin, TimeNs end) {
  return static_cast<double>(end - begin) / static_cast<double>(kSecond);
}

// Counts samples and time of one phase, and shows them.
class Phase {
 public:
  Phase(const TaskContext& context, std::string name)
      : context_(context), name_(std::move(name)), begin_(context.clock.Now()) {}

  // Samples of this rank or of all, as the caller counts; `share` of the phase is done.
  void Advance(uint64_t samples, double share, double loss, const RecentSamples* recent) {
    samples_ += samples;
    pace_.Advance(context_.clock.Now(), samples_, share);
    if (context_.printer.Due()) {
      Show(share, loss, recent);
    } else if (context_.clock.Now() >= next_update_) {
      Update(share, loss, recent);
    }
  }

  void Show(double share, double loss, const RecentSamples* recent) {
    context_.printer.Print(name_, Update(share, loss, recent));
  }

  uint64_t samples() const { return samples_; }
  double seconds() const { return SecondsBetween(begin_, context_.clock.Now()); }

 private:
  // For strata-admin and /metrics: what it costs, the AUC of the recent samples, is paid now and
  // then only.
  ProgressState Update(double share, double loss, const RecentSamples* recent) {
    next_update_ = context_.clock.Now() + kUpdateEvery;
    const ProgressState state{.share = share,
                              .samples = samples_,
                              .samples_per_second = pace_.SamplesPerSecond(),
                              .eta_seconds = pace_.EtaSeconds(),
                              .loss = loss,
                              .auc = recent == nullptr ? kUnknown : recent->Auc()};
    context_.board.SetProgress(state);
    return state;
  }

  const TaskContext& context_;
  std::string name_;
  TimeNs begin_;
  TimeNs next_update_ = 0;
  Pace pace_;
  uint64_t samples_ = 0;
};

Status MakeNewTable(TableStore& store, const TableSpec& spec) {
  STRATA_ASSIGN(const std::vector<TableSpec> tables, store.ListTables());
  const bool exists =
      std::ranges::any_of(tables, [&](const TableSpec& table) { return table.name == spec.name; });
  if (!exists) return store.CreateTable(spec);
  return AlreadyExists(
      fmt::format("table '{}' exists on the servers, from an earlier run or from a job that still "
                  "runs; drop it with: strata-admin table drop {} --yes, or give this job another "
                  "job.name",
                  spec.name, spec.name));
}

// Rank 0 makes the job's table, which must be new; all others then find it.
Status MakeTable(Session& session, const TableSpec& spec) {
  const bool first = session.group().rank() == 0;
  const Status made = first ? MakeNewTable(session.store(), spec) : Status::Ok();
  STRATA_TRY(AgreeOnStatus(session.group(), made));
  return first ? Status::Ok() : session.store().CreateTable(spec);
}

TableSpec JobTable(const JobConfig& job, const ModelShape& shape) {
  TableSpec spec{.name = job.name + ".embedding",
                 .dim = shape.row_dim(),
                 .optimizer = job.sparse_optimizer,
                 .initializer = job.sparse_initializer,
                 .seed = job.seed};
  if (shape.kind == ModelKind::kLogistic) spec.initializer = {};  // single weights begin at 0
  return spec;
}

// Shows that rank 0 can write what the task is to leave behind, before the work; every rank calls
// it.
Status TryOutput(const TaskContext& context, const char* key, const std::string& path,
                 Status (*attempt)(Disk& disk, const std::string& path)) {
  if (path.empty()) return {};
  Status tried;
  if (context.session.group().rank() == 0) {
    tried = WrongPath(context.options.job, key, attempt(context.disk, path));
  }
  return AgreeOnStatus(context.session.group(), tried);
}

Result<Metrics> EvaluateOn(const TaskContext& context, BatchSource& source, Scorer& scorer) {
  context.board.SetState("evaluating");
  Phase phase(context, "evaluate");
  return scorer.Evaluate(source, context.session.group(), [&](size_t samples) -> Status {
    phase.Advance(samples, source.Progress(), kUnknown, nullptr);
    return context.check();
  });
}

class TrainTask {
 public:
  explicit TrainTask(const TaskContext& context)
      : context_(context), job_(context.options.job), group_(context.session.group()) {}

  Result<TaskResult> Run() {
    STRATA_TRY(TryTest(context_.disk, job_, true, group_));
    STRATA_TRY(TryOutput(context_, "output.model", job_.model_path, &TryModelFolder));
    STRATA_ASSIGN(const JobFeatures fitted, FitJobFeatures(context_.disk, job_, group_));
    const std::vector<FittedFeature>& features = fitted.features;
    samples_in_all_ = static_cast<double>(fitted.rows) * job_.epochs;
    STRATA_ASSIGN(const ModelShape shape, JobModelShape(job_, features));
    STRATA_TRY(OpenSources(features));
    CtrModel model(shape, context_.options.threads);
    const TableSpec table = JobTable(job_, shape);
    STRATA_TRY(MakeTable(context_.session, table));
    Trainer trainer({.seed = job_.seed,
                     .batch_size = job_.batch_size,
                     .dropout = job_.dropout,
                     .l2 = job_.l2,
                     .dense_optimizer = job_.dense_optimizer,
                     .table = table.id(),
                     .nonce = SystemRandom64()},
                    model, context_.session.store(), group_);
    STRATA_TRY(trainer.Start());
    STRATA_TRY(TrainAll(model, trainer, table.id()));
    STRATA_TRY(Save(features, shape, table, trainer));
    return std::move(result_);
  }

 private:
  Status OpenSources(const std::vector<FittedFeature>& features) {
    const size_t part = Trainer::PartSize(job_.batch_size, group_.rank(), group_.world());
    STRATA_ASSIGN(training_, OpenTraining(context_.disk, job_, features, part, group_));
    if (job_.test_path.empty()) return {};
    STRATA_ASSIGN(test_, OpenTest(context_.disk, job_, features, true, group_));
    return {};
  }

  Status TrainAll(CtrModel& model, Trainer& trainer, TableId table) {
    RecentSamples recent;
    double loss = kUnknown;
    Phase phase(context_, "train");
    double seconds_evaluating = 0;
    for (uint32_t epoch = 0; epoch < job_.epochs; ++epoch) {
      context_.board.SetState("training");
      STRATA_TRY(trainer.TrainEpoch(*training_, epoch, [&](const StepReport& report) -> Status {
        recent.Add(*report.batch, report.logits);
        // A mean over about the last twenty steps.
        loss = std::isnan(loss) ? report.loss : loss + (report.loss - loss) / 20;
        context_.board.Advance(report.samples, report.step, epoch);
        phase.Advance(report.samples, static_cast<double>(report.samples_total) / samples_in_all_,
                      loss, &recent);
        return context_.check();
      }));
      const bool last = epoch + 1 == job_.epochs;
      const bool due = job_.eval_every > 0 && (epoch + 1) % job_.eval_every == 0;
      if (last) phase.Show(1, loss, &recent);
      if (test_ == nullptr || !(last || due)) continue;
      const TimeNs begin = context_.clock.Now();
      Scorer scorer(model, trainer.dense(), context_.session.store(), table);
      STRATA_ASSIGN(const Metrics metrics, EvaluateOn(context_, *test_, scorer));
      seconds_evaluating += SecondsBetween(begin, context_.clock.Now());
      Log(LogLevel::kInfo, "epoch {} of {}: AUC {:.5f}, logloss {:.5f}, calibration {:.4f}",
          epoch + 1, job_.epochs, metrics.auc, metrics.logloss, metrics.calibration);
      result_.metrics = metrics;
    }
    result_.model = job_.model;
    result_.samples = trainer.samples();
    result_.steps = trainer.steps();
    result_.seconds = phase.seconds() - seconds_evaluating;
    return {};
  }

  Status Save(const std::vector<FittedFeature>& features, const ModelShape& shape,
              const TableSpec& table, const Trainer& trainer) {
    if (job_.model_path.empty()) return {};
    context_.board.SetState("saving");
    Status saved;
    if (group_.rank() == 0) {
      const SavedModel model{.job = job_.name,
                             .seed = job_.seed,
                             .epochs = job_.epochs,
                             .samples = trainer.samples(),
                             .shape = shape,
                             .initializer = table.initializer,
                             .table_seed = table.seed,
                             .features = FeaturesToText(features),
                             .dense = {trainer.dense().begin(), trainer.dense().end()}};
      saved =
          SaveModel(context_.disk, job_.model_path, model, context_.session.store(), table.id());
    }
    result_.model_path = job_.model_path;
    return AgreeOnStatus(group_, saved);
  }

  const TaskContext& context_;
  const JobConfig& job_;
  Group& group_;
  double samples_in_all_ = 0;  // what training goes over, epochs added
  std::unique_ptr<BatchSource> training_;
  std::unique_ptr<BatchSource> test_;
  TaskResult result_;
};

// evaluate and predict: both go once over data.test with a saved model.
class ApplyTask {
 public:
  explicit ApplyTask(const TaskContext& context)
      : context_(context), job_(context.options.job), group_(context.session.group()) {}

  Result<TaskResult> Run() {
    const bool predicting = context_.options.task == Task::kPredict;
    if (job_.model_path.empty()) {
      return Invalid(fmt::format("{}: output.model is empty: expected the folder of a saved model",
                                 job_.file));
    }
    if (predicting && job_.predictions_path.empty()) {
      return Invalid(
          fmt::format("{}: output.predictions is empty: expected the file to write", job_.file));
    }
    STRATA_TRY(TryTest(context_.disk, job_, !predicting, group_));
    if (predicting) {
      STRATA_TRY(TryOutput(context_, "output.predictions", job_.predictions_path, &TryPredictions));
    }
    STRATA_ASSIGN(LoadedModel loaded, LoadModel(context_.disk, job_.model_path));
    STRATA_ASSIGN(const std::vector<FittedFeature> features,
                  FeaturesFromText(loaded.model.features, job_.model_path + ": its features file"));
    STRATA_TRY(CheckShape(features, loaded.model.shape));
    if (loaded.model.shape.kind != job_.model && group_.rank() == 0) {
      Log(LogLevel::kWarning,
          "{} holds a model of kind \"{}\", which is used; model.kind = \"{}\" of the job has no "
          "effect",
          job_.model_path, ModelKindName(loaded.model.shape.kind), ModelKindName(job_.model));
    }
    STRATA_ASSIGN(const std::unique_ptr<BatchSource> source,
                  OpenTest(context_.disk, job_, features, !predicting, group_));
    // A table of its own, so that a training run of the same job goes on undisturbed.
    STRATA_ASSIGN(const uint64_t run, NumberOfRank0(group_, SystemRandom64()));
    const std::string table =
        fmt::format("{}.{}.{:016x}", job_.name, TaskName(context_.options.task), run);
    result_.model = loaded.model.shape.kind;
    result_.model_path = job_.model_path;
    const Status outcome = ApplyWith(loaded, *source, table);
    if (!outcome.ok()) return GiveUp(outcome, table);
    return std::move(result_);
  }

 private:
  // Goes over the data with the model's rows in a table that is there only meanwhile.
  Status ApplyWith(const LoadedModel& loaded, BatchSource& source, const std::string& table) {
    STRATA_TRY(RestoreTable(loaded, table, context_.session.store(), group_));
    CtrModel model(loaded.model.shape, context_.options.threads);
    Scorer scorer(model, loaded.model.dense, context_.session.store(), TableIdOf(table));
    const TimeNs begin = context_.clock.Now();
    const bool predicting = context_.options.task == Task::kPredict;
    STRATA_TRY(predicting ? Predict(source, scorer) : Evaluate(source, scorer));
    result_.seconds = SecondsBetween(begin, context_.clock.Now());
    // Only rank 0 drops, once all are done.
    STRATA_TRY(AgreeOnStatus(group_, {}));
    const Status dropped =
        group_.rank() == 0 ? context_.session.store().DropTable(table) : Status::Ok();
    return AgreeOnStatus(group_, dropped);
  }

  // Each rank drops the table when it fails: the last one to do so can no longer make it anew.
  Status GiveUp(const Status& outcome, const std::string& table) {
    // The others hear of the failure itself, not of a table that is gone.
    context_.session.Cancel(outcome);
    const Status dropped = context_.session.DropLeftover(table);
    if (!dropped.ok() && dropped.code() != StatusCode::kNotFound) {
      Log(LogLevel::kWarning,
          "table '{}' may be left on the servers; drop it with: strata-admin table drop {} --yes "
          "({})",
          table, table, dropped.ToString());
    }
    return outcome;
  }

  // A model whose features were tampered with, or put together from two.
  Status CheckShape(const std::vector<FittedFeature>& features, const ModelShape& shape) const {
    size_t slots = 0;
    for (const FittedFeature& feature : features) {
      slots += feature.spec.kind == FeatureKind::kNumeric ? 0 : 1;
    }
    if (slots == shape.slots && features.size() - slots == shape.dense_width) return {};
    return Corrupt(fmt::format(
        "{}: its features file has {} slots and {} dense features, the manifest "
        "{} and {}",
        job_.model_path, slots, features.size() - slots, shape.slots, shape.dense_width));
  }

  Status Evaluate(BatchSource& source, Scorer& scorer) {
    STRATA_ASSIGN(const Metrics metrics, EvaluateOn(context_, source, scorer));
    result_.samples = metrics.samples;
    result_.metrics = metrics;
    return {};
  }

  Status Predict(BatchSource& source, Scorer& scorer) {
    context_.board.SetState("predicting");
    Phase phase(context_, "predict");
    std::vector<float> mine;
    STRATA_TRY(scorer.Score(source, [&](const Batch& batch, std::span<const float> logits) {
      mine.insert(mine.end(), logits.begin(), logits.end());
      phase.Advance(batch.samples, source.Progress(), kUnknown, nullptr);
      return context_.check();
    }));
    auto samples = static_cast<int64_t>(mine.size());
    STRATA_TRY(group_.Allreduce(std::span(&samples, 1), ReduceOp::kSum));
    result_.samples = static_cast<uint64_t>(samples);
    result_.predictions_path = job_.predictions_path;
    return WritePredictions(context_.disk, job_.predictions_path, group_, mine);
  }

  const TaskContext& context_;
  const JobConfig& job_;
  Group& group_;
  TaskResult result_;
};

}  // namespace

Result<TaskResult> RunTask(const TaskContext& context) {
  const JobConfig& job = context.options.job;
  STRATA_TRY(
      AgreeOnJob(context.session.group(), context.disk, job, TaskName(context.options.task)));
  if (context.session.group().rank() == 0) {
    for (const std::string& warning : job.warnings) Log(LogLevel::kWarning, "{}", warning);
  }
  if (context.options.task == Task::kTrain) return TrainTask(context).Run();
  return ApplyTask(context).Run();
}

}  // namespace strata
