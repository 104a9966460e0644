// GraphExecutor: the values and gradients of a graph's layers, and the order in which a Backend
// computes them. What a layer needs of a device is one function of the backend each way; which
// layer is computed when, and where its numbers lie, is the same on all devices.
//
// A Backend has Columns of a matrix, of which the row of sample i begins at data + i * stride; a
// Buffer of a whole matrix, of which From(column, width) gives some; and the functions that are
// called here (cpu_backend.h says what each does).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "strata/status.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

// The vectors of one table: columns of the embeddings, or of their gradient.
template <typename Columns>
Columns VectorsOfTable(const LayerGraph& graph, size_t table, const Columns& embeddings) {
  const GraphTable& its = graph.spec().tables[table];
  return embeddings.From(graph.table_places()[table].column, size_t{its.slots} * its.dim);
}

template <typename Backend>
class GraphExecutor {
 public:
  using Columns = typename Backend::Columns;

  // Both outlive the executor.
  GraphExecutor(const LayerGraph& graph, Backend& backend)
      : graph_(graph),
        backend_(backend),
        values_(graph.values().size()),
        gradients_(graph.values().size()),
        covered_(graph.values().size()),
        kept_(graph.layers().size()) {}

  // Makes room for this many samples. Their inputs are filled next, then come Forward and Backward.
  // `trains`: layers that depend on a whole batch are those of training, and not of scoring.
  Status Begin(size_t samples, bool trains);
  size_t samples() const { return samples_; }
  // Features of samples that are made up are zeros.
  void ClearDense() { backend_.Clear(&values_[LayerGraph::kDense]); }
  Columns Value(uint32_t value) { return In(values_, value); }
  // Of a value that is no dense feature, once Backward is through.
  Columns Gradient(uint32_t value) { return In(gradients_, value); }

  // Network::FirstNotFinite, once the pass is through.
  std::optional<NotFinitePlace> FirstNotFinite();

  Status Forward(const Regularisation& regularisation);
  // From Gradient(output) on, which BeginBackward has made room for.
  Status BeginBackward();
  Status Backward(const Regularisation& regularisation);

 private:
  using Buffer = typename Backend::Buffer;

  const GraphValue& ValueOf(uint32_t value) const { return graph_.values()[value]; }
  Columns In(std::vector<Buffer>& matrices, uint32_t value);
  Status MakeRoom(std::vector<Buffer>* matrices);
  // Makes the gradient of a value ready for more of it. Returns whether that is to be added: else
  // it is to be overwritten, where the caller `overwrites`.
  bool Cover(uint32_t value, bool overwrites);
  // The gradient of a value to which more is to be added.
  Columns AddedGradient(uint32_t value) {
    Cover(value, /*overwrites=*/false);
    return In(gradients_, value);
  }
  // Where the gradient of a layer's input goes.
  struct GradientTo {
    Columns dx = {};    // no data: dense features have none
    bool adds = false;  // else it is to be overwritten
  };
  GradientTo GradientOf(uint32_t input) {
    if (input == LayerGraph::kDense) return {};
    const bool adds = Cover(input, /*overwrites=*/true);
    return {Gradient(input), adds};
  }
  // Whether a layer is short, and reads what is there before all layers: it runs beside others.
  static bool IsBeside(const GraphLayer& layer) {
    return layer.spec.kind == LayerKind::kFm || layer.spec.kind == LayerKind::kWide;
  }
  // Whether both are the same numbers in the same place.
  static bool IsSame(const Columns& a, const Columns& b) {
    return a.data == b.data && a.stride == b.stride;
  }

  Status ForwardLayer(size_t number, const Regularisation& regularisation);
  Status BackwardLayer(size_t number, const Regularisation& regularisation);
  Status ForwardLinear(const GraphLayer& layer, const Regularisation& regularisation);
  Status BackwardLinear(const GraphLayer& layer, const Regularisation& regularisation);
  void BackwardConcat(const GraphLayer& layer);

