// Training with rows and dense part on a GPU beside the trainer of the CPU.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/collective/single_group.h"
#include "storage/gpu/gpu_store.h"
#include "storage/memory/host_store.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/relative_distance.h"
#include "tests/worker/ctr/click_data.h"
#include "worker/ctr/gpu_trainer.h"
#include "worker/ctr/trainer.h"
#include "worker/model/model_shape.h"

namespace strata {
namespace {

using testing::HasSubstr;

struct GpuRecipe {
  ModelShape shape;
  GemmPrecision precision = GemmPrecision::kFp32;
  OptimizerSpec sparse{.kind = OptimizerKind::kAdaGrad, .learning_rate = 0.1F};
  std::vector<OptimizerSpec> by_table = {};  // in place of `sparse`, one for each table
  OptimizerSpec dense{.kind = OptimizerKind::kAdam, .learning_rate = 0.01F};
  uint32_t batch_size = 128;
  float dropout = 0;
};

std::vector<TableSpec> SpecsOf(const GpuRecipe& recipe) {
  const LayerGraph graph = GraphOf(recipe.shape);
  std::vector<TableSpec> specs;
  for (size_t t = 0; t < graph.spec().tables.size(); ++t) {
    specs.push_back({.name = fmt::format("rows{}", t),
                     .dim = graph.row_dim(t),
                     .optimizer = recipe.by_table.empty() ? recipe.sparse : recipe.by_table[t],
                     .initializer = {InitializerKind::kNormal, 0.1F},
                     .seed = 1});
  }
  return specs;
}

std::vector<TableId> IdsOf(const GpuRecipe& recipe) {
  std::vector<TableId> ids;
  for (const TableSpec& spec : SpecsOf(recipe)) ids.push_back(spec.id());
  return ids;
}

using Rows = std::map<std::pair<std::string, Key>, std::vector<float>>;  // by table and key

struct GpuRun {
  Rows rows;
  TrainerState state;
  std::vector<double> losses;
};

Rows AllRowsOf(TableStore& store, const GpuRecipe& recipe) {
  Rows all;
  for (const TableSpec& table : SpecsOf(recipe)) {
    EXPECT_TRUE(Scan(store, table, [&](std::span<const Key> keys, std::span<const float> rows) {
                  for (size_t i = 0; i < keys.size(); ++i) {
                    const auto row = rows.subspan(i * table.dim, table.dim);
                    all[{table.name, keys[i]}].assign(row.begin(), row.end());
                  }
                  return Status::Ok();
                }).ok());
  }
  return all;
}

void CreateTables(TableStore& store, const GpuRecipe& recipe) {
  for (const TableSpec& spec : SpecsOf(recipe)) EXPECT_TRUE(store.CreateTable(spec).ok());
}

// Trains over the samples once, from where `state` stands, if there is one.
void TrainOver(TrainingRun* run, VectorSource source, const TrainerState* state, GpuRun* found) {
  Status status = run->Start();
  ASSERT_TRUE(status.ok()) << status.ToString();
  if (state != nullptr) ASSERT_TRUE(run->Resume(*state).ok());
  status = run->TrainEpoch(source, 0, [&](const StepReport& report) -> Status {
    found->losses.push_back(report.loss);
    EXPECT_EQ(report.logits.size(), report.batch->samples);
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.ToString();
  found->state = run->State();
}

class GpuTrainerTest : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  static std::unique_ptr<LocalStore> Store(const GpuRecipe& recipe, size_t mebibytes = 256) {
    auto store = MakeLocalGpuStore({.memory_bytes = mebibytes << 20});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    CreateTables(**store, recipe);
    return std::move(*store);
  }
  // Over a store's table, as it is.
  static GpuRun OnGpu(const GpuRecipe& recipe, LocalStore& store, const VectorSource& source,
                      const TrainerState* state = nullptr,
                      const std::function<bool()>& wants_end = {}) {
    GpuRun found;
    const LayerGraph graph = GraphOf(recipe.shape);
    auto training = GpuTraining::Make(graph, store,
                                      {.precision = recipe.precision,
                                       .dense_optimizer = recipe.dense,
                                       .tables = SpecsOf(recipe)});
    EXPECT_TRUE(training.ok()) << training.status().ToString();
    if (!training.ok()) return found;
    GpuTrainer trainer({.seed = 1,
                        .batch_size = recipe.batch_size,
                        .dropout = recipe.dropout,
                        .dense_optimizer = recipe.dense,
                        .wants_end = wants_end},
                       graph, **training);
    TrainOver(&trainer, source, state, &found);
    found.rows = AllRowsOf(store, recipe);
    return found;
  }
  static GpuRun OnCpu(const GpuRecipe& recipe, const VectorSource& source) {
    GpuRun found;
    const auto store = MakeHostStore();
    CreateTables(*store, recipe);
    const auto network = MakeCpuNetwork(GraphOf(recipe.shape));
    SingleGroup alone;
    Trainer trainer({.seed = 1,
                     .batch_size = recipe.batch_size,
                     .dropout = recipe.dropout,
                     .dense_optimizer = recipe.dense,
                     .tables = IdsOf(recipe)},
                    *network, *store, alone);
    TrainOver(&trainer, source, nullptr, &found);
    found.rows = AllRowsOf(*store, recipe);
    return found;
  }
};

void ExpectAlike(const GpuRun& found, const GpuRun& expected, double tolerance) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i], expected.losses[i], tolerance) << "step " << i + 1;
  }
  EXPECT_LT(RelativeDistance(found.state.dense, expected.state.dense), tolerance);
  EXPECT_EQ(found.state.samples, expected.state.samples);
  EXPECT_EQ(found.state.steps, expected.state.steps);
  ASSERT_EQ(found.rows.size(), expected.rows.size());
  std::vector<float> found_rows;
  std::vector<float> expected_rows;
  for (const auto& [key, row] : expected.rows) {
    ASSERT_TRUE(found.rows.contains(key));
    const std::vector<float>& other = found.rows.at(key);
    found_rows.insert(found_rows.end(), other.begin(), other.end());
    expected_rows.insert(expected_rows.end(), row.begin(), row.end());
  }
  EXPECT_LT(RelativeDistance(found_rows, expected_rows), tolerance);
}

