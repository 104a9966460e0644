#include "tests/worker/model/free_graphs.h"

#include <utility>

namespace strata {
namespace {

using Kind = LayerKind;

ModelShape Shape(std::vector<LayerSpec> layers) {
  ModelShape shape;
  shape.kind = ModelKind::kLayers;
  shape.embedding_dim = 4;
  shape.slots = 3;
  shape.dense_width = 4;
  shape.layers = std::move(layers);
  return shape;
}

LayerSpec Linear(const std::string& name, const std::string& input, uint32_t width,
                 Activation activation = Activation::kNone) {
  return {.name = name,
          .kind = Kind::kLinear,
          .inputs = {input},
          .width = width,
          .activation = activation};
}

LayerSpec Slice(const std::string& name, const std::string& input, uint32_t begin, uint32_t width) {
  return {.name = name, .kind = Kind::kSlice, .inputs = {input}, .width = width, .begin = begin};
}

// Activations, by themselves and as part of a linear layer.
ModelShape WithActivations() {
  return Shape(
      {Linear("a", "dense", 6, Activation::kSigmoid),
       Linear("b", "embeddings", 6, Activation::kTanh),
       {.name = "both", .kind = Kind::kAdd, .inputs = {"a", "b"}},
       {.name = "s",
        .kind = Kind::kActivation,
        .inputs = {"both"},
        .activation = Activation::kSigmoid},
       {.name = "t",
        .kind = Kind::kActivation,
        .inputs = {"both"},
        .activation = Activation::kTanh},
       {.name = "r", .kind = Kind::kActivation, .inputs = {"b"}, .activation = Activation::kRelu},
       {.name = "all", .kind = Kind::kConcat, .inputs = {"s", "t", "r"}},
       Linear("logit", "all", 1)});
}

// Slices of an input, of a value that others take whole, of a concat, and one of a slice.
ModelShape WithSlices() {
  return Shape({Linear("hidden", "embeddings", 9, Activation::kTanh),
                Slice("left", "hidden", 0, 5),
                Slice("inner", "left", 1, 3),
                Linear("partly", "embeddings", 6, Activation::kTanh),
                Slice("used", "partly", 2, 3),
                Slice("vectors", "embeddings", 4, 8),
                Slice("some_dense", "dense", 1, 2),
                {.name = "pairs", .kind = Kind::kFm, .inputs = {"vectors"}},
                {.name = "all",
                 .kind = Kind::kConcat,
                 .inputs = {"hidden", "inner", "used", "vectors", "some_dense", "pairs"}},
                Slice("end", "all", 10, 9),
                Linear("first", "end", 1),
                Linear("second", "all", 1),
                {.name = "logit", .kind = Kind::kAdd, .inputs = {"first", "second"}}});
}

// A value times itself, times another one, and sums of vectors.
ModelShape WithProducts() {
  return Shape(
      {Linear("a", "dense", 4),
       {.name = "sum", .kind = Kind::kSumVectors, .inputs = {"embeddings"}},
       {.name = "square", .kind = Kind::kMultiply, .inputs = {"sum", "sum"}},
       {.name = "product", .kind = Kind::kMultiply, .inputs = {"a", "sum"}},
       {.name = "squares", .kind = Kind::kMultiply, .inputs = {"embeddings", "embeddings"}},
       {.name = "sum_of_squares", .kind = Kind::kSumVectors, .inputs = {"squares"}},
       {.name = "all", .kind = Kind::kConcat, .inputs = {"square", "product", "sum_of_squares"}},
       Linear("hidden", "all", 6, Activation::kRelu),
       Linear("logit", "hidden", 1)});
}

ModelShape WithLayerNorm() {
  return Shape({{.name = "inputs", .kind = Kind::kConcat, .inputs = {"embeddings", "dense"}},
                {.name = "normal", .kind = Kind::kLayerNorm, .inputs = {"inputs"}},
                Linear("hidden", "normal", 7),
                {.name = "normal2", .kind = Kind::kLayerNorm, .inputs = {"hidden"}},
                {.name = "active",
                 .kind = Kind::kActivation,
                 .inputs = {"normal2"},
                 .activation = Activation::kTanh},
                {.name = "rest", .kind = Kind::kAdd, .inputs = {"active", "hidden"}},
                Linear("deep", "rest", 1),
                {.name = "wide", .kind = Kind::kWide},
                {.name = "logit", .kind = Kind::kAdd, .inputs = {"deep", "wide"}}});
}

// Three tables of vectors of several lengths, taken by name, as a whole and as single weights.
ModelShape WithTables() {
  ModelShape shape =
      Shape({{.name = "pairs", .kind = Kind::kFm, .inputs = {"users"}},
             {.name = "items_sum", .kind = Kind::kSumVectors, .inputs = {"items"}},
             Slice("end", "items", 4, 2),
             {.name = "all",
              .kind = Kind::kConcat,
              .inputs = {"embeddings", "dense", "items_sum", "end", "ages"}},
             Linear("hidden", "all", 6, Activation::kRelu),
             Linear("deep", "hidden", 1),
             {.name = "wide", .kind = Kind::kWide},
             {.name = "logit", .kind = Kind::kAdd, .inputs = {"pairs", "wide", "deep"}}});
  shape.slots = 6;
  shape.tables = {{.name = "users", .slots = 3, .dim = 4},
                  {.name = "items", .slots = 2, .dim = 3},
                  {.name = "ages", .slots = 1, .dim = 1}};
  return shape;
}

// A fixed kind over tables, one of which is of all but one slot.
ModelShape FixedOverTables() {
  ModelShape shape{ModelKind::kDcn, 4, {6}, 4, 2, {}, 2};
  shape.tables = {{.name = "a", .slots = 3, .dim = 2}, {.name = "b", .slots = 1, .dim = 5}};
  return shape;
}

ModelShape WithMean(ModelShape shape) {
  shape.combiner = Combiner::kMean;
  return shape;
}

// The logit itself, of another number of its own.
ModelShape WithNormalLogit() {
  return Shape({{.name = "sum", .kind = Kind::kSumVectors, .inputs = {"embeddings"}},
                Linear("score", "sum", 1),
                {.name = "logit", .kind = Kind::kBatchNorm, .inputs = {"score"}}});
}

// The parts of the logit by layers that otherwise stand within a network.
ModelShape WithLogitParts() {
  return Shape({Linear("a", "dense", 1),
                Linear("b", "embeddings", 1),
                {.name = "product", .kind = Kind::kMultiply, .inputs = {"a", "b"}},
                {.name = "s",
                 .kind = Kind::kActivation,
                 .inputs = {"b"},
                 .activation = Activation::kSigmoid},
                Linear("t", "dense", 1, Activation::kTanh),
                Slice("d", "dense", 2, 1),
                {.name = "logit", .kind = Kind::kAdd, .inputs = {"product", "s", "t", "d"}}});
}

}  // namespace

std::vector<ModelShape> FreeGraphs() {
  return {WithActivations(), WithSlices(),    WithProducts(),   WithLayerNorm(),
          WithLogitParts(),  WithBatchNorm(), WithNormalLogit()};
}

// Of dense features, of vectors, and of a value that another layer takes, too.
ModelShape WithBatchNorm() {
  return Shape({{.name = "features", .kind = Kind::kBatchNorm, .inputs = {"dense"}},
                {.name = "vectors", .kind = Kind::kBatchNorm, .inputs = {"embeddings"}},
                {.name = "pairs", .kind = Kind::kFm, .inputs = {"vectors"}},
                {.name = "inputs", .kind = Kind::kConcat, .inputs = {"embeddings", "features"}},
                Linear("hidden", "inputs", 7),
                {.name = "normal", .kind = Kind::kBatchNorm, .inputs = {"hidden"}},
                {.name = "active",
                 .kind = Kind::kActivation,
                 .inputs = {"normal"},
                 .activation = Activation::kTanh},
                {.name = "rest", .kind = Kind::kAdd, .inputs = {"active", "hidden"}},
                Linear("deep", "rest", 1),
                {.name = "wide", .kind = Kind::kWide},
                {.name = "logit", .kind = Kind::kAdd, .inputs = {"deep", "pairs", "wide"}}});
}

std::vector<ModelShape> GraphsOfMeans() {
  return {WithMean(WithLayerNorm()), WithMean({ModelKind::kLogistic, 0, {}, 4, 1}),
          WithMean({ModelKind::kFm, 3, {}, 3, 1}), WithMean({ModelKind::kDeepFm, 4, {5}, 4, 2})};
}

std::vector<ModelShape> GraphsOfNumbers() {
  std::vector<ModelShape> all = {
      WithProducts(), {ModelKind::kLogistic, 0, {}, 3, 2}, {ModelKind::kDeepFm, 4, {5}, 3, 2}};
  for (ModelShape& shape : all) shape.loss = LossKind::kMse;
  return all;
}

std::vector<ModelShape> GraphsOfTables() {
  ModelShape of_both = WithTables();
  of_both.tables[1].combiner = Combiner::kMean;
  return {WithTables(), FixedOverTables(), std::move(of_both)};
}

}  // namespace strata
