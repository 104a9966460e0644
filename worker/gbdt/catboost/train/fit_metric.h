// MetricSpec: what a training is measured by after each round, under CatBoost's names
// (libs/metrics/metric.cpp of its sources).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

enum class MetricKind : uint8_t {
  kLoss,      // a loss; the less the better
  kAccuracy,  // the share of the weights whose class is the predicted one
  kAuc,       // the area under the ROC curve, without weights; of test rows alone, as in CatBoost
};

struct MetricSpec {
  MetricKind kind = MetricKind::kLoss;
  LossSpec loss;  // of kLoss

  // A value of which less is better.
  double AsLoss(double value) const { return kind == MetricKind::kLoss ? value : -value; }
};

std::string MetricText(const MetricSpec& metric);  // "Quantile:alpha=0.3"

// Reads the metric of a training for this loss. kInvalid: no metric of this name, or one that
// CatBoost does not have for the loss.
Result<MetricSpec> ParseMetric(std::string_view text, FitLoss trained);

// Of the rows' raw values; no number where one of them is none. An AUC of rows of one class is 0.
double MeasureMetric(const MetricSpec& metric, const FitRows& rows, std::span<const double> raw,
                     WorkPool& pool);

}  // namespace strata
