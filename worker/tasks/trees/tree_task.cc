#include "worker/tasks/trees/tree_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/file/output_file.h"
#include "base/file/text_file.h"
#include "base/hash.h"
#include "base/log.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/boost/early_stopping.h"
#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/data/divided_rows.h"
#include "worker/gbdt/data/side_files.h"
#include "worker/gbdt/engine/feature_rules.h"
#include "worker/gbdt/from_model/continue_model.h"
#include "worker/gbdt/from_model/refit.h"
#include "worker/gbdt/input/binned_rows.h"
#include "worker/gbdt/input/dataset_options.h"
#include "worker/gbdt/input/forced_bins.h"
#include "worker/gbdt/input/open_rows.h"
#include "worker/gbdt/input/rank_agreement.h"
#include "worker/gbdt/lightgbm/idle_parameters.h"
#include "worker/gbdt/lightgbm/parameter_place.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/model/model_format.h"
#include "worker/gbdt/parameters/growth_parameters.h"
#include "worker/gbdt/phase_times.h"
#include "worker/gbdt/report/tree_report.h"
#include "worker/gbdt/tree_pool.h"
#include "worker/tasks/trees/convert_task.h"
#include "worker/tasks/trees/evaluate_task.h"
#include "worker/tasks/trees/predict_task.h"
#include "worker/tasks/trees/tree_outputs.h"

namespace strata {
namespace {

constexpr uint64_t kForcedSplitsBytesMax = 16 << 20;
constexpr uint64_t kAgreedBytesMax = uint64_t{16} << 30;

// Tells how long another source takes to read.
class TimedRows : public RowSource {
 public:
  TimedRows(std::unique_ptr<RowSource> rows, PhaseTimes* times)
      : rows_(std::move(rows)), times_(times) {}

  Status Next(SparseRows* block) override {
    const PhaseScope scope(times_, TreePhase::kLoad);
    return rows_->Next(block);
  }
  Status Rewind() override { return rows_->Rewind(); }
  Status TakePart(const RowPart& part) override { return rows_->TakePart(part); }
  size_t features() const override { return rows_->features(); }
  std::vector<std::string> FeatureNames() const override { return rows_->FeatureNames(); }
  Status FindCategories(Group* group) override {
    const PhaseScope scope(times_, TreePhase::kLoad);
    return rows_->FindCategories(group);
  }
  CategoryTexts Categories() const override { return rows_->Categories(); }
  std::optional<ArrayRows> Array() const override { return rows_->Array(); }

 private:
  const std::unique_ptr<RowSource> rows_;
  PhaseTimes* const times_;
};

class TreeTask {
 public:
  TreeTask(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
           size_t threads)
      : p_(parameters), context_(context), pool_(pool), threads_(threads), phases_(context.clock) {}

  Result<TreeTaskResult> Run() {
    result_.task = p_.task.name;
    if (writes()) STRATA_TRY(CheckTreeOutputs(context_.disk, p_, context_.files));
    if (p_.task.name == "convert") {
      STRATA_TRY(RunConvert(p_, context_, &result_));
      return std::move(result_);
    }
    if (p_.data.path.empty()) return Invalid("data is missing: expected data = FILE");
    if (context_.group != nullptr) {
      STRATA_TRY(AgreeOnParameters(*context_.group, &p_));
      STRATA_TRY(AgreeOnFile("input_model", p_.task.input_model));
      STRATA_TRY(AgreeOnFile("forcedbins_filename", p_.data.forcedbins_filename));
    }
    if (p_.task.name == "predict") {
      STRATA_TRY(RunPredict(p_, context_, pool_, &result_));
    } else if (p_.task.name == "evaluate") {
      STRATA_TRY(RunEvaluate(p_, context_, pool_, &result_));
    } else if (p_.task.name == "refit") {
      STRATA_TRY(Refit());
    } else {
      STRATA_TRY(p_.task.name == "save_binary" ? SaveBinary() : Train());
    }
    return std::move(result_);
  }

 private:
  // One rank does what shows outside.
  bool writes() const { return context_.group == nullptr || context_.group->rank() == 0; }

