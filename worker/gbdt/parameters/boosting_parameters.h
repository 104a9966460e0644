// BoostingParameters: how rounds add trees to a model, and from which rows and gradients each round
// learns.
#pragma once

#include <cstdint>
#include <string>

namespace strata {

struct BoostingParameters {
  std::string mode = "gbdt";  // or dart, rf
  int64_t num_iterations = 100;
  double learning_rate = 0.1;
  bool boost_from_average = true;

  double drop_rate = 0.1;  // of dart
  int64_t max_drop = 50;   // 0 or less: no bound
  double skip_drop = 0.5;
  bool xgboost_dart_mode = false;
  bool uniform_drop = false;
  int64_t drop_seed = 4;

  std::string data_sample_strategy = "bagging";
  double bagging_fraction = 1;
  double pos_bagging_fraction = 1;  // of rows with labels above 0, besides bagging_fraction
  double neg_bagging_fraction = 1;  // of the others
  int64_t bagging_freq = 0;
  bool bagging_by_query = false;
  double top_rate = 0.2;  // of goss
  double other_rate = 0.1;
  int64_t bagging_seed = 3;

  bool use_quantized_grad = false;
  int64_t num_grad_quant_bins = 4;
  bool quant_train_renew_leaf = false;
  bool stochastic_rounding = true;
  // Ours: of a gradient where use_quantized_grad is off. 16, 32, or 0: 32 where rows are so few
  // that it costs little and rounding would show, 16 elsewhere.
  int64_t gradient_bits = 0;

  // Whether leaves get outputs from unrounded gradients: rounded ones are needed for it.
  bool renews_leaves() const { return use_quantized_grad && quant_train_renew_leaf; }
};

}  // namespace strata
