// MetricParameters: what is measured while a model is trained, how often, and when that ends
// training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

struct MetricParameters {
  std::vector<std::string> names;  // empty: what belongs to the objective
  std::vector<int64_t> eval_at = {1, 2, 3, 4, 5};
  int64_t multi_error_top_k = 1;
  // Class * num_class + other class: how bad it is to take the one for the other. Empty: all alike.
  std::vector<double> auc_mu_weights;

  int64_t metric_freq = 1;
  bool is_provide_training_metric = false;
  int64_t early_stopping_round = 0;  // 0 or less: never
  double early_stopping_min_delta = 0;
  bool first_metric_only = false;
};

}  // namespace strata