  DatasetOptions Options() const {
    DatasetOptions options = DatasetOptionsOf(p_);
    options.forced_bounds = forced_bounds_;
    options.own_files = p_.machine.pre_partition;
    if (p_.machine.tree_learner != "feature") {
      options.group = context_.group;
    } else if (context_.group != nullptr) {
      options.feature_ranks = static_cast<size_t>(context_.group->world());
    }
    return options;
  }

  // The one that trees grow on.
  std::optional<int> Gpu() const {
    if (GrowsOnHost(p_.growth) != nullptr) return std::nullopt;
    const Result<DeviceChoice> choice = ParseDevice(p_.machine.device_type);
    if (!choice.ok() || choice->kind != DeviceKind::kCuda || p_.machine.num_gpu > 1) {
      return std::nullopt;
    }
    return choice->ordinal.value_or(0);
  }

  // `start`, if there are trees: what the rows' scores begin with.
  Result<TreeDataset> Load(const std::string& path, std::shared_ptr<const FeatureBinning> features,
                           const TreeModel& start) {
    DatasetOptions options = Options();
    if (features == nullptr) options.gpu = Gpu();
    STRATA_ASSIGN(const bool is_binned, IsDatasetFile(context_.disk, path));
    if (is_binned && !p_.data.columns.has_value()) {
      return ReadBinnedRows(context_.disk, path, p_.task, options, std::move(features), pool_);
    }
    STRATA_ASSIGN(std::unique_ptr<RowSource> source, Open(path, features.get(), start));
    // libsvm rows do not say how many features there are.
    if (const size_t known = source->features(); features == nullptr && known > 0) {
      STRATA_TRY(CheckFeatureRules(p_.growth, known).Prefixed(path));
    }
    TimedRows timed(std::move(source), &phases_);
    STRATA_ASSIGN(TreeDataset data,
                  LoadTreeDataset(context_.disk, timed, path, options, std::move(features), pool_));
    if (p_.task.save_binary) {
      STRATA_TRY(WriteDatasetFile(context_.disk, data, options, BinaryPath(path)));
    }
    if (start.trees.empty()) return data;
    if (start.average_output) STRATA_TRY(data.CheckNoInitScores());
    STRATA_TRY(AddPredictions(start, timed, pool_, &data));
    return data;
  }

  // Categories keep the numbers that training data or the model that training goes on from has.
  Result<std::unique_ptr<RowSource>> Open(const std::string& path, const FeatureBinning* features,
                                          const TreeModel& start) {
    if (features != nullptr) return OpenRowsLike(context_.disk, p_.data, path, *features);
    if (start.trees.empty()) return OpenRows(context_.disk, p_.data, path);
    return OpenRowsOf(context_.disk, p_.data, path, start, {.model_file = p_.task.input_model});
  }

  // All ranks' files of this key hold the same. Collective.
  Status AgreeOnFile(const char* key, const std::string& path) {
    if (path.empty()) return {};
    const Result<std::string> text = ReadFile(context_.disk, path, kAgreedBytesMax);
    if (!text.ok()) return text.status().Prefixed(KeyOf(p_, key));
    return AgreeOnNumber(*context_.group, fmt::format("a hash of the file of {}", key),
                         Hash64(*text));
  }

  // Collective.
  Status AgreeOnWholeRows(const TreeDataset& data) {
    if (context_.group == nullptr || p_.machine.tree_learner != "feature") return {};
    return AgreeOnRows(*context_.group, data);
  }

  Result<std::string> ReadForcedSplits() {
    if (p_.growth.forcedsplits_filename.empty()) return std::string();
    Result<std::string> text =
        ReadTextFile(context_.disk, p_.growth.forcedsplits_filename, kForcedSplitsBytesMax);
    if (!text.ok()) return text.status().Prefixed(KeyOf(p_, "forcedsplits_filename"));
    if (context_.group != nullptr) {
      STRATA_TRY(AgreeOnNumber(*context_.group, "a hash of the forced splits", Hash64(*text)));
    }
    return text;
  }

