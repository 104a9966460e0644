#include "strata/click_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file/disk.h"
#include "base/hash.h"
#include "base/random.h"
#include "cluster/collective/single_group.h"
#include "kernels/core/math.h"
#include "storage/memory/host_store.h"
#include "storage/optimizer_fields.h"
#include "worker/ctr/memory/memory_reader.h"
#include "worker/ctr/metrics.h"
#include "worker/ctr/model_file.h"
#include "worker/ctr/scorer.h"
#include "worker/ctr/trainer.h"
#include "worker/data/batch/row_batches.h"
#include "worker/data/batch/shuffle_source.h"
#include "worker/data/feature/feature_statistics.h"
#include "worker/data/raw/raw_features.h"
#include "worker/model/network.h"

namespace strata {
namespace {

constexpr char kTable[] = "rows";
constexpr char kNoPath[] = "the path of the model's folder is empty";

Result<std::vector<FittedFeature>> Fit(const ClickRows& rows,
                                       std::span<const FeatureSpec> features) {
  STRATA_ASSIGN(MemoryReader reader, MemoryReader::Make(rows, features, true));
  if (reader.rows() == 0) return Invalid("rows: there are none to train on");
  STRATA_ASSIGN(const FeatureStatistics statistics, FeatureStatistics::Gather(reader, features));
  return FitFeatures(features, statistics);
}

Result<std::unique_ptr<BatchSource>> Batches(const ClickRows& rows,
                                             const std::vector<FittedFeature>& features,
                                             bool needs_labels, LossKind loss) {
  STRATA_ASSIGN(MemoryReader reader,
                MemoryReader::Make(rows, SpecsOf(features), needs_labels, loss == LossKind::kMse));
  return std::unique_ptr<BatchSource>(
      std::make_unique<RowBatches>(std::make_unique<MemoryReader>(std::move(reader)), features));
}

Status CheckRange(const std::string& name, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return Invalid(fmt::format("{} is {}: expected {} to {}", name, value, least, most));
}

// Settings that the feature's kind does not have are wrong, too.
Status CheckFeature(const FeatureSpec& feature) {
  if (feature.kind == FeatureKind::kBucketised) {
    STRATA_TRY(CheckRange(fmt::format("buckets of feature '{}'", feature.column), feature.buckets,
                          2, 65536));
  } else if (feature.buckets != 0) {
    return Invalid(
        fmt::format("buckets of feature '{}': only bucketised features have them", feature.column));
  }
  if (feature.kind != FeatureKind::kNumeric && (feature.log || feature.standardise)) {
    return Invalid(
        fmt::format("feature '{}': log and standardise are for numeric features", feature.column));
  }
  if (feature.kind != FeatureKind::kCategorical && !feature.keys_of.empty()) {
    return Invalid(
        fmt::format("feature '{}': keys_of is for categorical features", feature.column));
  }
  return {};
}

Status CheckTraining(const ClickTraining& training) {
  if (training.features.empty()) return Invalid("features: there are none: name at least one");
  for (size_t i = 0; i < training.features.size(); ++i) {
    STRATA_TRY(CheckFeature(training.features[i]));
    const auto before = training.features.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(training.features.begin(), before, training.features[i]) != before) {
      return Invalid(fmt::format("features: {} is there twice", FeatureText(training.features[i])));
    }
  }
  if (training.kind == ModelKind::kLayers) {
    return Invalid("kind: layers are named in job files: expected another kind of model");
  }
  if (training.dropout != 0 && !WidthsOf(training.kind).hidden) {
    return Invalid(fmt::format("dropout has no effect on a {} model: it has no hidden layers",
                               ModelKindName(training.kind)));
  }
  STRATA_TRY(CheckRange("dropout", training.dropout, 0, 0.99));
  STRATA_TRY(CheckRange("l2", training.l2, 0, 1e6));
  STRATA_TRY(CheckRange("batch_size", training.batch_size, 1, 1 << 24));
  STRATA_TRY(CheckRange("epochs", training.epochs, 1, 1e6));
  STRATA_TRY(CheckRange("threads", training.threads, 1, 1024));
  const OptimizerKind dense = training.dense_optimizer.kind;
  if (dense == OptimizerKind::kRowwiseAdaGrad || dense == OptimizerKind::kLazyAdam) {
    return Invalid(fmt::format("dense_optimizer: {} is for rows alone", OptimizerKindName(dense)));
  }
  STRATA_TRY(ValidateOptimizer(training.rows_optimizer, "rows_optimizer"));
  return ValidateOptimizer(training.dense_optimizer, "dense_optimizer");
}

Result<ModelShape> ShapeOf(const ClickTraining& training) {
  ModelShape shape;
  shape.kind = training.kind;
  const ModelWidths has = WidthsOf(shape.kind);
  if (has.embedding_dim) shape.embedding_dim = training.embedding_dim;
  if (has.hidden) shape.hidden = training.hidden;
  if (has.bottom) shape.bottom = training.bottom;
  if (has.cross_layers) shape.cross_layers = training.cross_layers;
  if (has.cross_rank) shape.cross_rank = training.cross_rank;
  shape.slots = CountSlots(training.features);
  shape.dense_width = training.features.size() - shape.slots;
  STRATA_TRY(ValidateModelShape(shape));
  return shape;
}

}  // namespace

