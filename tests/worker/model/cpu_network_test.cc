// The three models against formulas written out in double precision, and their gradients against
// central differences of those.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/worker/model/free_graphs.h"
#include "tests/worker/model/reference_graph.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata {
namespace {

// A batch and parameters for a model, whose formulas are written out once more by hand.
struct Example : GraphExample {
  ModelShape shape;

  Example(const ModelShape& of, size_t samples, uint64_t seed)
      : GraphExample(GraphOf(of).spec(), samples, seed), shape(of) {}

  std::vector<double> Pooled(size_t sample, size_t slot) const {
    std::vector<double> sum(shape.embedding_dim);
    const size_t at = sample * shape.slots + slot;
    for (uint32_t k = batch.offsets[at]; k < batch.offsets[at + 1]; ++k) {
      for (size_t d = 0; d < sum.size(); ++d) {
        sum[d] += rows[unique.index[k] * GraphOf(shape).row_dim(0) + 1 + d];
      }
    }
    return sum;
  }

  double Network(std::vector<double> x) const {
    size_t at = 1 + shape.dense_width;
    std::vector<uint32_t> widths = shape.hidden;
    widths.push_back(1);
    for (size_t l = 0; l < widths.size(); ++l) {
      std::vector<double> y(widths[l]);
      for (size_t o = 0; o < y.size(); ++o) {
        y[o] = parameters[at + x.size() * y.size() + o];
        for (size_t i = 0; i < x.size(); ++i) y[o] += x[i] * parameters[at + i * y.size() + o];
        if (l + 1 < widths.size()) y[o] = std::max(y[o], 0.0);
      }
      at += (x.size() + 1) * y.size();
      x = std::move(y);
    }
    return x[0];
  }

  double Logit(size_t i) const {
    double logit = parameters[0];
    for (size_t d = 0; d < shape.dense_width; ++d) {
      logit += double{parameters[1 + d]} * batch.dense[i * shape.dense_width + d];
    }
    std::vector<std::vector<double>> v;
    for (size_t s = 0; s < shape.slots; ++s) {
      const size_t at = i * shape.slots + s;
      for (uint32_t k = batch.offsets[at]; k < batch.offsets[at + 1]; ++k) {
        logit += rows[unique.index[k] * GraphOf(shape).row_dim(0)];
      }
      v.push_back(Pooled(i, s));
    }
    for (size_t s = 0; s < v.size(); ++s) {
      for (size_t t = s + 1; t < v.size(); ++t) {
        for (size_t d = 0; d < v[s].size(); ++d) logit += v[s][d] * v[t][d];
      }
    }
    if (shape.kind != ModelKind::kDeepFm) return logit;
    std::vector<double> x;
    for (const auto& vector : v) x.insert(x.end(), vector.begin(), vector.end());
    for (size_t d = 0; d < shape.dense_width; ++d) {
      x.push_back(batch.dense[i * shape.dense_width + d]);
    }
    return logit + Network(std::move(x));
  }

  double Loss() const {
    double loss = 0;
    for (size_t i = 0; i < batch.samples; ++i) {
      const double z = Logit(i);
      const double y = batch.labels[i];
      loss += batch.weights[i] * (std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - y * z);
    }
    return loss;
  }

  // Rows count once for each appearance, layer biases and the bias not at all.
  double Penalty(double l2) const {
    double squares = 0;
    for (const uint32_t row : unique.index) {
      for (size_t d = 0; d < GraphOf(shape).row_dim(0); ++d) {
        squares += std::pow(double{rows[row * GraphOf(shape).row_dim(0) + d]}, 2);
      }
    }
    const auto add = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        squares += static_cast<double>(batch.samples) * parameters[i] * parameters[i];
      }
    };
    size_t at = 1 + shape.dense_width;
    add(1, at);
    if (shape.kind == ModelKind::kDeepFm) {
      size_t in = shape.slots * shape.embedding_dim + shape.dense_width;
      std::vector<uint32_t> widths = shape.hidden;
      widths.push_back(1);
      for (const uint32_t out : widths) {
        add(at, at + in * out);
        at += (in + 1) * out;
        in = out;
      }
    }
    return l2 / 2 * squares;
  }
};

std::vector<ModelShape> Shapes() {
  return {{ModelKind::kLogistic, 0, {}, 4, 3},  {ModelKind::kLogistic, 0, {}, 3, 0},
          {ModelKind::kFm, 1, {}, 2, 0},        {ModelKind::kFm, 5, {}, 4, 2},
          {ModelKind::kDeepFm, 4, {6}, 3, 2},   {ModelKind::kDeepFm, 3, {8, 5}, 4, 0},
          {ModelKind::kDeepFm, 2, {4, 4}, 1, 3}};
}

