// Areas under curves over thresholds of the score; equal scores are one threshold.
#include <algorithm>
#include <numeric>

#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

class CurveMetric : public TreeMetric {
 public:
  CurveMetric(const TreeDataset& data, bool is_auc) : data_(data), is_auc_(is_auc) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    std::vector<uint32_t> order(data_.rows());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    double area = 0;
    double positives = 0;
    double negatives = 0;
    for (size_t i = 0; i < order.size();) {
      double positive = 0;
      double negative = 0;
      const double score = scores[order[i]];
      for (; i < order.size() && scores[order[i]] == score; ++i) {
        const double weight = data_.weights.empty() ? 1 : data_.weights[order[i]];
        (data_.labels[order[i]] > 0 ? positive : negative) += weight;
      }
      if (is_auc_) {
        area += negative * (positives + positive * 0.5);
      } else if (positive > 0) {
        area += positive * (positives + positive) / (positives + positive + negatives + negative);
      }
      positives += positive;
      negatives += negative;
    }
    double value = 1;
    if (is_auc_ && positives > 0 && negatives > 0) value = area / (positives * negatives);
    if (!is_auc_ && positives > 0) value = area / positives;
    return {
        {.name = is_auc_ ? "auc" : "average_precision", .value = value, .higher_is_better = true}};
  }

 private:
  const TreeDataset& data_;
  const bool is_auc_;
};

}  // namespace

std::unique_ptr<TreeMetric> MakeCurveMetric(const std::string& name, const TreeDataset& data) {
  if (name != "auc" && name != "average_precision") return nullptr;
  return std::make_unique<CurveMetric>(data, name == "auc");
}

}  // namespace strata
