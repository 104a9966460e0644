// What losses of whole queries are made of, for CPU and GPU alike: lambdarank (C. Burges, "From
// RankNet to LambdaRank to LambdaMART", MSR-TR-2010-82) and rank_xendcg (S. Bruch, "An alternative
// cross entropy loss for learning-to-rank", WWW 2021), by LightGBM's formulas (its
// src/objective/rank_objective.hpp).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "strata/host_device.h"

namespace strata::loss {

constexpr double kLn2 = 0.6931471805599453;

// The discount of gains at the place behind `place` better ones.
STRATA_HD double DiscountOf(uint64_t place) {
  return kLn2 / math::Log(static_cast<double>(place) + 2.0);
}

// Of two rows with different labels.
struct RankedPair {
  double apart = 0;           // the better label's score less the other one's
  double gain_apart = 0;      // of labels, likewise; not negative
  double discount_apart = 0;  // of the earlier place less the later one
};

struct LambdaRank {
  double sigmoid = 1;
  bool norm = true;
  uint32_t truncation = 30;  // a row of each pair is in one of so many first places

  // Both are taken from the better row's gradient and added to the other one's, or added to both
  // rows' hessians. In single precision, as LightGBM adds them up: on small data its models are met
  // only so.
  struct Slopes {
    double lambda = 0;
    float gradient = 0;
    float hessian = 0;
  };

  // `divides`: by how far apart the scores are.
  STRATA_HD Slopes Of(const RankedPair& pair, double inverse_max_dcg, bool divides) const {
    constexpr double kNormBase = 0.01F;
    double change = pair.gain_apart * pair.discount_apart * inverse_max_dcg;
    if (divides) change /= kNormBase + (pair.apart < 0 ? -pair.apart : pair.apart);
    const double p = StepwiseSigmoid(pair.apart);
    const double lambda = sigmoid * change * p;
    return {lambda, static_cast<float>(lambda),
            static_cast<float>(sigmoid * sigmoid * change * p * (1 - p))};
  }

  // What a query's slopes are multiplied by, where `norm`; `sum`: of all its pairs' lambdas, twice.
  STRATA_HD static double FactorOf(double sum) { return math::Log(1 + sum) / kLn2 / sum; }

  // 1 / (1 + e^(sigmoid * apart)), at the nearest lower of the 2^20 steps that LightGBM's table
  // has.
  STRATA_HD double StepwiseSigmoid(double apart) const {
    constexpr double kSteps = 1 << 20;
    const double end = 25 / sigmoid;
    const double steps_per_one = kSteps / (2 * end);
    double step = std::floor((apart + end) * steps_per_one);
    step = step < 0 ? 0 : step;
    step = step > kSteps - 1 ? kSteps - 1 : step;
    return math::Sigmoid(-sigmoid * (step / steps_per_one - end));
  }
};

// A row's terms of the series of rank_xendcg; `rho`: its share of the query's softmax.
struct XeNdcg {
  uint64_t seed = 0;

  STRATA_HD uint64_t SeedOf(uint64_t round) const { return Mix64(Mix64(seed) + round); }
  // What a row's label counts; among a query's rows that is in proportion.
  STRATA_HD static double GainOf(float label, uint64_t round_seed, uint64_t row) {
    return std::ldexp(1.0, static_cast<int>(label)) - RowUniform(round_seed, row);
  }
  // 1 over a query's gains.
  STRATA_HD static double InverseOf(double gains) { return 1 / (gains > 1e-15 ? gains : 1e-15); }
};

}  // namespace strata::loss
