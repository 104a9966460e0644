#include "kernels/setops/set_metric.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

constexpr std::array<std::string_view, kSetMetrics> kNames = {
    "overlap",           "overlap_max",         "jaccard", "dice", "cosine",
    "containment_query", "containment_document"};

}  // namespace

std::string_view NameOf(SetMetric metric) { return kNames.at(static_cast<size_t>(metric)); }

std::optional<SetMetric> SetMetricNamed(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<SetMetric>(found - kNames.begin());
}

double ScoreOf(SetMetric metric, Fraction similarity) {
  const double ratio = static_cast<double>(similarity.num) / static_cast<double>(similarity.den);
  return metric == SetMetric::kCosine ? std::sqrt(ratio) : ratio;
}

Fraction SimilarityOf(SetMetric metric, double score) {
  constexpr uint64_t kUnit = 1'000'000'000;
  const double most = metric == SetMetric::kOverlap ? 1e9 : 2;
  const double units = std::round(std::clamp(score, 0.0, most) * static_cast<double>(kUnit));
  const auto num = static_cast<uint64_t>(units);
  if (metric == SetMetric::kCosine) return {num * num, kUnit * kUnit};
  return {num, kUnit};
}

}  // namespace strata