  Status Train() {
    const TimeNs begin = context_.clock.Now();
    for (const std::string& idle : WhatHasNoEffect(p_)) Log(LogLevel::kWarning, "{}", idle);
    TreeModel start;
    if (!p_.task.input_model.empty()) {
      STRATA_ASSIGN(start, ReadModelFile(context_.disk, p_.task.input_model));
    }
    if (p_.patience() > 0 && p_.data.valid.empty()) {
      return Invalid(fmt::format("{} needs a validation set: expected {} = FILE",
                                 KeyOf(p_, "early_stopping_round"), KeyOf(p_, "valid")));
    }
    STRATA_ASSIGN(std::string forced_splits, ReadForcedSplits());
    STRATA_TRY(CheckPositions());
    STRATA_ASSIGN(forced_bounds_, ReadForcedBins(context_.disk, p_.data.forcedbins_filename));
    STRATA_ASSIGN(const TreeDataset train, Load(p_.data.path, nullptr, start));
    if (!start.trees.empty()) STRATA_TRY(CheckContinues(start, p_, train));
    std::vector<std::unique_ptr<TreeDataset>> valid;
    std::vector<const TreeDataset*> valid_views;
    for (const std::string& path : p_.data.valid) {
      STRATA_ASSIGN(TreeDataset data, Load(path, train.features, start));
      valid.push_back(std::make_unique<TreeDataset>(std::move(data)));
      valid_views.push_back(valid.back().get());
    }
    STRATA_TRY(AgreeOnWholeRows(train));
    result_.rows = train.all_rows();
    result_.bad_rows = train.bad_rows;
    result_.features = train.features->used.size();
    const TimeNs loading = context_.clock.Now() - begin;
    result_.load_seconds = SecondsBetween(0, loading);
    phases_.Add(TreePhase::kBin, loading - phases_.time(TreePhase::kLoad));
    Log(LogLevel::kInfo, "{} rows, {} of {} features, {} bins; loaded in {:.2f} s",
        train.all_rows(), train.features->used.size(), train.features->names.size(),
        train.bins.histogram_bins(), result_.load_seconds);
    STRATA_ASSIGN(const std::unique_ptr<Booster> booster,
                  Booster::Make(p_, train, valid_views, pool_, threads_, &phases_, context_.group,
                                {.model = std::move(start),
                                 .objective = nullptr,
                                 .forced_splits = std::move(forced_splits)}));
    STRATA_TRY(Boost(*booster));
    if (!p_.task.output_model.empty()) {
      STRATA_TRY(WriteModel(booster->model(), p_.task.output_model));
    }
    result_.rounds = booster->rounds();
    result_.output = writes() ? p_.task.output_model : "by rank 0";
    return WriteReport(booster->model(), train, valid_views);
  }

  // Writes FILE.bin of each data file.
  Status SaveBinary() {
    p_.task.save_binary = true;
    p_.task.input_model.clear();
    std::vector<std::string> files = {p_.data.path};
    files.insert(files.end(), p_.data.valid.begin(), p_.data.valid.end());
    for (const std::string& path : files) {
      STRATA_ASSIGN(const bool is_binned, IsDatasetFile(context_.disk, path));
      if (is_binned) return Invalid(path + ": is a file of save_binary already");
    }
    STRATA_TRY(CheckPositions());
    const TimeNs begin = context_.clock.Now();
    STRATA_ASSIGN(forced_bounds_, ReadForcedBins(context_.disk, p_.data.forcedbins_filename));
    std::shared_ptr<const FeatureBinning> features;
    for (const std::string& path : files) {
      STRATA_ASSIGN(const TreeDataset data, Load(path, features, {}));
      features = data.features;
      result_.rows += data.rows();
      result_.output += (result_.output.empty() ? "" : ", ") + BinaryPath(path);
    }
    result_.samples = result_.rows;
    result_.features = features->used.size();
    result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
    return {};
  }

  // LightGBM learns from places where they are given, so that they must not be passed over.
  Status CheckPositions() const {
    if (p_.objective.name != "lambdarank" && p_.objective.name != "rank_xendcg") return {};
    STRATA_ASSIGN(const bool given, HasPositionFile(context_.disk, p_.data.path));
    if (!given) return {};
    return Invalid(fmt::format(
        "{}.position: ranking does not take the places of rows into account (LightGBM's "
        "unbiased lambdarank): remove or rename the file to train without them",
        p_.data.path));
  }

