#include "worker/tasks/train_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/output_file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread/work_pool.h"
#include "worker/ctr/agree.h"
#include "worker/ctr/dictionary.h"
#include "worker/ctr/divergence.h"
#include "worker/ctr/gpu_trainer.h"
#include "worker/ctr/model_file.h"
#include "worker/ctr/trainer.h"
#include "worker/tasks/best_by_check.h"
#include "worker/tasks/checkpoint_taker.h"
#include "worker/tasks/evaluations.h"
#include "worker/tasks/job_agreement.h"
#include "worker/tasks/job_data.h"
#include "worker/tasks/job_network.h"
#include "worker/tasks/job_outputs.h"
#include "worker/tasks/phase.h"
#include "worker/tasks/resume.h"

namespace strata {
namespace {

std::string_view WhyItDoesNotGoOn(const CheckpointSettings& settings) {
  if (settings.every_steps == 0) return "this job takes no checkpoints (checkpoint.every_steps)";
  if (!settings.resume) return "checkpoint.resume=false begins anew";
  return "there is no checkpoint that this job could go on from";
}

// For a job that resumes, an empty table will do: a run that died before its first step left it.
Status MakeNewTable(TableStore& store, const TableSpec& spec, const CheckpointSettings& settings) {
  STRATA_ASSIGN(const std::vector<TableSpec> tables, store.ListTables());
  const bool exists =
      std::ranges::any_of(tables, [&](const TableSpec& table) { return table.name == spec.name; });
  bool usable = !exists;
  if (exists && settings.every_steps != 0 && settings.resume) {
    STRATA_ASSIGN(const TableStats stats, Stats(store, spec));
    usable = stats.rows == 0;
  }
  if (usable) return store.CreateTable(spec);
  return AlreadyExists(fmt::format(
      "table '{}' exists on the servers, from an earlier run or from a job that still runs, and "
      "{}; to keep its rows, give this job another job.name (strata-admin checkpoint saves them, "
      "strata-admin checkpoint list tells what strata-admin restore can put back); only if they "
      "may go: strata-admin table drop {} --yes",
      spec.name, WhyItDoesNotGoOn(settings), spec.name));
}

// Rank 0 makes the job's tables, which must be new; all others then find them.
Status MakeTables(Session& session, std::span<const TableSpec> tables,
                  const CheckpointSettings& settings) {
  for (const TableSpec& table : tables) {
    const bool first = session.group().rank() == 0;
    const Status made = first ? MakeNewTable(session.store(), table, settings) : Status::Ok();
    STRATA_TRY(AgreeOnStatus(session.group(), made));
    if (!first) STRATA_TRY(session.store().CreateTable(table));
  }
  return {};
}

std::vector<TableSpec> JobTables(const JobConfig& job, const ModelShape& shape) {
  const LayerGraph graph = GraphOf(shape);
  const std::string prefix = shape.tables.empty() ? job.name + ".embedding" : job.name;
  std::vector<TableSpec> tables;
  for (const std::string& name : TableNames(shape, prefix)) {
    const OptimizerSpec& optimizer =
        job.tables.empty() ? job.sparse_optimizer : job.table_optimizers[tables.size()];
    tables.push_back({.name = name,
                      .dim = graph.row_dim(tables.size()),
                      .optimizer = optimizer,
                      .initializer = InitializerOf(shape, job.sparse_initializer),
                      .seed = job.seed,
                      .ack = job.sparse_ack,
                      .value_type = job.sparse_value_type,
                      .state_type = job.sparse_state_type});
  }
  return tables;
}

InputNames NamesOf(const std::vector<FittedFeature>& features) {
  InputNames names;
  for (const FittedFeature& feature : features) {
    const bool is_dense = feature.spec.kind == FeatureKind::kNumeric;
    (is_dense ? names.dense : names.slots).push_back(feature.spec.column);
  }
  return names;
}

class TrainTask {
 public:
  explicit TrainTask(const TaskContext& context)
      : context_(context),
        job_(context.options.job),
        group_(context.session.group()),
        recent_(job_.loss) {}

