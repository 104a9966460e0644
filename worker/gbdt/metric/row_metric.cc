#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "kernels/tree/metric/metric_loss.h"
#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

constexpr size_t kPiece = 1 << 13;  // rows of one thread at a time

// What becomes of the rows' losses.
enum class Total : uint8_t { kMean, kRootOfMean, kSum, kShareExplained };
constexpr double kZeroSquares = 1e-35;  // as LightGBM has it

class RowMetric : public TreeMetric {
 public:
  RowMetric(std::string name, const TreeDataset& data, WorkPool& pool, const RowLoss& loss,
            Total total)
      : name_(std::move(name)), data_(data), pool_(pool), loss_(loss), total_(total) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    const size_t rows = data_.rows();
    std::vector<double> losses(rows);
    pool_.RunPieces(rows, kPiece, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        losses[row] = loss_([&](uint32_t k) { return scores[k * rows + row]; }, data_.labels[row],
                            WeightOf(row));
      }
    });
    return ValueOf(data_.share.Total(losses, &pool_));
  }

  Status MoveToGpu(GpuMetrics* gpu) override { return gpu->ReserveForLosses(); }
  Result<std::vector<MetricValue>> EvaluateOnGpu(GpuMetrics& gpu,
                                                 const double* scores) const override {
    STRATA_ASSIGN(const double loss, gpu.SumOfLosses(loss_, scores));
    return ValueOf(loss);
  }

 private:
  double WeightOf(size_t row) const { return data_.weights.empty() ? 1 : data_.weights[row]; }

  // Of cross_entropy_lambda, whose weights are intensities, each row counts once.
  double WeightOfAll() const {
    if (data_.weights.empty() || loss_.kind == RowLossKind::kIntensity) {
      return static_cast<double>(data_.all_rows());
    }
    if (!weight_of_all_.has_value()) {
      const std::vector<double> weights(data_.weights.begin(), data_.weights.end());
      weight_of_all_ = data_.share.Total(weights, &pool_);
    }
    return *weight_of_all_;
  }

  std::vector<MetricValue> ValueOf(double loss) const {
    double value = loss;
    if (total_ == Total::kMean || total_ == Total::kRootOfMean) {
      const double weight = WeightOfAll();
      value = weight > 0 ? loss / weight : 0;
    }
    if (total_ == Total::kRootOfMean) value = std::sqrt(value);
    if (total_ == Total::kShareExplained) value = ShareExplained(loss);
    const bool higher_is_better = name_ == "accuracy" || total_ == Total::kShareExplained;
    return {{.name = name_, .value = value, .higher_is_better = higher_is_better}};
  }

  // Of the labels' squared distances from their mean; labels that are all the same leave nothing to
  // explain.
  double ShareExplained(double loss) const {
    const double squares = SquaresOfLabels();
    if (squares < kZeroSquares) return loss < kZeroSquares ? 1 : 0;
    return 1 - loss / squares;
  }

  double SquaresOfLabels() const {
    if (squares_of_labels_.has_value()) return *squares_of_labels_;
    std::vector<double> numbers(data_.rows());
    for (size_t row = 0; row < numbers.size(); ++row) {
      numbers[row] = data_.labels[row] * WeightOf(row);
    }
    const double mean = data_.share.Total(numbers, &pool_) / WeightOfAll();
    for (size_t row = 0; row < numbers.size(); ++row) {
      const double off = data_.labels[row] - mean;
      numbers[row] = off * off * WeightOf(row);
    }
    squares_of_labels_ = data_.share.Total(numbers, &pool_);
    return *squares_of_labels_;
  }

  const std::string name_;
  const TreeDataset& data_;
  WorkPool& pool_;
  const RowLoss loss_;
  const Total total_;
  mutable std::optional<double> weight_of_all_;
  mutable std::optional<double> squares_of_labels_;
};

