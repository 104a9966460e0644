// Objectives whose gradient of a row depends on that row alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/tree/gradient/losses.h"
#include "kernels/tree/gradient/row_gradients.h"
#include "kernels/tree/grow/percentile.h"
#include "worker/gbdt/objective/factories.h"
#include "worker/gbdt/objective/side_weights.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 16384;
constexpr double kLeastShare = 1e-15F;  // of a side, for logarithms; LightGBM's float

enum class Start : uint8_t { kMean, kLogMean, kLogit, kPercentile };

// What differs between these objectives besides the loss.
struct Traits {
  std::string text;
  Start start = Start::kMean;
  LeafPercentile percentile = {};  // of kPercentile, and of renewed leaves
  double sigmoid = 1;              // of kLogit
  bool renews = false;
  bool hessians_are_one = false;
  bool labels_are_classes = false;  // positive above 0, for kLogit
  bool square_root = false;         // labels are sign(y) * sqrt(|y|)
};

template <typename Loss>
class Pointwise : public TreeObjective {
 public:
  Pointwise(const TreeDataset& data, const Loss& loss, Traits traits)
      : data_(data), loss_(loss), traits_(std::move(traits)), labels_(data.labels) {
    if (traits_.renews) CountWeights();
    if (!traits_.square_root) return;
    for (const float label : data.labels) {
      roots_.push_back(std::copysign(std::sqrt(std::fabs(label)), label));
    }
    labels_ = roots_;
  }

  std::string ModelText() const override { return traits_.text; }
  std::optional<OwnLoss> own_loss() const override {
    return OwnLoss{.loss = loss_,
                   .labels = labels_,
                   .renewal = traits_.renews ? std::optional(traits_.percentile) : std::nullopt};
  }
  bool hessians_are_one() const override {
    return traits_.hessians_are_one && data_.weights.empty();
  }

  double StartScore(size_t /*k*/) const override {
    switch (traits_.start) {
      case Start::kMean:
        return Mean();
      case Start::kLogMean:
        return math::Log(Mean());
      case Start::kLogit: {
        const double mean = std::clamp(Mean(), kLeastShare, 1 - kLeastShare);
        return math::Log(mean / (1 - mean)) / traits_.sigmoid;
      }
      case Start::kPercentile: {
        std::vector<Residual> labels(labels_.size());
        for (size_t row = 0; row < labels.size(); ++row) {
          labels[row] = {.value = labels_[row], .weight = PercentileWeight(row)};
        }
        // In single precision, as labels are.
        return static_cast<float>(data_.share.Compute<Residual>(
            std::span(&labels, 1),
            [&](size_t /*list*/, std::vector<Residual>& all) { return Percentile(all); })[0]);
      }
    }
    return 0;
  }

  bool NeedsTrees(size_t /*k*/) const override {
    if (!traits_.labels_are_classes) return true;
    const auto positive = [](float label) { return label > 0; };
    return data_.share.Any(std::ranges::any_of(labels_, positive)) &&
           data_.share.Any(!std::ranges::all_of(labels_, positive));
  }

  void Gradients(std::span<const double> scores, uint64_t /*round*/, WorkPool& pool,
                 std::span<float> gradients, std::span<float> hessians) const override {
    pool.RunPieces(labels_.size(), kPieceRows, [&](size_t begin, size_t end) {
      const auto part = [&](auto all) { return all.subspan(begin, end - begin); };
      const std::span<const float> weights(data_.weights);
      SlopesOfRows(loss_, part(scores), part(labels_), weights.empty() ? weights : part(weights),
                   part(gradients), part(hessians));
    });
  }

  bool renews_outputs() const override { return traits_.renews; }
  std::vector<Residual> Residuals(std::span<const uint32_t> rows,
                                  std::span<const double> scores) const override {
    std::vector<Residual> residuals;
    residuals.reserve(rows.size());
    for (const uint32_t row : rows) {
      residuals.push_back(
          {.value = ResidualOf(labels_[row], scores[row]), .weight = PercentileWeight(row)});
    }
    return residuals;
  }
  double RenewedOutput(std::vector<Residual>& residuals) const override {
    return Percentile(residuals);
  }

 private:
  double LabelOf(size_t row) const {
    return traits_.labels_are_classes ? (labels_[row] > 0 ? 1.0 : 0.0) : labels_[row];
  }

  double Mean() const {
    std::vector<double> numbers(labels_.size());
    std::vector<double> weights(labels_.size(), 1);
    for (size_t row = 0; row < labels_.size(); ++row) {
      if (!data_.weights.empty()) weights[row] = data_.weights[row];
      numbers[row] = LabelOf(row) * weights[row];
    }
    const double weight = data_.share.Total(weights);
    const double sum = data_.share.Total(numbers);
    return weight > 0 ? sum / weight : 0;
  }

  // What the weights of percentiles are counted in.
  void CountWeights() {
    LeafPercentile& percentile = traits_.percentile;
    percentile.is_weighted = percentile.by_label || !data_.weights.empty();
    if (!percentile.is_weighted) return;
    double largest = 0;
    for (size_t row = 0; row < labels_.size(); ++row) {
      largest = std::max(largest, PercentileWeight(row));
    }
    percentile.weights = ExactUnits::For(data_.share.Max(largest), data_.all_rows());
  }

