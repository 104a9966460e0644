#include "worker/model/layer_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr uint32_t kPadTo = 8;  // elements, of an interaction

// How many inputs a layer of this kind takes: at least, at most.
std::pair<size_t, size_t> InputsOf(LayerKind kind) {
  switch (kind) {
    case LayerKind::kLinear:
    case LayerKind::kInteraction:
    case LayerKind::kFm:
      return {1, 1};
    case LayerKind::kCross:
    case LayerKind::kLowRankCross:
      return {2, 2};
    case LayerKind::kConcat:
    case LayerKind::kAdd:
      return {1, SIZE_MAX};
    case LayerKind::kWide:
      return {0, 0};
  }
  return {0, 0};
}

Status WrongLayer(const LayerSpec& layer, const std::string& why) {
  return Invalid(fmt::format("layer '{}' ({}): {}", layer.name, LayerKindName(layer.kind), why));
}

}  // namespace

const char* LayerKindName(LayerKind kind) {
  switch (kind) {
    case LayerKind::kLinear:
      return "linear";
    case LayerKind::kConcat:
      return "concat";
    case LayerKind::kInteraction:
      return "interaction";
    case LayerKind::kCross:
      return "cross";
    case LayerKind::kLowRankCross:
      return "low_rank_cross";
    case LayerKind::kFm:
      return "fm";
    case LayerKind::kWide:
      return "wide";
    case LayerKind::kAdd:
      return "add";
  }
  return "";
}

Result<LayerGraph> LayerGraph::Make(GraphSpec spec) {
  LayerGraph graph;
  graph.spec_ = std::move(spec);
  const GraphSpec& given = graph.spec_;
  const uint64_t factors = uint64_t{given.slots} * given.embedding_dim;
  if (factors > kWidthMax || given.dense_width > kWidthMax) {
    return Invalid(fmt::format(
        "a graph of {} slots of {} elements and {} dense features: expected at most {} elements of "
        "each a sample",
        given.slots, given.embedding_dim, given.dense_width, kWidthMax));
  }
  if (given.layers.empty()) return Invalid("a graph without layers: the last one gives the logit");
  graph.values_ = {{.name = kDenseInput, .width = given.dense_width, .root = kDense},
                   {.name = kEmbeddingsInput,
                    .width = static_cast<uint32_t>(factors),
                    .root = kEmbeddings,
                    .vectors = std::max(given.slots, 1U)}};
  for (const LayerSpec& layer : given.layers) STRATA_TRY(graph.Add(layer));
  if (graph.parameters_ > kParametersMax) {
    return Invalid(
        fmt::format("a network of {} parameters: expected at most {}: name narrower "
                    "layers (model.hidden, model.bottom)",
                    graph.parameters_, kParametersMax));
  }
  const GraphLayer& last = graph.layers_.back();
  if (graph.WidthOf(last.output) != 1) {
    return WrongLayer(last.spec, fmt::format("the last layer gives {} numbers a sample: expected "
                                             "1, the logit",
                                             graph.WidthOf(last.output)));
  }
  std::vector<uint32_t> uses(graph.values_.size());
  for (const GraphLayer& layer : graph.layers_) {
    for (const uint32_t input : layer.inputs) ++uses[input];
  }
  for (const GraphLayer& layer : graph.layers_) {
    if (layer.output != last.output && uses[layer.output] == 0) {
      return WrongLayer(layer.spec, "no other layer takes what it gives");
    }
  }
  graph.has_embeddings_ = uses[kEmbeddings] > 0;
  graph.PlaceConcatenated();
  graph.FindLogitParts(uses);
  return graph;
}

