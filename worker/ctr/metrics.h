// Quality of predictions: of probabilities, or of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cluster/collective/group.h"
#include "kernels/dense/loss.h"
#include "strata/status.h"

namespace strata {

// One evaluated sample. Plain bytes: ranks exchange them as they are.
struct ScoredSample {
  float logit = 0;  // of LossKind::kMse: the prediction
  float label = 0;  // 0 or 1; of LossKind::kMse any number
  float weight = 1;
};
static_assert(sizeof(ScoredSample) == 12);

struct Metrics {
  uint64_t samples = 0;
  double auc = 0;          // area under the ROC curve, ties counted half; NaN without both labels
  double logloss = 0;      // weighted mean
  double calibration = 0;  // mean prediction / mean label; NaN without positives
  uint64_t bad_rows = 0;   // rows of the data that could not be read and are left out
  // The logloss of always predicting the weighted share of positives.
  double base_logloss = std::numeric_limits<double>::quiet_NaN();
  // Of samples in groups: the mean of the groups' AUCs, weighted by their samples' weights. Groups
  // of one label have none and are left out. NaN without groups that count.
  double gauc = std::numeric_limits<double>::quiet_NaN();
  uint64_t groups = 0;  // that count
  uint64_t groups_left_out = 0;
  // Of kMse there are the two that follow, else those before. The others are NaN.
  LossKind loss = LossKind::kLogloss;
  double mse = std::numeric_limits<double>::quiet_NaN();  // weighted mean of squared errors
  // The mse of always predicting the weighted mean of the labels.
  double base_mse = std::numeric_limits<double>::quiet_NaN();
};

// Why there is no AUC: "all labels are 0"; "": there is one, or the loss has none.
std::string WhyNoAuc(const Metrics& metrics);
// "0.91930" with five digits; "none" of a metric that is not defined.
std::string MetricText(double value, int digits);
// "RMSE 1.5, MSE 2.25", with six digits; "none" as above.
std::string SquaredErrorText(const Metrics& metrics);

// Exact. A function of the set of samples, to the bit, whatever their order. Reorders `samples`.
Metrics ComputeMetrics(std::vector<ScoredSample>* samples, LossKind loss = LossKind::kLogloss);

// The same over the samples of all ranks; every rank gets equal numbers. `mine_in_groups` has the
// group of each of `mine`; null, on all ranks alike: they are in none. Of LossKind::kMse they are
// in none. Errors are the group's.
Result<Metrics> ComputeMetrics(Group& group, std::span<const ScoredSample> mine,
                               const std::vector<uint64_t>* mine_in_groups = nullptr,
                               LossKind loss = LossKind::kLogloss);

}  // namespace strata
