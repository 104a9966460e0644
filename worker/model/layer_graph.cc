#include "worker/model/layer_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/settings/settings.h"

namespace strata {
namespace {

constexpr uint32_t kPadTo = 8;  // elements, of an interaction

// What goes with a kind of layer.
struct KindFacts {
  LayerKind kind;
  const char* name;
  size_t inputs_min;
  size_t inputs_max;
  bool has_width = false;
  bool has_activation = false;
};

constexpr KindFacts kKinds[] = {
    {LayerKind::kLinear, "linear", 1, 1, true, true},
    {LayerKind::kConcat, "concat", 1, SIZE_MAX},
    {LayerKind::kInteraction, "interaction", 1, 1},
    {LayerKind::kCross, "cross", 2, 2},
    {LayerKind::kLowRankCross, "low_rank_cross", 2, 2, true},
    {LayerKind::kFm, "fm", 1, 1},
    {LayerKind::kWide, "wide", 0, 0},
    {LayerKind::kAdd, "add", 1, SIZE_MAX},
    {LayerKind::kMultiply, "multiply", 2, 2},
    {LayerKind::kActivation, "activation", 1, 1, false, true},
    {LayerKind::kSlice, "slice", 1, 1, true},
    {LayerKind::kSumVectors, "sum_vectors", 1, 1},
    {LayerKind::kLayerNorm, "layer_norm", 1, 1},
    {LayerKind::kBatchNorm, "batch_norm", 1, 1},
};

const KindFacts& FactsOf(LayerKind kind) {
  return *std::ranges::find(kKinds, kind, &KindFacts::kind);
}

Status WrongLayer(const LayerSpec& layer, const std::string& why) {
  const Status status =
      Invalid(fmt::format("layer '{}' ({}): {}", layer.name, LayerKindName(layer.kind), why));
  return layer.place.empty() ? status : status.Prefixed(layer.place);
}

// Settings that the layer's kind does not have.
Status CheckSettings(const LayerSpec& layer) {
  const KindFacts& facts = FactsOf(layer.kind);
  if (layer.name.empty()) return WrongLayer(layer, "it has no name: give it one");
  if (layer.width != 0 && !facts.has_width) {
    return WrongLayer(layer, "it has no width of its own: remove it");
  }
  if (layer.begin != 0 && layer.kind != LayerKind::kSlice) {
    return WrongLayer(layer, "only a slice begins at a column: remove it");
  }
  if (layer.activation != Activation::kNone && !facts.has_activation) {
    return WrongLayer(layer, "it has no activation of its own: add a layer of kind activation");
  }
  if (layer.activation == Activation::kNone && layer.kind == LayerKind::kActivation) {
    return WrongLayer(layer, "it has no activation: expected relu, sigmoid or tanh");
  }
  if (layer.is_hidden && layer.activation != Activation::kRelu) {
    return WrongLayer(layer, "units of it cannot be dropped: expected a linear layer with relu");
  }
  return {};
}

}  // namespace

const char* LayerKindName(LayerKind kind) { return FactsOf(kind).name; }

std::optional<LayerKind> LayerKindOf(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, &KindFacts::name);
  if (found == std::end(kKinds)) return std::nullopt;
  return found->kind;
}

std::string LayerKindNames(std::string_view between) {
  std::vector<std::string_view> names;
  for (const KindFacts& facts : kKinds) names.emplace_back(facts.name);
  return fmt::format("{}", fmt::join(names, between));
}

const char* CombinerName(Combiner combiner) { return combiner == Combiner::kMean ? "mean" : "sum"; }

std::optional<Combiner> CombinerOf(std::string_view name) {
  for (const Combiner combiner : {Combiner::kSum, Combiner::kMean}) {
    if (name == CombinerName(combiner)) return combiner;
  }
  return std::nullopt;
}

