#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "worker/model/network.h"

namespace strata {
namespace {

// Uniform in [-1, 1), a function of (seed, place).
float UniformAt(uint64_t seed, uint64_t place) {
  const uint64_t bits = Mix64(seed ^ Mix64(place)) >> 40;
  return static_cast<float>(bits) * 0x1p-23F - 1.0F;
}

}  // namespace

void InitializeParameters(const LayerGraph& graph, uint64_t seed, std::span<float> parameters) {
  STRATA_CHECK(parameters.size() == graph.parameters());
  std::ranges::fill(parameters, 0.0F);
  const auto fill = [&](const ParameterRange& range, size_t in, size_t out) {
    const float bound = std::sqrt(6.0F / static_cast<float>(in + out));
    for (size_t i = range.at; i < range.end(); ++i) parameters[i] = bound * UniformAt(seed, i);
  };
  for (const GraphLayer& layer : graph.layers()) {
    if (layer.inputs.empty()) continue;  // kWide
    const size_t in = graph.values()[layer.inputs.back()].width;
    const size_t out = layer.spec.kind == LayerKind::kCross ? 1 : layer.spec.width;
    fill(layer.parameters.weights, in, out);
    fill(layer.parameters.second_weights, out, in);
    const auto fill_ones = [&](size_t begin, size_t end) {
      std::ranges::fill(parameters.subspan(begin, end - begin), 1.0F);
    };
    fill_ones(layer.parameters.scales.at, layer.parameters.scales.end());
    const ParameterRange& statistics = layer.parameters.statistics;
    fill_ones(statistics.at + statistics.count / 2, statistics.end());  // variances
  }
}

}  // namespace strata
