// Metrics of trees computed plainly, in double by the standard library's functions, from what a
// model predicts: the oracle for what training and evaluate print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace strata::soak {

// One data set and what a model says of its rows.
struct PredictedRows {
  std::vector<double> labels;
  std::vector<double> weights;       // empty: all 1
  std::vector<size_t> query_begins;  // of each query, and the number of rows; empty: no queries
  std::vector<double> raw;           // row * classes + class: scores that place rows in order
  std::vector<double> predicted;     // likewise: what the objective predicts
  size_t classes = 1;
};

// What metrics depend on besides.
struct ByHandParameters {
  double alpha = 0.9;
  double fair_c = 1;
  double tweedie_variance_power = 1.5;
  int64_t multi_error_top_k = 1;
};

// What the objective `model_text` of a model ("binary sigmoid:1") predicts from raw scores.
std::vector<double> PredictedByHand(const std::string& model_text, const std::vector<double>& raw,
                                    size_t classes);

// The value of a metric by the name that is printed ("ndcg@3"). Fails the process for a name that
// is not known.
double MetricByHand(const std::string& name, const ByHandParameters& parameters,
                    const PredictedRows& rows);

}  // namespace strata::soak
