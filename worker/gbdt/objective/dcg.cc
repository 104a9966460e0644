#include "worker/gbdt/objective/dcg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace strata {
namespace {

constexpr size_t kLabelsMax = 31;  // whose gain 2^label - 1 is still exact in 32 bits

}  // namespace

Result<LabelGains> LabelGains::Make(std::span<const double> label_gain, const TreeDataset& data) {
  if (data.query_begins.empty()) {
    return Invalid(
        fmt::format("{}: ranking needs queries: give {}.query (rows of each query, one a line), or "
                    "group_column",
                    data.path, data.path));
  }
  LabelGains gains;
  gains.gains_.assign(label_gain.begin(), label_gain.end());
  for (size_t label = 0; label_gain.empty() && label < kLabelsMax; ++label) {
    gains.gains_.push_back(std::ldexp(1.0, static_cast<int>(label)) - 1);
  }
  for (size_t row = 0; row < data.rows(); ++row) {
    const float label = data.labels[row];
    if (label >= 0 && label == std::floor(label) &&
        label < static_cast<float>(gains.gains_.size())) {
      continue;
    }
    return Invalid(fmt::format(
        "{}: ranking needs whole labels from 0 to {} (label_gain names their gains), found {}",
        data.WhereIs(row), gains.gains_.size() - 1, label));
  }
  return gains;
}

double MaxDcg(std::span<const float> labels, const LabelGains& gains, size_t k) {
  std::vector<float> sorted(labels.begin(), labels.end());
  std::ranges::sort(sorted, std::greater<>());
  double sum = 0;
  for (size_t place = 0; place < std::min(k, sorted.size()); ++place) {
    sum += gains.Of(sorted[place]) * DiscountOf(place);
  }
  return sum;
}

std::vector<uint32_t> OrderByScore(std::span<const double> scores) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace strata