  const LayerGraph& graph_;
  Backend& backend_;
  size_t samples_ = 0;
  bool trains_ = false;
  std::vector<Buffer> values_;     // of values that hold their own columns
  std::vector<Buffer> gradients_;  // likewise
  // In a backward pass, of each matrix of gradients: its columns that hold one.
  std::vector<std::vector<bool>> covered_;
  std::vector<Buffer> kept_;  // by layer: what its backward pass needs
};

template <typename Backend>
typename GraphExecutor<Backend>::Columns GraphExecutor<Backend>::In(std::vector<Buffer>& matrices,
                                                                    uint32_t value) {
  const GraphValue& of = ValueOf(value);
  return matrices[of.root].From(of.column, of.width);
}

template <typename Backend>
Status GraphExecutor<Backend>::MakeRoom(std::vector<Buffer>* matrices) {
  for (uint32_t value = 0; value < matrices->size(); ++value) {
    const GraphValue& of = ValueOf(value);
    if (of.root != value) continue;
    STRATA_TRY(backend_.Resize(samples_, of.width, of.is_of_logit, &(*matrices)[value]));
  }
  return {};
}

template <typename Backend>
Status GraphExecutor<Backend>::Begin(size_t samples, bool trains) {
  samples_ = samples;
  trains_ = trains;
  return MakeRoom(&values_);
}

template <typename Backend>
std::optional<NotFinitePlace> GraphExecutor<Backend>::FirstNotFinite() {
  std::vector<uint32_t> order;
  if (graph_.has_embeddings()) order.push_back(LayerGraph::kEmbeddings);
  for (const GraphLayer& layer : graph_.layers()) order.push_back(layer.output);
  std::vector<float> numbers;
  for (const uint32_t value : order) {
    const Columns columns = Value(value);
    backend_.Read(samples_, columns, &numbers);
    const auto found =
        std::find_if(numbers.begin(), numbers.end(), [](float x) { return !std::isfinite(x); });
    if (found == numbers.end()) continue;
    const auto at = static_cast<size_t>(found - numbers.begin());
    return NotFinitePlace{value, at / columns.width, at % columns.width};
  }
  return std::nullopt;
}

template <typename Backend>
Status GraphExecutor<Backend>::Forward(const Regularisation& regularisation) {
  std::vector<bool> is_beside(graph_.values().size());  // and not joined yet
  for (size_t number = 0; number < graph_.layers().size(); ++number) {
    const GraphLayer& layer = graph_.layers()[number];
    const auto waits_for = [&](uint32_t input) { return is_beside[input]; };
    if (std::any_of(layer.inputs.begin(), layer.inputs.end(), waits_for)) {
      backend_.Join();
      is_beside.assign(is_beside.size(), false);
    }
    if (!IsBeside(layer)) {
      STRATA_TRY(ForwardLayer(number, regularisation));
      continue;
    }
    backend_.Mark();
    STRATA_TRY(backend_.Beside([&] { return ForwardLayer(number, regularisation); }));
    is_beside[layer.output] = true;
  }
  backend_.Join();
  return {};
}