  double PercentileWeight(size_t row) const {
    return traits_.percentile.WeightOf(labels_[row],
                                       data_.weights.empty() ? 1 : data_.weights[row]);
  }

  double Percentile(std::vector<Residual>& residuals) const {
    std::vector<double> values;
    std::vector<double> weights;
    for (const Residual& residual : residuals) {
      values.push_back(residual.value);
      weights.push_back(residual.weight);
    }
    const LeafPercentile& what = traits_.percentile;
    if (!what.is_weighted) return PercentileOf(values, what.share);
    return WeightedPercentileOf(values, weights, what.share, what.weights);
  }

  const TreeDataset& data_;
  const Loss loss_;
  Traits traits_;
  std::vector<float> roots_;       // of traits_.square_root
  std::span<const float> labels_;  // as the loss has them
};

template <typename Loss>
std::unique_ptr<TreeObjective> Make(const TreeDataset& data, const Loss& loss,
                                    const Traits& traits) {
  return std::make_unique<Pointwise<Loss>>(data, loss, traits);
}

loss::BinaryLogistic BinaryLossOf(const ObjectiveParameters& p, const TreeDataset& data) {
  const auto positives = static_cast<double>(
      data.share.Sum(std::ranges::count_if(data.labels, [](float label) { return label > 0; })));
  return {p.sigmoid, SideWeightsOf(p, positives, static_cast<double>(data.all_rows()))};
}

Status CheckLabels(const TreeDataset& data, const std::string& objective,
                   const std::function<bool(float)>& fits, const char* expected) {
  return data.CheckLabels(fits, fmt::format("objective = {} needs labels {}", objective, expected));
}

// Counts and amounts: scores are logarithms, which the mean must have.
Status CheckAmounts(const TreeDataset& data, const std::string& objective) {
  STRATA_TRY(CheckLabels(
      data, objective, [](float y) { return y >= 0; }, "of at least 0"));
  const auto positive = [](float y) { return y > 0; };
  if (data.share.Any(std::ranges::any_of(data.labels, positive))) return {};
  return data.share.FailEverywhere(
      Invalid(fmt::format("{}{}objective = {} needs a label above 0: all {} are 0", data.path,
                          data.path.empty() ? "" : ": ", objective, data.all_rows())));
}

}  // namespace

Result<std::unique_ptr<TreeObjective>> MakePointwiseObjective(const ObjectiveParameters& p,
                                                              const TreeDataset& data) {
  const std::string& name = p.name;
  if (name == "binary") {
    STRATA_TRY(CheckLabels(
        data, name, [](float y) { return y == 0 || y == 1 || y == -1; }, "0 (or -1) and 1"));
    return Make(data, BinaryLossOf(p, data),
                {.text = fmt::format("binary sigmoid:{:g}", p.sigmoid),
                 .start = Start::kLogit,
                 .sigmoid = p.sigmoid,
                 .labels_are_classes = true});
  }
  if (name == "cross_entropy") {
    STRATA_TRY(CheckLabels(
        data, name, [](float y) { return y >= 0 && y <= 1; }, "from 0 to 1"));
    return Make(data, loss::CrossEntropy{}, {.text = name, .start = Start::kLogit});
  }
  if (name == "regression_l1") {
    return Make(
        data, loss::AbsoluteError{},
        {.text = name, .start = Start::kPercentile, .renews = true, .hessians_are_one = true});
  }
  if (name == "huber") {
    return Make(data, loss::Huber{p.alpha},
                {.text = name, .start = Start::kMean, .hessians_are_one = true});
  }
  if (name == "fair")
    return Make(data, loss::Fair{p.fair_c}, {.text = name, .start = Start::kMean});
  if (name == "quantile") {
    // LightGBM has it in single precision.
    const double alpha = static_cast<float>(p.alpha);
    return Make(data, loss::Quantile{alpha},
                {.text = name,
                 .start = Start::kPercentile,
                 .percentile = {.share = alpha},
                 .renews = true,
                 .hessians_are_one = true});
  }
  if (name == "mape") {
    return Make(data, loss::AbsolutePercentageError{},
                {.text = name,
                 .start = Start::kPercentile,
                 .percentile = {.by_label = true},
                 .renews = true,
                 .hessians_are_one = true});
  }
  if (name == "poisson") {
    STRATA_TRY(CheckAmounts(data, name));
    return Make(data, loss::Poisson{p.poisson_max_delta_step},
                {.text = name, .start = Start::kLogMean});
  }
  if (name == "gamma") {
    STRATA_TRY(CheckLabels(
        data, name, [](float y) { return y > 0; }, "above 0"));
    return Make(data, loss::Gamma{}, {.text = name, .start = Start::kLogMean});
  }
  if (name == "tweedie") {
    STRATA_TRY(CheckAmounts(data, name));
    return Make(data, loss::Tweedie{p.tweedie_variance_power},
                {.text = name, .start = Start::kLogMean});
  }
  return Make(data, loss::SquaredError{},
              {.text = p.reg_sqrt ? "regression sqrt" : "regression",
               .start = Start::kMean,
               .hessians_are_one = true,
               .square_root = p.reg_sqrt});
}

}  // namespace strata