ScoreMeaning MeaningOf(const ObjectiveParameters& objective) {
  static const std::map<std::string, ScoreMeaning> kMeanings = {
      {"binary", ScoreMeaning::kSigmoid},        {"multiclassova", ScoreMeaning::kSigmoid},
      {"cross_entropy", ScoreMeaning::kSigmoid}, {"multiclass", ScoreMeaning::kSoftmax},
      {"poisson", ScoreMeaning::kExp},           {"gamma", ScoreMeaning::kExp},
      {"tweedie", ScoreMeaning::kExp},           {"cross_entropy_lambda", ScoreMeaning::kSoftplus}};
  if (objective.name == "regression" && objective.reg_sqrt) return ScoreMeaning::kSigned;
  const auto found = kMeanings.find(objective.name);
  return found == kMeanings.end() ? ScoreMeaning::kNumber : found->second;
}

// Its kind and that kind's parameter; none for a name that is not there.
std::optional<RowLoss> LossOf(const std::string& name, const MetricParameters& p,
                              const ObjectiveParameters& objective) {
  static const std::map<std::string, RowLossKind> kKinds = {
      {"l2", RowLossKind::kL2},
      {"rmse", RowLossKind::kL2},
      {"r2", RowLossKind::kL2},
      {"l1", RowLossKind::kL1},
      {"quantile", RowLossKind::kQuantile},
      {"huber", RowLossKind::kHuber},
      {"fair", RowLossKind::kFair},
      {"poisson", RowLossKind::kPoisson},
      {"mape", RowLossKind::kMape},
      {"gamma", RowLossKind::kGamma},
      {"gamma_deviance", RowLossKind::kGammaDeviance},
      {"tweedie", RowLossKind::kTweedie},
      {"binary_logloss", RowLossKind::kBinaryLogLoss},
      {"binary_error", RowLossKind::kBinaryError},
      {"accuracy", RowLossKind::kBinaryRight},
      {"cross_entropy", RowLossKind::kCrossEntropy},
      {"kullback_leibler", RowLossKind::kKullbackLeibler},
      {"cross_entropy_lambda", RowLossKind::kIntensity},
      {"multi_logloss", RowLossKind::kMultiLogLoss},
      {"multi_error", RowLossKind::kMultiError}};
  const auto found = kKinds.find(name);
  if (found == kKinds.end()) return std::nullopt;
  RowLoss loss{.kind = found->second,
               .meaning = MeaningOf(objective),
               .classes = static_cast<uint32_t>(objective.num_class),
               .sigmoid = objective.name == "cross_entropy" ? 1 : objective.sigmoid};
  if (name == "accuracy" && objective.num_class > 1) loss.kind = RowLossKind::kMultiRight;
  if (name == "quantile" || name == "huber") loss.parameter = objective.alpha;
  if (name == "fair") loss.parameter = objective.fair_c;
  if (name == "tweedie") loss.parameter = objective.tweedie_variance_power;
  if (loss.kind == RowLossKind::kMultiRight) loss.parameter = 1;
  if (name == "multi_error") loss.parameter = static_cast<double>(p.multi_error_top_k);
  return loss;
}

}  // namespace

std::unique_ptr<TreeMetric> MakeRowMetric(const std::string& name, const MetricParameters& p,
                                          const ObjectiveParameters& objective,
                                          const TreeDataset& data, WorkPool& pool) {
  const std::optional<RowLoss> loss = LossOf(name, p, objective);
  if (!loss.has_value()) return nullptr;
  std::string shown = name;
  if (name == "multi_error" && p.multi_error_top_k > 1) {
    shown = fmt::format("multi_error@{}", p.multi_error_top_k);
  }
  const Total total = name == "rmse"             ? Total::kRootOfMean
                      : name == "gamma_deviance" ? Total::kSum
                      : name == "r2"             ? Total::kShareExplained
                                                 : Total::kMean;
  return std::make_unique<RowMetric>(std::move(shown), data, pool, *loss, total);
}

}  // namespace strata
