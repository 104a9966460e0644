// The bytes of a saved model and of the training state in a checkpoint, pinned in tests/golden:
// what was written once is read for ever.
#include "tests/support/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "proto/format/model_manifest.h"
#include "storage/memory/host_store.h"
#include "tests/support/sim_disk.h"
#include "worker/ctr/model_file.h"
#include "worker/ctr/training_state.h"
#include "worker/data/feature/feature.h"

namespace strata {
namespace {

constexpr uint64_t kBytesMax = 1 << 20;

// A file of the folder, and the one that pins its bytes.
const std::map<std::string, std::string> kModelFiles = {{"manifest", "model_v1_manifest.txt"},
                                                        {"features-1.bin", "model_v1_features.txt"},
                                                        {"sparse-1.bin", "model_v1_sparse.hex"},
                                                        {"dense-1.bin", "model_v1_dense.hex"}};

std::vector<FittedFeature> Features() {
  return {
      {.spec = {.column = "age", .kind = FeatureKind::kNumeric, .log = true, .standardise = true},
       .mean = 3.5,
       .deviation = 0.1,
       .boundaries = {}},
      {.spec = {.column = "age", .kind = FeatureKind::kBucketised, .buckets = 4},
       .boundaries = {-1.25, 18, 1e300}},
      {.spec = {.column = "city \"x\"", .kind = FeatureKind::kCategorical}, .boundaries = {}}};
}

SavedModel Model() {
  return {.job = "job",
          .seed = ~uint64_t{0},
          .epochs = 2,
          .samples = 1234,
          .shape = {ModelKind::kDeepFm, 1, {1}, 2, 1},
          .initializer = {InitializerKind::kUniform, 0.25F},
          .table_seed = 77,
          .features = FeaturesToText(Features()),
          .dense = {1.5F, -0.0F, 3e38F, 0.1F, -2.0F, 0.25F, 7.0F, -8.0F}};
}

const std::vector<Key>& Keys() {
  static const std::vector<Key> keys = {3, ~uint64_t{0}};
  return keys;
}

const std::vector<float>& Rows() {
  static const std::vector<float> rows = {1.0F, -0.5F, 0.1F, 1e-40F};
  return rows;
}

void Save(Disk& disk) {
  const TableSpec spec{.name = "rows",
                       .dim = GraphOf(Model().shape).row_dim(0),
                       .optimizer = {},
                       .initializer = Model().initializer,
                       .seed = Model().table_seed};
  ASSERT_EQ(Keys().size() * spec.dim, Rows().size());
  ASSERT_EQ(GraphOf(Model().shape).parameters(), Model().dense.size());
  const auto store = MakeHostStore();
  ASSERT_TRUE(store->CreateTable(spec).ok());
  Operation assign{.kind = OpKind::kAssign, .parts = {}, .exec = {}, .sync = {}};
  assign.parts.push_back({.table = spec.id(), .keys = Keys(), .in = Rows(), .out = {}});
  ASSERT_TRUE(SubmitAndWait(*store, std::move(assign)).status.ok());
  ASSERT_TRUE(SaveModel(disk, "model", Model(), *store, {&spec, 1}).ok());
}

TEST(ModelGolden, VersionOneIsWrittenAsEver) {
  SimDisk disk;
  Save(disk);
  for (const auto& [name, golden] : kModelFiles) {
    std::string bytes = *ReadFile(disk, "model/" + name, kBytesMax);
    if (name == "manifest") {
      auto manifest = *format::DecodeModelManifest(bytes, name);
      manifest.writer = "strata 0.1.0";
      bytes = format::EncodeModelManifest(manifest);
    }
    ExpectGolden(golden, bytes);
  }
}

// Loads the golden model with this golden manifest.
Result<LoadedModel> LoadWithManifest(const std::string& manifest) {
  SimDisk disk;
  STRATA_TRY(disk.MakeFolder("model"));
  for (const auto& [name, golden] : kModelFiles) {
    const std::string bytes = Golden(name == "manifest" ? manifest : golden);
    STRATA_TRY(WriteFileAtomically(disk, "model/" + name, bytes));
  }
  return LoadModel(disk, "model");
}

TEST(ModelGolden, VersionOneIsReadAsEver) {
  const auto loaded = LoadWithManifest("model_v1_manifest.txt");
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const SavedModel expected = Model();
  EXPECT_EQ(loaded->model.job, expected.job);
  EXPECT_EQ(loaded->model.seed, expected.seed);
  EXPECT_EQ(loaded->model.epochs, expected.epochs);
  EXPECT_EQ(loaded->model.samples, expected.samples);
  EXPECT_EQ(loaded->model.shape, expected.shape);
  EXPECT_EQ(loaded->model.initializer, expected.initializer);
  EXPECT_EQ(loaded->model.table_seed, expected.table_seed);
  EXPECT_EQ(loaded->model.dense, expected.dense);
  EXPECT_EQ(*FeaturesFromText(loaded->model.features, "features"), Features());
  EXPECT_EQ(loaded->tables[0].keys, Keys());
  EXPECT_EQ(loaded->tables[0].values, Rows());
}

// Version 1 has no word for the combiner or loss of these models; their other files stay as they
// are.
TEST(ModelGolden, VersionTwoIsWrittenAndReadAsEver) {
  const std::string file = "model_v2_manifest.txt";
  format::ModelManifest manifest =
      *format::DecodeModelManifest(Golden("model_v1_manifest.txt"), "manifest");
  manifest.combiner = "mean";
  manifest.loss = "mse";
  ExpectGolden(file, format::EncodeModelManifest(manifest));
  const auto loaded = LoadWithManifest(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  ModelShape expected = Model().shape;
  expected.combiner = Combiner::kMean;
  expected.loss = LossKind::kMse;
  EXPECT_EQ(loaded->model.shape, expected);
}

// Version 2 has no word for the combiner of a table.
TEST(ModelGolden, VersionThreeIsWrittenAndReadAsEver) {
  const std::string file = "model_v3_manifest.txt";
  format::ModelManifest manifest =
      *format::DecodeModelManifest(Golden("model_v1_manifest.txt"), "manifest");
  manifest.tables = {{.name = "all",
                      .slots = manifest.slots,
                      .dim = manifest.embedding_dim,
                      .combiner = "mean",
                      .rows = manifest.rows}};
  ExpectGolden(file, format::EncodeModelManifest(manifest));
  const auto loaded = LoadWithManifest(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const GraphTable table{.name = "all",
                         .slots = manifest.slots,
                         .dim = manifest.embedding_dim,
                         .combiner = Combiner::kMean};
  EXPECT_THAT(loaded->model.shape.tables, testing::ElementsAre(table));
  EXPECT_EQ(loaded->tables[0].values, Rows());
}

TrainerState State() {
  return {.steps = 120,
          .epoch = 2,
          .epoch_steps = 20,
          .samples = 61440,
          .dense = {1.5F, -0.0F, 1e-40F},
          .dense_state = {3e38F}};
}

const std::vector<std::string>& StateFiles() {
  static const std::vector<std::string> files = {"training_state_v1_progress.txt",
                                                 "training_state_v1_dense.hex",
                                                 "training_state_v1_dense_state.hex"};
  return files;
}

TEST(TrainingStateGolden, FormatOneIsWrittenAsEver) {
  const std::vector<Attachment> attachments = AttachmentsOf(State());
  ASSERT_EQ(attachments.size(), StateFiles().size());
  for (size_t i = 0; i < attachments.size(); ++i) {
    ExpectGolden(StateFiles()[i], attachments[i].bytes);
  }
}

TrainerState EvaluatedState() {
  TrainerState state = State();
  state.evaluations = {.by = BestBy::kAuc,
                       .best = {.steps = 100,
                                .samples = 51200,
                                .metrics = {.samples = 999,
                                            .auc = 0.8125,
                                            .logloss = 0.1 + 0.2,
                                            .calibration = 1.25,
                                            .bad_rows = 2,
                                            .base_logloss = 0.5,
                                            .gauc = 0.625,
                                            .groups = 7,
                                            .groups_left_out = 3}},
                       .since_best = 1,
                       .evaluated_steps = 110};
  return state;
}

TEST(TrainingStateGolden, FormatTwoIsWrittenAndReadAsEver) {
  const std::string file = "training_state_v2_progress.txt";
  ExpectGolden(file, AttachmentsOf(EvaluatedState())[0].bytes);
  const std::vector<std::string> texts = {Golden(file), Golden(StateFiles()[1]),
                                          Golden(StateFiles()[2])};
  const auto state = ParseTrainerState(texts, "checkpoint 7");
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->steps, State().steps);
  EXPECT_EQ(state->dense, State().dense);
  ASSERT_TRUE(state->evaluations.has_value());
  const EvaluationState expected = *EvaluatedState().evaluations;
  EXPECT_EQ(state->evaluations->by, expected.by);
  EXPECT_EQ(state->evaluations->best.steps, expected.best.steps);
  EXPECT_EQ(state->evaluations->best.metrics.auc, expected.best.metrics.auc);
  EXPECT_EQ(state->evaluations->best.metrics.logloss, expected.best.metrics.logloss);
  EXPECT_EQ(state->evaluations->evaluated_steps, expected.evaluated_steps);
}

TEST(TrainingStateGolden, FormatThreeIsWrittenAndReadAsEver) {
  const std::string file = "training_state_v3_progress.txt";
  TrainerState state = State();
  state.evaluations = {.by = BestBy::kMse,
                       .best = {.steps = 100,
                                .samples = 51200,
                                .metrics = {.samples = 999,
                                            .auc = NAN,
                                            .logloss = NAN,
                                            .calibration = NAN,
                                            .bad_rows = 2,
                                            .loss = LossKind::kMse,
                                            .mse = 0.1 + 0.2,
                                            .base_mse = 0.5}},
                       .since_best = 1,
                       .evaluated_steps = 110};
  ExpectGolden(file, AttachmentsOf(state)[0].bytes);
  const std::vector<std::string> texts = {Golden(file), Golden(StateFiles()[1]),
                                          Golden(StateFiles()[2])};
  const auto read = ParseTrainerState(texts, "checkpoint 7");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_TRUE(read->evaluations.has_value());
  EXPECT_EQ(read->evaluations->by, BestBy::kMse);
  EXPECT_EQ(read->evaluations->best.metrics.mse, 0.1 + 0.2);
  EXPECT_EQ(read->evaluations->best.metrics.base_mse, 0.5);
}

TEST(TrainingStateGolden, FormatOneIsReadAsEver) {
  std::vector<std::string> texts;
  for (const std::string& file : StateFiles()) texts.push_back(Golden(file));
  const auto state = ParseTrainerState(texts, "checkpoint 7");
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->steps, State().steps);
  EXPECT_EQ(state->epoch, State().epoch);
  EXPECT_EQ(state->epoch_steps, State().epoch_steps);
  EXPECT_EQ(state->samples, State().samples);
  EXPECT_EQ(state->dense, State().dense);
  EXPECT_EQ(state->dense_state, State().dense_state);
  EXPECT_FALSE(state->evaluations.has_value());
}

}  // namespace
}  // namespace strata
