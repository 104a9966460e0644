#include "worker/gbdt/catboost/train/leaf_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/wide_vectors.h"
#include "worker/gbdt/catboost/train/class_rows.h"
#include "worker/gbdt/catboost/train/class_steps.h"
#include "worker/gbdt/catboost/train/exact_leaves.h"
#include "worker/gbdt/catboost/train/fit_losses.h"
#include "worker/gbdt/catboost/train/leaf_steps.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

// Of each row the first derivative of minus the loss, and 1 or, with `has_second`, minus the second
// one, both times the row's weight. The loss has one output.
void DeriveOutput(const LossSpec& loss, bool has_second, const FitRows& rows,
                  std::span<const double> raw, WorkPool& pool, std::span<double> gradients,
                  std::span<double> weights) {
  WithFitLoss(loss, [&](auto of) {
    pool.RunPieces(rows.rows(), FitPiece(rows.rows()), [&](size_t begin, size_t end) {
      WithWideVectors([&, of, labels = rows.labels.data(), row_weights = rows.weights.data()] {
        for (size_t row = begin; row < end; ++row) {
          const RowDerivatives d = of.Derive(raw[row], labels[row]);
          const double weight = row_weights[row];
          gradients[row] = weight * d.first;
          weights[row] = has_second ? -weight * d.second : weight;
        }
      });
    });
  });
}

// Of the rows of FitRows, on the CPU.
class HostRows : public TriedRows {
 public:
  HostRows(const FitParameters& parameters, double l2, const FitRows& rows,
           const ObliviousTree& tree, std::span<const double> raw, WorkPool& pool)
      : p_(parameters),
        l2_(l2),
        rows_(rows),
        tree_(tree),
        pool_(pool),
        raw_(raw.begin(), raw.end()) {}

  Result<LeafStep> Step() override {
    if (IsMultiClass(p_.loss.type)) {
      return LeafStep{.values = ClassSteps(p_, l2_, rows_, tree_, raw_, pool_), .weights = {}};
    }
    gradients_.resize(raw_.size());
    weights_.resize(raw_.size());
    DeriveOutput(p_.loss, p_.leaf_method == LeafMethod::kNewton, rows_, raw_, pool_, gradients_,
                 weights_);
    const auto sums = [this](const std::vector<double>& numbers) {
      return SumByLeaf<double>(numbers, tree_.leaves, tree_.leaf_count(), pool_);
    };
    return StepOf(sums(gradients_), sums(weights_), l2_);
  }
  Result<double> MeanLoss() override { return strata::MeanLoss(p_.loss, rows_, raw_, pool_); }
  Status Try(std::span<const double> step) override {
    tried_ = raw_;
    AddLeafValues(step, tree_.leaves, pool_, tried_);
    return {};
  }
  Result<double> TriedLoss() override { return strata::MeanLoss(p_.loss, rows_, tried_, pool_); }
  void Keep() override { std::swap(raw_, tried_); }

 private:
  const FitParameters& p_;
  const double l2_;
  const FitRows& rows_;
  const ObliviousTree& tree_;
  WorkPool& pool_;
  std::vector<double> raw_;
  std::vector<double> tried_;
  std::vector<double> gradients_;  // of rows, times their weights
  std::vector<double> weights_;
};

}  // namespace

double LossOfSum(const LossSpec& loss, double sum, const FitRows& rows) {
  const double mean = sum / rows.weight_sum;
  return loss.type == FitLoss::kRmse ? std::sqrt(mean) : mean;
}

double MeanLoss(const LossSpec& loss, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool) {
  if (IsMultiClass(loss.type)) return MeanClassLoss(loss.type, rows, raw, pool);
  const double sum = WithFitLoss(loss, [&](auto of) {
    return SumFilled(rows.rows(), pool, [&](size_t begin, size_t end, double* losses) {
      WithWideVectors([&, of, labels = rows.labels.data(), weights = rows.weights.data()] {
        for (size_t row = begin; row < end; ++row) {
          losses[row - begin] = weights[row] * of.Value(raw[row], labels[row]);
        }
      });
    });
  });
  return LossOfSum(loss, sum, rows);
}

void DeriveRows(const FitParameters& parameters, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool, std::span<double> gradients, std::span<double> weights) {
  if (IsMultiClass(parameters.loss.type)) {
    std::ranges::copy(rows.weights, weights.begin());
    return DeriveClasses(parameters.loss.type, rows, raw, pool, gradients);
  }
  const bool is_newton = parameters.score == ScoreFunction::kNewtonCosine ||
                         parameters.score == ScoreFunction::kNewtonL2;
  DeriveOutput(parameters.loss, is_newton, rows, raw, pool, gradients, weights);
}

void AddLeafValues(std::span<const double> values, std::span<const uint16_t> leaves, WorkPool& pool,
                   std::span<double> raw) {
  const size_t rows = leaves.size();
  const size_t outputs = raw.size() / rows;
  pool.RunPieces(rows, FitPiece(rows), [&](size_t begin, size_t end) {
    for (size_t k = 0; k < outputs; ++k) {
      const std::span<double> of_output = raw.subspan(k * rows, rows);
      for (size_t row = begin; row < end; ++row) {
        of_output[row] += values[leaves[row] * outputs + k];
      }
    }
  });
}

std::vector<double> LeafWeights(const FitRows& rows, const ObliviousTree& tree, WorkPool& pool) {
  return SumByLeaf<float>(rows.weights, tree.leaves, tree.leaf_count(), pool);
}

Result<std::vector<double>> LeafValues(const FitParameters& parameters, size_t iterations,
                                       double l2, const FitRows& rows, const ObliviousTree& tree,
                                       std::span<const double> raw, WorkPool& pool) {
  if (parameters.leaf_method == LeafMethod::kExact) {
    return ExactValues(parameters.loss, rows, tree, raw, pool);
  }
  HostRows tried(parameters, l2, rows, tree, raw, pool);
  const size_t outputs = raw.size() / rows.rows();
  return StepLeaves(parameters, iterations, tree.directions, tree.leaf_count() * outputs, tried);
}

}  // namespace strata
