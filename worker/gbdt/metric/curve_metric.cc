// Areas under curves over thresholds of the score; equal scores are one threshold.
#include <algorithm>
#include <span>
#include <vector>

#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

struct ScoredRow {
  double score = 0;
  float label = 0;
  float weight = 1;
};

class CurveMetric : public TreeMetric {
 public:
  CurveMetric(const TreeDataset& data, bool is_auc) : data_(data), is_auc_(is_auc) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    std::vector<ScoredRow> rows(data_.rows());
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row] = {.score = scores[row],
                   .label = data_.labels[row],
                   .weight = data_.weights.empty() ? 1 : data_.weights[row]};
    }
    const double value = data_.share.Compute<ScoredRow>(
        std::span(&rows, 1),
        [this](size_t /*list*/, std::vector<ScoredRow>& all) { return AreaUnder(&all); })[0];
    return {
        {.name = is_auc_ ? "auc" : "average_precision", .value = value, .higher_is_better = true}};
  }

 private:
  double AreaUnder(std::vector<ScoredRow>* rows) const {
    std::ranges::stable_sort(
        *rows, [](const ScoredRow& a, const ScoredRow& b) { return a.score > b.score; });
    double area = 0;
    double positives = 0;
    double negatives = 0;
    for (size_t i = 0; i < rows->size();) {
      double positive = 0;
      double negative = 0;
      const double score = (*rows)[i].score;
      for (; i < rows->size() && (*rows)[i].score == score; ++i) {
        ((*rows)[i].label > 0 ? positive : negative) += (*rows)[i].weight;
      }
      if (is_auc_) {
        area += negative * (positives + positive * 0.5);
      } else if (positive > 0) {
        area += positive * (positives + positive) / (positives + positive + negatives + negative);
      }
      positives += positive;
      negatives += negative;
    }
    if (is_auc_) return positives > 0 && negatives > 0 ? area / (positives * negatives) : 1;
    return positives > 0 ? area / positives : 1;
  }

  const TreeDataset& data_;
  const bool is_auc_;
};

}  // namespace

std::unique_ptr<TreeMetric> MakeCurveMetric(const std::string& name, const TreeDataset& data) {
  if (name != "auc" && name != "average_precision") return nullptr;
  return std::make_unique<CurveMetric>(data, name == "auc");
}

}  // namespace strata
