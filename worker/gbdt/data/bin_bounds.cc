#include "worker/gbdt/data/bin_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double NextAbove(double value) { return std::nextafter(value, kInfinity); }

// Values of one sign, as places in DistinctValues.
struct Values {
  std::span<const double> values;
  std::span<const int64_t> rows;
};

// Adds the boundary between two values unless it is the last one again.
void AddBoundary(double below, double above, std::vector<double>* bounds) {
  const double bound = NextAbove((below + above) / 2.0);
  if (bounds->empty() || bound > NextAbove(bounds->back())) bounds->push_back(bound);
}

// Few values: each has its own bin if it has rows enough.
std::vector<double> OneBinEach(const Values& distinct, int64_t min_data_in_bin) {
  std::vector<double> bounds;
  int64_t rows = 0;
  for (size_t i = 0; i + 1 < distinct.values.size(); ++i) {
    rows += distinct.rows[i];
    if (rows < min_data_in_bin) continue;
    const size_t before = bounds.size();
    AddBoundary(distinct.values[i], distinct.values[i + 1], &bounds);
    if (bounds.size() > before) rows = 0;
  }
  bounds.push_back(kInfinity);
  return bounds;
}

// Many values: one with more rows than a bin's fair share has its own, the others share what is
// left evenly.
std::vector<double> EvenBins(const Values& distinct, size_t max_bin, int64_t rows) {
  const size_t count = distinct.values.size();
  double share = static_cast<double>(rows) / static_cast<double>(max_bin);
  std::vector<bool> big(count);
  auto bins_left = static_cast<int64_t>(max_bin);
  int64_t rows_left = rows;
  for (size_t i = 0; i < count; ++i) {
    big[i] = static_cast<double>(distinct.rows[i]) >= share;
    if (!big[i]) continue;
    --bins_left;
    rows_left -= distinct.rows[i];
  }
  share = static_cast<double>(rows_left) / static_cast<double>(bins_left);
  std::vector<double> bounds;
  size_t closed = 0;
  int64_t in_bin = 0;
  for (size_t i = 0; i + 1 < count && closed + 1 < max_bin; ++i) {
    if (!big[i]) rows_left -= distinct.rows[i];
    in_bin += distinct.rows[i];
    const bool is_full = big[i] || static_cast<double>(in_bin) >= share ||
                         (big[i + 1] && static_cast<double>(in_bin) >= std::max(1.0, share * 0.5));
    if (!is_full) continue;
    AddBoundary(distinct.values[i], distinct.values[i + 1], &bounds);
    ++closed;
    in_bin = 0;
    if (big[i]) continue;
    --bins_left;
    share = static_cast<double>(rows_left) / static_cast<double>(bins_left);
  }
  bounds.push_back(kInfinity);
  return bounds;
}

std::vector<double> GreedyBounds(const Values& distinct, size_t max_bin, int64_t rows,
                                 int64_t min_data_in_bin) {
  if (distinct.values.size() <= max_bin) return OneBinEach(distinct, min_data_in_bin);
  if (min_data_in_bin > 0) {
    max_bin = std::min(max_bin, static_cast<size_t>(rows / min_data_in_bin));
  }
  return EvenBins(distinct, std::max<size_t>(max_bin, 1), rows);
}

}  // namespace

DistinctValues FindDistinct(std::span<const double> sorted, size_t zeros) {
  DistinctValues distinct;
  const auto add = [&](double value, int64_t rows) {
    distinct.values.push_back(value);
    distinct.rows.push_back(rows);
  };
  const auto zero_rows = static_cast<int64_t>(zeros);
  if (sorted.empty() || (sorted.front() > 0 && zeros > 0)) add(0, zero_rows);
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i] <= NextAbove(sorted[i - 1])) {
      distinct.values.back() = sorted[i];
      ++distinct.rows.back();
      continue;
    }
    if (i > 0 && sorted[i - 1] < 0 && sorted[i] > 0) add(0, zero_rows);
    add(sorted[i], 1);
  }
  if (!sorted.empty() && sorted.back() < 0 && zeros > 0) add(0, zero_rows);
  return distinct;
}

