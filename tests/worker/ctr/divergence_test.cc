// Each cause that a loss is no number is put into a run of its own, and named.
#include "worker/ctr/divergence.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cluster/collective/memory_world.h"
#include "storage/memory/host_store.h"
#include "tests/worker/ctr/click_data.h"
#include "tests/worker/ctr/sync_store.h"
#include "worker/ctr/trainer.h"
#include "worker/model/model_shape.h"

namespace strata {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Patient {
  ModelShape shape{ModelKind::kDeepFm, 4, {8, 4}, 3, 2};
  std::vector<ClickSample> data = ClickData(600, 21);
  TrainerState state = {
      .steps = 4, .samples = 400, .dense = {}, .dense_state = {}};  // what it goes on from
  std::map<Key, std::vector<float>> rows = {};                      // assigned before
  size_t world = 1;
};

Patient With(ModelShape shape) {
  Patient patient{.shape = std::move(shape)};
  const LayerGraph graph = GraphOf(patient.shape);
  patient.state.dense.resize(graph.parameters());
  InitializeParameters(graph, 1, patient.state.dense);
  return patient;
}

// What each rank says.
std::vector<Status> Train(const Patient& patient) {
  MemoryWorld memory(static_cast<int>(patient.world));
  SyncStore store;
  const TableSpec table{.name = "rows", .dim = GraphOf(patient.shape).row_dim(0), .optimizer = {}};
  EXPECT_TRUE(store.CreateTable(table).ok());
  for (const auto& [key, row] : patient.rows) {
    EXPECT_TRUE(Assign(store, table, std::span(&key, 1), row).ok());
  }
  std::vector<Status> said(patient.world);
  std::vector<std::thread> ranks;
  for (size_t r = 0; r < patient.world; ++r) {
    ranks.emplace_back([&, r] {
      Group group(memory.rank(static_cast<int>(r)));
      const auto network = MakeCpuNetwork(GraphOf(patient.shape));
      Trainer trainer({.batch_size = 100,
                       .dense_optimizer = {},
                       .tables = {table.id()},
                       .nonce = 1,
                       .names = {.dense = {"age", "income"}, .slots = {"city", "site"}}},
                      *network, store, group);
      ASSERT_TRUE(trainer.Start().ok());
      ASSERT_TRUE(trainer.Resume(patient.state).ok());
      const size_t samples = patient.data.size();
      VectorSource source(patient.data, samples * r / patient.world,
                          samples * (r + 1) / patient.world);
      said[r] = trainer.TrainEpoch(source, 0, [](const StepReport&) -> Status { return {}; });
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return said;
}

std::string Message(const Patient& patient) {
  const Status said = Train(patient)[0];
  EXPECT_EQ(said.code(), StatusCode::kFailed);
  return said.message();
}

const GraphLayer& LayerOf(const LayerGraph& graph, const std::string& name) {
  for (const GraphLayer& layer : graph.layers()) {
    if (layer.spec.name == name) return layer;
  }
  ADD_FAILURE() << name;
  return graph.layers()[0];
}

TEST(Divergence, NamesADenseFeature) {
  Patient patient = With({ModelKind::kDeepFm, 4, {8, 4}, 3, 2});
  patient.data[107].dense[1] = kInfinity;
  EXPECT_THAT(Message(patient), AllOf(HasSubstr("step 6: the loss is"),
                                      HasSubstr("dense feature 'income' of sample 7 of the batch "
                                                "is inf: correct the data")));
}

TEST(Divergence, NamesARowByKeyAndSlot) {
  Patient patient = With({ModelKind::kFm, 4, {}, 3, 2});
  for (const size_t slot : {1U, 2U}) {
    const Key key = patient.data[3].keys[slot];
    patient.rows = {{key, {0, 0, kNan, 0, 0}}};
    EXPECT_THAT(Message(patient),
                HasSubstr(fmt::format("step 5: the loss is nan: the embedding row of key {} of "
                                      "slot {} has nan at place 2, from an earlier step: the model "
                                      "diverged; use a smaller sparse.learning_rate",
                                      key, slot == 1 ? "'site'" : "2")));
  }
}

TEST(Divergence, NamesTheFirstLayerWhoseParametersAreNotFinite) {
  for (const ModelShape& shape : {ModelShape{ModelKind::kDeepFm, 4, {8, 4}, 3, 2},
                                  ModelShape{ModelKind::kDlrm, 4, {16, 8}, 3, 2, {8, 4}},
                                  ModelShape{ModelKind::kDcn, 4, {16, 8}, 3, 2, {}, 2},
                                  ModelShape{ModelKind::kDcnV2, 4, {16, 8}, 3, 2, {}, 2, 4}}) {
    const LayerGraph graph = GraphOf(shape);
    int layers = 0;
    for (const GraphLayer& layer : graph.layers()) {
      for (const ParameterRange& range :
           {layer.parameters.weights, layer.parameters.biases, layer.parameters.second_weights}) {
        if (range.count == 0) continue;
        ++layers;
        Patient patient = With(shape);
        patient.state.dense[range.end() - 1] = kNan;
        EXPECT_THAT(Message(patient),
                    AllOf(HasSubstr(fmt::format(
                              " {} of layer '{}' ({}) is nan, from an earlier step",
                              range.count - 1, layer.spec.name, LayerKindName(layer.spec.kind))),
                          HasSubstr("use a smaller dense.learning_rate")));
      }
    }
    EXPECT_GE(layers, 4);
  }
}

// Parameters that are finite, and too large for what they are multiplied with.
TEST(Divergence, NamesTheFirstLayerThatGivesWhatIsNotFinite) {
  const ModelShape shape{ModelKind::kDcnV2, 4, {16, 8}, 3, 2, {}, 2, 4};
  const LayerGraph graph = GraphOf(shape);
  for (const std::string name : {"cross1", "cross2", "top1", "top2"}) {
    Patient patient = With(shape);
    const ParameterRange& weights = LayerOf(graph, name).parameters.weights;
    // Of two units one gets a positive sum, which a ReLU keeps.
    for (size_t i = 0; i < weights.count; ++i) {
      patient.state.dense[weights.at + i] = i % 2 == 0 ? 3e38F : -3e38F;
    }
    if (name.starts_with("cross")) {
      const ParameterRange& second = LayerOf(graph, name).parameters.second_weights;
      for (size_t i = second.at; i < second.end(); ++i) patient.state.dense[i] = 3e38F;
    }
    for (ClickSample& sample : patient.data) sample.dense = {30, 30};
    EXPECT_THAT(Message(patient), AllOf(HasSubstr(fmt::format("what layer '{}' (", name)),
                                        HasSubstr("numbers grew too large, the model diverged")));
  }
}

TEST(Divergence, OfSeveralWorkersTheOneWhosePartItIsTells) {
  Patient patient = With({ModelKind::kDeepFm, 4, {8, 4}, 3, 2});
  patient.world = 3;
  patient.data[200 + 40].dense[0] = kNan;  // the second rank's part of the second step
  const std::vector<Status> said = Train(patient);
  const std::string cause = "dense feature 'age' of sample 7 of the batch is nan";
  EXPECT_THAT(said[0].message(), HasSubstr("step 6: the loss is nan: worker 1: " + cause));
  EXPECT_THAT(said[1].message(), HasSubstr("step 6: the loss is nan: " + cause));
  EXPECT_EQ(said[2].message(), said[0].message());
}

TEST(Divergence, AModelThatIsWorseThanNoneIsToldOf) {
  std::vector<ScoredSample> samples;
  for (int i = 0; i < 100; ++i)
    samples.push_back({.logit = -2, .label = i % 10 == 0 ? 1.0F : 0.0F});
  Metrics metrics = ComputeMetrics(&samples);
  EXPECT_NEAR(metrics.base_logloss, -0.1 * std::log(0.1) - 0.9 * std::log(0.9), 1e-7);
  EXPECT_EQ(FarFromBaseRate(metrics, "it"), "");
  for (ScoredSample& sample : samples) sample.logit = 8;
  metrics = ComputeMetrics(&samples);
  EXPECT_THAT(FarFromBaseRate(metrics, "the evaluation"),
              HasSubstr("the evaluation has logloss 7.2, far above 0.3251"));
  EXPECT_THAT(FarFromBaseRate({.loss = LossKind::kMse, .mse = 4, .base_mse = 2}, "it"),
              HasSubstr("it has an MSE of 4, far above 2, that of always predicting"));
  EXPECT_EQ(FarFromBaseRate({.loss = LossKind::kMse, .mse = 2, .base_mse = 2}, "it"), "");
  EXPECT_EQ(FarFromBaseRate({.logloss = kNan}, "it"), "");
  EXPECT_EQ(FarFromBaseRate({.logloss = 0.1, .base_logloss = 0}, "of one class"), "");
}

}  // namespace
}  // namespace strata
