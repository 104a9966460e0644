// Training of logistic regression and of factorisation machines beside the same steps in double
// precision, written down from the formulas alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cluster/collective/single_group.h"
#include "storage/memory/host_store.h"
#include "tests/worker/ctr/click_data.h"
#include "worker/ctr/trainer.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata {
namespace {

using Vector = std::vector<double>;

constexpr double kRate = 0.1;
constexpr double kEpsilon = 1e-7;
constexpr size_t kBatch = 64;

// A parameter and what AdaGrad keeps of it (Duchi et al., JMLR 2011).
struct Number {
  double value = 0;
  double squares = 0;

  void Update(double gradient, OptimizerKind rule) {
    squares += gradient * gradient;
    const double step =
        rule == OptimizerKind::kAdaGrad ? gradient / (std::sqrt(squares) + kEpsilon) : gradient;
    value -= kRate * step;
  }
};

// p = sigmoid(b + <w, x> + the sum of the keys' weights + the products of all pairs of vectors).
class Reference {
 public:
  Reference(const ModelShape& shape, OptimizerKind rule, const TableSpec& table)
      : dim_(shape.embedding_dim), rule_(rule), table_(table), dense_(shape.dense_width + 1) {}

  double Logit(const Batch& batch, size_t i) {
    double z = dense_[0].value;
    for (size_t d = 0; d < batch.dense_width; ++d) {
      z += dense_[1 + d].value * batch.dense[i * batch.dense_width + d];
    }
    const std::vector<Vector> vectors = Vectors(batch, i);
    for (size_t s = 0; s < batch.slots; ++s) {
      for (const Key key : KeysOf(batch, i, s)) z += RowOf(key)[0].value;
      for (size_t t = 0; t < s; ++t) z += Dot(vectors[s], vectors[t]);
    }
    return z;
  }

  // Returns the mean loss before the update.
  double Step(const Batch& batch) {
    std::map<Key, Vector> row_gradients;
    Vector dense_gradients(dense_.size());
    double loss = 0;
    for (size_t i = 0; i < batch.samples; ++i) {
      const double z = Logit(batch, i);
      loss += std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - batch.labels[i] * z;
      const double slope =
          (1 / (1 + std::exp(-z)) - batch.labels[i]) / static_cast<double>(batch.samples);
      dense_gradients[0] += slope;
      for (size_t d = 0; d < batch.dense_width; ++d) {
        dense_gradients[1 + d] += slope * batch.dense[i * batch.dense_width + d];
      }
      const std::vector<Vector> vectors = Vectors(batch, i);
      for (size_t s = 0; s < batch.slots; ++s) {
        for (const Key key : KeysOf(batch, i, s)) {
          Vector& gradient = row_gradients[key];
          gradient.resize(1 + dim_);
          gradient[0] += slope;
          for (size_t t = 0; t < batch.slots; ++t) {
            if (t == s) continue;
            for (size_t d = 0; d < dim_; ++d) gradient[1 + d] += slope * vectors[t][d];
          }
        }
      }
    }
    for (size_t n = 0; n < dense_.size(); ++n) dense_[n].Update(dense_gradients[n], rule_);
    for (const auto& [key, gradient] : row_gradients) {
      std::vector<Number>& row = RowOf(key);
      for (size_t n = 0; n < row.size(); ++n) row[n].Update(gradient[n], rule_);
    }
    return loss / static_cast<double>(batch.samples);
  }

 private:
  static double Dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
    return sum;
  }
  static std::vector<Key> KeysOf(const Batch& batch, size_t sample, size_t slot) {
    const size_t bag = sample * batch.slots + slot;
    return {batch.keys.begin() + batch.offsets[bag], batch.keys.begin() + batch.offsets[bag + 1]};
  }
  std::vector<Vector> Vectors(const Batch& batch, size_t sample) {
    std::vector<Vector> vectors(batch.slots, Vector(dim_));
    for (size_t s = 0; s < batch.slots; ++s) {
      for (const Key key : KeysOf(batch, sample, s)) {
        for (size_t d = 0; d < dim_; ++d) vectors[s][d] += RowOf(key)[1 + d].value;
      }
    }
    return vectors;
  }
  // Rows begin as a table that nobody has trained says.
  std::vector<Number>& RowOf(Key key) {
    std::vector<Number>& row = rows_[key];
    if (!row.empty()) return row;
    const auto store = MakeHostStore();
    EXPECT_TRUE(store->CreateTable(table_).ok());
    std::vector<float> initial(table_.dim);
    Operation lookup{.kind = OpKind::kLookup, .parts = {}, .exec = {}, .sync = {}};
    lookup.parts.push_back({.table = table_.id(), .keys = {&key, 1}, .out = initial});
    EXPECT_TRUE(SubmitAndWait(*store, std::move(lookup)).status.ok());
    for (const float value : initial) row.push_back({.value = value});
    return row;
  }

  const size_t dim_;
  const OptimizerKind rule_;
  const TableSpec table_;
  std::vector<Number> dense_;
  std::map<Key, std::vector<Number>> rows_;
};

TEST(DoubleReference, LossesAndLogitsAreThoseOfTheFormulas) {
  const std::vector<ClickSample> data = ClickData(kBatch * 50, 9);
  const ModelShape shapes[] = {{ModelKind::kLogistic, 0, {}, 3, 2}, {ModelKind::kFm, 4, {}, 3, 2}};
  for (const ModelShape& shape : shapes) {
    for (const OptimizerKind rule : {OptimizerKind::kSgd, OptimizerKind::kAdaGrad}) {
      SCOPED_TRACE(fmt::format("{}, {}", ModelKindName(shape.kind), OptimizerKindName(rule)));
      const OptimizerSpec optimizer{.kind = rule, .learning_rate = static_cast<float>(kRate)};
      const TableSpec table{.name = "rows",
                            .dim = GraphOf(shape).row_dim(0),
                            .optimizer = optimizer,
                            .initializer = InitializerOf(shape, {InitializerKind::kNormal, 0.1F}),
                            .seed = 3};
      Reference reference(shape, rule, table);
      const auto store = MakeHostStore();
      ASSERT_TRUE(store->CreateTable(table).ok());
      const auto network = MakeCpuNetwork(GraphOf(shape));
      SingleGroup alone;
      Trainer trainer({.batch_size = kBatch, .dense_optimizer = optimizer, .tables = {table.id()}},
                      *network, *store, alone);
      ASSERT_TRUE(trainer.Start().ok());
      VectorSource source(data, 0, data.size());
      double furthest_loss = 0;
      double furthest_logit = 0;
      for (uint64_t epoch = 0; epoch < 4; ++epoch) {
        const Status trained =
            trainer.TrainEpoch(source, epoch, [&](const StepReport& report) -> Status {
              for (size_t i = 0; i < report.logits.size(); ++i) {
                const double apart = report.logits[i] - reference.Logit(*report.batch, i);
                furthest_logit = std::max(furthest_logit, std::abs(apart));
              }
              const double loss = reference.Step(*report.batch);
              furthest_loss = std::max(furthest_loss, std::abs(report.loss - loss));
              return {};
            });
        ASSERT_TRUE(trained.ok()) << trained.ToString();
      }
      EXPECT_LT(furthest_loss, 1e-6);
      EXPECT_LT(furthest_logit, 5e-6);
    }
  }
}

}  // namespace
}  // namespace strata