  Status Refit() {
    if (p_.task.input_model.empty()) {
      return Invalid("input_model is missing: expected input_model = FILE");
    }
    STRATA_ASSIGN(TreeModel model, ReadModelFile(context_.disk, p_.task.input_model));
    p_.data.binning.pre_filter = false;  // splits are there already
    STRATA_ASSIGN(const std::unique_ptr<RowSource> source,
                  OpenRowsOf(context_.disk, p_.data, p_.data.path, model,
                             {.model_file = p_.task.input_model}));
    STRATA_TRY(CheckPositions());
    STRATA_ASSIGN(const TreeDataset data,
                  LoadTreeDataset(context_.disk, *source, p_.data.path, Options(), nullptr, pool_));
    STRATA_TRY(AgreeOnWholeRows(data));
    STRATA_ASSIGN(const std::unique_ptr<TreeObjective> objective,
                  MakeObjective(p_.objective, data));
    const TimeNs begin = context_.clock.Now();
    STRATA_TRY(CheckRefits(model, p_, data));
    STRATA_ASSIGN(model, RefitModel(std::move(model), p_.growth.rules, p_.task.refit_decay_rate,
                                    data, *objective, *source, pool_));
    STRATA_TRY(WriteModel(model, p_.task.output_model));
    result_.rows = data.all_rows();
    result_.bad_rows = data.bad_rows;
    result_.features = model.features();
    result_.rounds = model.iterations();
    result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
    result_.output = writes() ? p_.task.output_model : "by rank 0";
    return {};
  }

  Result<std::string> ModelText(const TreeModel& model) const {
    return WriteLightGbmText(model,
                             static_cast<ImportanceKind>(p_.task.saved_feature_importance_type));
  }

  Status WriteModel(const TreeModel& model, const std::string& path) {
    if (!writes()) return {};
    STRATA_ASSIGN(const std::string text, ModelText(model));
    return WriteOutput(context_.disk, path, text);
  }

  Status Boost(Booster& booster) {
    const auto rounds = static_cast<size_t>(p_.boosting.num_iterations);
    EarlyStopping stopping(static_cast<size_t>(p_.patience()), p_.metric.early_stopping_min_delta,
                           p_.metric.first_metric_only);
    const size_t rounds_before = booster.rounds();
    const TimeNs begin = context_.clock.Now();
    for (size_t round = 1; round <= rounds; ++round) {
      if (const Status stop = context_.check(); !stop.ok()) return Stop(stop, booster);
      if (round > 1 && writes() && context_.is_unread && context_.is_unread()) {
        return StopUnread(booster);
      }
      STRATA_ASSIGN(const bool goes_on, booster.Round());
      const bool shown = round % static_cast<size_t>(p_.metric.metric_freq) == 0 || round == rounds;
      if (shown || p_.patience() > 0) {
        STRATA_ASSIGN(result_.evaluations, booster.Evaluate());
        history_.emplace_back(booster.rounds(), result_.evaluations);
      }
      result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
      result_.samples = result_.rows * round;
      context_.progress({.round = round,
                         .rounds = rounds,
                         .rows = result_.rows,
                         .evaluations = shown ? &result_.evaluations : nullptr});
      if (!goes_on) break;
      result_.best_round = stopping.Add(round, result_.evaluations);
      if (result_.best_round.has_value()) {
        Log(LogLevel::kInfo, "training stops early: no better for {} rounds than after round {}",
            p_.patience(), *result_.best_round);
        booster.TruncateTo(rounds_before + *result_.best_round);
        for (auto& [at, evaluations] : history_) {
          if (at == booster.rounds()) result_.evaluations = evaluations;
        }
        break;
      }
      if (p_.task.snapshot_freq > 0 && round % static_cast<size_t>(p_.task.snapshot_freq) == 0) {
        STRATA_TRY(WriteSnapshot(booster));
      }
    }
    return {};
  }