  Result<TaskResult> Run() {
    // Of sparse rows only the data says which slots there are.
    const bool knows_shape = !job_.data.sparse.has_value();
    if (knows_shape) STRATA_TRY(JobModelShape(job_, job_.data.features).status());
    STRATA_TRY(TryTraining(context_.disk, job_, group_));
    STRATA_TRY(TryTest(context_.disk, job_, true, group_));
    STRATA_TRY(CheckJobOutputs(context_));
    STRATA_TRY(OpenCheckpoints());
    if (job_.dictionary) texts_.emplace(job_.data.features);
    STRATA_ASSIGN(const JobFeatures fitted,
                  FitJobFeatures(context_.disk, job_, group_, texts_ ? &*texts_ : nullptr));
    if (texts_) {
      STRATA_TRY(JoinTextCounts(group_, &*texts_));
      if (group_.rank() != 0) texts_.reset();
    }
    const std::vector<FittedFeature>& features = fitted.features;
    samples_in_all_ = static_cast<double>(fitted.rows) * job_.epochs;
    result_.bad_rows = fitted.bad_rows;
    STRATA_ASSIGN(const ModelShape shape, JobModelShape(job_, SpecsOf(features)));
    WarnOfUnused(shape);
    STRATA_TRY(OpenSources(features));
    STRATA_ASSIGN(const std::unique_ptr<Network> network,
                  MakeJobNetwork(job_, GraphOf(shape), context_.threads));
    const std::vector<TableSpec> tables = JobTables(job_, shape);
    device_ = network->device();
    STRATA_TRY(ResumeOrBegin(tables, fitted));
    STRATA_TRY(MakeRun(*network, tables, NamesOf(features)));
    TrainingRun& run = *run_;
    STRATA_TRY(run.Start());
    const auto save = [&] { return Save(features, shape, tables); };
    STRATA_TRY(OpenEvaluations(*network, TableIds(tables), save));
    if (resumed_.has_value()) STRATA_TRY(run.Resume(resumed_->state));
    STRATA_TRY(TrainAll());
    const bool has_best = evaluations_.has_value() && evaluations_->has_best();
    const bool was_ended = run.has_ended() && !EndedEarly();
    if (was_ended) STRATA_TRY(StopIfAsked());
    if (!has_best) STRATA_TRY(save());
    result_.model_path = job_.model_path;
    if (was_ended) return StoppedUnread();
    STRATA_TRY(ReportStages());
    if (group_.rank() == 0) WarnOfDivergence();
    if (group_.rank() == 0 && job_.model_path.empty()) {
      Log(LogLevel::kInfo, "the model is not saved, as output.model is empty");
    }
    return std::move(result_);
  }

 private:
  Status OpenSources(const std::vector<FittedFeature>& features) {
    const size_t part = Trainer::PartSize(job_.batch_size, group_.rank(), group_.world());
    STRATA_ASSIGN(training_, OpenTraining(context_.disk, job_, features, part, group_));
    if (job_.test_files.empty()) return {};
    STRATA_ASSIGN(test_, OpenTest(context_.disk, job_, features, true, group_, {}));
    if (job_.early_stopping == 0) return {};
    return CheckBestBy(job_, *test_, group_, context_.check);
  }

  // Rank 0 opens what keeps the checkpoints, if the job has any.
  Status OpenCheckpoints() {
    if (job_.checkpoint.every_steps == 0) {
      if (group_.rank() == 0 && !job_.checkpoint.folder.empty()) {
        Log(LogLevel::kWarning,
            "checkpoint.folder has no effect without checkpoint.every_steps: none is taken");
      }
      return {};
    }
    Status opened;
    if (group_.rank() == 0) {
      auto checkpointer = context_.session.OpenCheckpointer(job_, context_.disk);
      opened = checkpointer.status();
      if (checkpointer.ok()) checkpointer_ = std::move(checkpointer).value();
    }
    return AgreeOnStatus(group_, opened);
  }

