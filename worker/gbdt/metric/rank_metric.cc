#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernels/tree/gradient/query_gain.h"
#include "worker/gbdt/metric/factories.h"
#include "worker/gbdt/objective/dcg.h"

namespace strata {
namespace {

constexpr size_t kPiece = 64;  // queries of one thread at a time

// Means over queries, at each of eval_at. A query weighs as much as its rows do on average. With
// ndcg, one without a gain counts as 1 whatever it weighs, in LightGBM, too.
class RankMetric : public TreeMetric {
 public:
  RankMetric(const MetricParameters& p, const TreeDataset& data, WorkPool& pool, LabelGains gains,
             QueryGain what)
      : data_(data), pool_(pool), gains_(std::move(gains)), eval_at_(p.eval_at), what_(what) {
    std::ranges::sort(eval_at_);
  }

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    const size_t queries = Queries();
    const Known& known = Know();
    std::vector<std::vector<double>> of_queries(eval_at_.size(), std::vector<double>(queries));
    pool_.RunPieces(queries, kPiece, [&](size_t begin, size_t end) {
      for (size_t q = begin; q < end; ++q) {
        const std::span<const float> labels = LabelsOf(q);
        const std::vector<uint32_t> order =
            OrderByScore(scores.subspan(data_.query_begins[q], labels.size()));
        for (size_t i = 0; i < eval_at_.size(); ++i) {
          const double gain = GainOfPlaces(
              what_, [&](size_t place) { return labels[order[place]]; }, gains_.all().data(),
              std::min(PlacesOf(i), order.size()));
          of_queries[i][q] = known.factors[q] * ShareOfGain(gain, known.possible[i * queries + q]);
        }
      }
    });
    std::vector<double> sums;
    for (const std::vector<double>& of_query : of_queries) {
      sums.push_back(data_.share.Total(of_query, &pool_));
    }
    return ValuesOf(sums);
  }

  Status MoveToGpu(GpuMetrics* gpu) override {
    const Known& known = Know();
    STRATA_ASSIGN(on_gpu_, gpu->AddMeasure({.what = what_,
                                            .places = eval_at_,
                                            .possible = known.possible,
                                            .weights = known.factors,
                                            .gains = gains_.all()}));
    return {};
  }
  Result<std::vector<MetricValue>> EvaluateOnGpu(GpuMetrics& gpu,
                                                 const double* scores) const override {
    STRATA_ASSIGN(const std::vector<double> sums, gpu.GainsOfQueries(on_gpu_, scores));
    return ValuesOf(sums);
  }

 private:
  // What of queries no score changes.
  struct Known {
    std::vector<double> factors;   // of a query's share in the sum
    std::vector<double> possible;  // eval_at * queries + query: gain at most
    double weight = 0;             // of all queries
  };

  size_t Queries() const { return data_.query_begins.size() - 1; }
  size_t PlacesOf(size_t i) const { return static_cast<size_t>(eval_at_[i]); }
  std::span<const float> LabelsOf(size_t q) const {
    const size_t begin = data_.query_begins[q];
    return std::span(data_.labels).subspan(begin, data_.query_begins[q + 1] - begin);
  }

  const Known& Know() const {
    if (known_.has_value()) return *known_;
    known_.emplace();
    const size_t queries = Queries();
    known_->factors.resize(queries);
    known_->possible.resize(eval_at_.size() * queries);
    std::vector<double> weights(queries);
    pool_.RunPieces(queries, kPiece, [&](size_t begin, size_t end) {
      for (size_t q = begin; q < end; ++q) known_->factors[q] = weights[q] = WeightOf(q);
      for (size_t q = begin; q < end; ++q) KnowGains(q);
    });
    known_->weight = data_.share.Total(weights, &pool_);
    return *known_;
  }

  void KnowGains(size_t q) const {
    const std::span<const float> labels = LabelsOf(q);
    for (size_t i = 0; i < eval_at_.size(); ++i) {
      const double possible = PossibleGain(labels, PlacesOf(i));
      // The fewest places decide for all of eval_at, as LightGBM has it.
      if (i == 0 && possible <= 0) {
        if (what_ == QueryGain::kDcg && !labels.empty()) known_->factors[q] = 1;
        return;
      }
      known_->possible[i * Queries() + q] = possible;
    }
  }

  double WeightOf(size_t q) const {
    if (data_.weights.empty()) return 1;
    const size_t begin = data_.query_begins[q];
    const size_t end = data_.query_begins[q + 1];
    float sum = 0;  // as LightGBM adds them up
    for (size_t row = begin; row < end; ++row) sum += data_.weights[row];
    return end > begin ? sum / static_cast<float>(end - begin) : 0;
  }

  double PossibleGain(std::span<const float> labels, size_t places) const {
    if (what_ == QueryGain::kDcg) return MaxDcg(labels, gains_, places);
    const auto relevant =
        static_cast<size_t>(std::ranges::count_if(labels, [](float label) { return label > 0; }));
    return static_cast<double>(std::min(relevant, places));
  }

  std::vector<MetricValue> ValuesOf(std::span<const double> sums) const {
    std::vector<MetricValue> values;
    for (size_t i = 0; i < eval_at_.size(); ++i) {
      values.push_back(
          {.name = fmt::format("{}@{}", what_ == QueryGain::kDcg ? "ndcg" : "map", eval_at_[i]),
           .value = sums[i] / Know().weight,
           .higher_is_better = true});
    }
    return values;
  }

  const TreeDataset& data_;
  WorkPool& pool_;
  const LabelGains gains_;
  std::vector<int64_t> eval_at_;
  const QueryGain what_;
  mutable std::optional<Known> known_;
  size_t on_gpu_ = 0;  // its number there
};

}  // namespace

Result<std::unique_ptr<TreeMetric>> MakeRankMetric(const std::string& name,
                                                   const MetricParameters& p,
                                                   const ObjectiveParameters& objective,
                                                   const TreeDataset& data, WorkPool& pool) {
  STRATA_ASSIGN(LabelGains gains, LabelGains::Make(objective.label_gain, data));
  return std::unique_ptr<TreeMetric>(std::make_unique<RankMetric>(
      p, data, pool, std::move(gains), name == "ndcg" ? QueryGain::kDcg : QueryGain::kPrecision));
}

}  // namespace strata
