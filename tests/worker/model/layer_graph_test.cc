// What a graph of layers says of itself, where its values stand, and which graphs are refused.
#include "worker/model/layer_graph.h"

#include <gmock/gmock.h>

namespace strata {
namespace {

using testing::HasSubstr;

constexpr LayerKind kLinear = LayerKind::kLinear;

GraphSpec Spec(std::vector<LayerSpec> layers) {
  return {.tables = {{.slots = 3, .dim = 4}}, .dense_width = 2, .layers = std::move(layers)};
}

LayerSpec Logit(const std::string& input) {
  return {.name = "logit", .kind = kLinear, .inputs = {input}, .width = 1};
}

TEST(LayerGraph, ConcatenatedValuesAreColumnsOfTheWhole) {
  const auto graph = LayerGraph::Make(
      Spec({{.name = "bottom", .kind = kLinear, .inputs = {"dense"}, .width = 4},
            {.name = "vectors", .kind = LayerKind::kConcat, .inputs = {"bottom", "embeddings"}},
            {.name = "all", .kind = LayerKind::kConcat, .inputs = {"vectors", "dense", "bottom"}},
            {.name = "products", .kind = LayerKind::kInteraction, .inputs = {"vectors"}},
            {.name = "both", .kind = LayerKind::kConcat, .inputs = {"all", "products"}},
            Logit("both")}));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto value = [&](const std::string& name) {
    return *std::ranges::find(graph->values(), name, &GraphValue::name);
  };
  const GraphValue whole = value("both");
  EXPECT_EQ(whole.width, 4 + 12 + 2 + 4 + 16);  // 4 + 6 products, up to a multiple of 8
  const std::tuple<const char*, uint32_t> columns[] = {
      {"all", 0}, {"vectors", 0}, {"embeddings", 4}, {"products", 22}};
  for (const auto& [name, column] : columns) {
    EXPECT_EQ(value(name).root, whole.root) << name;
    EXPECT_EQ(value(name).column, column) << name;
  }
  // It has one place of the two that it could have.
  EXPECT_EQ(value("bottom").root, whole.root);
  EXPECT_EQ(value("bottom").column, 18);
  EXPECT_EQ(value("dense").root, LayerGraph::kDense);
  EXPECT_EQ(value("vectors").vectors, 4U);
  EXPECT_EQ(graph->parameters(), 2 * 4 + 4 + 38 + 1);
  EXPECT_FALSE(graph->has_key_weights());
  EXPECT_EQ(graph->row_dim(0), 4U);
}

TEST(LayerGraph, TellsPeopleItsLayers) {
  const auto graph = LayerGraph::Make(
      Spec({{.name = "wide", .kind = LayerKind::kWide},
            {.name = "pairs", .kind = LayerKind::kFm, .inputs = {"embeddings"}},
            {.name = "sum", .kind = LayerKind::kAdd, .inputs = {"wide", "pairs"}}}));
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(graph->ToText(), HasSubstr("3 slots of 4, rows of 5\n"));
  EXPECT_THAT(graph->ToText(), HasSubstr("wide, pairs"));
}

TEST(LayerGraph, RefusesWhatCannotBe) {
  const auto why = [](GraphSpec spec) {
    return LayerGraph::Make(std::move(spec)).status().ToString();
  };
  EXPECT_THAT(why(Spec({})), HasSubstr("without layers"));
  EXPECT_THAT(why(Spec({Logit("nobody")})),
              HasSubstr("layer 'logit' (linear): input 'nobody' is neither dense"));
  EXPECT_THAT(why(Spec({Logit("logit")})), HasSubstr("input 'logit' is neither"));
  EXPECT_THAT(why(Spec({Logit("desne")})),
              HasSubstr("a table nor an earlier layer; did you mean 'dense'?"));
  EXPECT_THAT(why(Spec({{.name = "dense", .kind = kLinear, .inputs = {"dense"}, .width = 1}})),
              HasSubstr("its name is that of an input: name it otherwise"));
  EXPECT_THAT(why(Spec({{.name = "a", .kind = kLinear, .inputs = {"dense"}, .width = 3}})),
              HasSubstr("gives 3 numbers a sample: expected 1"));
  EXPECT_THAT(why(Spec({{.name = "a", .kind = kLinear, .inputs = {"dense"}, .width = 0}})),
              HasSubstr("gives 0 numbers"));
  EXPECT_THAT(why(Spec({{.name = "a", .kind = kLinear, .inputs = {"dense"}, .width = 3},
                        Logit("embeddings")})),
              HasSubstr("layer 'a' (linear): no other layer takes what it gives"));
  EXPECT_THAT(why(Spec({{.name = "a", .kind = kLinear, .inputs = {}, .width = 1}})),
              HasSubstr("it has 0 inputs: expected 1"));
  EXPECT_THAT(
      why(Spec({{.name = "a", .kind = LayerKind::kAdd, .inputs = {"dense", "embeddings"}}})),
      HasSubstr("its inputs have 2 and 12 elements"));
  EXPECT_THAT(
      why(Spec({{.name = "a", .kind = LayerKind::kCross, .inputs = {"dense", "embeddings"}}})),
      HasSubstr("its inputs have 2 and 12 elements"));
  EXPECT_THAT(why(Spec({{.name = "a", .kind = LayerKind::kInteraction, .inputs = {"dense"}}})),
              HasSubstr("its input 'dense' is not several vectors of one length"));
  EXPECT_THAT(
      why(Spec({{.name = "a", .kind = LayerKind::kWide}, {.name = "b", .kind = LayerKind::kWide}})),
      HasSubstr("layer 'b' (wide): there is one already"));
  EXPECT_THAT(why(Spec({{.name = "a", .kind = LayerKind::kFm, .inputs = {"dense"}}})),
              HasSubstr("layer 'a' (fm): its input 'dense' is not several vectors of one length"));
  GraphSpec uneven = Spec({{.name = "a", .kind = LayerKind::kFm, .inputs = {"embeddings"}}});
  uneven.tables = {{.name = "x", .slots = 2, .dim = 4}, {.name = "y", .slots = 2, .dim = 3}};
  for (const LayerKind kind : {LayerKind::kFm, LayerKind::kInteraction}) {
    uneven.layers[0].kind = kind;
    EXPECT_THAT(why(uneven), HasSubstr("its input 'embeddings' is not several vectors"));
  }
  uneven.layers[0] = {.name = "a", .kind = LayerKind::kFm, .inputs = {"y"}};
  EXPECT_TRUE(LayerGraph::Make(uneven).ok());
  uneven.tables[1].slots = 1;
  uneven.layers[0].kind = LayerKind::kInteraction;
  EXPECT_THAT(why(uneven), HasSubstr("its input is one vector"));
  GraphSpec large = Spec({Logit("embeddings")});
  large.tables[0].slots = 1U << 31;
  EXPECT_THAT(why(large), HasSubstr("expected at most"));
  GraphSpec empty = Spec({Logit("dense")});
  empty.dense_width = 0;
  EXPECT_THAT(why(empty), HasSubstr("input 'dense' has no elements"));
}

}  // namespace
}  // namespace strata