  // Puts the job's tables back to its newest checkpoint, or makes them.
  Status ResumeOrBegin(std::span<const TableSpec> tables, const JobFeatures& data) {
    if (job_.checkpoint.every_steps == 0) {
      return MakeTables(context_.session, tables, job_.checkpoint);
    }
    fingerprint_ = JobFingerprint(job_, group_.world(), data);
    if (job_.checkpoint.resume) {
      context_.board.SetState("restoring");
      ResumeOptions options{
          .fingerprint = fingerprint_, .device = device_, .tables = {}, .epochs = job_.epochs};
      for (const TableSpec& table : tables) options.tables.push_back(table.name);
      STRATA_ASSIGN(resumed_, Resume(checkpointer_.get(), group_, context_.clock, options));
    }
    if (!resumed_.has_value()) {
      return MakeTables(context_.session, tables, job_.checkpoint);
    }
    if (group_.rank() == 0) {
      Log(LogLevel::kInfo,
          "training goes on from checkpoint {}: after step {}, in epoch {} of {}; "
          "checkpoint.resume=false begins anew",
          resumed_->checkpoint, resumed_->state.steps, resumed_->state.epoch + 1, job_.epochs);
    }
    result_.resumed_from = resumed_->checkpoint;
    for (const TableSpec& table : tables) {  // exists; as this job defines it?
      STRATA_TRY(context_.session.store().CreateTable(table));
    }
    return {};
  }

  Status MakeRun(Network& network, std::span<const TableSpec> tables, const InputNames& names) {
    if (job_.rows_on_gpu) {
      auto made = GpuTraining::Make(network.graph(), context_.session.store(),
                                    {.gpu = job_.device.ordinal.value_or(0),
                                     .precision = job_.precision,
                                     .dense_optimizer = job_.dense_optimizer,
                                     .tables = {tables.begin(), tables.end()}});
      // Tables take memory before they have rows.
      if (made.status().code() == StatusCode::kRefused) {
        return Refused(
            fmt::format("{}: sparse.placement: {}: use a larger compute.gpu_memory, or "
                        "fewer [[table]]s",
                        job_.file, made.status().message()));
      }
      STRATA_ASSIGN(gpu_training_, std::move(made));
      run_ = std::make_unique<GpuTrainer>(
          GpuTrainerOptions{.seed = job_.seed,
                            .batch_size = job_.batch_size,
                            .dropout = job_.dropout,
                            .dense_optimizer = job_.dense_optimizer,
                            .between_steps = [this] { return BetweenSteps(); },
                            .names = names,
                            .clock = &context_.clock,
                            .wants_end = [this] { return WantsEnd(); }},
          network.graph(), *gpu_training_);
      return {};
    }
    const int threads = StepThreads(device_, context_.options.threads);
    if (threads > context_.options.threads) {
      STRATA_ASSIGN(gpu_threads_, StartStepThreads(threads));
    }
    // On a CPU the network has the processors.
    if (device_ != "CPU") {
      STRATA_ASSIGN(beside_, SideThread::Start("find keys"));
    }
    run_ = std::make_unique<Trainer>(
        TrainerOptions{.seed = job_.seed,
                       .batch_size = job_.batch_size,
                       .dropout = job_.dropout,
                       .l2 = job_.l2,
                       .dense_optimizer = job_.dense_optimizer,
                       .tables = TableIds(tables),
                       .nonce = SystemRandom64(),
                       .fused = job_.sparse_ack != AckLevel::kSynced,
                       .hint_batches = job_.hint_batches,
                       .between_steps = [this] { return BetweenSteps(); },
                       .names = names,
                       .clock = &context_.clock,
                       .threads = gpu_threads_ ? gpu_threads_.get() : context_.threads,
                       .beside = beside_.get(),
                       .wants_end = [this] { return WantsEnd(); }},
        network, context_.session.store(), group_);
    return {};
  }

  // Only of a run that has data.test.
  Status OpenEvaluations(Network& network, std::vector<TableId> tables,
                         const std::function<Status()>& save) {
    if (test_ != nullptr) {
      evaluations_.emplace(EvaluationParts{.context = context_,
                                           .test = *test_,
                                           .network = network,
                                           .run = *run_,
                                           .tables = std::move(tables),
                                           .save = save});
      if (resumed_.has_value()) STRATA_TRY(evaluations_->Resume(resumed_->state.evaluations));
    }
    OpenTaker();
    return {};
  }