constexpr OptimizerSpec kAdaGrad{.kind = OptimizerKind::kAdaGrad, .learning_rate = 0.1F};
constexpr OptimizerSpec kAdam{.kind = OptimizerKind::kAdam, .learning_rate = 0.01F};
constexpr OptimizerSpec kSgd{.kind = OptimizerKind::kSgd, .learning_rate = 0.5F};

// Over several tables: with single weights and without, vectors where the network wants them and
// elsewhere, neighbours of one rule and of two.
std::vector<GpuRecipe> RecipesOfTables() {
  GpuRecipe cross{.shape = {ModelKind::kDcn, 4, {8}, 3, 2, {}, 2}, .by_table = {kAdaGrad, kAdam}};
  cross.shape.tables = {{.name = "a", .slots = 1, .dim = 6}, {.name = "b", .slots = 2, .dim = 3}};
  GpuRecipe pairs{.shape = {ModelKind::kDeepFm, 4, {8}, 3, 2}, .by_table = {kAdam, kAdam, kSgd}};
  GpuRecipe wide{.shape = {ModelKind::kWideDeep, 4, {8}, 3, 2}, .by_table = {kSgd, kAdam, kSgd}};
  for (const char* name : {"a", "b", "c"}) {
    pairs.shape.tables.push_back({.name = name, .slots = 1, .dim = 4});
    wide.shape.tables.push_back({.name = name, .slots = 1, .dim = name[0] - 'a' + 3U});
  }
  // No layer takes the vectors of the second one, and wide its single weights.
  GpuRecipe named{.shape = {ModelKind::kLayers, 4, {}, 3, 2}};
  named.shape.tables = {{.name = "a", .slots = 2, .dim = 5}, {.name = "b", .slots = 1, .dim = 2}};
  named.shape.layers = {{.name = "sum", .kind = LayerKind::kSumVectors, .inputs = {"a"}},
                        {.name = "deep", .inputs = {"sum"}, .width = 1},
                        {.name = "wide", .kind = LayerKind::kWide},
                        {.name = "logit", .kind = LayerKind::kAdd, .inputs = {"deep", "wide"}}};
  return {cross, pairs, wide, named};
}

