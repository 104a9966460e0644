#include "worker/model/model_shape.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "storage/row_schema.h"

namespace strata {
namespace {

constexpr uint32_t kInputsMax = 65536;
constexpr uint32_t kHiddenWidthMax = 65536;

class Layers {
 public:
  explicit Layers(const ModelShape& shape)
      : has_slots_(shape.slots > 0),
        spec_{.tables = TablesOf(shape),
              .dense_width = static_cast<uint32_t>(shape.dense_width),
              .loss = shape.loss} {}

  // Returns the layer's name.
  std::string Add(LayerSpec layer) {
    spec_.layers.push_back(std::move(layer));
    return spec_.layers.back().name;
  }
  // Linear layers with rectifiers, from `input` on. Returns the last one's name.
  std::string AddHidden(const std::string& prefix, std::string input,
                        const std::vector<uint32_t>& widths) {
    for (size_t i = 0; i < widths.size(); ++i) {
      input = Add({.name = fmt::format("{}{}", prefix, i + 1),
                   .kind = LayerKind::kLinear,
                   .inputs = {input},
                   .width = widths[i],
                   .activation = Activation::kRelu,
                   .is_hidden = true});
    }
    return input;
  }
  std::string AddLogit(const std::string& name, const std::string& input) {
    return Add({.name = name, .kind = LayerKind::kLinear, .inputs = {input}, .width = 1});
  }
  std::string AddConcat(const std::string& name, std::vector<std::string> inputs) {
    return Add({.name = name, .kind = LayerKind::kConcat, .inputs = std::move(inputs)});
  }
  // Embeddings and dense features, or those of both that there are.
  std::string AddInputs() {
    std::vector<std::string> inputs;
    if (has_slots_) inputs.emplace_back(kEmbeddingsInput);
    if (spec_.dense_width > 0) inputs.emplace_back(kDenseInput);
    return AddConcat("inputs", std::move(inputs));
  }
  GraphSpec Take() { return std::move(spec_); }