template <typename Backend>
Status GraphExecutor<Backend>::ForwardLayer(size_t number, const Regularisation& regularisation) {
  const GraphLayer& layer = graph_.layers()[number];
  const LayerParameters& parameters = layer.parameters;
  const Columns y = Value(layer.output);
  const auto x = [&](size_t input) { return Value(layer.inputs[input]); };
  Buffer& kept = kept_[number];
  switch (layer.spec.kind) {
    case LayerKind::kLinear:
      return ForwardLinear(layer, regularisation);
    case LayerKind::kConcat: {
      size_t column = 0;
      for (size_t i = 0; i < layer.inputs.size(); ++i) {
        const Columns part = y.From(column, x(i).width);
        if (!IsSame(part, x(i))) backend_.Copy(samples_, x(i), part);
        column += part.width;
      }
      return {};
    }
    case LayerKind::kInteraction:
      backend_.Interaction(samples_, ValueOf(layer.inputs[0]).vectors, x(0), y);
      return {};
    case LayerKind::kCross:
      return backend_.Cross(samples_, x(0), x(1), parameters, &kept, y);
    case LayerKind::kLowRankCross:
      return backend_.LowRankCross(samples_, layer.spec.width, x(0), x(1), parameters, &kept, y);
    case LayerKind::kFm:
      return backend_.Fm(samples_, ValueOf(layer.inputs[0]).vectors, x(0), &kept, y);
    case LayerKind::kWide:
      backend_.Wide(samples_, parameters, y);
      return {};
    case LayerKind::kAdd: {
      std::vector<Columns> added;
      for (size_t i = 0; i < layer.inputs.size(); ++i) added.push_back(x(i));
      backend_.AddUp(samples_, added, y);
      return {};
    }
    case LayerKind::kMultiply:
      backend_.Multiply(samples_, x(0), x(1), y);
      return {};
    case LayerKind::kActivation:
      backend_.Activate(samples_, layer.spec.activation, x(0), y);
      return {};
    case LayerKind::kSlice:
      return {};
    case LayerKind::kSumVectors:
      backend_.SumVectors(samples_, ValueOf(layer.inputs[0]).vectors, x(0), y);
      return {};
    case LayerKind::kLayerNorm:
      return backend_.LayerNorm(samples_, x(0), parameters, &kept, y);
    case LayerKind::kBatchNorm:
      return backend_.BatchNorm(samples_, trains_, x(0), parameters, &kept, y);
  }
  return {};
}

template <typename Backend>
Status GraphExecutor<Backend>::ForwardLinear(const GraphLayer& layer,
                                             const Regularisation& regularisation) {
  const Columns y = Value(layer.output);
  STRATA_TRY(backend_.Linear(samples_, Value(layer.inputs[0]), layer.parameters,
                             layer.spec.activation, y));
  if (layer.spec.is_hidden && regularisation.dropout > 0) {
    backend_.Dropout(samples_, regularisation.dropout, layer.hidden_number, y);
  }
  return {};
}

template <typename Backend>
bool GraphExecutor<Backend>::Cover(uint32_t value, bool overwrites) {
  const GraphValue& of = ValueOf(value);
  std::vector<bool>& covered = covered_[of.root];
  const auto begin = covered.begin() + of.column;
  const auto end = begin + of.width;
  if (overwrites && std::find(begin, end, true) == end) {
    std::fill(begin, end, true);
    return false;
  }
  for (auto at = std::find(begin, end, false); at != end; at = std::find(at, end, false)) {
    const auto run_end = std::find(at, end, true);
    const auto column = static_cast<size_t>(at - covered.begin());
    const auto columns = static_cast<size_t>(run_end - at);
    backend_.ClearColumns(samples_, gradients_[of.root].From(column, columns));
    std::fill(at, run_end, true);
  }
  return true;
}

template <typename Backend>
Status GraphExecutor<Backend>::BeginBackward() {
  STRATA_TRY(MakeRoom(&gradients_));
  for (uint32_t value = 0; value < covered_.size(); ++value) {
    const GraphValue& of = ValueOf(value);
    if (of.root == value) covered_[value].assign(of.width, false);
  }
  Cover(graph_.output(), /*overwrites=*/true);
  return {};
}

template <typename Backend>
Status GraphExecutor<Backend>::Backward(const Regularisation& regularisation) {
  for (size_t number = graph_.layers().size(); number-- > 0;) {
    STRATA_TRY(BackwardLayer(number, regularisation));
  }
  backend_.Join();
  return {};
}