// The rows of parameters stay in the table that training has left.
struct ClickModel::State {
  SavedModel saved;
  std::vector<TableSpec> tables;
  std::vector<FittedFeature> features;
  std::unique_ptr<TableStore> store = MakeHostStore();
};

ClickModel::ClickModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<ClickModel> ClickModel::Train(const ClickRows& rows, const ClickTraining& training) {
  STRATA_TRY(CheckTraining(training));
  STRATA_ASSIGN(const ModelShape shape, ShapeOf(training));
  auto state = std::make_shared<State>();
  STRATA_ASSIGN(state->features, Fit(rows, training.features));
  STRATA_ASSIGN(std::unique_ptr<BatchSource> source,
                Batches(rows, state->features, true, shape.loss));
  if (training.shuffle_rows > 0) {
    source = std::make_unique<ShuffleSource>(std::move(source), training.shuffle_rows,
                                             Mix64(training.seed));
  }
  const TableSpec table{.name = kTable,
                        .dim = GraphOf(shape).row_dim(0),
                        .optimizer = training.rows_optimizer,
                        .initializer = InitializerOf(shape, training.initializer),
                        .seed = training.seed};
  state->tables = {table};
  STRATA_TRY(state->store->CreateTable(table));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> threads,
                WorkPool::Start("step", training.threads - 1, ThreadWait::kSpinFirst));
  const auto network = MakeCpuNetwork(GraphOf(shape), threads.get());
  SingleGroup alone;
  Trainer trainer({.seed = training.seed,
                   .batch_size = training.batch_size,
                   .dropout = training.dropout,
                   .l2 = training.l2,
                   .dense_optimizer = training.dense_optimizer,
                   .tables = TableIds(state->tables),
                   .nonce = SystemRandom64(),
                   .threads = threads.get()},
                  *network, *state->store, alone);
  STRATA_TRY(trainer.Start());
  for (uint32_t epoch = 0; epoch < training.epochs; ++epoch) {
    STRATA_TRY(trainer.TrainEpoch(*source, epoch, [&](const StepReport& report) -> Status {
      if (!training.stepped) return {};
      return training.stepped({.step = report.step,
                               .epoch = epoch + 1,
                               .samples = report.samples_total,
                               .loss = report.loss});
    }));
  }
  state->saved = TrainedModel("memory", training.epochs, shape, table, state->features, trainer);
  return ClickModel(std::move(state));
}

Result<ClickModel> ClickModel::Read(const std::string& folder) {
  if (folder.empty()) return Invalid(kNoPath);
  STRATA_ASSIGN(LoadedModel loaded, LoadModel(RealDisk(), folder));
  auto state = std::make_shared<State>();
  STRATA_ASSIGN(state->features, FeaturesOf(loaded.model, folder));
  if (RawLayoutOf(state->features).has_value()) {
    return Invalid(folder +
                   ": the model was trained with data.format = \"raw\", whose keys are no "
                   "texts: expected a model of columns; apply it with strata-worker");
  }
  SingleGroup alone;
  state->tables = RestoredTables(loaded.model, kTable);
  STRATA_TRY(RestoreTables(loaded, state->tables, *state->store, alone));
  state->saved = std::move(loaded.model);
  return ClickModel(std::move(state));
}

Status ClickModel::Write(const std::string& folder) const {
  if (folder.empty()) return Invalid(kNoPath);
  return SaveModel(RealDisk(), folder, state_->saved, *state_->store, state_->tables);
}

ModelKind ClickModel::kind() const { return state_->saved.shape.kind; }
std::vector<FeatureSpec> ClickModel::features() const { return SpecsOf(state_->features); }

Result<std::vector<float>> ClickModel::Predict(const ClickRows& rows) const {
  const LossKind loss = state_->saved.shape.loss;
  STRATA_ASSIGN(const std::unique_ptr<BatchSource> source,
                Batches(rows, state_->features, false, loss));
  const auto network = MakeCpuNetwork(GraphOf(state_->saved.shape));
  Scorer scorer(*network, state_->saved.dense, *state_->store, TableIds(state_->tables));
  std::vector<float> all;
  STRATA_TRY(scorer.Score(*source, [&](const Batch&, std::span<const float> logits) -> Status {
    for (const float logit : logits) {
      all.push_back(loss == LossKind::kMse ? logit
                                           : static_cast<float>(math::Sigmoid(double{logit})));
    }
    return {};
  }));
  return all;
}

Result<ClickMetrics> ClickModel::Evaluate(const ClickRows& rows) const {
  STRATA_ASSIGN(const std::unique_ptr<BatchSource> source,
                Batches(rows, state_->features, true, state_->saved.shape.loss));
  const auto network = MakeCpuNetwork(GraphOf(state_->saved.shape));
  Scorer scorer(*network, state_->saved.dense, *state_->store, TableIds(state_->tables));
  SingleGroup alone;
  STRATA_ASSIGN(const Metrics metrics,
                scorer.Evaluate(*source, alone, [](size_t) { return Status::Ok(); }));
  return ClickMetrics{.auc = metrics.auc,
                      .logloss = metrics.logloss,
                      .calibration = metrics.calibration,
                      .mse = metrics.mse};
}

}  // namespace strata
