#include "worker/gbdt/catboost/train/leaf_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "worker/gbdt/catboost/train/class_rows.h"
#include "worker/gbdt/catboost/train/class_steps.h"
#include "worker/gbdt/catboost/train/exact_leaves.h"
#include "worker/gbdt/catboost/train/fit_losses.h"
#include "worker/gbdt/catboost/train/monotone_leaves.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

// Of each leaf the sum of value(row), of an array of numbers, over its rows.
template <size_t kNumbers, typename Value>
std::vector<std::array<double, kNumbers>> SumLeaves(const ObliviousTree& tree, WorkPool& pool,
                                                    const Value& value) {
  using Numbers = std::array<double, kNumbers>;
  const size_t rows = tree.leaves.size();
  const size_t leaves = tree.leaf_count();
  const size_t piece = FitPiece(rows);
  std::vector<Numbers> sums((rows + piece - 1) / piece * leaves, Numbers{});
  pool.RunPieces(rows, piece, [&](size_t begin, size_t end) {
    Numbers* const of_piece = sums.data() + begin / piece * leaves;
    for (size_t row = begin; row < end; ++row) {
      const Numbers numbers = value(row);
      for (size_t k = 0; k < kNumbers; ++k) of_piece[tree.leaves[row]][k] += numbers[k];
    }
  });
  for (size_t i = leaves; i < sums.size(); ++i) {
    for (size_t k = 0; k < kNumbers; ++k) sums[i % leaves][k] += sums[i][k];
  }
  sums.resize(leaves);
  return sums;
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
  std::vector<double> Step() const {
    if (IsMultiClass(p_.loss.type)) return ClassSteps(p_, l2_, rows_, tree_, raw_, pool_);
    const auto sums = WithFitLoss(p_.loss, [&](auto loss) {
      return SumLeaves<2>(tree_, pool_, [&](size_t row) {
        const RowDerivatives d = loss.Derive(raw_[row], rows_.labels[row]);
        const double weight = rows_.weights[row];
        return std::array<double, 2>{
            weight * d.first, p_.leaf_method == LeafMethod::kNewton ? -weight * d.second : weight};
      });
    });
    std::vector<double> step(sums.size());
    for (size_t leaf = 0; leaf < step.size(); ++leaf) {
      if (sums[leaf][1] + l2_ > 0) step[leaf] = sums[leaf][0] / (sums[leaf][1] + l2_);
    }
    if (!tree_.directions.empty()) {
      std::vector<double> weights(step.size());
      for (size_t leaf = 0; leaf < step.size(); ++leaf) weights[leaf] = sums[leaf][1] + l2_;
      BindStep(weights, &step);
    }
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
  std::vector<double> values_;
  double loss_ = 0;
};

}  // namespace

double MeanLoss(const LossSpec& loss, const FitRows& rows, std::span<const double> raw,
                WorkPool& pool) {
  if (IsMultiClass(loss.type)) return MeanClassLoss(loss.type, rows, raw, pool);
  const double sum = WithFitLoss(loss, [&](auto of) {
    return SumRows(rows.rows(), pool, [&](size_t row) {
      return rows.weights[row] * of.Value(raw[row], rows.labels[row]);
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
  WithFitLoss(parameters.loss, [&](auto loss) {
    pool.RunPieces(rows.rows(), FitPiece(rows.rows()), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const RowDerivatives d = loss.Derive(raw[row], rows.labels[row]);
        const double weight = rows.weights[row];
        gradients[row] = weight * d.first;
        weights[row] = is_newton ? -weight * d.second : weight;
      }
    });
  });
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
  const auto sums = SumLeaves<1>(
      tree, pool, [&](size_t row) { return std::array<double, 1>{rows.weights[row]}; });
  std::vector<double> weights;
  for (const auto& sum : sums) weights.push_back(sum[0]);
  return weights;
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