template <typename Backend>
Status GraphExecutor<Backend>::BackwardLayer(size_t number, const Regularisation& regularisation) {
  const GraphLayer& layer = graph_.layers()[number];
  const LayerParameters& parameters = layer.parameters;
  const Columns dy = Gradient(layer.output);
  const auto x = [&](size_t input) { return Value(layer.inputs[input]); };
  const auto dx = [&](size_t input) { return AddedGradient(layer.inputs[input]); };
  Buffer& kept = kept_[number];
  switch (layer.spec.kind) {
    case LayerKind::kLinear:
      return BackwardLinear(layer, regularisation);
    case LayerKind::kConcat:
      BackwardConcat(layer);
      return {};
    case LayerKind::kAdd: {
      std::vector<Columns> parts;
      std::vector<bool> adds;
      for (const uint32_t input : layer.inputs) {
        if (input == LayerGraph::kDense) continue;  // it has no gradient
        adds.push_back(Cover(input, /*overwrites=*/true));
        parts.push_back(Gradient(input));
      }
      backend_.AddToEach(samples_, dy, parts, adds);
      return {};
    }
    case LayerKind::kInteraction: {
      const bool adds = Cover(layer.inputs[0], /*overwrites=*/true);
      backend_.InteractionBack(samples_, ValueOf(layer.inputs[0]).vectors, x(0), dy,
                               Gradient(layer.inputs[0]), adds);
      return {};
    }
    case LayerKind::kCross:
      return backend_.CrossBack(samples_, x(0), x(1), parameters, kept, dy, dx(0), dx(1));
    case LayerKind::kLowRankCross:
      return backend_.LowRankCrossBack(samples_, layer.spec.width, x(0), x(1), parameters, kept, dy,
                                       dx(0), dx(1));
    case LayerKind::kFm:
      backend_.FmBack(samples_, ValueOf(layer.inputs[0]).vectors, x(0), kept, dy, dx(0));
      return {};
    case LayerKind::kWide:
      backend_.WideBack(samples_, parameters, dy);
      return {};
    case LayerKind::kMultiply:
      backend_.MultiplyBack(samples_, x(0), x(1), dy, dx(0), dx(1));
      return {};
    case LayerKind::kActivation: {
      const bool adds = Cover(layer.inputs[0], /*overwrites=*/true);
      backend_.ActivateBack(samples_, layer.spec.activation, Value(layer.output), dy,
                            Gradient(layer.inputs[0]), adds);
      return {};
    }
    case LayerKind::kSlice:  // its gradient is in its place; the columns beside it may have none
      Cover(layer.inputs[0], /*overwrites=*/false);
      return {};
    case LayerKind::kSumVectors:
      backend_.SumVectorsBack(samples_, ValueOf(layer.inputs[0]).vectors, dy, dx(0));
      return {};
    case LayerKind::kLayerNorm:
      return backend_.LayerNormBack(samples_, x(0), parameters, kept, dy, dx(0));
    case LayerKind::kBatchNorm: {
      const GradientTo to = GradientOf(layer.inputs[0]);
      return backend_.BatchNormBack(samples_, x(0), parameters, kept, dy, to.dx, to.adds);
    }
  }
  return {};
}

template <typename Backend>
void GraphExecutor<Backend>::BackwardConcat(const GraphLayer& layer) {
  const Columns dy = Gradient(layer.output);
  size_t column = 0;
  for (const uint32_t input : layer.inputs) {
    const size_t width = Value(input).width;
    if (input != LayerGraph::kDense) {  // it has no gradient
      const Columns part = AddedGradient(input);
      const Columns from = dy.From(column, width);
      if (!IsSame(from, part)) backend_.Add(samples_, from, part);
    }
    column += width;
  }
}

template <typename Backend>
Status GraphExecutor<Backend>::BackwardLinear(const GraphLayer& layer,
                                              const Regularisation& regularisation) {
  const Columns y = Value(layer.output);
  const Columns dy = Gradient(layer.output);
  const float dropout = layer.spec.is_hidden ? regularisation.dropout : 0.0F;
  const GradientTo to = GradientOf(layer.inputs[0]);
  return backend_.LinearBack(samples_, Value(layer.inputs[0]), layer.parameters,
                             layer.spec.activation, dropout, y, dy, to.dx, to.adds);
}

}  // namespace strata