TEST(CpuNetwork, LogitsAgreeWithTheFormula) {
  for (const ModelShape& shape : Shapes()) {
    const Example example(shape, 37, 1);
    const auto network = MakeCpuNetwork(GraphOf(shape));
    std::vector<float> logits(37);
    ASSERT_TRUE(network->Score(example.input(), logits).ok());
    for (size_t i = 0; i < 37; ++i) {
      ASSERT_NEAR(logits[i], example.Logit(i), 1e-4) << ModelKindName(shape.kind) << " " << i;
    }
  }
}

TEST(CpuNetwork, GradientsAgreeWithCentralDifferences) {
  constexpr float kL2 = 0.25F;
  constexpr uint64_t kSeed = 4;  // whose rectifiers stay on their side within a step
  for (const ModelShape& shape : Shapes()) {
    Example example(shape, 9, kSeed);
    const auto network = MakeCpuNetwork(GraphOf(shape));
    std::vector<float> logits(9);
    std::vector<float> drows(example.rows.size(), 7.0F);
    std::vector<float> ddense(example.parameters.size(), 7.0F);
    const auto loss = network->Train(example.input(), {.l2 = kL2}, {drows, ddense, logits});
    ASSERT_TRUE(loss.ok());
    EXPECT_NEAR(*loss, example.Loss(), 1e-4);
    const auto check = [&](std::vector<float>& values, const std::vector<float>& gradient) {
      for (size_t i = 0; i < values.size(); ++i) {
        const float kept = values[i];
        const auto at = [&](float step) {
          values[i] = kept + step;
          const double result = example.Loss() + example.Penalty(double{kL2});
          values[i] = kept;
          return result;
        };
        constexpr float kStep = 1.0F / 512;
        const double slope = (at(kStep) - at(-kStep)) / (2 * double{kStep});
        ASSERT_NEAR(gradient[i], slope, 1e-3 + 1e-3 * std::abs(slope))
            << ModelKindName(shape.kind) << " parameter " << i << " of " << values.size();
      }
    };
    check(example.rows, drows);
    check(example.parameters, ddense);
  }
}

TEST(CpuNetwork, ALogitDependsOnNothingButItsSample) {
  const ModelShape shape{ModelKind::kDeepFm, 8, {64, 32}, 13, 5};
  const Example whole(shape, Network::kScoreBatch, 3);
  const auto network = MakeCpuNetwork(GraphOf(shape));
  std::vector<float> expected(whole.batch.samples);
  ASSERT_TRUE(network->Score(whole.input(), expected).ok());
  for (const size_t begin : {0UL, 1UL, 500UL, 1001UL, 1023UL}) {
    Batch part{.samples = whole.batch.samples - begin,
               .slots = shape.slots,
               .dense_width = shape.dense_width,
               .offsets = {},
               .keys = {},
               .dense = {},
               .labels = {},
               .weights = {}};
    const uint32_t first = whole.batch.offsets[begin * shape.slots];
    for (size_t at = begin * shape.slots; at < whole.batch.offsets.size(); ++at) {
      part.offsets.push_back(whole.batch.offsets[at] - first);
    }
    part.keys.assign(whole.batch.keys.begin() + first, whole.batch.keys.end());
    part.dense.assign(whole.batch.dense.begin() + static_cast<ptrdiff_t>(begin * shape.dense_width),
                      whole.batch.dense.end());
    UniqueKeys unique;
    unique.keys = whole.unique.keys;
    unique.begins = whole.unique.begins;
    unique.index.assign(whole.unique.index.begin() + first, whole.unique.index.end());
    std::vector<float> logits(part.samples);
    ASSERT_TRUE(network->Score({part, unique, whole.rows, whole.parameters}, logits).ok());
    for (size_t i = 0; i < part.samples; ++i) {
      ASSERT_EQ(logits[i], expected[begin + i]) << "sample " << begin + i;  // to the bit
    }
  }
}

TEST(CpuNetwork, ThreadsChangeNoBits) {
  if (__builtin_cpu_supports("avx512f") == 0) {
    GTEST_SKIP() << "oneDNN's sums depend on threads without AVX-512 (kernels/dense/matmul.h)";
  }
  const auto pool = WorkPool::Start("test", 2);
  ASSERT_TRUE(pool.ok());
  std::vector<ModelShape> shapes = {{ModelKind::kDeepFm, 8, {64, 32}, 5, 3},
                                    {ModelKind::kDcn, 4, {16}, 5, 3},
                                    {ModelKind::kDcnV2, 4, {16}, 5, 3},
                                    {ModelKind::kDlrm, 4, {16}, 5, 3}};
  shapes[1].cross_layers = shapes[2].cross_layers = 2;
  shapes[2].cross_rank = 4;
  shapes[2].bottom = shapes[3].bottom = {8, 4};
  shapes.push_back(WithBatchNorm());
  for (const ModelShape& shape : shapes) {
    ASSERT_TRUE(ValidateModelShape(shape).ok());
    const GraphExample example(GraphOf(shape).spec(), 1300, 6);
    const auto train = [&](WorkPool* threads) {
      const auto network = MakeCpuNetwork(GraphOf(shape), threads);
      std::vector<std::vector<float>> all = {std::vector<float>(example.rows.size()),
                                             std::vector<float>(example.parameters.size()),
                                             std::vector<float>(example.batch.samples)};
      const auto loss =
          network->Train(example.input(), {.dropout = 0.25F, .l2 = 0.5F, .dropout_seed = 7},
                         {all[0], all[1], all[2]});
      EXPECT_TRUE(loss.ok());
      all.push_back({static_cast<float>(loss.ok() ? *loss : 0)});
      return all;
    };
    EXPECT_EQ(train(nullptr), train(pool->get())) << ModelKindName(shape.kind);
  }
}

