#include "worker/model/pass_checks.h"

#include <algorithm>

namespace strata {

void CheckBatch(const LayerGraph& graph, const Batch& batch) {
  STRATA_CHECK(batch.slots == graph.slots() && batch.dense_width == graph.spec().dense_width);
}

void CheckInput(const LayerGraph& graph, const NetworkInput& input) {
  CheckBatch(graph, input.batch);
  STRATA_CHECK(input.rows.size() == RowElements(graph, input.unique));
  STRATA_CHECK(input.parameters.size() == graph.parameters());
}

void CheckGradients(const LayerGraph& graph, const NetworkInput& input,
                    const NetworkGradients& gradients) {
  STRATA_CHECK(gradients.rows.size() == input.rows.size() &&
               gradients.parameters.size() == graph.parameters() &&
               gradients.logits.size() == input.batch.samples);
}

void ClearGradients(const NetworkGradients& gradients) {
  std::ranges::fill(gradients.rows, 0.0F);
  std::ranges::fill(gradients.parameters, 0.0F);
}

}  // namespace strata
