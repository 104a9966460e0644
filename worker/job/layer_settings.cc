#include "worker/job/layer_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <tuple>

#include "worker/job/wrong_setting.h"

namespace strata {
namespace {

constexpr double kWidthMax = 65536;

constexpr Setting kLayerRows[] = {
    {.key = "name",
     .default_value = "",
     .help = "The layer's name, by which others take what it gives."},
    {.key = "type",
     .default_value = "linear",
     .help = "linear, activation, concat, slice, add, multiply, sum_vectors, interaction (dot "
             "products of all pairs of vectors), fm (their sum), cross and low_rank_cross (of x0 "
             "and x), layer_norm, batch_norm, or wide (single weights of keys and numeric "
             "features). docs/layers.md has the formulas."},
    {.key = "inputs",
     .type = SettingType::kTextList,
     .default_value = "",
     .help =
         "Names of earlier layers or of tables, or embeddings (the vectors of all categorical and "
         "bucketised features, side by side) and dense (the numeric features)."},
    {.key = "widths",
     .type = SettingType::kIntList,
     .default_value = "",
     .help = "Of linear: how many numbers it gives. Several widths are as many layers, one after "
             "the other, all with this activation.",
     .min = 1,
     .max = kWidthMax},
    {.key = "rank",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Of low_rank_cross: the rank of its two matrices.",
     .min = 0,
     .max = kWidthMax},
    {.key = "columns",
     .type = SettingType::kIntList,
     .default_value = "",
     .help = "Of slice: the first column, and how many.",
     .min = 0,
     .max = 16777216},
    {.key = "activation",
     .type = SettingType::kChoice,
     .default_value = "none",
     .help = "Of linear and activation: max(x, 0), 1 / (1 + exp(-x)), or tanh(x).",
     .choices = "none|relu|sigmoid|tanh"},
    {.key = "dropout",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Of linear with relu: training leaves out the share model.dropout of its units."},
};

Status WrongLayer(const Settings& section, std::string_view key, std::string_view what) {
  return WrongIn("layer", section, key, what);
}

// Keys that belong to layers of other kinds.
Status CheckKeys(const Settings& section, LayerKind kind) {
  const std::tuple<const char*, bool, const char*> keys[] = {
      {"widths", kind == LayerKind::kLinear, "linear"},
      {"rank", kind == LayerKind::kLowRankCross, "low_rank_cross"},
      {"columns", kind == LayerKind::kSlice, "slice"},
      {"activation", kind == LayerKind::kLinear || kind == LayerKind::kActivation,
       "linear or activation"},
      {"dropout", kind == LayerKind::kLinear, "linear"}};
  for (const auto& [key, has_effect, type] : keys) {
    if (has_effect || !section.IsSet(key)) continue;
    return WrongLayer(section, key,
                      fmt::format("is of layers of type {}, and this one is of type {}: remove it",
                                  type, LayerKindName(kind)));
  }
  return {};
}

Result<LayerSpec> ReadLayer(const Settings& section) {
  const std::string& type = section.Text("type");
  const std::optional<LayerKind> kind = LayerKindOf(type);
  if (!kind.has_value()) {
    return WrongLayer(section, "type",
                      fmt::format("is \"{}\": expected one of {}", type, LayerKindNames(", ")));
  }
  STRATA_TRY(CheckKeys(section, *kind));
  LayerSpec layer{.name = section.Text("name"),
                  .kind = *kind,
                  .inputs = section.TextList("inputs"),
                  .activation = ActivationOf(section.Text("activation")).value(),  // a choice
                  .is_hidden = section.Bool("dropout"),
                  .place = section.Where()};
  if (layer.name.empty()) return WrongLayer(section, "name", "is empty: name the layer");
  if (*kind == LayerKind::kLowRankCross) layer.width = static_cast<uint32_t>(section.Int("rank"));
  if (*kind == LayerKind::kSlice) {
    const std::vector<int64_t>& columns = section.IntList("columns");
    if (columns.size() != 2) {
      return WrongLayer(
          section, "columns",
          fmt::format("has {} numbers: expected 2, the first column and how many", columns.size()));
    }
    layer.begin = static_cast<uint32_t>(columns[0]);
    layer.width = static_cast<uint32_t>(columns[1]);
  }
  return layer;
}

// Appends a linear layer for each of the widths.
Status AddLinear(const Settings& section, const LayerSpec& whole, std::vector<LayerSpec>* layers) {
  const std::vector<int64_t>& widths = section.IntList("widths");
  if (widths.empty())
    return WrongLayer(section, "widths", "is empty: say how many numbers it gives");
  std::vector<std::string> inputs = whole.inputs;
  for (size_t i = 0; i < widths.size(); ++i) {
    LayerSpec layer = whole;
    if (i + 1 < widths.size()) layer.name = fmt::format("{}.{}", whole.name, i + 1);
    layer.inputs = inputs;
    layer.width = static_cast<uint32_t>(widths[i]);
    inputs = {layer.name};
    layers->push_back(std::move(layer));
  }
  return {};
}

}  // namespace

std::span<const Setting> LayerSettingRows() { return kLayerRows; }

Result<std::vector<LayerSpec>> ReadLayers(const Settings& settings) {
  std::vector<LayerSpec> layers;
  for (const Settings& section : settings.Repeated("layer")) {
    STRATA_ASSIGN(LayerSpec layer, ReadLayer(section));
    if (layer.kind == LayerKind::kLinear) {
      STRATA_TRY(AddLinear(section, layer, &layers));
    } else {
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

std::string LayersToToml(std::span<const LayerSpec> layers) {
  std::string text;
  for (const LayerSpec& layer : layers) {
    text += fmt::format("[[layer]]\nname = {:?}\ntype = \"{}\"\n", layer.name,
                        LayerKindName(layer.kind));
    if (!layer.inputs.empty()) text += fmt::format("inputs = {}\n", layer.inputs);
    if (layer.kind == LayerKind::kLinear) text += fmt::format("widths = [{}]\n", layer.width);
    if (layer.kind == LayerKind::kLowRankCross) text += fmt::format("rank = {}\n", layer.width);
    if (layer.kind == LayerKind::kSlice) {
      text += fmt::format("columns = [{}, {}]\n", layer.begin, layer.width);
    }
    if (layer.activation != Activation::kNone) {
      text += fmt::format("activation = \"{}\"\n", ActivationName(layer.activation));
    }
    if (layer.is_hidden) text += "dropout = true\n";
    text += "\n";
  }
  return text;
}

}  // namespace strata
