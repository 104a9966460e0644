#include "worker/gbdt/catboost/train/class_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/gbdt/catboost/train/class_losses.h"
#include "worker/gbdt/catboost/train/class_rows.h"
#include "worker/gbdt/catboost/train/leaf_order.h"

namespace strata {
namespace {

constexpr size_t kHessianNumbers = size_t{1} << 22;  // 32 MiB of leaves that are solved at once

// Solves A x = b by Cholesky's decomposition. A is symmetric, with no negative eigenvalue; its part
// right of the diagonal is read, and overwritten. x takes the place of b. Where A is singular but
// for rounding, an unknown that could be any number is 0.
void SolvePositive(std::span<double> a, std::span<double> b) {
  const size_t n = b.size();
  constexpr double kRounding = 1e-12;
  for (size_t i = 0; i < n; ++i) {
    const double least = kRounding * a[i * n + i];
    for (size_t k = 0; k < i; ++k) {
      for (size_t j = i; j < n; ++j) a[i * n + j] -= a[k * n + i] * a[k * n + j];
    }
    if (a[i * n + i] <= least) {
      for (size_t j = i; j < n; ++j) a[i * n + j] = j == i ? 1 : 0;
      b[i] = 0;
      continue;
    }
    const double root = std::sqrt(a[i * n + i]);
    for (size_t j = i; j < n; ++j) a[i * n + j] /= root;
    for (size_t k = 0; k < i; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= root;
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j) b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
  }
}

class Steps {
 public:
  Steps(const FitParameters& parameters, double l2, const FitRows& rows, const ObliviousTree& tree,
        std::span<const double> raw, WorkPool& pool)
      : p_(parameters),
        // As CatBoost rounds it here alone.
        l2_(parameters.leaf_method == LeafMethod::kNewton ? static_cast<float>(l2) : l2),
        rows_(rows),
        outputs_(raw.size() / rows.rows()),
        leaves_(tree.leaf_count()),
        pool_(pool),
        probabilities_(ClassProbabilities(parameters.loss.type, rows, raw, pool)),
        order_(tree),
        steps_(leaves_ * outputs_) {}

  std::vector<double> Run() && {
    const bool is_newton = p_.leaf_method == LeafMethod::kNewton;
    const bool is_diagonal =
        WithClassLoss(p_.loss.type, [](auto loss) { return decltype(loss)::kIsDiagonal; });
    if (!is_newton || is_diagonal) {
      pool_.Run(steps_.size(), [&](size_t at) { StepAlone(at, is_newton); });
      return std::move(steps_);
    }
    const size_t at_once = std::max<size_t>(kHessianNumbers / (outputs_ * outputs_), 1);
    for (size_t leaf = 0; leaf < leaves_; leaf += at_once) {
      SolveLeaves(leaf, std::min(at_once, leaves_ - leaf));
    }
    return std::move(steps_);
  }

 private:
  double Probability(size_t row, size_t output) const {
    return probabilities_[output * rows_.rows() + row];
  }
  double Gradient(size_t row, size_t output) const {
    const double hit = rows_.labels[row] == static_cast<float>(output) ? 1 : 0;
    return rows_.weights[row] * (hit - Probability(row, output));
  }

  // Of a leaf and output, leaf * outputs + output, which others do not act on.
  void StepAlone(size_t at, bool is_newton) {
    const size_t output = at % outputs_;
    double gradient = 0;
    double divisor = 0;
    for (const uint32_t row : order_.rows(at / outputs_)) {
      const double p = Probability(row, output);
      gradient += Gradient(row, output);
      divisor += rows_.weights[row] * (is_newton ? p * (1 - p) : 1);
    }
    if (divisor + l2_ > 0) steps_[at] = gradient / (divisor + l2_);
  }

  void SolveLeaves(size_t first, size_t count) {
    const size_t size = outputs_ * outputs_;
    hessians_.assign(count * size, 0);
    pool_.Run(count * outputs_, [&](size_t i) {
      SumHessian(first * outputs_ + i, std::span(hessians_).subspan(i * outputs_, outputs_));
    });
    pool_.Run(count, [&](size_t i) {
      SolvePositive(std::span(hessians_).subspan(i * size, size),
                    std::span(steps_).subspan((first + i) * outputs_, outputs_));
    });
  }

  // The sum of gradients of a leaf and output, and the output's line of -H + l2 * I from the
  // diagonal on; it is 0 before.
  void SumHessian(size_t at, std::span<double> line) {
    const size_t output = at % outputs_;
    line[output] = l2_;
    for (const uint32_t row : order_.rows(at / outputs_)) {
      const double weighted = rows_.weights[row] * Probability(row, output);
      steps_[at] += Gradient(row, output);
      line[output] += weighted;
      for (size_t k = output; k < outputs_; ++k) line[k] -= weighted * Probability(row, k);
    }
  }

  const FitParameters& p_;
  const double l2_;
  const FitRows& rows_;
  const size_t outputs_;
  const size_t leaves_;
  WorkPool& pool_;
  const std::vector<double> probabilities_;
  const LeafOrder order_;
  std::vector<double> steps_;
  std::vector<double> hessians_;  // of leaves at once, of each -H + l2 * I line by line
};

}  // namespace

std::vector<double> ClassSteps(const FitParameters& parameters, double l2, const FitRows& rows,
                               const ObliviousTree& tree, std::span<const double> raw,
                               WorkPool& pool) {
  return Steps(parameters, l2, rows, tree, raw, pool).Run();
}

}  // namespace strata