std::vector<GpuRecipe> Recipes() {
  std::vector<GpuRecipe> recipes = {
      {.shape = {ModelKind::kLogistic, 0, {}, 3, 2}},
      {.shape = {ModelKind::kFm, 4, {}, 3, 2}},
      {.shape = {ModelKind::kDeepFm, 4, {16, 8}, 3, 2}},
      {.shape = {ModelKind::kDlrm, 8, {16, 8}, 3, 2, {8}}},
      {.shape = {ModelKind::kDcnV2, 4, {16}, 3, 2, {5}, 2, 4}},
      {.shape = {ModelKind::kDeepFm, 4, {8}, 3, 2}},
      {.shape = NetworkWithBatchNorm()},
  };
  recipes[5].shape.loss = LossKind::kMse;
  recipes[2].sparse = {.kind = OptimizerKind::kAdam, .learning_rate = 0.01F};
  recipes[2].dense = {.kind = OptimizerKind::kAdaGrad, .learning_rate = 0.05F};
  recipes[3].dropout = 0.1F;
  recipes[4].dense = {.kind = OptimizerKind::kMomentum, .learning_rate = 0.01F, .clip_norm = 0.5F};
  // Adam would make steps of the gradient of a bias before a batch_norm, which is 0 but for
  // rounding.
  recipes[6].dense = {.kind = OptimizerKind::kMomentum,
                      .learning_rate = 0.01F,
                      .clip_norm = 0.5F,
                      .weight_decay = 0.1F};
  for (GpuRecipe& recipe : RecipesOfTables()) recipes.push_back(std::move(recipe));
  return recipes;
}

TEST_F(GpuTrainerTest, LearnsWhatTheCpuLearns) {
  const auto data = ClickData(kGpuIsEmulated ? 1'000 : 10'000, 3);
  const VectorSource source(data, 0, data.size());
  for (const GpuRecipe& recipe : Recipes()) {
    SCOPED_TRACE(ModelKindName(recipe.shape.kind));
    const auto store = Store(recipe);
    ExpectAlike(OnGpu(recipe, *store, source), OnCpu(recipe, source), 2e-3);
  }
}

