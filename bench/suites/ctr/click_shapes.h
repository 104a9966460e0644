// Models and drawn samples that the suites "ctr" on the CPU and on a GPU share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/model/layer_graph.h"
#include "worker/model/model_shape.h"

namespace strata::bench {

inline constexpr uint32_t kClickSlots = 26;
inline constexpr uint32_t kClickDense = 13;  // dense features

// "dlrm", "deepfm" or "dcn_v2" of these slots and features, with the widths of docs/benchmarks.md.
Result<ModelShape> ClickShape(const char* model, uint32_t dim);

// The n-th drawn row of `rows`, by Zipf's law with exponent 1.
uint64_t DrawRow(uint64_t n, uint64_t rows);
// The key of a slot's row.
Key ClickKey(uint64_t slot, uint64_t row);
// A batch of one key a slot; row(i, slot) is each sample's. A quarter of the labels is 1.
Batch MakeClickBatch(size_t samples, uint64_t seed,
                     const std::function<uint64_t(size_t i, uint64_t slot)>& row);

// Floating-point operations of a sample's step, both ways: two for each multiplication.
double FlopsOf(const LayerGraph& graph);

}  // namespace strata::bench