std::vector<double> FindBoundsAround(const DistinctValues& distinct, std::span<const double> forced,
                                     size_t max_bin, int64_t rows, int64_t min_data_in_bin) {
  const auto is_negative = [](double value) { return value <= -kZeroThreshold; };
  const auto is_positive = [](double value) { return value > kZeroThreshold; };
  const bool has_negative = std::ranges::any_of(distinct.values, is_negative);
  std::vector<double> bounds = {kInfinity};
  if (max_bin == 2) {
    bounds.push_back(has_negative ? -kZeroThreshold : kZeroThreshold);
  } else if (max_bin > 2) {
    if (has_negative) bounds.push_back(-kZeroThreshold);
    if (std::ranges::any_of(distinct.values, is_positive)) bounds.push_back(kZeroThreshold);
  }
  for (const double bound : forced) {
    if (bounds.size() < max_bin && std::fabs(bound) > kZeroThreshold) bounds.push_back(bound);
  }
  std::ranges::sort(bounds);
  const size_t bins = max_bin - bounds.size();
  const std::span<const double> values(distinct.values);
  const std::span<const int64_t> value_rows(distinct.rows);
  std::vector<double> between;
  size_t end = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const size_t begin = end;
    int64_t in_bin = 0;
    while (end < values.size() && values[end] < bounds[i]) in_bin += value_rows[end++];
    const size_t left = bins - between.size();
    const auto share = static_cast<size_t>(std::lround(
        static_cast<double>(in_bin) * static_cast<double>(bins) / static_cast<double>(rows)));
    const size_t parts = (i + 1 == bounds.size() ? left : std::min(share, left)) + 1;
    const std::vector<double> found =
        GreedyBounds({values.subspan(begin, end - begin), value_rows.subspan(begin, end - begin)},
                     parts, in_bin, min_data_in_bin);
    between.insert(between.end(), found.begin(), found.end() - 1);  // but infinity
  }
  bounds.insert(bounds.end(), between.begin(), between.end());
  std::ranges::sort(bounds);
  return bounds;
}

std::vector<double> FindBounds(const DistinctValues& distinct, size_t max_bin, int64_t rows,
                               int64_t min_data_in_bin) {
  const size_t count = distinct.values.size();
  size_t negative_end = 0;
  int64_t negative_rows = 0;
  int64_t zero_rows = 0;
  int64_t positive_rows = 0;
  while (negative_end < count && distinct.values[negative_end] <= -kZeroThreshold) {
    negative_rows += distinct.rows[negative_end++];
  }
  size_t positive_begin = negative_end;
  while (positive_begin < count && distinct.values[positive_begin] <= kZeroThreshold) {
    zero_rows += distinct.rows[positive_begin++];
  }
  for (size_t i = positive_begin; i < count; ++i) positive_rows += distinct.rows[i];
  const std::span<const double> values(distinct.values);
  const std::span<const int64_t> value_rows(distinct.rows);
  std::vector<double> bounds;
  if (negative_end > 0 && max_bin > 1) {
    const auto bins = static_cast<size_t>(static_cast<double>(negative_rows) /
                                          static_cast<double>(rows - zero_rows) *
                                          static_cast<double>(max_bin - 1));
    bounds = GreedyBounds({values.first(negative_end), value_rows.first(negative_end)},
                          std::max<size_t>(1, bins), negative_rows, min_data_in_bin);
    bounds.back() = -kZeroThreshold;
  }
  if (positive_begin == count || bounds.size() + 1 >= max_bin) {
    bounds.push_back(kInfinity);
    return bounds;
  }
  const std::vector<double> positive =
      GreedyBounds({values.subspan(positive_begin), value_rows.subspan(positive_begin)},
                   max_bin - 1 - bounds.size(), positive_rows, min_data_in_bin);
  bounds.push_back(kZeroThreshold);
  bounds.insert(bounds.end(), positive.begin(), positive.end());
  return bounds;
}

}  // namespace strata
