#include "bench/suites/ctr/click_shapes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/hash.h"

namespace strata::bench {

Result<ModelShape> ClickShape(const char* model, uint32_t dim) {
  const std::optional<ModelKind> kind = ModelKindOf(model);
  STRATA_CHECK(kind.has_value());
  ModelShape shape{*kind, dim, {}, kClickSlots, kClickDense};
  if (shape.kind == ModelKind::kDeepFm) {
    shape.hidden = {400, 400, 400};
  } else {
    shape.hidden = {1024, 1024, 512, 256};
    shape.bottom = {512, 256, dim};
  }
  if (shape.kind == ModelKind::kDcnV2) {
    shape.cross_layers = 3;
    shape.cross_rank = std::min<uint32_t>(512, (kClickSlots + 1) * dim);
  }
  STRATA_TRY(ValidateModelShape(shape));
  return shape;
}

uint64_t DrawRow(uint64_t n, uint64_t rows) {
  const double u = static_cast<double>(Mix64(n) >> 11) * 0x1p-53;
  return std::min(rows - 1, static_cast<uint64_t>(std::pow(static_cast<double>(rows), u)) - 1);
}

Key ClickKey(uint64_t slot, uint64_t row) { return Mix64(slot << 32 | row); }

Batch MakeClickBatch(size_t samples, uint64_t seed,
                     const std::function<uint64_t(size_t i, uint64_t slot)>& row) {
  Batch batch;
  batch.samples = samples;
  batch.slots = kClickSlots;
  batch.dense_width = kClickDense;
  batch.offsets.push_back(0);
  for (size_t i = 0; i < samples; ++i) {
    for (uint64_t slot = 0; slot < kClickSlots; ++slot) {
      batch.keys.push_back(ClickKey(slot, row(i, slot)));
      batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
    }
    for (uint32_t d = 0; d < kClickDense; ++d) {
      batch.dense.push_back(static_cast<float>(Mix64(seed + i * 64 + d) >> 40) * 0x1p-24F);
    }
    batch.labels.push_back(static_cast<float>(Mix64(seed ^ i) % 4 == 0));
    batch.weights.push_back(1.0F);
  }
  return batch;
}

double FlopsOf(const LayerGraph& graph) {
  double all = 0;
  for (const GraphLayer& layer : graph.layers()) {
    if (layer.inputs.empty()) continue;
    const bool has_input_gradient = layer.inputs[0] != LayerGraph::kDense;
    const auto products =
        static_cast<double>(layer.parameters.weights.count + layer.parameters.second_weights.count);
    all += 2 * products * (has_input_gradient ? 3 : 2);
  }
  return all;
}

}  // namespace strata::bench
