#include "kernels/setops/set_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

constexpr std::array<std::string_view, kSetMetrics> kNames = {
    "overlap",           "overlap_max",         "jaccard", "dice", "cosine",
    "containment_query", "containment_document"};

using Wide = unsigned __int128;

// The score times 10^decimals, rounded down.
Wide UnitsOf(SetMetric metric, Fraction similarity, int decimals) {
  const bool is_root = metric == SetMetric::kCosine;
  Wide power = 1;
  for (int i = 0; i < (is_root ? 2 * decimals : decimals); ++i) power *= 10;
  const Wide units = power * similarity.num / similarity.den;
  if (!is_root) return units;
  auto root = static_cast<Wide>(std::sqrt(static_cast<long double>(units)));
  while (root * root > units) --root;
  while ((root + 1) * (root + 1) <= units) ++root;
  return root;
}

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

double ScoreOf(SetMetric metric, const Hit& hit, uint32_t query_length) {
  return ScoreOf(metric, Similarity(metric, hit.overlap, query_length, hit.length));
}

std::string ScoreText(SetMetric metric, Fraction similarity) {
  constexpr int kDigits = 6;
  constexpr int kDecimalsMost = 12;
  const uint64_t whole = similarity.num / similarity.den;
  if (metric == SetMetric::kOverlap) return fmt::to_string(whole);
  int decimals = kDigits;
  Wide units = UnitsOf(metric, similarity, decimals);
  for (; units < 100'000 && similarity.num > 0 && decimals < kDecimalsMost; ++decimals) {
    units = UnitsOf(metric, similarity, decimals + 1);
  }
  std::string text = fmt::format("{:0{}}", static_cast<uint64_t>(units), decimals + 1);
  text.insert(text.size() - static_cast<size_t>(decimals), ".");
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Fraction SimilarityOf(SetMetric metric, double score) {
  if (!(score > 0)) return {0, 1};
  if (metric == SetMetric::kOverlap) {
    return {static_cast<uint64_t>(std::ceil(std::min(score, 1e9))), 1};
  }
  // A quotient and a root are off by 2^-53 each at most, and so are numbers too large for a double.
  constexpr double kUnit = 0x1p60;
  const double bounded = std::min(score, 2.0) * (1 - 0x1p-50);
  const double least = metric == SetMetric::kCosine ? bounded * bounded : bounded;
  return {std::max<uint64_t>(static_cast<uint64_t>(least * kUnit), 1), uint64_t{1} << 60};
}

}  // namespace strata