  void OpenTaker() {
    if (checkpointer_ == nullptr) return;
    std::optional<uint64_t> resumed_steps;
    if (resumed_.has_value()) resumed_steps = resumed_->state.steps;
    taker_.emplace(*checkpointer_, context_.clock,
                   CheckpointTakerOptions{
                       .fingerprint = fingerprint_,
                       .device = device_,
                       .every_steps = job_.checkpoint.every_steps,
                       .resumed_steps = resumed_steps,
                       .evaluations = evaluations_.has_value() ? evaluations_->best() : nullptr});
  }

  // A checkpoint holds what was evaluated after the same steps.
  Result<bool> BetweenSteps() {
    if (evaluations_.has_value()) {
      STRATA_ASSIGN(const bool goes_on, evaluations_->BetweenSteps(epoch_));
      if (!goes_on) return false;
    }
    if (taker_.has_value()) STRATA_TRY(taker_->BetweenSteps(*run_));
    return true;
  }

  Status TrainAll() {
    double loss = kUnknown;
    Phase phase(context_, "train");
    const uint64_t samples_before = resumed_.has_value() ? resumed_->state.samples : 0;
    epoch_ = static_cast<uint32_t>(resumed_.has_value() ? resumed_->state.epoch : 0);
    for (; epoch_ < job_.epochs; ++epoch_) {
      context_.board.SetState("training");
      context_.set_ends_itself(takes_checkpoints());
      STRATA_TRY(run_->TrainEpoch(*training_, epoch_, [&](const StepReport& report) -> Status {
        recent_.Add(*report.batch, report.logits);
        // A mean over about the last twenty steps.
        loss = std::isnan(loss) ? report.loss : loss + (report.loss - loss) / 20;
        context_.board.Advance(report.samples, report.step, epoch_);
        context_.board.SetStages(run_->stages());
        if (evaluations_.has_value()) phase.SetEvaluation(evaluations_->shown());
        phase.Advance(report.samples, static_cast<double>(report.samples_total) / samples_in_all_,
                      loss, &recent_);
        return context_.check();
      }));
      if (run_->has_ended()) break;
      context_.set_ends_itself(false);
      if (epoch_ + 1 == job_.epochs) phase.Show(1, loss, &recent_);
      if (!evaluations_.has_value()) continue;
      STRATA_ASSIGN(const bool goes_on, evaluations_->AfterEpoch(epoch_));
      if (!goes_on) break;
    }
    if (EndedEarly()) context_.set_ends_itself(false);
    result_.model = job_.model;
    result_.samples = run_->samples() - samples_before;
    result_.steps = run_->steps();
    result_.seconds = phase.seconds();
    if (evaluations_.has_value()) {
      result_.evaluation_seconds = evaluations_->seconds();
      result_.seconds -= result_.evaluation_seconds;
      evaluations_->Tell(EndedEarly(), &result_);
    }
    if (taker_.has_value()) result_.checkpoints = taker_->Finish();
    return {};
  }

  Status Save(const std::vector<FittedFeature>& features, const ModelShape& shape,
              std::span<const TableSpec> tables) {
    if (job_.model_path.empty()) return {};
    context_.board.SetState("saving");
    Status saved;
    if (group_.rank() == 0) {
      const SavedModel model =
          TrainedModel(job_.name, job_.epochs, shape, tables[0], features, *run_);
      saved = WriteOrKeep(context_.disk, job_.model_path, [&](const std::string& folder) {
        STRATA_TRY(SaveModel(context_.disk, folder, model, context_.session.store(), tables));
        return texts_ ? WriteDictionary(context_.disk, folder, *texts_)
                      : RemoveDictionary(context_.disk, folder);
      });
    }
    return AgreeOnStatus(group_, saved);
  }

  Status ReportStages() {
    STRATA_ASSIGN(const StageReport report,
                  GatherStages(group_, run_->stages(), training_->reading_time()));
    if (report.total.mean <= 0) return {};  // nothing was left to do
    result_.stages = report;
    if (group_.rank() != 0) return {};
    Log(LogLevel::kInfo, "time of the steps: {}; {} limits; the reader was {}", StageShares(report),
        StageName(report.limit), ReaderText(report));
    return {};
  }

