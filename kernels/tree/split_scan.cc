#include "kernels/tree/split_scan.h"

#include <algorithm>
#include <array>
#include <limits>

namespace strata {
namespace {

constexpr size_t kCandidates = 256;  // judged at a time

// Candidates that keep to the rules, one beside the other.
struct Candidates {
  size_t count = 0;
  std::array<double, kCandidates> gradient;  // of the side
  std::array<double, kCandidates> hessian;
  std::array<double, kCandidates> other_gradient;
  std::array<double, kCandidates> other_hessian;
  std::array<double, kCandidates> gain;
  std::array<GradientSums, kCandidates> sums;
  std::array<int64_t, kCandidates> rows;
  std::array<uint32_t, kCandidates> bin;
};

// LeafGain of both sides where outputs are not bent.
[[gnu::always_inline]] inline void FindGains(double l1, double l2, Candidates* c) {
  const size_t count = c->count;
  for (size_t i = 0; i < count; ++i) {
    const double g = std::max(std::abs(c->gradient[i]) - l1, 0.0);
    const double other = std::max(std::abs(c->other_gradient[i]) - l1, 0.0);
    c->gain[i] = (g * g) / (c->hessian[i] + l2) + (other * other) / (c->other_hessian[i] + l2);
  }
}

using FindGainsFunction = void (*)(double, double, Candidates*);

void FindGainsAnywhere(double l1, double l2, Candidates* c) { FindGains(l1, l2, c); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void FindGainsAvx2(double l1, double l2, Candidates* c) {
  FindGains(l1, l2, c);
}
#endif

FindGainsFunction ChooseFindGains() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return &FindGainsAvx2;
#endif
  return &FindGainsAnywhere;
}

// Adds bins to the side, and what keeps to the rules to the candidates.
class Sweep {
 public:
  Sweep(std::span<const GradientSums> histogram, const ScanOrder& order, const ScannedLeaf& leaf,
        const GradientUnits& units, const SplitRules& rules)
      : histogram_(histogram),
        order_(order),
        leaf_(leaf),
        units_(units),
        least_rows_(rules.min_data_in_leaf),
        least_hessian_(rules.min_sum_hessian_in_leaf) {}

  // False: nothing more will come.
  bool Fill(Candidates* out) {
    size_t count = 0;
    while (next_ < order_.bins && count < kCandidates) {
      const uint32_t bin = order_.upwards ? order_.first + next_ : order_.first - next_;
      ++next_;
      if (bin == order_.passed_over) continue;
      const GradientSums& added = histogram_[bin];
      side_ += added;
      rows_ += RowsFromHessian(static_cast<double>(added.hessian) * units_.hessian,
                               judge_.rows_per_hessian());
      const double hessian = static_cast<double>(side_.hessian) * units_.hessian + kHessianEpsilon;
      if (rows_ < least_rows_ || hessian < least_hessian_) continue;
      const double other_hessian = leaf_.hessian - hessian;
      if (leaf_.rows - rows_ < least_rows_ || other_hessian < least_hessian_) {
        next_ = order_.bins;  // the other side only shrinks from here on
        break;
      }
      out->gradient[count] = static_cast<double>(side_.gradient) * units_.gradient;
      out->hessian[count] = hessian;
      out->other_gradient[count] =
          static_cast<double>(judge_.leaf().sums.gradient - side_.gradient) * units_.gradient;
      out->other_hessian[count] = other_hessian;
      out->sums[count] = side_;
      out->rows[count] = rows_;
      out->bin[count] = bin;
      ++count;
    }
    out->count = count;
    return count > 0;
  }

 private:
  const std::span<const GradientSums> histogram_;
  const ScanOrder order_;
  const SplitJudge& judge_;
  const int64_t least_rows_;
  const double least_hessian_;
  uint32_t next_ = 0;
  GradientSums side_;
  int64_t rows_ = 0;
};

}  // namespace

ScanResult ScanThresholds(std::span<const GradientSums> histogram, const ScanOrder& order,
                          const SplitJudge& judge, double gain_to_beat) {
  static const FindGainsFunction find_gains = ChooseFindGains();
  ScanResult best;
  best.gain = gain_to_beat;
  Candidates candidates;  // not set to anything: it is filled before it is read
  Sweep sweep(histogram, order, leaf, units, rules);
  while (sweep.Fill(&candidates)) {
    find_gains(rules.lambda_l1, rules.lambda_l2, &candidates);
    for (size_t i = 0; i < candidates.count; ++i) {
      if (!(candidates.gain[i] > best.gain)) continue;
      best = {.found = true,
              .gain = candidates.gain[i],
              .side = candidates.sums[i],
              .rows = candidates.rows[i],
              .last_bin = candidates.bin[i]};
    }
  }
  return best;
}

}  // namespace strata
