// lambdarank and rank_xendcg: gradients of a query's rows by those of all its rows.
#include <algorithm>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/ranking_losses.h"
#include "worker/gbdt/objective/dcg.h"
#include "worker/gbdt/objective/factories.h"

namespace strata {
namespace {

// One query's rows.
struct Query {
  std::span<const double> scores;
  std::span<const float> labels;
  uint64_t first_row;  // among all ranks'
  std::vector<float>& lambdas;
  std::vector<float>& hessians;
};

class Ranking : public TreeObjective {
 public:
  Ranking(const TreeDataset& data, LabelGains gains) : data_(data), gains_(std::move(gains)) {}

  void Gradients(std::span<const double> scores, uint64_t round, WorkPool& pool,
                 std::span<float> gradients, std::span<float> hessians) const override {
    const std::vector<size_t>& begins = data_.query_begins;
    pool.Run(begins.size() - 1, [&](size_t q) {
      const size_t begin = begins[q];
      const size_t count = begins[q + 1] - begin;
      std::vector<float> lambdas(count);
      std::vector<float> seconds(count);
      const Query query{.scores = scores.subspan(begin, count),
                        .labels = std::span(data_.labels).subspan(begin, count),
                        .first_row = data_.share.first_row() + begin,
                        .lambdas = lambdas,
                        .hessians = seconds};
      if (count > 0) OfQuery(q, query, round);
      for (size_t i = 0; i < count; ++i) {
        const double weight = data_.weights.empty() ? 1 : data_.weights[begin + i];
        gradients[begin + i] = static_cast<float>(static_cast<double>(lambdas[i]) * weight);
        hessians[begin + i] = static_cast<float>(static_cast<double>(seconds[i]) * weight);
      }
    });
  }

 protected:
  virtual void OfQuery(size_t number, const Query& query, uint64_t round) const = 0;

  const TreeDataset& data_;
  const LabelGains gains_;
};

class LambdaRank : public Ranking {
 public:
  LambdaRank(const ObjectiveParameters& p, const TreeDataset& data, LabelGains gains)
      : Ranking(data, std::move(gains)),
        loss_{.sigmoid = p.sigmoid,
              .norm = p.lambdarank_norm,
              .truncation = static_cast<uint32_t>(p.lambdarank_truncation_level)} {
    for (size_t q = 0; q + 1 < data.query_begins.size(); ++q) {
      const size_t begin = data.query_begins[q];
      const double most =
          MaxDcg(std::span(data.labels).subspan(begin, data.query_begins[q + 1] - begin), gains_,
                 loss_.truncation);
      inverse_max_dcg_.push_back(most > 0 ? 1 / most : 0);
    }
  }

  std::string ModelText() const override { return "lambdarank"; }
  std::optional<OwnLoss> own_loss() const override {
    return OwnLoss{.loss = loss_,
                   .labels = data_.labels,
                   .ranking = {.gains = gains_.all(), .inverse_max_dcg = inverse_max_dcg_}};
  }

 protected:
  void OfQuery(size_t number, const Query& query, uint64_t /*round*/) const override {
    const std::vector<uint32_t> order = OrderByScore(query.scores);
    const size_t count = order.size();
    const bool divides = loss_.norm && query.scores[order.front()] != query.scores[order.back()];
    std::vector<double> discounts(count);
    for (size_t place = 0; place < count; ++place) discounts[place] = DiscountOf(place);
    double sum = 0;
    for (size_t i = 0; i + 1 < count && i < loss_.truncation; ++i) {
      double of_place = 0;  // a place's sum by itself: a GPU has a thread for each
      for (size_t j = i + 1; j < count; ++j) {
        if (query.labels[order[i]] == query.labels[order[j]]) continue;
        const bool first_is_better = query.labels[order[i]] > query.labels[order[j]];
        const uint32_t high = order[first_is_better ? i : j];
        const uint32_t low = order[first_is_better ? j : i];
        const loss::LambdaRank::Slopes slopes =
            loss_.Of({.apart = query.scores[high] - query.scores[low],
                      .gain_apart = gains_.Of(query.labels[high]) - gains_.Of(query.labels[low]),
                      .discount_apart = discounts[i] - discounts[j]},
                     inverse_max_dcg_[number], divides);
        query.lambdas[high] -= slopes.gradient;
        query.lambdas[low] += slopes.gradient;
        query.hessians[high] += slopes.hessian;
        query.hessians[low] += slopes.hessian;
        of_place += 2 * slopes.lambda;
      }
      sum += of_place;
    }
    if (!loss_.norm || !(sum > 0)) return;
    const double factor = loss::LambdaRank::FactorOf(sum);
    for (size_t i = 0; i < count; ++i) {
      query.lambdas[i] = static_cast<float>(query.lambdas[i] * factor);
      query.hessians[i] = static_cast<float>(query.hessians[i] * factor);
    }
  }

 private:
  const loss::LambdaRank loss_;
  std::vector<double> inverse_max_dcg_;  // of each query
};

class XeNdcg : public Ranking {
 public:
  XeNdcg(const ObjectiveParameters& p, const TreeDataset& data, LabelGains gains)
      : Ranking(data, std::move(gains)), loss_{static_cast<uint64_t>(p.objective_seed)} {}

  std::string ModelText() const override { return "rank_xendcg"; }
  std::optional<OwnLoss> own_loss() const override {
    return OwnLoss{.loss = loss_, .labels = data_.labels};
  }

 protected:
  void OfQuery(size_t /*number*/, const Query& query, uint64_t round) const override {
    const size_t count = query.scores.size();
    if (count <= 1) return;
    const double largest = *std::ranges::max_element(query.scores);
    std::vector<double> rho(count);
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += rho[i] = math::Exp(query.scores[i] - largest);
    for (double& share : rho) share /= sum;
    const uint64_t round_seed = loss_.SeedOf(round);
    std::vector<double> terms(count);
    double gain = 0;
    for (size_t i = 0; i < count; ++i) {
      terms[i] = loss::XeNdcg::GainOf(query.labels[i], round_seed, query.first_row + i);
      gain += terms[i];
    }
    const double inverse = loss::XeNdcg::InverseOf(gain);
    std::vector<double> sums(count);
    double left = 0;  // the part of the series that the next order begins with
    for (size_t i = 0; i < count; ++i) {
      const double term = rho[i] - terms[i] * inverse;
      sums[i] = term;
      terms[i] = term / (1 - rho[i]);
      left += terms[i];
    }
    double next = 0;
    for (size_t i = 0; i < count; ++i) {
      const double term = rho[i] * (left - terms[i]);
      sums[i] += term;
      terms[i] = term / (1 - rho[i]);
      next += terms[i];
    }
    for (size_t i = 0; i < count; ++i) {
      query.lambdas[i] = static_cast<float>(sums[i] + rho[i] * (next - terms[i]));
      query.hessians[i] = static_cast<float>(rho[i] * (1 - rho[i]));
    }
  }

 private:
  const loss::XeNdcg loss_;
};

}  // namespace

Result<std::unique_ptr<TreeObjective>> MakeRankingObjective(const ObjectiveParameters& p,
                                                            const TreeDataset& data) {
  STRATA_ASSIGN(LabelGains gains, LabelGains::Make(p.label_gain, data));
  if (p.name == "rank_xendcg") {
    return std::unique_ptr<TreeObjective>(std::make_unique<XeNdcg>(p, data, std::move(gains)));
  }
  return std::unique_ptr<TreeObjective>(std::make_unique<LambdaRank>(p, data, std::move(gains)));
}

}  // namespace strata