  // Training goes on without one that finds no place.
  Status WriteSnapshot(const Booster& booster) {
    if (!writes()) return {};
    STRATA_ASSIGN(const std::string text, ModelText(booster.model()));
    const std::string path = SnapshotPath(p_, booster.rounds());
    Status written = context_.disk.TryReplace(path).Prefixed(path);
    if (written.ok()) written = WriteFileAtomically(context_.disk, path, text);
    if (!written.ok()) {
      Log(LogLevel::kWarning, "there is no copy of the model after round {}: {}; training goes on",
          booster.rounds(), written.message());
    }
    return {};
  }

  // Who asked for snapshots finds the last round in one.
  Status Stop(const Status& why, const Booster& booster) {
    if (booster.rounds() == 0) return why;
    if (p_.task.snapshot_freq > 0) {
      return StopInFile(why, booster, SnapshotPath(p_, booster.rounds()));
    }
    return Status(why.code(),
                  fmt::format("{} after round {}, which is lost: {} = N keeps every N-th round and "
                              "the one stopped at",
                              why.message(), booster.rounds(), KeyOf(p_, "snapshot_freq")));
  }

  Status StopUnread(const Booster& booster) {
    const Status why = Cancelled("nobody reads standard output any more: stopped");
    if (!p_.task.output_model.empty() && !IsStandardOutput(p_.task.output_model)) {
      return StopInFile(why, booster, p_.task.output_model);
    }
    return Status(why.code(),
                  fmt::format("{} after round {}, which is lost: {} = FILE keeps it", why.message(),
                              booster.rounds(), KeyOf(p_, "output_model")));
  }

  Status StopInFile(const Status& why, const Booster& booster, const std::string& path) {
    const Status written = WriteModel(booster.model(), path);
    if (!written.ok()) {
      return Status(why.code(), fmt::format("{} after round {}: {}", why.message(),
                                            booster.rounds(), written.message()));
    }
    return Status(
        why.code(),
        fmt::format("{} after round {}, which is in {}: {} = {} goes on from there", why.message(),
                    booster.rounds(), path, KeyOf(p_, "input_model"), path));
  }

  Status WriteReport(const TreeModel& model, const TreeDataset& train,
                     std::span<const TreeDataset* const> valid) {
    if (p_.task.report_file.empty() || !writes()) return {};
    TreeReport report = {.title = fmt::format("{} on {}", p_.objective.name,
                                              p_.data.path.substr(p_.data.path.rfind('/') + 1)),
                         .parameters = p_.set,
                         .data = {{"training", train.all_rows()}},
                         .features = train.features->names.size(),
                         .used_features = train.features->used.size(),
                         .bins = train.bins.histogram_bins(),
                         .rounds = result_.rounds,
                         .trees = model.trees.size(),
                         .best_round = result_.best_round,
                         .load_seconds = result_.load_seconds,
                         .train_seconds = result_.train_seconds,
                         .phases = {},
                         .history = std::move(history_),
                         .importances = Importances(model)};
    for (size_t i = 0; i < valid.size(); ++i) {
      report.data.emplace_back(fmt::format("valid_{}", i + 1), valid[i]->all_rows());
    }
    for (const Tree& tree : model.trees) report.leaves += tree.leaves.size();
    for (size_t i = 0; i < kTreePhases; ++i) {
      const auto phase = static_cast<TreePhase>(i);
      report.phases.emplace_back(TreePhaseName(phase), phases_.Seconds(phase));
    }
    STRATA_TRY(WriteOutput(context_.disk, p_.task.report_file + ".json", ReportJson(report)));
    return WriteOutput(context_.disk, p_.task.report_file + ".html", ReportHtml(report));
  }

  TreeParameters p_;
  std::map<size_t, std::vector<double>> forced_bounds_;  // of forcedbins_filename
  const TreeTaskContext& context_;
  WorkPool& pool_;
  const size_t threads_;
  PhaseTimes phases_;
  std::vector<std::pair<size_t, std::vector<Evaluation>>> history_;  // by round
  TreeTaskResult result_;
};

}  // namespace

Result<TreeTaskResult> RunTreeTask(const TreeParameters& parameters,
                                   const TreeTaskContext& context) {
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, StartTreePool(parameters.machine));
  return TreeTask(parameters, context, *pool, pool->threads()).Run();
}

}  // namespace strata
