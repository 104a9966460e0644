#include "worker/gbdt/catboost/train/leaf_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/wide_vectors.h"
#include "worker/gbdt/catboost/train/class_rows.h"
#include "worker/gbdt/catboost/train/class_steps.h"
#include "worker/gbdt/catboost/train/exact_leaves.h"
#include "worker/gbdt/catboost/train/fit_losses.h"
#include "worker/gbdt/catboost/train/monotone_leaves.h"
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

// The iterations of one tree.
class LeafSteps {
 public:
  LeafSteps(const FitParameters& parameters, double l2, const FitRows& rows,
            const ObliviousTree& tree, std::span<const double> raw, WorkPool& pool)
      : p_(parameters),
        l2_(l2),
        rows_(rows),
        tree_(tree),
        pool_(pool),
        raw_(raw.begin(), raw.end()),
        values_(tree.leaf_count() * (raw.size() / rows.rows())) {}

  std::vector<double> Run(size_t iterations) && {
    const bool checked = p_.backtracking && iterations > 1;
    if (checked) loss_ = MeanLoss(p_.loss, rows_, raw_, pool_);
    for (size_t used = 0; used < iterations; ++used) {
      const std::vector<double> step = Step();
      double scale = 1;
      while (checked && !Improves(step, scale) && ++used < iterations) scale /= 2;
      if (used == iterations) break;
      for (size_t i = 0; i < step.size(); ++i) values_[i] += scale * step[i];
      if (used + 1 < iterations) Move(step, scale, &raw_);
    }
    return std::move(values_);
  }

 private:
  std::vector<double> Step() {
    if (IsMultiClass(p_.loss.type)) return ClassSteps(p_, l2_, rows_, tree_, raw_, pool_);
    gradients_.resize(raw_.size());
    weights_.resize(raw_.size());
    DeriveOutput(p_.loss, p_.leaf_method == LeafMethod::kNewton, rows_, raw_, pool_, gradients_,
                 weights_);
    std::vector<double> step = SumByLeaf<double>(gradients_, tree_.leaves, values_.size(), pool_);
    std::vector<double> weights = SumByLeaf<double>(weights_, tree_.leaves, values_.size(), pool_);
    for (size_t leaf = 0; leaf < step.size(); ++leaf) {
      weights[leaf] += l2_;
      step[leaf] = weights[leaf] > 0 ? step[leaf] / weights[leaf] : 0;
    }
    if (!tree_.directions.empty()) BindStep(weights, &step);
    return step;
  }

  // Moves where the step leads to values that do not fall along directed splits.
  void BindStep(std::span<const double> weights, std::vector<double>* step) const {
    std::vector<double> values = values_;
    for (size_t leaf = 0; leaf < values.size(); ++leaf) values[leaf] += (*step)[leaf];
    MonotoneLeaves(tree_.directions).Project(weights, values);
    for (size_t leaf = 0; leaf < values.size(); ++leaf)
      (*step)[leaf] = values[leaf] - values_[leaf];
  }

  void Move(std::vector<double> step, double scale, std::vector<double>* raw) const {
    for (double& value : step) value *= scale;
    *raw = raw_;
    AddLeafValues(step, tree_.leaves, pool_, *raw);
  }

  bool Improves(const std::vector<double>& step, double scale) {
    Move(step, scale, &moved_);
    const double loss = MeanLoss(p_.loss, rows_, moved_, pool_);
    if (!(loss < loss_)) return false;
    loss_ = loss;
    return true;
  }

  const FitParameters& p_;
  const double l2_;
  const FitRows& rows_;
  const ObliviousTree& tree_;
  WorkPool& pool_;
  std::vector<double> raw_;
  std::vector<double> moved_;
  std::vector<double> gradients_;  // of rows, times their weights
  std::vector<double> weights_;
  std::vector<double> values_;
  double loss_ = 0;
};

}  // namespace

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
  const double mean = sum / rows.weight_sum;
  return loss.type == FitLoss::kRmse ? std::sqrt(mean) : mean;
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

std::vector<double> LeafValues(const FitParameters& parameters, size_t iterations, double l2,
                               const FitRows& rows, const ObliviousTree& tree,
                               std::span<const double> raw, WorkPool& pool) {
  if (parameters.leaf_method == LeafMethod::kExact) {
    return ExactValues(parameters.loss, rows, tree, raw, pool);
  }
  return LeafSteps(parameters, l2, rows, tree, raw, pool).Run(iterations);
}

}  // namespace strata