Status LayerGraph::Add(const LayerSpec& layer) {
  GraphLayer added{.spec = layer};
  if (std::ranges::any_of(values_, [&](const auto& value) { return value.name == layer.name; })) {
    return WrongLayer(layer, "its name is taken");
  }
  for (const std::string& name : layer.inputs) {
    const auto found = std::ranges::find(values_, name, &GraphValue::name);
    if (found == values_.end()) {
      return WrongLayer(layer, fmt::format("input '{}' is neither {}, {} nor an earlier layer",
                                           name, kDenseInput, kEmbeddingsInput));
    }
    if (found->width == 0) {
      return WrongLayer(layer, fmt::format("input '{}' has no elements", name));
    }
    added.inputs.push_back(static_cast<uint32_t>(found - values_.begin()));
  }
  const auto [least, most] = InputsOf(layer.kind);
  if (added.inputs.size() < least || added.inputs.size() > most) {
    return WrongLayer(layer, fmt::format("it has {} inputs: expected {}", added.inputs.size(),
                                         least == most ? fmt::format("{}", least) : "1 or more"));
  }
  GraphValue output{.name = layer.name, .root = static_cast<uint32_t>(values_.size())};
  added.output = output.root;
  STRATA_TRY(Shape(&added, &output));
  if (output.width == 0 || output.width > kWidthMax) {
    return WrongLayer(layer, fmt::format("it gives {} numbers a sample: expected 1 to {}",
                                         output.width, kWidthMax));
  }
  PlaceParameters(&added);
  values_.push_back(std::move(output));
  layers_.push_back(std::move(added));
  return {};
}

// Fills what the layer gives.
Status LayerGraph::Shape(GraphLayer* layer, GraphValue* output) {
  const LayerSpec& spec = layer->spec;
  const auto width = [&](size_t input) { return WidthOf(layer->inputs[input]); };
  switch (spec.kind) {
    case LayerKind::kLinear:
      output->width = spec.width;
      if (spec.is_hidden) {
        layer->hidden_number = static_cast<uint32_t>(std::ranges::count_if(
            layers_, [](const GraphLayer& earlier) { return earlier.spec.is_hidden; }));
      }
      return {};
    case LayerKind::kConcat:
      ShapeConcat(*layer, output);
      return {};
    case LayerKind::kInteraction: {
      const uint32_t vectors = values_[layer->inputs[0]].vectors;
      if (vectors < 2) return WrongLayer(spec, "its input is one vector: expected 2 or more");
      const uint64_t used = width(0) / vectors + uint64_t{vectors} * (vectors - 1) / 2;
      output->width = static_cast<uint32_t>(
          std::min<uint64_t>((used + kPadTo - 1) / kPadTo * kPadTo, UINT32_MAX));
      return {};
    }
    case LayerKind::kCross:
    case LayerKind::kLowRankCross:
      if (width(0) != width(1)) {
        return WrongLayer(spec, fmt::format("its inputs have {} and {} elements: expected as many",
                                            width(0), width(1)));
      }
      if (spec.kind == LayerKind::kLowRankCross && (spec.width == 0 || spec.width > width(0))) {
        return WrongLayer(spec,
                          fmt::format("a rank of {}: expected 1 to {}", spec.width, width(0)));
      }
      output->width = width(0);
      return {};
    case LayerKind::kFm:
    case LayerKind::kWide:
      output->width = 1;
      if (spec.kind == LayerKind::kWide) {
        if (has_key_weights_) return WrongLayer(spec, "there is one already");
        has_key_weights_ = true;
      }
      return {};
    case LayerKind::kAdd:
      output->width = width(0);
      for (size_t i = 1; i < layer->inputs.size(); ++i) {
        if (width(i) == width(0)) continue;
        return WrongLayer(spec, fmt::format("its inputs have {} and {} elements: expected as many",
                                            width(0), width(i)));
      }
      return {};
  }
  return {};
}

