#include "kernels/tree/split/split_scan.h"

#include <algorithm>
#include <limits>

namespace strata {
namespace {

constexpr size_t kCandidates = 256;  // judged at a time
constexpr size_t kLanes = 4;         // side by side

// GCC's vector types: a loop over doubles with comparisons stays scalar without.
using Doubles [[gnu::vector_size(kLanes * sizeof(double))]] = double;
using Integers [[gnu::vector_size(kLanes * sizeof(int64_t))]] = int64_t;

// Sides as they grow, bin by bin: sums as doubles, before they are multiplied with their units.
struct Candidates {
  alignas(64) double gradient[kCandidates];
  double other_gradient[kCandidates + 8];  // odd distances: stores that are 4 KB apart collide
  double hessian[kCandidates + 8];
  int64_t rows[kCandidates + 8];
  GradientSums sums[kCandidates + 4];
  uint32_t bin[kCandidates];
};

struct Best {
  double gain = -std::numeric_limits<double>::infinity();
  int64_t at = -1;
};

// The best of `count` candidates, a multiple of kLanes.
[[gnu::always_inline]] inline void FindBest(const Candidates& c, size_t count,
                                            const SplitJudge& judge, Best* best) {
  Doubles lane_gain = Doubles{} - std::numeric_limits<double>::infinity();
  Integers lane_at = Integers{} - 1;
  Integers at = {0, 1, 2, 3};
  // Copies: the loop keeps them in registers.
  const GradientUnits units = judge.units();
  const SplitRules& rules = judge.rules();
  const double l1 = rules.lambda_l1;
  const double l2 = rules.lambda_l2;
  const double leaf_hessian = judge.hessian();
  const int64_t leaf_rows = judge.leaf().rows;
  const double least_hessian = rules.min_sum_hessian_in_leaf;
  const int64_t least_rows = rules.min_data_in_leaf;
  for (size_t i = 0; i < count; i += kLanes, at += kLanes) {
    const auto load = [i](const double* from, Doubles* to) __attribute__((always_inline)) {
      __builtin_memcpy(to, from + i, sizeof *to);
    };
    Doubles hessian;
    Doubles gradient;
    Doubles other_gradient;
    Integers rows;
    load(c.hessian, &hessian);
    load(c.gradient, &gradient);
    load(c.other_gradient, &other_gradient);
    __builtin_memcpy(&rows, c.rows + i, sizeof rows);
    hessian = hessian * units.hessian + kHessianEpsilon;
    const Doubles other_hessian = leaf_hessian - hessian;
    // LeafGain of both sides, where outputs are not bent.
    gradient = gradient * units.gradient;
    other_gradient = other_gradient * units.gradient;
    const Doubles size = (gradient < 0 ? -gradient : gradient) - l1;
    const Doubles other_size = (other_gradient < 0 ? -other_gradient : other_gradient) - l1;
    const Doubles soft = size > 0 ? size : Doubles{};
    const Doubles other_soft = other_size > 0 ? other_size : Doubles{};
    const Doubles gain =
        (soft * soft) / (hessian + l2) + (other_soft * other_soft) / (other_hessian + l2);
    const Integers is_better = (rows >= least_rows) & (leaf_rows - rows >= least_rows) &
                               (hessian >= least_hessian) & (other_hessian >= least_hessian) &
                               (gain > lane_gain);
    lane_gain = is_better ? gain : lane_gain;
    lane_at = is_better ? at : lane_at;
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const bool is_first = lane_gain[lane] == best->gain && lane_at[lane] < best->at;
    if (lane_gain[lane] > best->gain || is_first) *best = {lane_gain[lane], lane_at[lane]};
  }
}

using FindBestFunction = void (*)(const Candidates&, size_t, const SplitJudge&, Best*);

void FindBestAnywhere(const Candidates& c, size_t count, const SplitJudge& judge, Best* best) {
  FindBest(c, count, judge, best);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void FindBestAvx2(const Candidates& c, size_t count,
                                          const SplitJudge& judge, Best* best) {
  FindBest(c, count, judge, best);
}
#endif

FindBestFunction ChooseFindBest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return &FindBestAvx2;
#endif
  return &FindBestAnywhere;
}

// Lets bins join a side, `kCandidates` at most a time.
class Sweep {
 public:
  Sweep(std::span<const GradientSums> histogram, const BinOrder& order, const SplitJudge& judge)
      : histogram_(histogram), order_(order), judge_(judge) {}

  // How many candidates there are now; 0 at the end. Up to kLanes - 1 behind them, which no rule
  // lets through, make a multiple of kLanes of them.
  size_t Fill(Candidates* out) {
    // Copies, which nothing written to `out` can change.
    const GradientSums* const bins = histogram_.data();
    const GradientUnits units = judge_.units();
    const int64_t gradient = judge_.leaf().sums.gradient;
    const double rows_per_hessian = judge_.rows_per_hessian();
    GradientSums side = side_;
    int64_t rows = rows_;
    size_t count = 0;
    uint32_t next = next_;
    for (; next < order_.bins && count < kCandidates; ++next) {
      const uint32_t bin = order_.upwards ? order_.first + next : order_.first - next;
      if (bin == order_.passed_over) continue;
      const GradientSums added = bins[bin];
      side += added;
      rows += RowsFromHessian(static_cast<double>(added.hessian) * units.hessian, rows_per_hessian);
      out->gradient[count] = static_cast<double>(side.gradient);
      out->other_gradient[count] = static_cast<double>(gradient - side.gradient);
      out->hessian[count] = static_cast<double>(side.hessian);
      out->rows[count] = rows;
      out->sums[count] = side;
      out->bin[count] = bin;
      ++count;
    }
    next_ = next;
    side_ = side;
    rows_ = rows;
    for (size_t i = count; i % kLanes != 0; ++i) {
      out->gradient[i] = out->other_gradient[i] = out->hessian[i] = 0;
      out->rows[i] = -1;
    }
    return count;
  }

 private:
  const std::span<const GradientSums> histogram_;
  const BinOrder order_;
  const SplitJudge& judge_;
  uint32_t next_ = 0;
  GradientSums side_;
  int64_t rows_ = 0;
};

}  // namespace

ScanResult ScanThresholds(std::span<const GradientSums> histogram, const BinOrder& order,
                          const SplitJudge& judge, double gain_to_beat) {
  static const FindBestFunction find_best = ChooseFindBest();
  ScanResult result;
  result.gain = gain_to_beat;
  Candidates candidates;  // not set to anything: it is filled before it is read
  Sweep sweep(histogram, order, judge);
  while (const size_t count = sweep.Fill(&candidates)) {
    Best best;
    find_best(candidates, (count + kLanes - 1) / kLanes * kLanes, judge, &best);
    if (!(best.gain > result.gain)) continue;
    const auto at = static_cast<size_t>(best.at);
    result = {.found = true,
              .gain = best.gain,
              .side = candidates.sums[at],
              .rows = candidates.rows[at],
              .last_bin = candidates.bin[at]};
  }
  return result;
}

}  // namespace strata
