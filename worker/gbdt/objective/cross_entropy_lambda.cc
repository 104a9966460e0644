// Cross entropy where weights are intensities: a row with weight w and score s is 1 with the
// probability 1 - (1 + e^s)^-w (LightGBM's cross_entropy_lambda).
#include <fmt/format.h>

#include <algorithm>

#include "kernels/core/math.h"
#include "worker/gbdt/objective/factories.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 16384;

struct Slope {
  double gradient;
  double hessian;
};

Slope SlopeOf(double score, double label, double weight) {
  const double share = math::Sigmoid(score);
  const double exponent = weight * math::Softplus(score);
  const double probability = 1 - math::Exp(-exponent);
  const double odds = math::Exp(exponent);  // 1 / (1 - probability)
  const double bend = odds / ((odds - 1) * (odds - 1)) * (1 + weight * math::Exp(score) - odds);
  // Not below 0 but for rounding.
  return {(1 - label / probability) * weight * share,
          weight * share * (1 - share) * std::max(0.0, 1 + label * bend)};
}

class CrossEntropyLambda : public TreeObjective {
 public:
  explicit CrossEntropyLambda(const TreeDataset& data) : data_(data) {}

  std::string ModelText() const override { return "cross_entropy_lambda"; }

  // The score whose output, ln(1 + e^s), is the labels' mean.
  double StartScore(size_t /*k*/) const override {
    std::vector<double> numbers(data_.labels.begin(), data_.labels.end());
    std::vector<double> weights(numbers.size(), 1);
    for (size_t row = 0; row < data_.weights.size(); ++row) {
      weights[row] = data_.weights[row];
      numbers[row] *= weights[row];
    }
    const double mean = std::max(data_.share.Total(numbers) / data_.share.Total(weights), 1e-15);
    return mean + math::Log1p(-math::Exp(-mean));
  }

  void Gradients(std::span<const double> scores, uint64_t /*round*/, WorkPool& pool,
                 std::span<float> gradients, std::span<float> hessians) const override {
    pool.RunPieces(scores.size(), kPieceRows, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const double label = data_.labels[row];
        Slope slope{};
        if (data_.weights.empty()) {
          const double share = math::Sigmoid(scores[row]);
          slope = {share - label, share * (1 - share)};
        } else {
          slope = SlopeOf(scores[row], label, data_.weights[row]);
        }
        gradients[row] = static_cast<float>(slope.gradient);
        hessians[row] = static_cast<float>(slope.hessian);
      }
    });
  }

 private:
  const TreeDataset& data_;
};

}  // namespace

Result<std::unique_ptr<TreeObjective>> MakeCrossEntropyLambda(const ObjectiveParameters& p,
                                                              const TreeDataset& data) {
  for (size_t row = 0; row < data.rows(); ++row) {
    if (!(data.labels[row] >= 0 && data.labels[row] <= 1)) {
      return Invalid(fmt::format("{}: objective = {} needs labels from 0 to 1, found {}",
                                 data.WhereIs(row), p.name, data.labels[row]));
    }
    if (!data.weights.empty() && !(data.weights[row] > 0)) {
      return Invalid(fmt::format("{}: objective = {} needs weights above 0, found {}",
                                 data.WhereIs(row), p.name, data.weights[row]));
    }
  }
  return std::unique_ptr<TreeObjective>(std::make_unique<CrossEntropyLambda>(data));
}

}  // namespace strata
