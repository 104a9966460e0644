// GpuMetrics: how good scores in the memory of a GPU are for a data set whose labels are there,
// too. Numbers alone come back to the host, those that the host finds from the same scores, to the
// bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/tree/gradient/query_gain.h"
#include "kernels/tree/metric/metric_loss.h"
#include "strata/status.h"

namespace strata {

// Of a data set.
struct MetricRows {
  std::span<const float> labels;
  std::span<const float> weights;        // empty: all 1
  std::span<const size_t> query_begins;  // of each query, and the number of rows; empty: no queries
};

// Means over queries of what their first places are worth, of what is possible.
struct QueryMeasure {
  QueryGain what = QueryGain::kDcg;
  std::span<const int64_t> places;   // so many of them, in turn
  std::span<const double> possible;  // places * queries + query
  std::span<const double> weights;   // of each query its factor in the sum
  std::span<const double> gains;     // of labels
};

// The rows of two classes.
struct ClassPair {
  uint32_t first = 0;
  uint32_t second = 0;
  size_t rows = 0;
  double largest_weight = 1;  // of those rows
};

enum class CurveArea : uint8_t { kRoc, kPrecision };

// One thread at a time. Scores are in that GPU's memory, class * rows + row; whoever wrote them has
// been waited for.
class GpuMetrics {
 public:
  virtual ~GpuMetrics() = default;
  // Copies the rows. kNotFound: no such GPU, or a build without CUDA; kRefused: too little memory,
  // or more than 2^31 - 1 rows.
  static Result<std::unique_ptr<GpuMetrics>> Open(int device, const MetricRows& rows);

  // Before the first of those that need it: memory. kRefused: there is too little.
  virtual Status ReserveForLosses() = 0;
  virtual Status ReserveForCurves() = 0;
  // Once, and a number for GainsOfQueries.
  virtual Result<size_t> AddMeasure(const QueryMeasure& measure) = 0;

  // The sum of all rows' losses (ExactSum); NaN if one is not finite.
  virtual Result<double> SumOfLosses(const RowLoss& loss, const double* scores) = 0;
  // Of labels above 0 against others, by score.
  virtual Result<double> AreaUnder(CurveArea area, const double* scores) = 0;
  // Of rows of the first class against those of the second one, by the first class's score less
  // that of the second.
  virtual Result<double> RocAreaOfClasses(const ClassPair& pair, const double* scores) = 0;
  // Of each number of places, the sum over queries of weight * share of what is possible.
  virtual Result<std::vector<double>> GainsOfQueries(size_t measure, const double* scores) = 0;
  // Scores over a divisor, good until the next call.
  virtual Result<const double*> Divided(const double* scores, size_t classes, double divisor) = 0;
};

}  // namespace strata