 private:
  bool has_slots_;
  GraphSpec spec_;
};

// logit = wide + pairs + network, of which a kind has the first, the first two, or others.
void AddFirstOrder(const ModelShape& shape, Layers* layers) {
  std::vector<std::string> parts = {layers->Add({.name = "wide", .kind = LayerKind::kWide})};
  const bool has_pairs = shape.kind == ModelKind::kFm || shape.kind == ModelKind::kDeepFm;
  if (has_pairs && shape.slots > 0) {
    parts.push_back(
        layers->Add({.name = "pairs", .kind = LayerKind::kFm, .inputs = {kEmbeddingsInput}}));
  }
  if (!shape.hidden.empty()) {
    const std::string deep = layers->AddHidden("hidden", layers->AddInputs(), shape.hidden);
    parts.push_back(layers->AddLogit("deep", deep));
  }
  layers->Add({.name = "logit", .kind = LayerKind::kAdd, .inputs = std::move(parts)});
}

void AddDlrm(const ModelShape& shape, Layers* layers) {
  const std::string bottom = layers->AddHidden("bottom", kDenseInput, shape.bottom);
  const std::string vectors = layers->AddConcat("vectors", {bottom, kEmbeddingsInput});
  const std::string products =
      layers->Add({.name = "interaction", .kind = LayerKind::kInteraction, .inputs = {vectors}});
  layers->AddLogit("logit", layers->AddHidden("top", products, shape.hidden));
}

// Cross layers and hidden layers side by side.
void AddDcn(const ModelShape& shape, Layers* layers) {
  const std::string x0 = layers->AddInputs();
  std::string x = x0;
  for (uint32_t i = 0; i < shape.cross_layers; ++i) {
    x = layers->Add(
        {.name = fmt::format("cross{}", i + 1), .kind = LayerKind::kCross, .inputs = {x0, x}});
  }
  const std::string deep = layers->AddHidden("hidden", x0, shape.hidden);
  layers->AddLogit("logit", layers->AddConcat("both", {x, deep}));
}

// Cross layers, then hidden layers over them.
void AddDcnV2(const ModelShape& shape, Layers* layers) {
  std::string x0 = kEmbeddingsInput;
  if (!shape.bottom.empty()) {
    x0 = layers->AddConcat("inputs", {layers->AddHidden("bottom", kDenseInput, shape.bottom), x0});
  } else {
    x0 = layers->AddInputs();
  }
  std::string x = x0;
  for (uint32_t i = 0; i < shape.cross_layers; ++i) {
    x = layers->Add({.name = fmt::format("cross{}", i + 1),
                     .kind = LayerKind::kLowRankCross,
                     .inputs = {x0, x},
                     .width = shape.cross_rank});
  }
  layers->AddLogit("logit", layers->AddHidden("top", x, shape.hidden));
}

Result<LayerGraph> MakeGraph(const ModelShape& shape) {
  Layers layers(shape);
  switch (shape.kind) {
    case ModelKind::kLogistic:
    case ModelKind::kFm:
    case ModelKind::kDeepFm:
    case ModelKind::kWideDeep:
      AddFirstOrder(shape, &layers);
      break;
    case ModelKind::kDlrm:
      AddDlrm(shape, &layers);
      break;
    case ModelKind::kDcn:
      AddDcn(shape, &layers);
      break;
    case ModelKind::kDcnV2:
      AddDcnV2(shape, &layers);
      break;
    case ModelKind::kLayers:
      for (const LayerSpec& layer : shape.layers) layers.Add(layer);
      break;
  }
  return LayerGraph::Make(layers.Take());
}

Status ValidateWidths(const ModelShape& shape) {
  const char* const name = ModelKindName(shape.kind);
  const ModelWidths widths = WidthsOf(shape.kind);
  const auto wrong = [&](const char* what, const std::string& found, const char* expected) {
    return Invalid(fmt::format("a {} model with {} {}: expected {}", name, what, found, expected));
  };
  if (widths.embedding_dim != (shape.embedding_dim > 0) ||
      shape.embedding_dim >= RowSchema::kDimMax) {
    return wrong(
        "embedding_dim", fmt::format("{}", shape.embedding_dim),
        widths.embedding_dim ? fmt::format("1 to {}", RowSchema::kDimMax - 1).c_str() : "0");
  }
  if (widths.hidden == shape.hidden.empty()) {
    return Invalid(fmt::format("a {} model with {} hidden layers", name, shape.hidden.size()));
  }
  if (!widths.bottom && !shape.bottom.empty()) {
    return wrong("bottom layers", fmt::format("({})", shape.bottom.size()), "none");
  }
  if (widths.cross_layers != (shape.cross_layers > 0)) {
    return wrong("cross_layers", fmt::format("{}", shape.cross_layers),
                 widths.cross_layers ? "1 or more" : "0");
  }
  if (widths.cross_rank != (shape.cross_rank > 0)) {
    return wrong("cross_rank", fmt::format("{}", shape.cross_rank),
                 widths.cross_rank ? "1 or more" : "0");
  }
  if (widths.layers == shape.layers.empty()) {
    return Invalid(fmt::format("a {} model with {} layers of its own", name, shape.layers.size()));
  }
  for (const auto* layers : {&shape.hidden, &shape.bottom}) {
    for (const uint32_t width : *layers) {
      if (width == 0 || width > kHiddenWidthMax) {
        return Invalid(
            fmt::format("a hidden layer of width {}: expected 1 to {}", width, kHiddenWidthMax));
      }
    }
  }
  return {};
}

// Kinds that multiply vectors with each other need equal ones.
bool NeedsEqualDims(ModelKind kind) {
  return kind == ModelKind::kFm || kind == ModelKind::kDeepFm || kind == ModelKind::kDlrm;
}

Status WrongTable(const GraphTable& table, const std::string& why) {
  const Status status = Invalid(fmt::format("table '{}': {}", table.name, why));
  return table.place.empty() ? status : status.Prefixed(table.place);
}

Status ValidateTables(const ModelShape& shape) {
  const char* const name = ModelKindName(shape.kind);
  if (shape.tables.empty()) return {};
  if (shape.combiner != Combiner::kSum) {
    return Invalid(
        fmt::format("a {} model with tables and a combiner of its own: each table has one", name));
  }
  if (!WidthsOf(shape.kind).embedding_dim) {
    return Invalid(fmt::format("a {} model with tables: it has no vectors", name));
  }
  uint64_t slots = 0;
  for (const GraphTable& table : shape.tables) {
    slots += table.slots;
    if (table.slots == 0 || table.dim == 0 || table.dim >= RowSchema::kDimMax) {
      return WrongTable(
          table, fmt::format("{} features of {} elements: expected 1 feature or more, of 1 to {} "
                             "elements",
                             table.slots, table.dim, RowSchema::kDimMax - 1));
    }
    if (NeedsEqualDims(shape.kind) && table.dim != shape.embedding_dim) {
      return WrongTable(table,
                        fmt::format("dim is {}: expected model.embedding_dim, {}, as a {} model "
                                    "multiplies vectors of all features with each other",
                                    table.dim, shape.embedding_dim, name));
    }
  }
  if (slots != shape.slots) {
    return Invalid(fmt::format("tables of {} slots: expected the model's {}", slots, shape.slots));
  }
  return {};
}

}  // namespace

ModelWidths WidthsOf(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLogistic:
      return {.embedding_dim = false, .hidden = false};
    case ModelKind::kFm:
      return {.hidden = false};
    case ModelKind::kDeepFm:
    case ModelKind::kWideDeep:
      return {};
    case ModelKind::kDlrm:
      return {.bottom = true};
    case ModelKind::kDcn:
      return {.cross_layers = true};
    case ModelKind::kDcnV2:
      return {.bottom = true, .cross_layers = true, .cross_rank = true};
    case ModelKind::kLayers:
      return {.hidden = false, .layers = true};
  }
  return {};
}