TEST(CpuNetwork, EmptyBatchesGiveNoGradient) {
  for (const ModelShape& shape : Shapes()) {
    const Example example(shape, 0, 4);
    const auto network = MakeCpuNetwork(GraphOf(shape));
    std::vector<float> ddense(example.parameters.size(), 7.0F);
    const auto loss = network->Train(example.input(), {.dropout = 0.5F, .l2 = 1}, {{}, ddense, {}});
    ASSERT_TRUE(loss.ok());
    EXPECT_EQ(*loss, 0);
    EXPECT_EQ(ddense, std::vector<float>(ddense.size(), 0.0F));
    EXPECT_TRUE(network->Score(example.input(), {}).ok());
  }
}

TEST(CpuNetwork, DenseInitialValuesAreAFunctionOfTheSeed) {
  const ModelShape shape{ModelKind::kDeepFm, 4, {16}, 3, 2};
  const auto network = MakeCpuNetwork(GraphOf(shape));
  std::vector<float> a(GraphOf(shape).parameters());
  std::vector<float> b(a.size());
  std::vector<float> c(a.size());
  InitializeParameters(GraphOf(shape), 1, a);
  InitializeParameters(GraphOf(shape), 1, b);
  InitializeParameters(GraphOf(shape), 2, c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(a[0], 0.0F);
  const float bound = std::sqrt(6.0F / (14 + 16));
  const auto layer = std::span(a).subspan(3, 14 * 16);
  EXPECT_LE(*std::max_element(layer.begin(), layer.end()), bound);
  EXPECT_GT(*std::max_element(layer.begin(), layer.end()), bound * 0.95F);
  EXPECT_LT(*std::min_element(layer.begin(), layer.end()), -bound * 0.95F);
}

TEST(CpuNetwork, DropoutKeepsTheMeanAndStopsDroppedUnits) {
  const ModelShape shape{ModelKind::kDeepFm, 4, {512}, 2, 3};
  const Example example(shape, 1, 5);
  const auto network = MakeCpuNetwork(GraphOf(shape));
  std::vector<float> plain(1);
  std::vector<float> drows(example.rows.size());
  std::vector<float> ddense(example.parameters.size());
  const auto stopped = [&] {
    return static_cast<double>(std::count(ddense.begin(), ddense.end(), 0.0F)) /
           static_cast<double>(ddense.size());
  };
  ASSERT_TRUE(network->Train(example.input(), {}, {drows, ddense, plain}).ok());
  const double stopped_plain = stopped();  // by the rectifier
  double mean = 0;
  double mean_square = 0;
  constexpr int kPasses = 400;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::vector<float> logits(1);
    const Regularisation dropped{.dropout = 0.5F, .dropout_seed = static_cast<uint64_t>(pass)};
    ASSERT_TRUE(network->Train(example.input(), dropped, {drows, ddense, logits}).ok());
    mean += logits[0] / double{kPasses};
    mean_square += double{logits[0]} * logits[0] / kPasses;
  }
  const double deviation = std::sqrt((mean_square - mean * mean) / kPasses);
  EXPECT_GT(deviation, 0.01);
  EXPECT_NEAR(mean, plain[0], 5 * deviation);
  EXPECT_NEAR(stopped(), stopped_plain + (1 - stopped_plain) / 2, 0.1);
}

TEST(CpuNetwork, ShapesThatCannotBe) {
  const ModelShape wrong[] = {{ModelKind::kLogistic, 4, {}, 1, 0},
                              {ModelKind::kFm, 0, {}, 1, 0},
                              {ModelKind::kFm, 1024, {}, 1, 0},
                              {ModelKind::kFm, 4, {8}, 1, 0},
                              {ModelKind::kDeepFm, 4, {}, 1, 0},
                              {ModelKind::kDeepFm, 4, {0}, 1, 0},
                              {ModelKind::kDeepFm, 4, {1U << 31}, 1, 0},
                              {ModelKind::kDeepFm, 4, {8}, 0, 0},
                              {ModelKind::kDeepFm, 4, {8}, size_t{1} << 40, 0}};
  for (const ModelShape& shape : wrong) {
    EXPECT_EQ(ValidateModelShape(shape).code(), StatusCode::kInvalid);
  }
  for (const ModelShape& shape : Shapes()) EXPECT_TRUE(ValidateModelShape(shape).ok());
}

}  // namespace
}  // namespace strata