Result<LayerGraph> LayerGraph::Make(GraphSpec spec) {
  LayerGraph graph;
  graph.spec_ = std::move(spec);
  const GraphSpec& given = graph.spec_;
  if (given.layers.empty()) return Invalid("a graph without layers: the last one gives the logit");
  if (given.layers.size() > kLayersMax) {
    return Invalid(
        fmt::format("a graph of {} layers: expected at most {}", given.layers.size(), kLayersMax));
  }
  STRATA_TRY(graph.AddInputs());
  for (const LayerSpec& layer : given.layers) STRATA_TRY(graph.Add(layer));
  graph.PlaceStatistics();
  if (graph.parameters_ > kParametersMax) {
    return Invalid(
        fmt::format("a network of {} parameters: expected at most {}: name narrower "
                    "layers (model.hidden, model.bottom)",
                    graph.parameters_, kParametersMax));
  }
  const GraphLayer& last = graph.layers_.back();
  if (graph.WidthOf(last.output) != 1) {
    return WrongLayer(last.spec, fmt::format("the last layer gives {} numbers a sample: expected "
                                             "1, the logit: end with a layer that gives one, such "
                                             "as linear with widths = [1]",
                                             graph.WidthOf(last.output)));
  }
  if (last.spec.kind == LayerKind::kSlice || last.spec.activation != Activation::kNone) {
    return WrongLayer(last.spec,
                      given.loss == LossKind::kMse
                          ? "the last layer gives the prediction, any number: expected another "
                            "kind, without an activation"
                          : "the last layer gives the logit, of which training takes the sigmoid "
                            "itself: expected another kind, without an activation");
  }
  std::vector<uint32_t> uses(graph.values_.size());
  for (const GraphLayer& layer : graph.layers_) {
    for (const uint32_t input : layer.inputs) ++uses[input];
  }
  for (const GraphLayer& layer : graph.layers_) {
    if (layer.output != last.output && uses[layer.output] == 0) {
      return WrongLayer(
          layer.spec,
          "no other layer takes what it gives: name it in the inputs of one, or remove it");
    }
  }
  graph.has_embeddings_ = false;
  for (uint32_t value = kEmbeddings; value < graph.layers_[0].output; ++value) {
    graph.has_embeddings_ = graph.has_embeddings_ || uses[value] > 0;
  }
  graph.PlaceConcatenated();
  graph.PlaceSlices();
  graph.FindLogitParts(uses);
  return graph;
}

// Dense features, all vectors, and those of each table with a name, which are columns of them.
Status LayerGraph::AddInputs() {
  uint64_t slots = 0;
  uint64_t width = 0;
  bool is_even = true;
  for (const GraphTable& table : spec_.tables) {
    table_slots_.push_back(table.slots);
    table_places_.push_back({static_cast<uint32_t>(slots), static_cast<uint32_t>(width)});
    slots += table.slots;
    width += uint64_t{table.slots} * table.dim;
    is_even = is_even && table.dim == spec_.tables[0].dim;
    if (slots > kWidthMax || width > kWidthMax) break;
  }
  if (slots > kWidthMax || width > kWidthMax || spec_.dense_width > kWidthMax) {
    return Invalid(
        fmt::format("a graph of {} tables and {} dense features: expected at most {} elements a "
                    "sample of their "
                    "vectors, and as many dense ones",
                    spec_.tables.size(), spec_.dense_width, kWidthMax));
  }
  slots_ = static_cast<uint32_t>(slots);
  values_ = {{.name = kDenseInput, .width = spec_.dense_width, .root = kDense},
             {.name = kEmbeddingsInput,
              .width = static_cast<uint32_t>(width),
              .root = kEmbeddings,
              .vectors = is_even ? std::max(slots_, 1U) : 1}};
  for (const GraphTable& table : spec_.tables) {
    if (table.name.empty()) continue;
    ++named_tables_;
    if (std::ranges::count(values_, table.name, &GraphValue::name) > 0) {
      return Invalid(fmt::format("table '{}': its name is taken", table.name));
    }
    values_.push_back({.name = table.name,
                       .width = table.slots * table.dim,
                       .root = static_cast<uint32_t>(values_.size()),
                       .vectors = std::max(table.slots, 1U)});
  }
  return {};
}

