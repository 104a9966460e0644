// Networks on a GPU beside the formulas in double precision and those on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/support/device_memory.cuh"
#include "tests/support/relative_distance.h"
#include "tests/worker/model/free_graphs.h"
#include "tests/worker/model/reference_graph.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata {
namespace {

class GpuNetwork : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

std::vector<ModelShape> GpuShapes() {
  std::vector<ModelShape> shapes = {
      {ModelKind::kLogistic, 0, {}, 4, 3},
      {ModelKind::kFm, 4, {}, 3, 2},
      {ModelKind::kFm, 40, {}, 2, 0},
      {ModelKind::kDeepFm, 4, {7, 5}, 3, 2},
      {ModelKind::kDeepFm, 8, {16, 1}, 3, 1},
      {ModelKind::kWideDeep, 3, {6}, 2, 0},
      {ModelKind::kDlrm, 4, {9, 6}, 3, 2, {5, 4}},
      {ModelKind::kDlrm, 16, {24, 8}, 5, 13, {32, 16}},
      {ModelKind::kDcn, 3, {6, 4}, 3, 2, {}, 2},
      {ModelKind::kDcnV2, 3, {6, 4}, 3, 2, {}, 2, 4},
      {ModelKind::kDcnV2, 8, {16}, 3, 2, {8}, 3, 5},
  };
  for (ModelShape& shape : GraphsOfMeans()) shapes.push_back(std::move(shape));
  for (ModelShape& shape : GraphsOfNumbers()) shapes.push_back(std::move(shape));
  for (ModelShape& shape : FreeGraphs()) shapes.push_back(std::move(shape));
  for (ModelShape& shape : GraphsOfTables()) shapes.push_back(std::move(shape));
  return shapes;
}

struct Pass {
  double loss = 0;
  std::vector<float> rows;
  std::vector<float> parameters;  // that are learned
  std::vector<float> statistics;
  std::vector<float> logits;
};

Pass TrainOnce(Network* network, const GraphExample& example,
               const Regularisation& regularisation) {
  Pass pass;
  pass.rows.resize(example.rows.size());
  pass.parameters.resize(example.parameters.size());
  pass.logits.resize(example.batch.samples);
  const Result<double> loss =
      network->Train(example.input(), regularisation, {pass.rows, pass.parameters, pass.logits});
  EXPECT_TRUE(loss.ok()) << loss.status().ToString();
  if (loss.ok()) pass.loss = *loss;
  const auto learned = pass.parameters.begin() + static_cast<ptrdiff_t>(example.learned());
  pass.statistics.assign(learned, pass.parameters.end());
  pass.parameters.erase(learned, pass.parameters.end());
  return pass;
}

// What differs is the order of sums, and the precision.
void ExpectClose(const Pass& found, const Pass& expected, double tolerance) {
  EXPECT_NEAR(found.loss, expected.loss, tolerance * (1 + std::abs(expected.loss)));
  EXPECT_LT(RelativeDistance(found.logits, expected.logits), tolerance);
  EXPECT_LT(RelativeDistance(found.rows, expected.rows), tolerance);
  EXPECT_LT(RelativeDistance(found.parameters, expected.parameters), tolerance);
  if (expected.statistics.empty()) return;
  EXPECT_LT(RelativeDistance(found.statistics, expected.statistics), tolerance);
}

TEST_F(GpuNetwork, LogitsAgreeWithTheFormula) {
  for (const ModelShape& shape : GpuShapes()) {
    SCOPED_TRACE(ModelKindName(shape.kind));
    const GraphExample example(GraphOf(shape).spec(), 17, 1, /*weighted=*/shape.slots % 2 == 0);
    const auto network = MakeGpuNetwork(GraphOf(shape), 0, GemmPrecision::kFp32, 1);
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    std::vector<float> logits(17);
    const Status scored = (*network)->Score(example.input(), logits);
    ASSERT_TRUE(scored.ok()) << scored.ToString();
    for (size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(logits[i], example.Logit(i), 1e-4 * (1 + std::abs(example.Logit(i)))) << i;
    }
  }
}

TEST_F(GpuNetwork, TrainsAsTheCpuDoes) {
  const std::pair<GemmPrecision, double> precisions[] = {
      {GemmPrecision::kFp32, 2e-5}, {GemmPrecision::kTf32, 5e-2}, {GemmPrecision::kBf16, 0.12}};
  for (const ModelShape& shape : GpuShapes()) {
    SCOPED_TRACE(ModelKindName(shape.kind));
    // Some rows have more keys than a part of a sum.
    const GraphExample example(GraphOf(shape).spec(), kGpuIsEmulated ? 150 : 1500, 2,
                               /*weighted=*/shape.slots % 2 == 1);
    const auto on_cpu = MakeCpuNetwork(GraphOf(shape));
    const Regularisation regularisation{.l2 = 0.01F};
    const Pass expected = TrainOnce(on_cpu.get(), example, regularisation);
    for (const auto& [precision, tolerance] : precisions) {
      SCOPED_TRACE(static_cast<int>(precision));
      const auto network = MakeGpuNetwork(GraphOf(shape), 0, precision, 1);
      ASSERT_TRUE(network.ok()) << network.status().ToString();
      ExpectClose(TrainOnce(network->get(), example, regularisation), expected, tolerance);
    }
  }
}

// Units are dropped by the same seeds.
TEST_F(GpuNetwork, DropsTheUnitsThatTheCpuDrops) {
  const ModelShape shape{ModelKind::kDeepFm, 4, {32, 16}, 3, 2};
  const GraphExample example(GraphOf(shape).spec(), 60, 3);
  const auto on_cpu = MakeCpuNetwork(GraphOf(shape));
  const auto network = MakeGpuNetwork(GraphOf(shape), 0, GemmPrecision::kFp32, 1);
  ASSERT_TRUE(network.ok());
  const Regularisation dropped{.dropout = 0.4F, .dropout_seed = 77};
  ExpectClose(TrainOnce(network->get(), example, dropped),
              TrainOnce(on_cpu.get(), example, dropped), 2e-5);
}

// A pass leaves nothing behind for the next one, which may be of another size.
TEST_F(GpuNetwork, PassesRepeatToTheBit) {
  for (const ModelShape& shape : GpuShapes()) {
    for (const GemmPrecision precision : {GemmPrecision::kFp32, GemmPrecision::kBf16}) {
      const GraphExample example(GraphOf(shape).spec(), 40, 3);
      const GraphExample other(GraphOf(shape).spec(), 70, 4);
      const auto network = MakeGpuNetwork(GraphOf(shape), 0, precision, 1);
      ASSERT_TRUE(network.ok());
      const Pass first = TrainOnce(network->get(), example, {});
      (void)TrainOnce(network->get(), other, {.l2 = 1});
      std::vector<float> scores(70);
      ASSERT_TRUE((*network)->Score(other.input(), scores).ok());
      const Pass again = TrainOnce(network->get(), example, {});
      EXPECT_EQ(first.loss, again.loss);
      EXPECT_EQ(first.rows, again.rows) << ModelKindName(shape.kind);
      EXPECT_EQ(first.parameters, again.parameters) << ModelKindName(shape.kind);
      EXPECT_EQ(first.statistics, again.statistics);
    }
  }
}

// Of a parameter of each layer that is no number.
TEST_F(GpuNetwork, FindsTheFirstNumberThatIsNotFiniteWhereTheCpuDoes) {
  for (const ModelShape& shape : GpuShapes()) {
    SCOPED_TRACE(ModelKindName(shape.kind));
    const LayerGraph graph = GraphOf(shape);
    const auto on_cpu = MakeCpuNetwork(graph);
    for (const GemmPrecision precision : {GemmPrecision::kFp32, GemmPrecision::kBf16}) {
      GraphExample example(graph.spec(), 8, 3);
      for (const GraphLayer& layer : graph.layers()) {
        if (layer.parameters.biases.count == 0) continue;
        // A new one each time: numbers that are none stay in the gaps between those that count.
        const auto network = MakeGpuNetwork(graph, 0, precision, 1);
        ASSERT_TRUE(network.ok());
        (void)TrainOnce(network->get(), example, {});
        EXPECT_FALSE((*network)->FirstNotFinite().has_value());
        float& parameter = example.parameters[layer.parameters.biases.end() - 1];
        const float before = std::exchange(parameter, NAN);
        (void)TrainOnce(on_cpu.get(), example, {});
        (void)TrainOnce(network->get(), example, {});
        parameter = before;
        const auto expected = on_cpu->FirstNotFinite();
        const auto found = (*network)->FirstNotFinite();
        ASSERT_TRUE(expected.has_value());
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(expected->value, layer.output);
        EXPECT_EQ(found->value, expected->value);
        EXPECT_EQ(found->sample, expected->sample);
        EXPECT_EQ(found->column, expected->column);
      }
    }
  }
}

TEST_F(GpuNetwork, EmptyBatchesGiveNoGradient) {
  const ModelShape shape{ModelKind::kDeepFm, 4, {8}, 3, 2};
  const GraphExample example(GraphOf(shape).spec(), 0, 3);
  const auto network = MakeGpuNetwork(GraphOf(shape), 0, GemmPrecision::kFp32, 1);
  ASSERT_TRUE(network.ok());
  const Pass pass = TrainOnce(network->get(), example, {.l2 = 1});
  EXPECT_EQ(pass.loss, 0);
  EXPECT_EQ(pass.parameters, std::vector<float>(pass.parameters.size(), 0.0F));
  EXPECT_TRUE((*network)->Score(example.input(), {}).ok());
}

TEST_F(GpuNetwork, AGpuThatIsNotThereIsNotFound) {
  const ModelShape shape{ModelKind::kLogistic, 0, {}, 1, 0};
  const auto network = MakeGpuNetwork(GraphOf(shape), 99, GemmPrecision::kFp32, 1);
  EXPECT_EQ(network.status().code(), StatusCode::kNotFound) << network.status().ToString();
}

}  // namespace
}  // namespace strata
