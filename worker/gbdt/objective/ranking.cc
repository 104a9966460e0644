// lambdarank (C. Burges, "From RankNet to LambdaRank to LambdaMART", MSR-TR-2010-82) and
// rank_xendcg (S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021).
#include <algorithm>
#include <cmath>

#include "kernels/core/math.h"
#include "kernels/tree/fixed_point.h"
#include "worker/gbdt/objective/dcg.h"
#include "worker/gbdt/objective/factories.h"

namespace strata {
namespace {

constexpr double kNormBase = 0.01F;
constexpr double kLn2 = 0.6931471805599453;

// One query's rows.
struct Query {
  std::span<const double> scores;
  std::span<const float> labels;
  uint64_t first_row;  // among all ranks'
  // In single precision, as LightGBM adds them up: on small data its models are met only so.
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
  LambdaRank(const TreeParameters& p, const TreeDataset& data, LabelGains gains)
      : Ranking(data, std::move(gains)),
        sigmoid_(p.sigmoid),
        norm_(p.lambdarank_norm),
        truncation_(static_cast<size_t>(p.lambdarank_truncation_level)) {
    for (size_t q = 0; q + 1 < data.query_begins.size(); ++q) {
      const size_t begin = data.query_begins[q];
      const double most =
          MaxDcg(std::span(data.labels).subspan(begin, data.query_begins[q + 1] - begin), gains_,
                 truncation_);
      inverse_max_dcg_.push_back(most > 0 ? 1 / most : 0);
    }
  }

  std::string ModelText() const override { return "lambdarank"; }

 protected:
  void OfQuery(size_t number, const Query& query, uint64_t /*round*/) const override {
    const std::vector<uint32_t> order = OrderByScore(query.scores);
    const size_t count = order.size();
    const bool divides = norm_ && query.scores[order.front()] != query.scores[order.back()];
    std::vector<double> discounts(count);
    for (size_t place = 0; place < count; ++place) discounts[place] = DiscountOf(place);
    double sum = 0;
    for (size_t i = 0; i + 1 < count && i < truncation_; ++i) {
      for (size_t j = i + 1; j < count; ++j) {
        if (query.labels[order[i]] == query.labels[order[j]]) continue;
        const bool first_is_better = query.labels[order[i]] > query.labels[order[j]];
        const uint32_t high = order[first_is_better ? i : j];
        const uint32_t low = order[first_is_better ? j : i];
        const double apart = query.scores[high] - query.scores[low];
        double change = (gains_.Of(query.labels[high]) - gains_.Of(query.labels[low])) *
                        (discounts[i] - discounts[j]) * inverse_max_dcg_[number];
        if (divides) change /= kNormBase + std::fabs(apart);
        const double p = StepwiseSigmoid(apart);
        const double lambda = sigmoid_ * change * p;
        const auto first = static_cast<float>(lambda);
        const auto second = static_cast<float>(sigmoid_ * sigmoid_ * change * p * (1 - p));
        query.lambdas[high] -= first;
        query.lambdas[low] += first;
        query.hessians[high] += second;
        query.hessians[low] += second;
        sum += 2 * lambda;
      }
    }
    if (!norm_ || !(sum > 0)) return;
    const double factor = math::Log(1 + sum) / kLn2 / sum;
    for (size_t i = 0; i < count; ++i) {
      query.lambdas[i] = static_cast<float>(query.lambdas[i] * factor);
      query.hessians[i] = static_cast<float>(query.hessians[i] * factor);
    }
  }

 private:
  // 1 / (1 + e^(sigmoid * apart)), at the nearest lower of the 2^20 steps that LightGBM's table
  // has.
  double StepwiseSigmoid(double apart) const {
    constexpr double kSteps = 1 << 20;
    const double end = 25 / sigmoid_;
    const double steps_per_one = kSteps / (2 * end);
    const double step = std::clamp(std::floor((apart + end) * steps_per_one), 0.0, kSteps - 1);
    return math::Sigmoid(-sigmoid_ * (step / steps_per_one - end));
  }

  const double sigmoid_;
  const bool norm_;
  const size_t truncation_;
  std::vector<double> inverse_max_dcg_;  // of each query
};

class XeNdcg : public Ranking {
 public:
  XeNdcg(const TreeParameters& p, const TreeDataset& data, LabelGains gains)
      : Ranking(data, std::move(gains)), seed_(static_cast<uint64_t>(p.objective_seed)) {}

  std::string ModelText() const override { return "rank_xendcg"; }

 protected:
  void OfQuery(size_t /*number*/, const Query& query, uint64_t round) const override {
    const size_t count = query.scores.size();
    if (count <= 1) return;
    const double largest = *std::ranges::max_element(query.scores);
    std::vector<double> rho(count);
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += rho[i] = math::Exp(query.scores[i] - largest);
    for (double& share : rho) share /= sum;
    const uint64_t round_seed = Mix64(Mix64(seed_) + round);
    std::vector<double> terms(count);
    double gain = 0;
    for (size_t i = 0; i < count; ++i) {
      terms[i] = std::ldexp(1.0, static_cast<int>(query.labels[i])) -
                 RowUniform(round_seed, query.first_row + i);
      gain += terms[i];
    }
    const double inverse = 1 / std::max(1e-15, gain);
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
  const uint64_t seed_;
};

}  // namespace

Result<std::unique_ptr<TreeObjective>> MakeRankingObjective(const TreeParameters& p,
                                                            const TreeDataset& data) {
  STRATA_ASSIGN(LabelGains gains, LabelGains::Make(p, data));
  if (p.objective == "rank_xendcg") {
    return std::unique_ptr<TreeObjective>(std::make_unique<XeNdcg>(p, data, std::move(gains)));
  }
  return std::unique_ptr<TreeObjective>(std::make_unique<LambdaRank>(p, data, std::move(gains)));
}

}  // namespace strata
