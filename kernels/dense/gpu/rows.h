// Pooling of rows that lie side by side in a GPU's memory, as they came from a store: one for each
// distinct key of a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dense/gpu/columns.h"
#include "strata/exec.h"

namespace strata {

// A batch's keys of one table on the GPU, as compressed sparse rows (kernels/sparse/pooling.h), and
// the rows of the distinct ones. A row's first element is a single weight where has_weight, and its
// vector follows.
struct CompactRows {
  size_t samples = 0;
  size_t slots = 0;
  size_t dim = 0;  // of the vector
  bool has_weight = false;
  const uint32_t* offsets = nullptr;   // samples * slots + 1; null: bag b is key b
  const uint32_t* index = nullptr;     // by key: its row
  const float* key_weights = nullptr;  // by key; null: all are 1
  const float* rows = nullptr;

  size_t row_dim() const { return dim + (has_weight ? 1 : 0); }
};

// The keys' vectors, weighted and summed in key order; `to` has slots * dim columns. Of more
// samples than the batch has, the others have no keys; here and below.
void GpuPoolCompact(const Exec& exec, size_t samples, const CompactRows& batch,
                    const GpuColumns& to);

// y = *bias, or y where there is none (null), + the sum of the keys' single weights, in key order.
void GpuPoolWeights(const Exec& exec, size_t samples, const CompactRows& batch, const float* bias,
                    const GpuColumns& y);

// PooledRows is the result of a pooled lookup, where each row begins with a single weight. A slot
// has row_stride elements in `pooled`: the sum of the weights, then the sum of the vectors, then
// what has no meaning. Both are `dim` and 1 elements.
struct PooledRows {
  GpuColumns pooled = {};  // begins at a multiple of 16 bytes
  size_t slots = 0;
  size_t dim = 0;         // of the vectors
  size_t row_stride = 0;  // a multiple of 4
};
// y = *bias, or y where there is none (null), + the sum of the slots' weights.
void GpuSumPooledWeights(const Exec& exec, size_t samples, const PooledRows& rows,
                         const float* bias, const GpuColumns& y);
// The slots' vectors side by side.
void GpuTakeVectors(const Exec& exec, size_t samples, const PooledRows& rows,
                    const GpuColumns& vectors);
// It holds what GpuFmBack takes. A factorization machine over the vectors has still to add to their
// gradient.
struct FmGradient {
  GpuColumns vectors;  // no data: nothing
  const float* sums = nullptr;
  GpuColumns dy;
};
// The reverse: rows.pooled = the gradient of each slot's weight, which is dlogits', then of its
// vector, then zeros.
void GpuGiveGradients(const Exec& exec, size_t samples, const GpuColumns& dlogits,
                      const GpuColumns& dvectors, const PooledRows& rows,
                      const FmGradient& fm = {});

// Which keys have a row: row r has sorted[starts[r]] to sorted[starts[r + 1] - 1], ascending
// (kernels/sparse/sort_by_row.h).
struct KeysByRow {
  size_t keys = 0;
  size_t rows = 0;
  const uint32_t* sorted = nullptr;  // numbers of keys of the batch
  const uint32_t* starts = nullptr;  // rows + 1
  const uint32_t* bags = nullptr;    // by key: sample * slots + slot; null: key k is of bag k
};
// The sorted keys are summed in windows of so many, and then each row's windows.
inline constexpr size_t kRowWindowKeys = 64;
// How many sums there may be, of row_dim numbers each.
constexpr size_t RowSums(size_t keys, size_t rows) { return keys / kRowWindowKeys + 1 + rows; }

// bags[k] = the bag of key k, as CompactRows has offsets.
void GpuBagsOfKeys(const Exec& exec, size_t bag_count, const uint32_t* offsets, uint32_t* bags);

// gradients (rows x row_dim) = the sums over each row's keys of their weight times the gradient of
// their vector in dvectors, or of the sample's logit in dlogits; where l2 is not 0, + l2 * row for
// each of its keys. partial: RowSums x row_dim. dvectors or dlogits without data: there are none.
void GpuRowGradients(const Exec& exec, const CompactRows& batch, const KeysByRow& keys,
                     const GpuColumns& dvectors, const GpuColumns& dlogits, float l2,
                     float* partial, float* gradients);

}  // namespace strata
