// Sum pooling of embedding rows: what a slot with several keys looks like to a model. Keys come as
// compressed sparse rows over `index`, the place of each key's row among the batch's distinct rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/exec.h"

namespace strata {

// Some of a batch's slots are pooled, whose rows are of one table. Keys of the s-th of them of
// sample i: index[offsets[bag] .. offsets[bag + 1]) with bag = i * batch_slots + first_slot + s.
// Rows have row_dim elements, of which `dim` from `first` on are pooled. The vector of slot s of
// sample i lies at pooled[i * stride + s * dim].
struct PoolShape {
  size_t samples = 0;
  size_t slots = 0;
  size_t row_dim = 0;
  size_t first = 0;
  size_t dim = 0;
  size_t stride = 0;       // slots * dim or more
  size_t batch_slots = 0;  // of a sample, whichever table they are of
  size_t first_slot = 0;   // of those that are pooled

  size_t bag(size_t sample, size_t slot) const { return sample * batch_slots + first_slot + slot; }
  // Elements of the vectors, from the first to the last.
  size_t extent() const { return samples == 0 ? 0 : (samples - 1) * stride + slots * dim; }
};

// pooled = sums of key_weight * row in key order; zeros for a slot without keys. Elements between
// slots * dim and the stride are left alone. `key_weights` is by key, as `index` is. Empty: all are
// 1, and rows are added as they are.
void PoolForward(const Exec& exec, const PoolShape& shape, std::span<const uint32_t> offsets,
                 std::span<const uint32_t> index, std::span<const float> rows,
                 std::span<float> pooled, std::span<const float> key_weights = {});

// A share of the rows. Threads that take one each write no row of another thread. Rows that are far
// in front come often, so that each share has some of them.
struct ShareOfRows {
  uint32_t number = 0;
  uint32_t shares = 1;  // a power of two

  bool Has(uint32_t row) const { return ((row >> 3) & (shares - 1)) == number; }
};

// row_gradients[index] += key_weight * gradient of its slot's vector, in sample order, of the rows
// of the share. There is no gradient of the weights, which are data.
void PoolBackward(const Exec& exec, const PoolShape& shape, std::span<const uint32_t> offsets,
                  std::span<const uint32_t> index, std::span<const float> dpooled,
                  std::span<float> row_gradients, std::span<const float> key_weights = {},
                  const ShareOfRows& share = {});

}  // namespace strata
