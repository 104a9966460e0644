#include <fmt/format.h>

#include <algorithm>

#include "worker/gbdt/metric/factories.h"
#include "worker/gbdt/objective/dcg.h"

namespace strata {
namespace {

constexpr size_t kPiece = 64;  // queries of one thread at a time

// Means over queries, at each of eval_at. A query weighs as much as its rows do on average.
class RankMetric : public TreeMetric {
 public:
  RankMetric(const TreeParameters& p, const TreeDataset& data, WorkPool& pool, LabelGains gains,
             bool is_ndcg)
      : data_(data), pool_(pool), gains_(std::move(gains)), eval_at_(p.eval_at), is_ndcg_(is_ndcg) {
    std::ranges::sort(eval_at_);
  }

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    const std::vector<size_t>& begins = data_.query_begins;
    const size_t queries = begins.size() - 1;
    const std::vector<double> weights = QueryWeights();
    std::vector<std::vector<double>> of_queries(eval_at_.size(), std::vector<double>(queries));
    pool_.RunPieces(queries, kPiece, [&](size_t begin, size_t end) {
      for (size_t q = begin; q < end; ++q) {
        const size_t rows = begins[q + 1] - begins[q];
        const auto labels = std::span(data_.labels).subspan(begins[q], rows);
        const std::vector<uint32_t> order = OrderByScore(scores.subspan(begins[q], rows));
        for (size_t i = 0; i < eval_at_.size(); ++i) {
          const auto k = static_cast<size_t>(eval_at_[i]);
          of_queries[i][q] =
              weights[q] * (is_ndcg_ ? Ndcg(labels, order, k) : AveragePrecision(labels, order, k));
        }
      }
    });
    const double weight = data_.share.Total(weights, &pool_);
    std::vector<MetricValue> values;
    for (size_t i = 0; i < eval_at_.size(); ++i) {
      values.push_back({.name = fmt::format("{}@{}", is_ndcg_ ? "ndcg" : "map", eval_at_[i]),
                        .value = data_.share.Total(of_queries[i], &pool_) / weight,
                        .higher_is_better = true});
    }
    return values;
  }

 private:
  std::vector<double> QueryWeights() const {
    const std::vector<size_t>& begins = data_.query_begins;
    std::vector<double> weights(begins.size() - 1, 1);
    if (data_.weights.empty()) return weights;
    for (size_t q = 0; q < weights.size(); ++q) {
      float sum = 0;  // as LightGBM adds them up
      for (size_t row = begins[q]; row < begins[q + 1]; ++row) sum += data_.weights[row];
      const size_t rows = begins[q + 1] - begins[q];
      weights[q] = rows > 0 ? sum / static_cast<float>(rows) : 0;
    }
    return weights;
  }

  // 1 for a query whose documents are all of label 0.
  double Ndcg(std::span<const float> labels, std::span<const uint32_t> order, size_t k) const {
    const double most = MaxDcg(labels, gains_, k);
    if (!(most > 0)) return 1;
    double sum = 0;
    for (size_t place = 0; place < std::min(k, order.size()); ++place) {
      sum += gains_.Of(labels[order[place]]) * DiscountOf(place);
    }
    return sum / most;
  }

  double AveragePrecision(std::span<const float> labels, std::span<const uint32_t> order,
                          size_t k) const {
    const auto relevant =
        static_cast<size_t>(std::ranges::count_if(labels, [](float label) { return label > 0; }));
    if (relevant == 0) return 1;
    size_t hits = 0;
    double sum = 0;
    for (size_t place = 0; place < std::min(k, order.size()); ++place) {
      if (!(labels[order[place]] > 0)) continue;
      ++hits;
      sum += static_cast<double>(hits) / static_cast<double>(place + 1);
    }
    return sum / static_cast<double>(std::min(relevant, k));
  }

  const TreeDataset& data_;
  WorkPool& pool_;
  const LabelGains gains_;
  std::vector<int64_t> eval_at_;
  const bool is_ndcg_;
};

}  // namespace

Result<std::unique_ptr<TreeMetric>> MakeRankMetric(const std::string& name, const TreeParameters& p,
                                                   const TreeDataset& data, WorkPool& pool) {
  STRATA_ASSIGN(LabelGains gains, LabelGains::Make(p, data));
  return std::unique_ptr<TreeMetric>(
      std::make_unique<RankMetric>(p, data, pool, std::move(gains), name == "ndcg"));
}

}  // namespace strata
