#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/core/math.h"
#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

constexpr double kLeastProbability = 1e-15;
constexpr size_t kPiece = 1 << 13;  // rows of one thread at a time

double LogOf(double p) { return math::Log(std::max(p, kLeastProbability)); }

// Of a label from 0 to 1, with LightGBM's bound for logarithms.
double CrossEntropyOf(std::span<const double> predicted, double label) {
  constexpr double kLeast = 1e-12;
  return -label * math::Log(std::max(predicted[0], kLeast)) -
         (1 - label) * math::Log(std::max(1 - predicted[0], kLeast));
}
double PartOfEntropy(double p) { return p > 0 ? p * math::Log(p) : 0; }

// Loss of one row from what the objective predicts and the label.
using RowLoss = std::function<double(std::span<const double> predicted, double label)>;

// What becomes of the rows' losses.
enum class Total : uint8_t { kMean, kRootOfMean, kSum };

class RowMetric : public TreeMetric {
 public:
  RowMetric(std::string name, const TreeDataset& data, WorkPool& pool, size_t classes,
            std::function<void(std::span<double>)> transform, RowLoss loss, Total total)
      : name_(std::move(name)),
        data_(data),
        pool_(pool),
        classes_(classes),
        transform_(std::move(transform)),
        loss_(std::move(loss)),
        total_(total) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    const size_t rows = data_.rows();
    std::vector<double> losses(rows);
    std::vector<double> weights(rows, 1);
    pool_.RunPieces(rows, kPiece, [&](size_t begin, size_t end) {
      std::vector<double> row_scores(classes_);
      for (size_t row = begin; row < end; ++row) {
        for (size_t k = 0; k < classes_; ++k) row_scores[k] = scores[k * rows + row];
        transform_(row_scores);
        if (!data_.weights.empty()) weights[row] = data_.weights[row];
        losses[row] = loss_(row_scores, data_.labels[row]) * weights[row];
      }
    });
    const double weight = data_.share.Total(weights, &pool_);
    const double loss = data_.share.Total(losses, &pool_);
    double value = loss;
    if (total_ != Total::kSum) value = weight > 0 ? loss / weight : 0;
    if (total_ == Total::kRootOfMean) value = std::sqrt(value);
    return {{.name = name_, .value = value, .higher_is_better = name_ == "accuracy"}};
  }

 private:
  const std::string name_;
  const TreeDataset& data_;
  WorkPool& pool_;
  const size_t classes_;
  const std::function<void(std::span<double>)> transform_;
  const RowLoss loss_;
  const Total total_;
};

// Of cross_entropy_lambda, whose weights are intensities: each row counts once.
class CrossEntropyLambdaMetric : public TreeMetric {
 public:
  CrossEntropyLambdaMetric(const TreeDataset& data, WorkPool& pool) : data_(data), pool_(pool) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    std::vector<double> losses(data_.rows());
    pool_.RunPieces(losses.size(), kPiece, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const double weight = data_.weights.empty() ? 1 : data_.weights[row];
        const double probability = 1 - math::Exp(-weight * math::Softplus(scores[row]));
        losses[row] = CrossEntropyOf({&probability, 1}, data_.labels[row]);
      }
    });
    const auto rows = static_cast<double>(data_.all_rows());
    return {{.name = "cross_entropy_lambda",
             .value = data_.share.Total(losses, &pool_) / rows,
             .higher_is_better = false}};
  }

 private:
  const TreeDataset& data_;
  WorkPool& pool_;
};

// Of two classes.
bool IsRight(double probability, double label) { return (probability > 0.5) == (label > 0); }

// Whether the label's class is among the `most` best ones; equal ones count as better.
bool IsAmongBest(std::span<const double> scores, double label, int64_t most) {
  const double own = scores[static_cast<size_t>(label)];
  return std::ranges::count_if(scores, [own](double other) { return other >= own; }) <= most;
}