// The rows' own pooling divides on the GPU, and weights of keys do on the CPU.
TEST_F(GpuTrainerTest, LearnsMeansAsTheCpuDoes) {
  const auto data = ClickData(1'000, 3);
  const VectorSource source(data, 0, data.size(), /*keys_a_slot=*/3);
  for (ModelShape shape : {ModelShape{ModelKind::kLogistic, 0, {}, 1, 2},
                           ModelShape{ModelKind::kWideDeep, 4, {8}, 1, 2},
                           ModelShape{ModelKind::kDcn, 4, {8}, 1, 2, {}, 1}}) {
    SCOPED_TRACE(ModelKindName(shape.kind));
    const GpuRecipe of_sums{.shape = shape};
    shape.combiner = Combiner::kMean;
    const GpuRecipe recipe{.shape = shape};
    const GpuRun expected = OnCpu(recipe, source);
    const auto store = Store(recipe);
    ExpectAlike(OnGpu(recipe, *store, source), expected, 2e-4);
    EXPECT_GT(std::abs(OnCpu(of_sums, source).losses.back() - expected.losses.back()), 2e-3);
  }
}

// Slots of several keys, one table of which has means.
TEST_F(GpuTrainerTest, LearnsTablesOfSeveralKeysASlotAsTheCpuDoes) {
  auto data = ClickData(1'000, 3);
  const auto other = ClickData(1'000, 4);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i].keys.insert(data[i].keys.end(), other[i].keys.begin(), other[i].keys.end());
  }
  const VectorSource source(data, 0, data.size(), /*keys_a_slot=*/2);
  for (GpuRecipe recipe : RecipesOfTables()) {
    SCOPED_TRACE(ModelKindName(recipe.shape.kind));
    recipe.shape.tables[1].combiner = Combiner::kMean;
    const auto store = Store(recipe);
    ExpectAlike(OnGpu(recipe, *store, source), OnCpu(recipe, source), 2e-3);
  }
}

// A group takes 64 tables.
TEST_F(GpuTrainerTest, ManyTablesAreSeveralGroups) {
  GpuRecipe recipe{.shape = {ModelKind::kWideDeep, 1, {4}, 65, 0}, .batch_size = 16};
  std::vector<ClickSample> data(48);
  for (size_t i = 0; i < data.size(); ++i) {
    for (uint64_t slot = 0; slot < 65; ++slot) {
      if (i == 0) recipe.shape.tables.push_back({fmt::format("t{}", slot), 1, 1});
      data[i].keys.push_back(slot << 32 | Mix64(i * 65 + slot) % 3);
    }
    data[i].label = static_cast<float>(i % 2);
  }
  const VectorSource source(data, 0, data.size());
  const auto store = Store(recipe, 512);
  ExpectAlike(OnGpu(recipe, *store, source), OnCpu(recipe, source), 2e-3);
}

// Layers may leave all rows alone, or take their single weights only.
TEST_F(GpuTrainerTest, VectorsThatNoLayerTakesHaveNoGradient) {
  const auto data = ClickData(300, 3);
  const VectorSource source(data, 0, data.size());
  for (const LayerSpec& layer : {LayerSpec{.name = "logit", .inputs = {"dense"}, .width = 1},
                                 LayerSpec{.name = "logit", .kind = LayerKind::kWide}}) {
    SCOPED_TRACE(LayerKindName(layer.kind));
    GpuRecipe recipe{.shape = {ModelKind::kLayers, 4, {}, 3, 2}};
    recipe.shape.layers = {layer};
    const auto store = Store(recipe);
    ExpectAlike(OnGpu(recipe, *store, source), OnCpu(recipe, source), 2e-3);
  }
}

TEST_F(GpuTrainerTest, RepeatsToTheBitAndResumesWhereItStood) {
  const auto data = ClickData(1'000, 5);
  const VectorSource source(data, 0, data.size());
  for (GpuRecipe recipe : Recipes()) {
    SCOPED_TRACE(ModelKindName(recipe.shape.kind));
    recipe.precision = GemmPrecision::kBf16;
    const auto store = Store(recipe);
    const GpuRun whole = OnGpu(recipe, *store, source);
    const auto other = Store(recipe);
    int steps = 0;
    const GpuRun first = OnGpu(recipe, *other, source, nullptr, [&] { return ++steps == 3; });
    EXPECT_EQ(first.state.steps, 3U);
    const GpuRun rest = OnGpu(recipe, *other, source, &first.state);
    EXPECT_EQ(rest.state.dense, whole.state.dense);
    EXPECT_EQ(rest.state.dense_state, whole.state.dense_state);
    EXPECT_EQ(rest.rows, whole.rows);
    EXPECT_EQ(rest.losses.back(), whole.losses.back());
  }
}

// What is evaluated between two steps is the model of the steps before, and the run goes the same
// way.
TEST_F(GpuTrainerTest, BetweenStepsEverythingIsAsItIsWhereTrainingEnds) {
  const auto data = ClickData(600, 9);
  const VectorSource source(data, 0, data.size());
  const GpuRecipe recipe{.shape = {ModelKind::kDeepFm, 4, {8}, 3, 2}};
  const auto plain = Store(recipe);
  const GpuRun expected = OnGpu(recipe, *plain, source);
  for (const uint64_t steps : {2U, 5U}) {
    const auto store = Store(recipe);
    const LayerGraph graph = GraphOf(recipe.shape);
    auto training = GpuTraining::Make(graph, *store,
                                      {.precision = recipe.precision,
                                       .dense_optimizer = recipe.dense,
                                       .tables = SpecsOf(recipe)});
    ASSERT_TRUE(training.ok());
    GpuTrainer* running = nullptr;
    std::vector<uint64_t> seen;
    Rows rows;
    GpuTrainer trainer({.seed = 1,
                        .batch_size = 128,
                        .dense_optimizer = recipe.dense,
                        .between_steps = [&]() -> Result<bool> {
                          seen.push_back(running->steps());
                          rows = AllRowsOf(*store, recipe);
                          return running->steps() < steps;
                        }},
                       graph, **training);
    running = &trainer;
    GpuRun found;
    TrainOver(&trainer, source, nullptr, &found);
    EXPECT_EQ(trainer.has_ended(), steps == 2);
    EXPECT_EQ(found.state.steps, steps);
    EXPECT_EQ(seen.size(), std::min<uint64_t>(steps + 1, 5));
    for (size_t i = 0; i < found.losses.size(); ++i) {
      EXPECT_EQ(found.losses[i], expected.losses[i]) << i;
    }
    if (steps == 2) {
      EXPECT_EQ(rows, AllRowsOf(*store, recipe)) << "the step under way leaves no trace";
    } else {
      EXPECT_EQ(AllRowsOf(*store, recipe), expected.rows);
    }
  }
}

// The batch that was brought ahead is brought again.
TEST_F(GpuTrainerTest, AnEpochThatEndedEarlyGoesOnWhereItStood) {
  const auto data = ClickData(600, 9);
  const VectorSource source(data, 0, data.size());
  const GpuRecipe recipe{.shape = {ModelKind::kDeepFm, 4, {8}, 3, 2}};
  const auto plain = Store(recipe);
  const GpuRun expected = OnGpu(recipe, *plain, source);
  const auto store = Store(recipe);
  const LayerGraph graph = GraphOf(recipe.shape);
  auto training = GpuTraining::Make(
      graph, *store,
      {.precision = recipe.precision, .dense_optimizer = recipe.dense, .tables = SpecsOf(recipe)});
  ASSERT_TRUE(training.ok());
  int steps = 0;
  GpuTrainer trainer({.seed = 1,
                      .batch_size = recipe.batch_size,
                      .dense_optimizer = recipe.dense,
                      .wants_end = [&] { return ++steps == 2; }},
                     graph, **training);
  GpuRun found;
  TrainOver(&trainer, source, nullptr, &found);
  EXPECT_EQ(found.state.steps, 2U);
  VectorSource again = source;
  ASSERT_TRUE(trainer.TrainEpoch(again, 0, [](const StepReport&) -> Status { return {}; }).ok());
  EXPECT_EQ(trainer.State().dense, expected.state.dense);
  EXPECT_EQ(AllRowsOf(*store, recipe), expected.rows);
}

TEST_F(GpuTrainerTest, StatesOfOtherModelsAndTablesThatAreNotThereAreErrors) {
  const GpuRecipe recipe{.shape = {ModelKind::kFm, 4, {}, 3, 2}};
  const auto store = Store(recipe);
  const LayerGraph graph = GraphOf(recipe.shape);
  const auto absent = GpuTraining::Make(graph, *store, {.tables = {{.name = "none"}}});
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  const auto host = MakeHostStore();
  CreateTables(*host, recipe);
  EXPECT_EQ(GpuTraining::Make(graph, *host, {.tables = SpecsOf(recipe)}).status().code(),
            StatusCode::kInvalid);
  auto training = GpuTraining::Make(graph, *store,
                                    {.dense_optimizer = recipe.dense, .tables = SpecsOf(recipe)});
  ASSERT_TRUE(training.ok()) << training.status().ToString();
  GpuTrainer trainer({.batch_size = 1, .dense_optimizer = recipe.dense}, graph, **training);
  TrainerState state;
  state.dense.resize(2);
  EXPECT_THAT(trainer.Resume(state).ToString(), HasSubstr("has 2 dense parameters"));
}

// Numbers that are no numbers any more end training before they are learned from.
TEST_F(GpuTrainerTest, ALossThatIsNoNumberEndsTraining) {
  auto data = ClickData(300, 7);
  data[200].dense[0] = INFINITY;
  const GpuRecipe recipe{.shape = {ModelKind::kDeepFm, 4, {8}, 3, 2}};
  const auto store = Store(recipe);
  const LayerGraph graph = GraphOf(recipe.shape);
  auto training = GpuTraining::Make(graph, *store,
                                    {.dense_optimizer = recipe.dense, .tables = SpecsOf(recipe)});
  ASSERT_TRUE(training.ok());
  GpuTrainer trainer({.seed = 1, .batch_size = 128, .dense_optimizer = recipe.dense}, graph,
                     **training);
  ASSERT_TRUE(trainer.Start().ok());
  VectorSource source(data, 0, data.size());
  const Status status =
      trainer.TrainEpoch(source, 0, [](const StepReport&) -> Status { return {}; });
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_THAT(status.message(), HasSubstr("step 2: the loss is"));
  EXPECT_THAT(status.message(), HasSubstr("dense feature 0 of sample 72 of the batch is inf"));
  for (const float parameter : trainer.Dense()) ASSERT_TRUE(std::isfinite(parameter));
}

}  // namespace
}  // namespace strata
