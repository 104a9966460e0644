#include "strata/boosted_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/boost/booster.h"
#include "worker/gbdt/boost/early_stopping.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/engine/feature_rules.h"
#include "worker/gbdt/input/dataset_options.h"
#include "worker/gbdt/input/forced_bins.h"
#include "worker/gbdt/lightgbm/given_parameters.h"
#include "worker/gbdt/lightgbm/parameter_table.h"
#include "worker/gbdt/memory/memory_rows.h"
#include "worker/gbdt/model/model_format.h"
#include "worker/gbdt/predict/predictor.h"
#include "worker/gbdt/tree_pool.h"

namespace strata {
namespace {

constexpr char kNoPath[] = "the path of the model's file is empty";
constexpr std::string_view kParameters = "parameters";

// Keys that say which rows a file has, which ranks train, and what is printed.
constexpr std::string_view kOfPrograms[] = {"data",          "valid",
                                            "header",        "label_column",
                                            "weight_column", "group_column",
                                            "ignore_column", "tree_learner",
                                            "top_k",         "pre_partition",
                                            "num_machines",  "machines",
                                            "time_out",      "local_listen_port",
                                            "metric_freq",   "machine_list_filename"};

template <typename Part>
bool IsIn(const Part& part, const void* member) {
  const auto* const bytes = reinterpret_cast<const char*>(&part);
  return !std::less<>()(member, static_cast<const void*>(bytes)) &&
         std::less<>()(member, static_cast<const void*>(bytes + sizeof part));
}

Status CheckHasMeaning(const std::string& key) {
  const ParameterRow* const row = FindParameter(key);
  if (row == nullptr || row->name == "verbosity") return {};  // MakeTreeParameters knows the key
  TreeParameters all;
  const auto* const member =
      std::visit([](auto* at) -> const void* { return at; }, row->member(all));
  if (std::ranges::count(kOfPrograms, row->name) == 0 && !IsIn(all.task, member) &&
      !IsIn(all.predict, member)) {
    return {};
  }
  return Invalid(fmt::format(
      "{}: {} has no meaning for rows in memory, which one process trains on: remove it",
      kParameters, key));
}

Result<TreeParameters> ParametersOf(const TreeTraining& training) {
  std::vector<GivenParameter> given;
  for (const auto& [key, value] : training.parameters) {
    STRATA_TRY(CheckHasMeaning(key));
    given.push_back({.key = key, .value = value, .origin = std::string(kParameters)});
  }
  return MakeTreeParameters(given, std::string(kParameters));
}

Result<TreeDataset> Load(const TreeRows& rows, const std::string& what,
                         const DatasetOptions& options,
                         std::shared_ptr<const FeatureBinning> features, WorkPool& pool) {
  STRATA_ASSIGN(MemoryRows source, MemoryRows::Make(rows, what, true));
  return LoadTreeDataset(RealDisk(), source, what, options, std::move(features), pool);
}

Status Report(const TreeTraining& training, size_t round,
              const std::vector<Evaluation>& evaluations) {
  if (!training.evaluated) return {};
  for (const Evaluation& data : evaluations) {
    for (const MetricValue& metric : data.metrics) {
      STRATA_TRY(training.evaluated(
          {.round = round, .data = data.data, .metric = metric.name, .value = metric.value}));
    }
  }
  return {};
}

// Adds rounds until there are as many as asked for, none is better any more, or no leaf splits.
Status Boost(Booster& booster, const TreeParameters& p, const TreeTraining& training) {
  EarlyStopping stopping(static_cast<size_t>(p.patience()), p.metric.early_stopping_min_delta,
                         p.metric.first_metric_only);
  for (size_t round = 1; round <= static_cast<size_t>(p.boosting.num_iterations); ++round) {
    STRATA_ASSIGN(const bool goes_on, booster.Round());
    std::vector<Evaluation> evaluations;
    if (training.evaluated || p.patience() > 0) {
      STRATA_ASSIGN(evaluations, booster.Evaluate());
    }
    STRATA_TRY(Report(training, round, evaluations));
    if (!goes_on) return {};
    if (const std::optional<size_t> best = stopping.Add(round, evaluations)) {
      booster.TruncateTo(*best);
      return {};
    }
  }
  return {};
}

PredictionKind KindOf(TreeOutput output) {
  switch (output) {
    case TreeOutput::kPrediction:
      return PredictionKind::kTransformed;
    case TreeOutput::kRawScore:
      return PredictionKind::kRaw;
    case TreeOutput::kLeaves:
      return PredictionKind::kLeaves;
    case TreeOutput::kContributions:
      return PredictionKind::kContributions;
  }
  return PredictionKind::kTransformed;
}

}  // namespace

BoostedTrees::BoostedTrees(std::shared_ptr<const TreeModel> model) : model_(std::move(model)) {}

Result<BoostedTrees> BoostedTrees::Train(const TreeRows& rows, const TreeTraining& training) {
  STRATA_ASSIGN(const TreeParameters p, ParametersOf(training));
  DatasetOptions options = DatasetOptionsOf(p);
  options.side_files = false;
  STRATA_ASSIGN(options.forced_bounds, ReadForcedBins(RealDisk(), p.data.forcedbins_filename));
  if (p.objective.name == "lambdarank" || p.objective.name == "rank_xendcg") {
    return Invalid(fmt::format(
        "parameters: objective = {} needs queries, which rows in memory do not have: train it from "
        "a file with strata-worker",
        p.objective.name));
  }
  if (p.patience() > 0 && training.valid.empty()) {
    return Invalid("parameters: early_stopping_round needs rows in TreeTraining::valid");
  }
  STRATA_TRY(CheckFeatureRules(p.growth, rows.features).Prefixed("rows"));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, StartTreePool(p.machine));
  STRATA_ASSIGN(const TreeDataset train, Load(rows, "rows", options, nullptr, *pool));
  std::vector<TreeDataset> valid;
  for (size_t i = 0; i < training.valid.size(); ++i) {
    if (training.valid[i].features != rows.features) {
      return Invalid(fmt::format("valid[{}]: {} features, the rows to train on have {}", i,
                                 training.valid[i].features, rows.features));
    }
    STRATA_ASSIGN(valid.emplace_back(), Load(training.valid[i], fmt::format("valid[{}]", i),
                                             options, train.features, *pool));
  }
  std::vector<const TreeDataset*> views;
  for (const TreeDataset& data : valid) views.push_back(&data);
  STRATA_ASSIGN(const std::unique_ptr<Booster> booster,
                Booster::Make(p, train, views, *pool, pool->threads()));
  STRATA_TRY(Boost(*booster, p, training));
  return BoostedTrees(std::make_shared<const TreeModel>(booster->model()));
}

