// What GpuMetrics enqueues. Nothing is allocated, nothing waits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/cuda_status.cuh"
#include "kernels/tree/gradient/exact_units.h"
#include "kernels/tree/metric/gpu_metrics.h"
#include "kernels/tree/metric/score_curve.h"

namespace strata::gpu_tree {

// A sum of numbers as ExactSum has it; zeroed before it is made.
struct DeviceTotal {
  unsigned long long largest = 0;     // bits of the largest size
  unsigned long long not_finite = 0;  // how many
  long long upper = 0;
  unsigned long long lower = 0;

  double Value() const;  // on the host
};
void AddExactly(const double* numbers, uint64_t count, DeviceTotal* total, cudaStream_t stream);

// losses[row], times its weight; weights null: all 1.
void FindLosses(const RowLoss& loss, uint64_t rows, const double* scores, const float* labels,
                const float* weights, double* losses, cudaStream_t stream);

// Scores over the divisor.
void DivideScores(const double* scores, uint64_t count, double divisor, double* divided,
                  cudaStream_t stream);

// Rows by score: keys that ascend as scores descend, and each row's weight with the sign of its
// side, as bits.
struct CurveRoom {
  uint64_t* keys;
  uint32_t* weights;
};
void FillCurve(uint64_t rows, const double* scores, const float* labels, const float* weights,
               const CurveRoom& room, cudaStream_t stream);
// The same of two classes' rows alone, as many as *filled then says, which is 0 before.
void FillPair(uint64_t rows, const ClassPair& pair, const double* scores, const float* labels,
              const float* weights, const CurveRoom& room, uint32_t* filled, cudaStream_t stream);

constexpr uint64_t kCurveTile = 2048;  // rows
// Of each tile of sorted rows; one more than tiles of the first two, which become sums before each.
struct CurveTiles {
  uint64_t* positive;
  uint64_t* negative;
  CurvePoint* at_last_end;  // within the tile, at the last row whose score the next one has not
  uint32_t* has_end;        // whether there is one
};
// Zeroed before it is made. The sum of areas in parts of 32 bits.
struct CurveTotal {
  unsigned long long roc[4] = {};
  long long precision = 0;
  CurvePoint all = {};

  double Value(CurveArea area) const;  // on the host
};
void SumTiles(const CurveRoom& sorted, uint64_t rows, const ExactUnits& weights,
              const CurveTiles& tiles, cudaStream_t stream);
// Once the tiles' sums are those of the tiles before.
void AddAreas(CurveArea area, const CurveRoom& sorted, uint64_t rows, const ExactUnits& weights,
              const CurveTiles& tiles, CurveTotal* total, cudaStream_t stream);

constexpr uint32_t kSharedMetricRows = 1024;  // a longer query needs room
struct QueryRoom {
  double* keys = nullptr;  // of each row
  uint32_t* places = nullptr;
};
// A measure as the GPU has it.
struct DeviceMeasure {
  QueryGain what;
  const uint32_t* begins;  // of queries, and an end
  uint32_t queries;
  const uint32_t* places;
  uint32_t kinds;          // of places
  const double* possible;  // kind * queries + query
  const double* weights;
  const double* gains;
};
// gains[kind * queries + query]: times the query's weight.
void FindQueryGains(const DeviceMeasure& measure, const double* scores, const float* labels,
                    const QueryRoom& room, double* gains, cudaStream_t stream);

}  // namespace strata::gpu_tree
