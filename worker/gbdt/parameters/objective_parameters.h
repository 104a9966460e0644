// ObjectiveParameters: what is learned, so what scores mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

struct ObjectiveParameters {
  std::string name = "regression";
  int64_t num_class = 1;
  bool is_unbalance = false;
  double scale_pos_weight = 1;
  double sigmoid = 1;
  bool reg_sqrt = false;
  double alpha = 0.9;  // huber's bound, quantile's share
  double fair_c = 1;
  double poisson_max_delta_step = 0.7;
  double tweedie_variance_power = 1.5;
  int64_t lambdarank_truncation_level = 30;
  bool lambdarank_norm = true;
  std::vector<double> label_gain;  // empty: 2^label - 1
  int64_t objective_seed = 5;
};

}  // namespace strata