Status ValidateModelShape(const ModelShape& shape) {
  STRATA_TRY(ValidateWidths(shape));
  STRATA_TRY(ValidateTables(shape));
  if (shape.slots > kInputsMax || shape.dense_width > kInputsMax) {
    return Invalid(
        fmt::format("a model of {} slots and {} dense features: expected at most {} each",
                    shape.slots, shape.dense_width, kInputsMax));
  }
  if (shape.slots == 0 && shape.dense_width == 0) {
    return Invalid("a model without inputs: the job file names no features");
  }
  if (shape.kind == ModelKind::kDlrm) {
    if (shape.dense_width == 0 || shape.slots == 0) {
      return Invalid(
          fmt::format("a dlrm model of {} slots (categorical features) and {} dense (numeric) "
                      "features: expected at least one of each: name some, or choose another "
                      "model.kind",
                      shape.slots, shape.dense_width));
    }
    if (shape.bottom.empty() || shape.bottom.back() != shape.embedding_dim) {
      return Invalid(
          fmt::format("a dlrm model whose last bottom layer has width {}: expected embedding_dim, "
                      "{}, as it meets the slots' vectors",
                      shape.bottom.empty() ? 0 : shape.bottom.back(), shape.embedding_dim));
    }
  }
  if (!shape.bottom.empty() && shape.dense_width == 0) {
    return Invalid(
        "a model with bottom layers without dense (numeric) features: name some, or remove "
        "model.bottom");
  }
  if (shape.kind == ModelKind::kDcnV2 && shape.cross_rank > CrossWidthOf(shape)) {
    return Invalid(fmt::format(
        "model.cross_rank is {}: expected at most {}, the width of what goes into the cross layers",
        shape.cross_rank, CrossWidthOf(shape)));
  }
  return MakeGraph(shape).status();
}

size_t CrossWidthOf(const ModelShape& shape) {
  size_t width = shape.bottom.empty() ? shape.dense_width : shape.bottom.back();
  for (const GraphTable& table : TablesOf(shape)) width += size_t{table.slots} * table.dim;
  return width;
}

std::vector<GraphTable> TablesOf(const ModelShape& shape) {
  if (!shape.tables.empty()) return shape.tables;
  return {{.slots = static_cast<uint32_t>(shape.slots),
           .dim = shape.embedding_dim,
           .combiner = shape.combiner}};
}

LayerGraph GraphOf(const ModelShape& shape) {
  Result<LayerGraph> graph = MakeGraph(shape);
  STRATA_CHECK(graph.ok());
  return std::move(graph).value();
}

InitializerSpec InitializerOf(const ModelShape& shape, const InitializerSpec& asked) {
  return shape.kind == ModelKind::kLogistic ? InitializerSpec{} : asked;
}

}  // namespace strata
