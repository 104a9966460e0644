#include "kernels/dense/batch_norm.h"
#include "worker/model/network.h"

namespace strata {

void UpdateStatistics(const LayerGraph& graph, uint64_t samples, std::span<const float> gradients,
                      std::span<float> parameters) {
  STRATA_CHECK(gradients.size() == graph.parameters() && parameters.size() == gradients.size());
  for (const GraphLayer& layer : graph.layers()) {
    const ParameterRange& range = layer.parameters.statistics;
    MoveStatistics({}, samples, gradients.subspan(range.at, range.count),
                   parameters.subspan(range.at, range.count));
  }
}

}  // namespace strata
