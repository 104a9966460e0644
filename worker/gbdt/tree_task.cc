#include "worker/gbdt/tree_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <thread>

#include "base/log.h"
#include "worker/gbdt/convert_task.h"
#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/early_stopping.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/open_rows.h"
#include "worker/gbdt/predict_task.h"
#include "worker/gbdt/rank_agreement.h"

namespace strata {
namespace {

double SecondsBetween(TimeNs begin, TimeNs end) {
  return static_cast<double>(end - begin) / static_cast<double>(kSecond);
}

class TreeTask {
 public:
  TreeTask(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
           size_t threads)
      : p_(parameters), context_(context), pool_(pool), threads_(threads) {}

  Result<TreeTaskResult> Run() {
    result_.task = p_.task;
    if (p_.task == "convert") {
      STRATA_TRY(RunConvert(p_, context_, &result_));
      return std::move(result_);
    }
    if (p_.data.empty()) return Invalid("data is missing: expected data = FILE");
    if (context_.group != nullptr) STRATA_TRY(AgreeOnParameters(*context_.group, &p_));
    STRATA_TRY(p_.task == "predict" ? RunPredict(p_, context_, pool_, &result_) : Train());
    return std::move(result_);
  }

 private:
  // One rank does what shows outside.
  bool writes() const { return context_.group == nullptr || context_.group->rank() == 0; }

  Result<TreeDataset> Load(const std::string& path,
                           std::shared_ptr<const FeatureBinning> features) {
    const DatasetOptions options = {
        .binning = p_.binning,
        .sample_rows = static_cast<size_t>(p_.bin_construct_sample_cnt),
        .sample_seed = p_.data_random_seed,
        .classes = static_cast<size_t>(p_.num_class),
        .categorical = p_.categorical_feature,
        .group = p_.tree_learner == "feature" ? nullptr : context_.group,
        .own_files = p_.pre_partition};
    STRATA_ASSIGN(const bool is_binned, IsDatasetFile(context_.disk, path));
    if (is_binned && !p_.columns.has_value()) {
      if (context_.group != nullptr) {
        return Invalid(fmt::format("{}: a file of save_binary belongs to one process", path));
      }
      return ReadDatasetFile(context_.disk, path, options, std::move(features), pool_);
    }
    STRATA_ASSIGN(
        const std::unique_ptr<RowSource> source,
        OpenRows(context_.disk, p_, path, features == nullptr ? nullptr : &features->categories));
    STRATA_ASSIGN(TreeDataset data, LoadTreeDataset(context_.disk, *source, path, options,
                                                    std::move(features), pool_));
    if (p_.save_binary) {
      STRATA_TRY(WriteDatasetFile(context_.disk, data, options, path + ".bin"));
    }
    return data;
  }

  Status Train() {
    const TimeNs begin = context_.clock.Now();
    STRATA_ASSIGN(const TreeDataset train, Load(p_.data, nullptr));
    std::vector<std::unique_ptr<TreeDataset>> valid;
    std::vector<const TreeDataset*> valid_views;
    for (const std::string& path : p_.valid) {
      STRATA_ASSIGN(TreeDataset data, Load(path, train.features));
      valid.push_back(std::make_unique<TreeDataset>(std::move(data)));
      valid_views.push_back(valid.back().get());
    }
    if (context_.group != nullptr && p_.tree_learner == "feature") {
      STRATA_TRY(AgreeOnRows(*context_.group, train));
    }
    result_.rows = train.all_rows();
    result_.features = train.features->used.size();
    result_.load_seconds = SecondsBetween(begin, context_.clock.Now());
    Log(LogLevel::kInfo, "{} rows, {} of {} features, {} bins; loaded in {:.2f} s",
        train.all_rows(), train.features->used.size(), train.features->names.size(),
        train.bins.histogram_bins(), result_.load_seconds);
    if (p_.early_stopping_round > 0 && valid.empty()) {
      return Invalid("early_stopping_round needs a validation set: expected valid = FILE");
    }
    STRATA_ASSIGN(const std::unique_ptr<Booster> booster,
                  Booster::Make(p_, train, valid_views, pool_, threads_, nullptr, context_.group));
    STRATA_TRY(Boost(*booster));
    STRATA_TRY(WriteModel(booster->model(), p_.output_model));
    result_.rounds = booster->rounds();
    result_.output = writes() ? p_.output_model : "by rank 0";
    return {};
  }

  Status WriteModel(const TreeModel& model, const std::string& path) {
    if (!writes()) return {};
    STRATA_ASSIGN(
        const std::string text,
        WriteLightGbmText(model, static_cast<ImportanceKind>(p_.saved_feature_importance_type)));
    return WriteFileAtomically(context_.disk, path, text);
  }

  Status Boost(Booster& booster) {
    const auto rounds = static_cast<size_t>(p_.num_iterations);
    EarlyStopping stopping(static_cast<size_t>(std::max<int64_t>(0, p_.early_stopping_round)),
                           p_.early_stopping_min_delta, p_.first_metric_only);
    const TimeNs begin = context_.clock.Now();
    for (size_t round = 1; round <= rounds; ++round) {
      STRATA_TRY(context_.check());
      STRATA_ASSIGN(const bool goes_on, booster.Round());
      const bool shown = round % static_cast<size_t>(p_.metric_freq) == 0 || round == rounds;
      if (shown || p_.early_stopping_round > 0) {
        STRATA_ASSIGN(result_.evaluations, booster.Evaluate());
      }
      result_.train_seconds = SecondsBetween(begin, context_.clock.Now());
      const double eta =
          result_.train_seconds / static_cast<double>(round) * static_cast<double>(rounds - round);
      if (shown && writes()) context_.progress(round, result_.evaluations, eta);
      if (!goes_on) break;
      result_.best_round = stopping.Add(round, result_.evaluations);
      if (result_.best_round.has_value()) {
        Log(LogLevel::kInfo, "training stops early: no better for {} rounds than after round {}",
            p_.early_stopping_round, *result_.best_round);
        booster.TruncateTo(*result_.best_round);
        break;
      }
      if (p_.snapshot_freq > 0 && round % static_cast<size_t>(p_.snapshot_freq) == 0) {
        STRATA_TRY(WriteModel(booster.model(),
                              fmt::format("{}.snapshot_iter_{}", p_.output_model, round)));
      }
    }
    return {};
  }

  TreeParameters p_;
  const TreeTaskContext& context_;
  WorkPool& pool_;
  const size_t threads_;
  TreeTaskResult result_;
};

}  // namespace

Result<TreeTaskResult> RunTreeTask(const TreeParameters& parameters,
                                   const TreeTaskContext& context) {
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const int64_t threads = parameters.num_threads > 0 ? parameters.num_threads : cores;
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool,
                WorkPool::Start("tree", static_cast<int>(threads) - 1, PoolWait::kSpinFirst));
  return TreeTask(parameters, context, *pool, static_cast<size_t>(threads)).Run();
}

}  // namespace strata
