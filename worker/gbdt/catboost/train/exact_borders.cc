#include "worker/gbdt/catboost/train/exact_borders.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr double kTiny = 1e-8;   // CatBoost adds it
constexpr double kSame = 1e-12;  // sums that are closer differ by rounding

// Dynamic programming over bins: least_[v] is the least sum of the values up to v in as many bins
// as levels are done. The penalty is convex, so that the last bin of more values never begins
// earlier: each half of the values looks at the begins that are left (divide and conquer).
class Partition {
 public:
  Partition(const std::vector<double>& up_to, BinPenalty penalty)
      : up_to_(up_to), penalty_(penalty) {
    for (const double values : up_to) least_.push_back(penalty(values));
  }

  // The last value of each of `bins` bins but the last one.
  std::vector<size_t> Ends(size_t bins) {
    const size_t last = up_to_.size() - 1;
    std::vector<std::vector<uint32_t>> ends;  // of the bin before, by level and last value
    for (size_t level = 1; level < bins; ++level) {
      ends.emplace_back(up_to_.size());
      std::vector<double> next(up_to_.size(), std::numeric_limits<double>::infinity());
      Solve(level + 1 == bins, {level, last + 1}, {level - 1, last}, &next, &ends.back());
      least_ = std::move(next);
    }
    std::vector<size_t> found(bins - 1);
    size_t value = last;
    for (size_t level = bins - 1; level > 0; --level) {
      value = ends[level - 1][value];
      found[level - 1] = value;
    }
    return found;
  }

 private:
  struct Range {
    size_t begin = 0;
    size_t end = 0;
  };

  // The values of a range, whose bin before ends in another one. Of equal sums CatBoost takes the
  // last one, but at the last level the first.
  void Solve(bool is_last, Range values, Range before, std::vector<double>* next,
             std::vector<uint32_t>* ends) {
    if (values.begin >= values.end) return;
    const size_t middle = values.begin + (values.end - values.begin) / 2;
    double best = std::numeric_limits<double>::infinity();
    size_t best_end = before.begin;
    for (size_t end = before.begin; end < std::min(before.end, middle); ++end) {
      const double sum = least_[end] + penalty_(up_to_[middle] - up_to_[end]);
      if (is_last ? sum >= best : sum > best + kSame) continue;
      best = sum;
      best_end = end;
    }
    (*next)[middle] = best;
    (*ends)[middle] = static_cast<uint32_t>(best_end);
    Solve(is_last, {values.begin, middle}, {before.begin, best_end + 1}, next, ends);
    Solve(is_last, {middle + 1, values.end}, {best_end, before.end}, next, ends);
  }

  const std::vector<double>& up_to_;  // rows with this value or a lower one
  BinPenalty penalty_;
  std::vector<double> least_;
};

}  // namespace

double EntropyPenalty(double values) { return values * std::log(values + kTiny); }
double LogSumPenalty(double values) { return -std::log(values + kTiny); }

std::set<float> ExactBorders(std::span<const float> sorted, size_t count, BinPenalty penalty) {
  std::vector<float> different;
  std::vector<double> up_to;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (different.empty() || different.back() != sorted[i]) {
      different.push_back(sorted[i]);
      up_to.push_back(0);
    }
    up_to.back() = static_cast<double>(i + 1);
  }
  std::set<float> borders;
  const auto add = [&](size_t end) {
    const float border = 0.5F * different[end] + 0.5F * different[end + 1];  // no sum overflows
    borders.insert(border == 0 ? 0 : border);                                // no minus 0
  };
  if (different.size() <= count + 1) {
    for (size_t i = 0; i + 1 < different.size(); ++i) add(i);
    return borders;
  }
  for (const size_t end : Partition(up_to, penalty).Ends(count + 1)) add(end);
  return borders;
}

}  // namespace strata
