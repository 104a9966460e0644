// Every fixed graph, and others of all kinds of layers, against the formulas in double precision,
// and its gradients against central differences of those.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/worker/model/free_graphs.h"
#include "tests/worker/model/reference_graph.h"
#include "worker/model/key_weights.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata {
namespace {

std::vector<ModelShape> FixedShapes() {
  return {
      {ModelKind::kLogistic, 0, {}, 4, 3},
      {ModelKind::kFm, 4, {}, 3, 2},
      {ModelKind::kWideDeep, 4, {5}, 2, 1},
      {ModelKind::kDeepFm, 4, {7, 5}, 3, 2},
      {ModelKind::kWideDeep, 4, {7, 5}, 3, 2},
      {ModelKind::kWideDeep, 3, {6}, 2, 0},
      {ModelKind::kDlrm, 4, {9, 6}, 3, 2, {5, 4}},
      {ModelKind::kDlrm, 8, {6}, 1, 3, {8}},
      {ModelKind::kDcn, 3, {6, 4}, 3, 2, {}, 2},
      {ModelKind::kDcn, 3, {6}, 3, 0, {}, 1},
      {ModelKind::kDcnV2, 3, {6, 4}, 3, 2, {}, 2, 4},
      {ModelKind::kDcnV2, 3, {6}, 3, 2, {5}, 3, 2},
  };
}

std::vector<ModelShape> AllShapes() {
  std::vector<ModelShape> all = FixedShapes();
  for (ModelShape& shape : FreeGraphs()) all.push_back(std::move(shape));
  for (ModelShape& shape : GraphsOfMeans()) all.push_back(std::move(shape));
  for (ModelShape& shape : GraphsOfNumbers()) all.push_back(std::move(shape));
  for (ModelShape& shape : GraphsOfTables()) all.push_back(std::move(shape));
  return all;
}

TEST(Graphs, LogitsAgreeWithTheFormula) {
  for (const ModelShape& shape : AllShapes()) {
    SCOPED_TRACE(ModelKindName(shape.kind));
    const GraphExample example(GraphOf(shape).spec(), 17, 1, /*weighted=*/shape.slots % 2 == 0);
    const auto network = MakeCpuNetwork(GraphOf(shape));
    std::vector<float> logits(17);
    ASSERT_TRUE(network->Score(example.input(), logits).ok());
    for (size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(logits[i], example.Logit(i), 1e-4 * (1 + std::abs(example.Logit(i)))) << i;
    }
  }
}

// What the loss gains where a number grows by 1, by the formulas.
double Slope(GraphExample* example, float* number, double l2) {
  constexpr float kStep = 1.0F / 65536;  // small, as rectifiers have a corner
  const float before = *number;
  const float after = before + kStep;
  *number = after;
  const double above = example->Loss(l2);
  *number = before;
  const double below = example->Loss(l2);
  return (above - below) / (double{after} - before);
}

TEST(Graphs, GradientsAgreeWithCentralDifferences) {
  constexpr double kL2 = 0.25;
  for (const ModelShape& shape : AllShapes()) {
    SCOPED_TRACE(ModelKindName(shape.kind));
    GraphExample example(GraphOf(shape).spec(), 6, 2, /*weighted=*/shape.slots % 2 == 1);
    const auto network = MakeCpuNetwork(GraphOf(shape));
    std::vector<float> rows(example.rows.size());
    std::vector<float> parameters(example.parameters.size());
    std::vector<float> logits(6);
    const Result<double> loss = network->Train(example.input(), {.l2 = static_cast<float>(kL2)},
                                               {rows, parameters, logits});
    ASSERT_TRUE(loss.ok());
    EXPECT_NEAR(*loss, example.Loss(0), 1e-4 * std::abs(*loss));
    const auto check = [&](std::span<float> numbers, const std::vector<float>& gradients) {
      for (size_t i = 0; i < numbers.size(); ++i) {
        const double expected = Slope(&example, &numbers[i], kL2);
        ASSERT_NEAR(gradients[i], expected, 2e-3 * (1 + std::abs(expected))) << i;
      }
    };
    check(example.rows, rows);
    check(std::span(example.parameters).first(example.learned()), parameters);
    const std::vector<double> sums = example.StatisticSums();
    ASSERT_EQ(example.learned() + sums.size(), parameters.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_NEAR(parameters[example.learned() + i], sums[i], 1e-5 * (1 + std::abs(sums[i]))) << i;
    }
  }
}

// A batch of two slots and one sample of the keys a, b, c and of none, with these weights.
struct BagsOfThreeAndNone {
  Batch batch{.samples = 1,
              .slots = 2,
              .offsets = {0, 3, 3},
              .keys = {5, 6, 7},
              .key_weights = {0.5F, 1.0F, 3.0F},
              .dense = {},
              .labels = {1},
              .weights = {1}};
  UniqueKeys unique;
  // Of a, b and c: a single weight and a vector of 1 each.
  const std::vector<float> values = {1, 2, 4, 8, 16, 32};
};

// Worked out by hand: (0.5 x 1 + 4 + 3 x 16) / 3 of the weights, (0.5 x 2 + 8 + 3 x 32) / 3 of the
// vectors. A slot without keys is 0, and a slot of one key is what the sum gives, to the bit.
TEST(Means, AreThoseOfKeysTimesTheirWeights) {
  BagsOfThreeAndNone bags;
  ModelShape shape{ModelKind::kWideDeep, 1, {1}, 2, 0};
  shape.combiner = Combiner::kMean;
  const LayerGraph graph = GraphOf(shape);
  UniqueFinder().Find(bags.batch, graph.table_slots(), &bags.unique);
  // The bias; W and b of the hidden layer, which takes both slots; W and b of the next.
  std::vector<float> parameters = {0.25F, 2, 64, 0, 1, 0};
  ASSERT_EQ(parameters.size(), graph.parameters());
  const auto network = MakeCpuNetwork(graph);
  const auto place = [&](size_t i) { return 2 * bags.unique.index[i / 2] + i % 2; };
  std::vector<float> values(bags.values.size());
  for (size_t i = 0; i < values.size(); ++i) values[place(i)] = bags.values[i];
  std::vector<float> rows(values.size());
  std::vector<float> gradients(parameters.size());
  std::vector<float> logits(1);
  const NetworkInput input{bags.batch, bags.unique, values, parameters};
  ASSERT_TRUE(network->Train(input, {}, {rows, gradients, logits}).ok());
  EXPECT_FLOAT_EQ(logits[0], 0.25F + 52.5F / 3 + 2 * 105.0F / 3);
  // d is the loss's slope at the logit, and 2 the weight between a vector and the logit.
  const float d = gradients[0];
  const float expected[] = {d / 6, d / 3, d / 3, 2 * d / 3, d, 2 * d};
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_FLOAT_EQ(rows[place(i)], expected[i]) << i;

  const GraphExample example(GraphOf({ModelKind::kFm, 3, {}, 3, 1}).spec(), 50, 5);
  std::vector<float> scratch;
  EXPECT_TRUE(
      NetworkKeyWeights(GraphOf({ModelKind::kFm, 3, {}, 3, 1}), example.batch, &scratch).empty());
  bags.batch.offsets = {0, 1, 2};
  bags.batch.keys = {5, 6};
  bags.batch.key_weights = {};
  EXPECT_TRUE(NetworkKeyWeights(graph, bags.batch, &scratch).empty()) << "no bag has two keys";
}

// A pass leaves nothing behind for the next one.
TEST(Graphs, PassesRepeatToTheBit) {
  for (const ModelShape& shape : AllShapes()) {
    const GraphExample example(GraphOf(shape).spec(), 9, 3);
    const GraphExample other(GraphOf(shape).spec(), 30, 4);
    const auto network = MakeCpuNetwork(GraphOf(shape));
    std::vector<float> rows[2];
    std::vector<float> parameters[2];
    std::vector<float> logits(9);
    for (int pass = 0; pass < 2; ++pass) {
      rows[pass].resize(example.rows.size());
      parameters[pass].resize(example.parameters.size());
      ASSERT_TRUE(network->Train(example.input(), {}, {rows[pass], parameters[pass], logits}).ok());
      std::vector<float> scores(30);
      ASSERT_TRUE(network->Score(other.input(), scores).ok());
    }
    EXPECT_EQ(rows[0], rows[1]) << ModelKindName(shape.kind);
    EXPECT_EQ(parameters[0], parameters[1]) << ModelKindName(shape.kind);
  }
}

TEST(FixedGraphs, ShapesThatCannotBe) {
  const std::pair<ModelShape, const char*> wrong[] = {
      {{ModelKind::kDlrm, 4, {8}, 3, 2, {5}}, "last bottom layer has width 5: expected"},
      {{ModelKind::kDlrm, 4, {8}, 3, 2, {}}, "last bottom layer has width 0: expected"},
      {{ModelKind::kDlrm, 4, {8}, 3, 0, {4}}, "0 dense (numeric) features: expected at least one"},
      {{ModelKind::kDlrm, 4, {8}, 0, 3, {4}}, "0 slots (categorical features) and 3 dense"},
      {{ModelKind::kDeepFm, 4, {8}, 3, 2, {4}}, "bottom layers (1): expected none"},
      {{ModelKind::kDcn, 4, {8}, 3, 2, {}, 0}, "cross_layers 0: expected 1 or more"},
      {{ModelKind::kWideDeep, 4, {8}, 3, 2, {}, 2}, "cross_layers 2: expected 0"},
      {{ModelKind::kDcnV2, 4, {8}, 3, 2, {}, 2, 0}, "cross_rank 0: expected 1 or more"},
      {{ModelKind::kDcnV2, 4, {8}, 3, 2, {}, 2, 15}, "model.cross_rank is 15: expected at most 14"},
      {{ModelKind::kDcnV2, 4, {8}, 3, 0, {6}, 2, 4},
       "bottom layers without dense (numeric) features"}};
  for (const auto& [shape, message] : wrong) {
    const Status status = ValidateModelShape(shape);
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.ToString();
  }
  for (const ModelShape& shape : FixedShapes()) EXPECT_TRUE(ValidateModelShape(shape).ok());
}

}  // namespace
}  // namespace strata
