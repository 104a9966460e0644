// [[layer]]s of a job file: what they become, and which of them are refused.
#include "worker/job/layer_settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/worker/model/free_graphs.h"
#include "worker/job/job.h"

namespace strata {
namespace {

using testing::HasSubstr;

// Line 13 is the first one of `layers`.
std::string JobOf(const std::string& layers) {
  return R"([data]
train = "train.csv"
columns = ["user", "age", "height", "y"]
label = "y"
[[feature]]
columns = ["user"]
[[feature]]
kind = "numeric"
columns = ["age", "height"]
[model]
kind = "layers"
embedding_dim = 4
)" + layers;
}

Result<std::vector<LayerSpec>> LayersOf(const std::string& layers,
                                        const std::vector<std::string>& overrides = {}) {
  STRATA_ASSIGN(JobConfig job, ParseJob(JobOf(layers), "job.toml", overrides));
  return std::move(job.layers);
}

TEST(LayerSettings, SectionsAreLayersAndLayersAreSections) {
  for (const ModelShape& shape : FreeGraphs()) {
    const auto layers = LayersOf(LayersToToml(shape.layers));
    ASSERT_TRUE(layers.ok()) << layers.status().ToString();
    EXPECT_EQ(*layers, shape.layers);
  }
}

TEST(LayerSettings, SeveralWidthsAreSeveralLayers) {
  const auto layers = LayersOf(R"([[layer]]
name = "top"
inputs = ["dense"]
widths = [8, 4, 2]
activation = "relu"
dropout = true
)");
  ASSERT_TRUE(layers.ok()) << layers.status().ToString();
  const auto layer = [](const char* name, const char* input, uint32_t width) {
    return LayerSpec{.name = name,
                     .kind = LayerKind::kLinear,
                     .inputs = {input},
                     .width = width,
                     .activation = Activation::kRelu,
                     .is_hidden = true};
  };
  const std::vector<LayerSpec> expected = {layer("top.1", "dense", 8), layer("top.2", "top.1", 4),
                                           layer("top", "top.2", 2)};
  EXPECT_EQ(*layers, expected);
}

TEST(LayerSettings, WhatASectionCannotSay) {
  const std::string head = "[[layer]]\nname = \"a\"\ninputs = [\"dense\"]\n";
  const std::pair<std::string, const char*> wrong[] = {
      {"", "there is no [[layer]]"},
      {"[[layer]]\ntype = \"linear\"\nwidths = [1]\n", "job.toml:13:1: layer.name is empty"},
      {head + "type = \"liner\"\n",
       "job.toml:16:1: layer.type is \"liner\": expected one of linear, concat"},
      {head, "layer.widths is empty: say how many"},
      {head + "widths = [0]\n", "job.toml:16"},
      {head + "type = \"fm\"\nwidths = [3]\n",
       "job.toml:17:1: layer.widths is of layers of type linear"},
      {head + "rank = 3\nwidths = [3]\n", "layer.rank is of layers of type low_rank_cross"},
      {head + "type = \"slice\"\ncolumns = [3]\n", "layer.columns has 1 numbers: expected 2"},
      {head + "type = \"add\"\nactivation = \"relu\"\n",
       "layer.activation is of layers of type linear or activation"},
      {head + "type = \"concat\"\ndropout = true\n", "layer.dropout is of layers of type linear"},
      {head + "widths = [3]\nwidht = 3\n", "unknown key"},
      {head + "widths = [3]\nactivation = \"gelu\"\n", "gelu"}};
  for (const auto& [text, message] : wrong) {
    const Status status = LayersOf(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(status.ToString(), HasSubstr(message)) << text;
  }
  const std::string right = head + "widths = [1]\n";
  EXPECT_TRUE(LayersOf(right).ok());
  EXPECT_THAT(LayersOf(right, {"model.kind=dlrm"}).status().ToString(),
              HasSubstr("job.toml:13:1: [[layer]] has no effect on model.kind = \"dlrm\""));
  EXPECT_THAT(LayersOf(right, {"model.dropout=0.5"}).status().ToString(),
              HasSubstr("model.dropout has no effect: no [[layer]] has dropout = true"));
}

}  // namespace
}  // namespace strata
