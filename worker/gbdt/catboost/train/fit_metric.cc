#include "worker/gbdt/catboost/train/fit_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/human_text.h"
#include "worker/gbdt/catboost/train/class_rows.h"
#include "worker/gbdt/catboost/train/leaf_values.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

bool IsFor(const MetricSpec& metric, FitLoss trained) {
  if (metric.kind == MetricKind::kAccuracy) return IsBinary(trained) || IsMultiClass(trained);
  if (metric.kind == MetricKind::kAuc) return IsBinary(trained);
  const FitLoss measured = metric.loss.type;
  if (IsMultiClass(trained) || IsMultiClass(measured)) return measured == trained;
  if (!IsBinary(trained)) return !IsBinary(measured);
  return measured == trained || (measured == FitLoss::kCrossEntropy && IsBinary(trained));
}

double Accuracy(const FitRows& rows, std::span<const double> raw, WorkPool& pool) {
  const double right = SumRows(rows.rows(), pool, [&](size_t row) {
    return (raw[row] > 0) == (rows.labels[row] > 0.5F) ? double{rows.weights[row]} : 0;
  });
  return right / rows.weight_sum;
}

// The share of pairs of rows, weighted by label and 1 - label, whose first has the larger raw
// value; of equal ones half.
double Auc(const FitRows& rows, std::span<const double> raw) {
  if (std::ranges::any_of(raw, [](double value) { return std::isnan(value); })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::vector<size_t> order(rows.rows());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [raw](size_t row) { return raw[row]; });
  double pairs = 0;
  double below = 0;  // of 1 - label
  double all = 0;    // of label
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    double positive = 0;
    double negative = 0;
    for (; end < order.size() && raw[order[end]] == raw[order[begin]]; ++end) {
      positive += rows.labels[order[end]];
      negative += 1.0 - rows.labels[order[end]];
    }
    pairs += positive * (below + negative / 2);
    below += negative;
    all += positive;
    begin = end;
  }
  return all * below > 0 ? pairs / (all * below) : 0;
}

}  // namespace

std::string MetricText(const MetricSpec& metric) {
  switch (metric.kind) {
    case MetricKind::kLoss:
      return LossText(metric.loss);
    case MetricKind::kAccuracy:
      return "Accuracy";
    case MetricKind::kAuc:
      return "AUC";
  }
  return "";
}

Result<MetricSpec> ParseMetric(std::string_view text, FitLoss trained) {
  MetricSpec metric;
  if (text == "Accuracy") {
    metric.kind = MetricKind::kAccuracy;
  } else if (text == "AUC" || text == "AUC:type=Classic") {
    metric.kind = MetricKind::kAuc;
  } else if (text.starts_with("AUC:")) {
    return Invalid(fmt::format("expected AUC or AUC:type=Classic, found '{}': others are not there",
                               ShownBytes(text)));
  } else {
    Result<LossSpec> loss = ParseLoss(text);
    if (!loss.ok()) return loss.status().Prefixed("AUC, Accuracy, or a loss");
    metric.loss = *std::move(loss);
  }
  if (IsFor(metric, trained)) return metric;
  return Invalid(fmt::format("{} does not measure a training for {}: expected {}",
                             MetricText(metric), FitLossName(trained),
                             IsMultiClass(trained) ? "the loss, or Accuracy"
                             : IsBinary(trained)   ? "the loss, CrossEntropy, Accuracy or AUC"
                                                   : "a loss of numbers, as RMSE or MAE are"));
}

double MeasureMetric(const MetricSpec& metric, const FitRows& rows, std::span<const double> raw,
                     WorkPool& pool) {
  if (metric.kind == MetricKind::kAccuracy) {
    const bool has_one = raw.size() == rows.rows();
    return has_one ? Accuracy(rows, raw, pool) : ClassAccuracy(rows, raw, pool);
  }
  if (metric.kind == MetricKind::kAuc) return Auc(rows, raw);
  return MeanLoss(metric.loss, rows, raw, pool);
}

}  // namespace strata
