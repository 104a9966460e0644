// PredictParameters: what is predicted with a model, and with how much of it.
#pragma once

#include <cstdint>

namespace strata {

struct PredictParameters {
  bool raw_score = false;
  bool leaf_index = false;
  bool contributions = false;
  int64_t iterations = -1;  // of the model; 0 or less: all
  int64_t start_iteration = 0;
  bool disable_shape_check = false;
  bool early_stop = false;
  int64_t early_stop_freq = 10;
  double early_stop_margin = 10;
};

}  // namespace strata