// The loss of a name; null for a name that is not there.
RowLoss LossOf(const std::string& name, const TreeParameters& p) {
  if (name == "l2" || name == "rmse") {
    return [](auto s, double y) { return (s[0] - y) * (s[0] - y); };
  }
  if (name == "l1") return [](auto s, double y) { return std::fabs(s[0] - y); };
  if (name == "quantile") {
    return [a = p.alpha](auto s, double y) {
      return y < s[0] ? (1 - a) * (s[0] - y) : a * (y - s[0]);
    };
  }
  if (name == "huber") {
    return [a = p.alpha](auto s, double y) {
      const double off = std::fabs(s[0] - y);
      return off <= a ? 0.5 * off * off : a * (off - 0.5 * a);
    };
  }
  if (name == "fair") {
    return [c = p.fair_c](auto s, double y) {
      const double off = std::fabs(s[0] - y);
      return c * off - c * c * math::Log1p(off / c);
    };
  }
  if (name == "poisson") {
    return [](auto s, double y) { return s[0] - y * math::Log(std::max(s[0], 1e-10)); };
  }
  if (name == "mape") {
    return [](auto s, double y) { return std::fabs(y - s[0]) / std::max(1.0, std::fabs(y)); };
  }
  if (name == "gamma") {
    return [](auto s, double y) { return y / s[0] + math::Log(s[0]); };
  }
  if (name == "gamma_deviance") {
    return [](auto s, double y) {
      const double quotient = y / (s[0] + 1e-9);
      return 2 * (quotient - LogOf(quotient) - 1);
    };
  }
  if (name == "tweedie") {
    return [rho = p.tweedie_variance_power](auto s, double y) {
      const double log = math::Log(std::max(s[0], 1e-10));
      return -y * math::Exp((1 - rho) * log) / (1 - rho) + math::Exp((2 - rho) * log) / (2 - rho);
    };
  }
  if (name == "binary_logloss") {
    return [](auto s, double y) { return -LogOf(y > 0 ? s[0] : 1 - s[0]); };
  }
  if (name == "binary_error") {
    return [](auto s, double y) { return IsRight(s[0], y) ? 0.0 : 1.0; };
  }
  if (name == "cross_entropy") {
    return CrossEntropyOf;
  }
  if (name == "kullback_leibler") {
    return [](auto s, double y) {
      return CrossEntropyOf(s, y) + PartOfEntropy(y) + PartOfEntropy(1 - y);
    };
  }
  if (name == "multi_logloss") {
    return [](auto s, double y) { return -LogOf(s[static_cast<size_t>(y)]); };
  }
  if (name == "multi_error") {
    return [k = p.multi_error_top_k](auto s, double y) { return IsAmongBest(s, y, k) ? 0.0 : 1.0; };
  }
  if (name == "accuracy" && p.num_class > 1) {
    return [](auto s, double y) { return IsAmongBest(s, y, 1) ? 1.0 : 0.0; };
  }
  if (name == "accuracy") {
    return [](auto s, double y) { return IsRight(s[0], y) ? 1.0 : 0.0; };
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<TreeMetric> MakeRowMetric(const std::string& name, const TreeParameters& p,
                                          const TreeDataset& data, WorkPool& pool) {
  if (name == "cross_entropy_lambda") {
    return std::make_unique<CrossEntropyLambdaMetric>(data, pool);
  }
  RowLoss loss = LossOf(name, p);
  if (loss == nullptr) return nullptr;
  const size_t classes = static_cast<size_t>(p.num_class);
  const std::string& objective = p.objective;
  std::function<void(std::span<double>)> transform = [](std::span<double>) {};
  if (objective == "binary" || objective == "multiclassova" || objective == "cross_entropy") {
    const double sigmoid = objective == "cross_entropy" ? 1 : p.sigmoid;
    transform = [sigmoid](std::span<double> scores) {
      for (double& score : scores) score = math::Sigmoid(sigmoid * score);
    };
  } else if (objective == "multiclass") {
    transform = [](std::span<double> scores) {
      const double largest = *std::ranges::max_element(scores);
      double sum = 0;
      for (double& score : scores) sum += score = math::Exp(score - largest);
      for (double& score : scores) score /= sum;
    };
  } else if (objective == "poisson" || objective == "gamma" || objective == "tweedie") {
    transform = [](std::span<double> scores) { scores[0] = math::Exp(scores[0]); };
  } else if (objective == "cross_entropy_lambda") {
    transform = [](std::span<double> scores) { scores[0] = math::Softplus(scores[0]); };
  } else if (objective == "regression" && p.reg_sqrt) {
    transform = [](std::span<double> scores) { scores[0] = scores[0] * std::fabs(scores[0]); };
  }
  std::string shown = name;
  if (name == "multi_error" && p.multi_error_top_k > 1) {
    shown = fmt::format("multi_error@{}", p.multi_error_top_k);
  }
  const Total total = name == "rmse"             ? Total::kRootOfMean
                      : name == "gamma_deviance" ? Total::kSum
                                                 : Total::kMean;
  return std::make_unique<RowMetric>(std::move(shown), data, pool, classes, std::move(transform),
                                     std::move(loss), total);
}

}  // namespace strata