  void WarnOfUnused(const ModelShape& shape) const {
    if (group_.rank() != 0) return;
    for (const std::string& warning : UnusedFeatures(GraphOf(shape))) {
      Log(LogLevel::kWarning, "{}", warning);
    }
  }

  // Of a run that went through without a number that is none, too.
  void WarnOfDivergence() const {
    const std::string warning =
        result_.metrics.has_value()
            ? FarFromBaseRate(*result_.metrics, "the evaluation on data.test")
            : FarFromBaseRate(recent_.Measure(), "the newest part of data.train");
    if (!warning.empty()) Log(LogLevel::kWarning, "{}", warning);
  }

  bool EndedEarly() const {
    return epoch_ < job_.epochs && evaluations_.has_value() && evaluations_->wants_end();
  }

  bool takes_checkpoints() const { return job_.checkpoint.every_steps != 0; }

  bool WantsEnd() const {
    return !context_.asked().ok() || (context_.is_unread && context_.is_unread());
  }

  // A signal came, here or to another worker: the job can go on from the last step.
  Status StopIfAsked() {
    const Status asked = context_.asked();
    STRATA_ASSIGN(const uint64_t ranks, SumOverRanks(group_, asked.ok() ? 0 : 1));
    if (ranks == 0) return {};
    context_.ends_now();
    context_.board.SetState("saving");
    Result<uint32_t> last = 0U;
    if (taker_.has_value()) last = taker_->TakeLast(*run_);
    STRATA_ASSIGN(const uint64_t number, NumberOfRank0(group_, last.ok() ? *last : 0));
    return Cancelled(fmt::format(
        "{} after step {}: {}; to go on, start the same job again",
        asked.ok() ? "another worker was asked to stop, and all stopped" : asked.message(),
        run_->steps(),
        number != 0 ? fmt::format("checkpoint {} holds all of it", number)
        : last.ok() ? "no last checkpoint could be taken, and worker 0 says why"
                    : fmt::format("no last checkpoint could be taken, an earlier one has to do: {}",
                                  last.status().ToString())));
  }

  // Training is no failure then, but nobody is there who could be told that it did well.
  Status StoppedUnread() const {
    const bool kept = !job_.model_path.empty();
    return Cancelled(fmt::format(
        "nobody reads standard output any more: stopped after step {}, {}{}", result_.steps,
        !kept ? "which is lost: output.model names a place"
        : result_.early_stopping.has_value()
            ? fmt::format("the best model, that of step {}, is in {}",
                          result_.early_stopping->best_steps, job_.model_path)
            : "whose model is in " + job_.model_path,
        checkpointer_ == nullptr ? "" : "; the same job goes on from its newest checkpoint"));
  }

  const TaskContext& context_;
  const JobConfig& job_;
  Group& group_;
  double samples_in_all_ = 0;  // what training goes over, epochs added
  std::unique_ptr<BatchSource> training_;
  std::unique_ptr<BatchSource> test_;
  std::string fingerprint_;
  std::string device_;                          // of the network
  std::unique_ptr<Checkpointer> checkpointer_;  // of rank 0
  std::optional<ResumedRun> resumed_;
  std::unique_ptr<WorkPool> gpu_threads_;      // more of them beside a GPU; null: the context's
  std::unique_ptr<SideThread> beside_;         // TrainerOptions::beside
  std::unique_ptr<GpuTraining> gpu_training_;  // where rows are on a GPU
  std::unique_ptr<TrainingRun> run_;
  uint32_t epoch_ = 0;  // the one under way
  RecentSamples recent_;
  std::optional<Evaluations> evaluations_;  // with data.test
  std::optional<CheckpointTaker> taker_;    // goes before what it reads
  std::optional<TextCounts> texts_;  // of all ranks, on rank 0, if a dictionary is to be written
  TaskResult result_;
};

}  // namespace

Result<TaskResult> RunTraining(const TaskContext& context) { return TrainTask(context).Run(); }

}  // namespace strata