Result<BoostedTrees> BoostedTrees::Read(const std::string& path) {
  if (path.empty()) return Invalid(kNoPath);
  STRATA_ASSIGN(TreeModel trees, ReadModelFile(RealDisk(), path));
  return BoostedTrees(std::make_shared<const TreeModel>(std::move(trees)));
}

Status BoostedTrees::Write(const std::string& path, TreeFileFormat format) const {
  if (path.empty()) return Invalid(kNoPath);
  STRATA_ASSIGN(const std::string text,
                WriteModelAs(*model_, format == TreeFileFormat::kLightGbm ? ModelFormat::kLightGbm
                                                                          : ModelFormat::kXgboost));
  return WriteFileAtomically(RealDisk(), path, text);
}

size_t BoostedTrees::features() const { return model_->features(); }
size_t BoostedTrees::rounds() const { return model_->iterations(); }

Result<std::vector<double>> BoostedTrees::Predict(const TreeRows& rows, TreeOutput output) const {
  if (rows.features != features()) {
    return Invalid(fmt::format("rows: {} features, the model has {}", rows.features, features()));
  }
  STRATA_ASSIGN(MemoryRows source, MemoryRows::Make(rows, "rows", false));
  STRATA_ASSIGN(const Predictor predictor, Predictor::Make(*model_, {.kind = KindOf(output)}));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> alone, WorkPool::Start("trees", 0));
  std::vector<double> all;
  std::vector<double> some;
  SparseRows block;
  while (true) {
    STRATA_TRY(source.Next(&block));
    if (block.rows() == 0) return all;
    STRATA_TRY(predictor.Predict(block, *alone, &some));
    all.insert(all.end(), some.begin(), some.end());
  }
}

}  // namespace strata