Status LayerGraph::Add(const LayerSpec& layer) {
  STRATA_TRY(CheckSettings(layer));
  GraphLayer added{.spec = layer};
  if (const std::string other = WhatIsCalled(layer.name); !other.empty()) {
    return WrongLayer(layer, fmt::format("its name is that of {}: name it otherwise", other));
  }
  for (const std::string& name : layer.inputs) {
    STRATA_ASSIGN(const uint32_t input, FindInput(layer, name));
    added.inputs.push_back(input);
  }
  const KindFacts& facts = FactsOf(layer.kind);
  if (added.inputs.size() < facts.inputs_min || added.inputs.size() > facts.inputs_max) {
    return WrongLayer(layer, fmt::format("it has {} inputs: expected {}", added.inputs.size(),
                                         facts.inputs_min == facts.inputs_max
                                             ? fmt::format("{}", facts.inputs_min)
                                             : "1 or more"));
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

std::string LayerGraph::WhatIsCalled(const std::string& name) const {
  const auto text = [](const char* what, const std::string& place) {
    return place.empty() ? what : fmt::format("{} ({})", what, place);
  };
  const auto layer = std::ranges::find(
      layers_, name, [](const GraphLayer& added) -> const std::string& { return added.spec.name; });
  if (layer != layers_.end()) return text("an earlier layer", layer->spec.place);
  const auto table = std::ranges::find(spec_.tables, name, &GraphTable::name);
  if (table != spec_.tables.end()) return text("a table", table->place);
  return std::ranges::count(values_, name, &GraphValue::name) > 0 ? "an input" : "";
}

// Several layers of one place are one section, which has the name of the last one.
const LayerSpec& LayerGraph::SectionOf(const LayerSpec& layer) const {
  if (layer.place.empty()) return layer;
  const auto last =
      std::ranges::find(spec_.layers.rbegin(), spec_.layers.rend(), layer.place, &LayerSpec::place);
  return last == spec_.layers.rend() ? layer : *last;
}

std::string LayerGraph::HintFor(const LayerSpec& layer, const std::string& name) const {
  if (name == layer.name) return ", but the layer itself: name an earlier one";
  if (std::ranges::count(spec_.layers, name, &LayerSpec::name) > 0) {
    return ": it comes later, and layers may not form a cycle: put it before this one, or name an "
           "earlier one";
  }
  std::vector<std::string_view> known;
  const size_t inputs = values_.size() - layers_.size();
  for (size_t value = 0; value < inputs; ++value) {
    if (values_[value].width > 0) known.emplace_back(values_[value].name);
  }
  for (const GraphLayer& earlier : layers_) {
    if (SectionOf(earlier.spec).name == earlier.spec.name) known.emplace_back(earlier.spec.name);
  }
  const std::string hint = NearestHint(name, known);
  return hint.empty() ? fmt::format(": name one of {}", fmt::join(known, ", ")) : hint;
}

Result<uint32_t> LayerGraph::FindInput(const LayerSpec& layer, const std::string& name) const {
  const auto found = std::ranges::find(values_, name, &GraphValue::name);
  const LayerSpec& section = SectionOf(layer);
  if (found == values_.end()) {
    return WrongLayer(
        section, fmt::format("input '{}' is neither {}, {}, a table nor an earlier layer{}", name,
                             kDenseInput, kEmbeddingsInput, HintFor(section, name)));
  }
  if (found->width == 0) {
    return WrongLayer(section, fmt::format("input '{}' has no elements, as the job has no such "
                                           "features: add a [[feature]], or remove the input",
                                           name));
  }
  return static_cast<uint32_t>(found - values_.begin());
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
      STRATA_TRY(CheckVectors(*layer));
      const uint32_t vectors = values_[layer->inputs[0]].vectors;
      if (vectors < 2)
        return WrongLayer(spec,
                          "its input is one vector: expected 2 or more: name a concat of vectors, "
                          "or embeddings of several features");
      const uint64_t used = width(0) / vectors + uint64_t{vectors} * (vectors - 1) / 2;
      output->width = static_cast<uint32_t>(
          std::min<uint64_t>((used + kPadTo - 1) / kPadTo * kPadTo, UINT32_MAX));
      return {};
    }
    case LayerKind::kCross:
    case LayerKind::kLowRankCross:
      if (width(0) != width(1)) {
        return WrongLayer(
            spec, fmt::format("its inputs have {} and {} elements: expected the same number: "
                              "bring one to the other's by a linear layer",
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
      if (spec.kind == LayerKind::kFm) STRATA_TRY(CheckVectors(*layer));
      output->width = 1;
      if (spec.kind == LayerKind::kWide) {
        if (has_key_weights_) return WrongLayer(spec, "there is one already: remove one of them");
        has_key_weights_ = true;
      }
      return {};
    case LayerKind::kAdd:
    case LayerKind::kMultiply:
      output->width = width(0);
      for (size_t i = 1; i < layer->inputs.size(); ++i) {
        if (width(i) == width(0)) continue;
        return WrongLayer(
            spec, fmt::format("its inputs have {} and {} elements: expected the same number: "
                              "bring one to the other's by a linear layer",
                              width(0), width(i)));
      }
      output->vectors = values_[layer->inputs[0]].vectors;
      return {};
    case LayerKind::kActivation:
    case LayerKind::kLayerNorm:
    case LayerKind::kBatchNorm:
      output->width = width(0);
      output->vectors = values_[layer->inputs[0]].vectors;
      return {};
    case LayerKind::kSlice:
      return ShapeSlice(*layer, output);
    case LayerKind::kSumVectors:
      STRATA_TRY(CheckVectors(*layer));
      output->width = width(0) / values_[layer->inputs[0]].vectors;
      return {};
  }
  return {};
}

// Several vectors of one length, or the only slot of an input.
Status LayerGraph::CheckVectors(const GraphLayer& layer) const {
  const uint32_t input = layer.inputs[0];
  const GraphValue& value = values_[input];
  const bool is_table = input > kEmbeddings && input < kEmbeddings + 1 + named_tables_;
  const bool is_one_slot = (input == kEmbeddings && slots_ == 1) || is_table;
  if (value.vectors > 1 || is_one_slot) return {};
  return WrongLayer(layer.spec,
                    fmt::format("its input '{}' is not several vectors of one length: expected "
                                "{}, a table, or a concat or slice of such vectors",
                                value.name, kEmbeddingsInput));
}

// Whole vectors of its input stay vectors.
Status LayerGraph::ShapeSlice(const GraphLayer& layer, GraphValue* output) const {
  const LayerSpec& spec = layer.spec;
  const GraphValue& whole = values_[layer.inputs[0]];
  if (spec.width == 0 || uint64_t{spec.begin} + spec.width > whole.width) {
    return WrongLayer(spec,
                      fmt::format("it takes {} columns from {} on of the {} of '{}': expected "
                                  "1 or more of them",
                                  spec.width, spec.begin, whole.width, whole.name));
  }
  const uint32_t length = whole.width / whole.vectors;
  output->width = spec.width;
  if (spec.begin % length == 0 && spec.width % length == 0) output->vectors = spec.width / length;
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
    case LayerKind::kLayerNorm:
    case LayerKind::kBatchNorm:
      take(&parameters.scales, in);
      take(&parameters.biases, in);
      return;
    case LayerKind::kConcat:
    case LayerKind::kInteraction:
    case LayerKind::kFm:
    case LayerKind::kAdd:
    case LayerKind::kMultiply:
    case LayerKind::kActivation:
    case LayerKind::kSlice:
    case LayerKind::kSumVectors:
      return;
  }
}

void LayerGraph::PlaceStatistics() {
  learned_parameters_ = parameters_;
  for (GraphLayer& layer : layers_) {
    if (layer.spec.kind != LayerKind::kBatchNorm) continue;
    layer.parameters.statistics = {parameters_, size_t{2} * WidthOf(layer.output)};
    parameters_ += layer.parameters.statistics.count;
  }
}

// What a concat takes is written where it belongs at once, and not copied. Each value has one
// place, and dense features come as they are.
void LayerGraph::PlaceConcatenated() {
  std::vector<bool> is_placed(values_.size());
  is_placed[kDense] = true;
  for (uint32_t table = kEmbeddings + 1; table < layers_[0].output; ++table) {
    is_placed[table] = true;
  }
  for (const GraphLayer& layer : layers_) {
    if (layer.spec.kind == LayerKind::kSlice) is_placed[layer.output] = true;
  }
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

// Values that are columns of others: those of tables and of slices.
void LayerGraph::PlaceSlices() {
  uint32_t value = kEmbeddings;
  for (size_t table = 0; table < spec_.tables.size(); ++table) {
    if (spec_.tables[table].name.empty()) continue;
    ++value;
    values_[value].root = values_[kEmbeddings].root;
    values_[value].column = values_[kEmbeddings].column + table_places_[table].column;
  }
  for (const GraphLayer& layer : layers_) {
    if (layer.spec.kind != LayerKind::kSlice) continue;
    const GraphValue& whole = values_[layer.inputs[0]];
    values_[layer.output].root = whole.root;
    values_[layer.output].column = whole.column + layer.spec.begin;
  }
}

void LayerGraph::FindLogitParts(const std::vector<uint32_t>& uses) {
  const GraphLayer& last = layers_.back();
  values_[last.output].is_of_logit = true;
  if (last.spec.kind != LayerKind::kAdd) return;
  for (const uint32_t input : last.inputs) {
    const bool is_input = input < layers_[0].output;
    const bool is_whole = values_[input].root == input;  // and no slice of another value
    if (!is_input && is_whole && uses[input] == 1) values_[input].is_of_logit = true;
  }
}

bool LayerGraph::IsTaken(uint32_t value) const {
  return std::ranges::any_of(layers_, [&](const GraphLayer& layer) {
    return std::ranges::count(layer.inputs, value) > 0;
  });
}

std::string LayerGraph::ToText() const {
  std::string text = fmt::format("{:<16} {:<15} {:>8} {:>12}  {}\n", "layer", "kind", "width",
                                 "parameters", "inputs");
  const auto line = [&](const std::string& name, const char* kind, uint32_t width,
                        size_t parameters, const std::string& inputs) {
    text += fmt::format("{:<16} {:<15} {:>8} {:>12}  {}\n", name, kind, width, parameters, inputs);
  };
  const auto input = [&](uint32_t value, const char* wide) {
    line(values_[value].name, "input", WidthOf(value), 0,
         IsTaken(value) || WidthOf(value) == 0 ? ""
         : has_key_weights_                    ? wide
                                               : "no layer takes it");
  };
  input(kDense, "only wide takes it");
  input(kEmbeddings, "no layer takes it, wide takes the keys");
  for (size_t table = 0; table < spec_.tables.size(); ++table) {
    const GraphTable& its = spec_.tables[table];
    line(its.name, "table", its.slots * its.dim, 0,
         fmt::format("{} slots of {}, rows of {}{}", its.slots, its.dim, row_dim(table),
                     its.combiner == Combiner::kMean ? ", mean of a slot's rows" : ""));
  }
  for (const GraphLayer& layer : layers_) {
    line(layer.spec.name, LayerKindName(layer.spec.kind), WidthOf(layer.output),
         layer.parameters.count(), fmt::format("{}", fmt::join(layer.spec.inputs, ", ")));
  }
  return text + fmt::format("{} parameters\n", parameters_);
}

}  // namespace strata