// Inputs whose vectors are equally long give a value of all their vectors.
void LayerGraph::ShapeConcat(const GraphLayer& layer, GraphValue* output) const {
  uint64_t width = 0;
  uint32_t vectors = 0;
  bool is_even = true;
  const auto length = [&](uint32_t value) { return WidthOf(value) / values_[value].vectors; };
  for (const uint32_t input : layer.inputs) {
    width += WidthOf(input);
    vectors += values_[input].vectors;
    is_even = is_even && length(input) == length(layer.inputs[0]);
  }
  output->width = static_cast<uint32_t>(std::min<uint64_t>(width, UINT32_MAX));
  output->vectors = is_even ? vectors : 1;
}

void LayerGraph::PlaceParameters(GraphLayer* layer) {
  const auto take = [&](ParameterRange* range, size_t count) {
    *range = {parameters_, count};
    parameters_ += count;
  };
  LayerParameters& parameters = layer->parameters;
  const size_t in = layer->inputs.empty() ? 0 : WidthOf(layer->inputs.back());
  switch (layer->spec.kind) {
    case LayerKind::kLinear:
      take(&parameters.weights, in * layer->spec.width);
      take(&parameters.biases, layer->spec.width);
      return;
    case LayerKind::kCross:
      take(&parameters.weights, in);
      take(&parameters.biases, in);
      return;
    case LayerKind::kLowRankCross:
      take(&parameters.weights, in * layer->spec.width);
      take(&parameters.second_weights, layer->spec.width * in);
      take(&parameters.biases, in);
      return;
    case LayerKind::kWide:
      take(&parameters.biases, 1);
      take(&parameters.weights, spec_.dense_width);
      return;
    case LayerKind::kConcat:
    case LayerKind::kInteraction:
    case LayerKind::kFm:
    case LayerKind::kAdd:
      return;
  }
}

// What a concat takes is written where it belongs at once, and not copied. Each value has one
// place, and dense features come as they are.
void LayerGraph::PlaceConcatenated() {
  std::vector<bool> is_placed(values_.size());
  is_placed[kDense] = true;
  // From the last one: a concat that is an input of another one has its place by then.
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    if (layer->spec.kind != LayerKind::kConcat) continue;
    const GraphValue whole = values_[layer->output];
    uint32_t column = whole.column;
    for (const uint32_t input : layer->inputs) {
      GraphValue& value = values_[input];
      if (!is_placed[input]) {
        value.root = whole.root;
        value.column = column;
        is_placed[input] = true;
      }
      column += value.width;
    }
  }
}

void LayerGraph::FindLogitParts(const std::vector<uint32_t>& uses) {
  const GraphLayer& last = layers_.back();
  values_[last.output].is_of_logit = true;
  if (last.spec.kind != LayerKind::kAdd) return;
  for (const uint32_t input : last.inputs) {
    const bool is_input = input == kDense || input == kEmbeddings;
    if (!is_input && uses[input] == 1) values_[input].is_of_logit = true;
  }
}

std::string LayerGraph::ToText() const {
  std::string text = fmt::format("{:<16} {:<15} {:>8} {:>12}  {}\n", "layer", "kind", "width",
                                 "parameters", "inputs");
  const auto line = [&](const std::string& name, const char* kind, uint32_t width,
                        size_t parameters, const std::string& inputs) {
    text += fmt::format("{:<16} {:<15} {:>8} {:>12}  {}\n", name, kind, width, parameters, inputs);
  };
  line(kDenseInput, "input", spec_.dense_width, 0, "");
  line(kEmbeddingsInput, "input", WidthOf(kEmbeddings), 0,
       fmt::format("{} slots of {}", spec_.slots, spec_.embedding_dim));
  for (const GraphLayer& layer : layers_) {
    const LayerParameters& p = layer.parameters;
    line(layer.spec.name, LayerKindName(layer.spec.kind), WidthOf(layer.output),
         p.weights.count + p.second_weights.count + p.biases.count,
         fmt::format("{}", fmt::join(layer.spec.inputs, ", ")));
  }
  return text + fmt::format("{} parameters; a key's row has {} elements\n", parameters_, row_dim());
}

}  // namespace strata
