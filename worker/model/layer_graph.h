// LayerGraph: a network that scores clicks, as data: its layers, what each of them takes and gives,
// where values lie in memory and where parameters stand. Executors compute it (network.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/dense/activation.h"
#include "kernels/dense/loss.h"
#include "strata/combiner.h"
#include "strata/status.h"

namespace strata {

// The formulas are of one sample. x is the layer's input, y what it gives.
enum class LayerKind : uint8_t {
  // y = activation(x W + b); W is in x out, row-major.
  kLinear,
  // y = the inputs side by side.
  kConcat,
  // x is P vectors of D elements side by side. y = the first of them, then the dot products of all
  // pairs (1,0), (2,0), (2,1), (3,0) and so on, then zeros up to a multiple of 8 (Naumov et al.,
  // "Deep Learning Recommendation Model", 2019; the zeros as HugeCTR has them).
  kInteraction,
  // Of the inputs x0 and x: y = x0 <x, w> + b + x (Wang et al., "Deep & Cross Network", ADKDD
  // 2017).
  kCross,
  // Of the inputs x0 and x: y = x0 * (x U V + b) + x, element by element; U is in x rank, V is rank
  // x in (Wang et al., "DCN V2", WWW 2021).
  kLowRankCross,
  // x is P vectors of D elements. y = the sum of <v_s, v_t> over all s < t (Rendle, ICDM 2010).
  kFm,
  // y = b + the sum of the single weights of the sample's keys, each times its value in the data,
  // + <w, dense features>. Of a table with a mean it is the mean of each slot's weights that
  // counts.
  kWide,
  // y = the sum of the inputs, from the first to the last.
  kAdd,
  // Of two inputs: y = their product, element by element.
  kMultiply,
  // y = activation(x).
  kActivation,
  // y = some columns of x, in its place.
  kSlice,
  // x is P vectors of D elements. y = their sum.
  kSumVectors,
  // y = (x - mean) / sqrt(variance + 1e-5) * scales + biases, of the sample's elements (Ba et al.,
  // "Layer Normalization", 2016).
  kLayerNorm,
  // y = (x - mean) / sqrt(variance + 1e-5) * scales + biases, column by column (Ioffe and Szegedy,
  // "Batch Normalization", ICML 2015). Training takes the moments of the batch, and scoring the
  // running statistics of training.
  kBatchNorm,
};
const char* LayerKindName(LayerKind kind);  // "linear", "low_rank_cross", ...
std::optional<LayerKind> LayerKindOf(std::string_view name);
// The names of all kinds, with this between them.
std::string LayerKindNames(std::string_view between);

// The names of what a graph starts with.
inline constexpr const char* kDenseInput = "dense";            // samples x dense_width
inline constexpr const char* kEmbeddingsInput = "embeddings";  // samples x all slots' vectors

struct LayerSpec {
  std::string name;
  LayerKind kind = LayerKind::kLinear;
  std::vector<std::string> inputs = {};  // names of earlier layers, or of the two above
  // kLinear: outputs; kLowRankCross: rank; kSlice: columns. Otherwise 0.
  uint32_t width = 0;
  uint32_t begin = 0;                         // kSlice: the first column
  Activation activation = Activation::kNone;  // kLinear, kActivation
  bool is_hidden = false;                     // kLinear with kRelu: training may drop units of it
  std::string place = {};                     // where people wrote it, for messages: "job.toml:12"

  // Whether both are the same layer, wherever they were written.
  friend bool operator==(const LayerSpec& a, const LayerSpec& b) {
    return std::tie(a.name, a.kind, a.inputs, a.width, a.begin, a.activation, a.is_hidden) ==
           std::tie(b.name, b.kind, b.inputs, b.width, b.begin, b.activation, b.is_hidden);
  }
};

const char* CombinerName(Combiner combiner);  // "sum", "mean"
std::optional<Combiner> CombinerOf(std::string_view name);

// Slots whose keys are rows of one table.
struct GraphTable {
  std::string name = {};  // layers take its vectors by this name; "": by kEmbeddingsInput alone
  uint32_t slots = 0;
  uint32_t dim = 0;                    // elements of a slot's vector
  Combiner combiner = Combiner::kSum;  // of the rows of a slot's keys, single weights included
  std::string place = {};              // where people wrote it, for messages: "job.toml:12"

  // Whether both are the same table, wherever they were written.
  friend bool operator==(const GraphTable& a, const GraphTable& b) {
    return std::tie(a.name, a.slots, a.dim, a.combiner) ==
           std::tie(b.name, b.slots, b.dim, b.combiner);
  }
};

struct GraphSpec {
  std::vector<GraphTable> tables = {};  // of the batch's slots, from the first to the last
  uint32_t dense_width = 0;
  std::vector<LayerSpec> layers = {};  // the last one gives the logit
  LossKind loss = LossKind::kLogloss;  // of kMse the "logit" is the prediction itself
};

// Where a table's slots and vectors stand.
struct TablePlace {
  uint32_t first_slot = 0;  // of the batch
  uint32_t column = 0;      // of the embeddings
};

// Some of a flat vector of numbers.
struct ParameterRange {
  size_t at = 0;
  size_t count = 0;
  size_t end() const { return at + count; }
};

// The parameters of a layer. Those that training learns lie side by side.
struct LayerParameters {
  ParameterRange weights;         // W, w, U; kWide: w
  ParameterRange second_weights;  // V
  ParameterRange scales;          // kLayerNorm, kBatchNorm
  ParameterRange biases;          // kWide: first of the three
  // kBatchNorm: `statistics` of kernels/dense/batch_norm.h, after all that training learns. Their
  // gradients are its `sums`, and no optimizer updates them (UpdateStatistics).
  ParameterRange statistics;
  size_t count() const {
    return weights.count + second_weights.count + scales.count + biases.count + statistics.count;
  }
};

// A matrix of samples x width, whole or some columns of another one.
struct GraphValue {
  std::string name;
  uint32_t width = 0;
  // The value that holds its columns, or its own number; the first of them there.
  uint32_t root = 0;
  uint32_t column = 0;
  uint32_t vectors = 1;  // side by side, of width / vectors elements each
  // The logit, or a number that is added up to it: fp32 however narrow other values are.
  bool is_of_logit = false;
};

struct GraphLayer {
  LayerSpec spec;
  std::vector<uint32_t> inputs = {};  // values
  uint32_t output = 0;                // a value
  LayerParameters parameters = {};
  // kLinear: its place among the layers whose units training may drop.
  uint32_t hidden_number = 0;
};

class LayerGraph {
 public:
  // kInvalid names the layer and its place: an input that no earlier layer gives, a layer that
  // nothing uses, one of no width, inputs that do not fit each other, a setting that its kind does
  // not have, a last layer that gives more than the logit.
  static Result<LayerGraph> Make(GraphSpec spec);

  static constexpr size_t kLayersMax = 4096;
  static constexpr uint32_t kWidthMax = uint32_t{1} << 24;  // of a value
  // Parameters of a network: 8 GiB, and the gradients and the optimizer's state besides.
  static constexpr size_t kParametersMax = size_t{1} << 31;
  // Values of these numbers are there whether or not a layer takes them. Those of tables follow.
  static constexpr uint32_t kDense = 0;
  static constexpr uint32_t kEmbeddings = 1;

  const GraphSpec& spec() const { return spec_; }
  const std::vector<GraphLayer>& layers() const { return layers_; }
  const std::vector<GraphValue>& values() const { return values_; }
  uint32_t output() const { return layers_.back().output; }
  size_t parameters() const { return parameters_; }
  // How many of them, from the first on, training learns; the others are statistics.
  size_t learned_parameters() const { return learned_parameters_; }
  uint32_t slots() const { return slots_; }
  // By table, as the spec has them.
  const std::vector<uint32_t>& table_slots() const { return table_slots_; }
  const std::vector<TablePlace>& table_places() const { return table_places_; }
  // Whether a key's row begins with a single weight, before its vector.
  bool has_key_weights() const { return has_key_weights_; }
  // Elements of a row of this table.
  uint32_t row_dim(size_t table) const {
    return spec_.tables[table].dim + (has_key_weights_ ? 1 : 0);
  }
  // Whether any layer names this value among its inputs. `wide` takes dense features and keys
  // without naming them.
  bool IsTaken(uint32_t value) const;
  // Whether any layer takes the embeddings.
  bool has_embeddings() const { return has_embeddings_; }

  // A table of layers, widths and parameters for people.
  std::string ToText() const;

 private:
  Status AddInputs();
  Status Add(const LayerSpec& layer);
  // "an earlier layer (job.toml:12)"; "": nothing.
  std::string WhatIsCalled(const std::string& name) const;
  // The layer by whose name people know it: of a [[layer]] with several widths the last one.
  const LayerSpec& SectionOf(const LayerSpec& layer) const;
  // What to do about an input of this name, which no earlier layer gives; of the layer's section.
  std::string HintFor(const LayerSpec& layer, const std::string& name) const;
  // The value that has this name.
  Result<uint32_t> FindInput(const LayerSpec& layer, const std::string& name) const;
  Status Shape(GraphLayer* layer, GraphValue* output);
  void ShapeConcat(const GraphLayer& layer, GraphValue* output) const;
  Status CheckVectors(const GraphLayer& layer) const;
  Status ShapeSlice(const GraphLayer& layer, GraphValue* output) const;
  void PlaceParameters(GraphLayer* layer);
  void PlaceStatistics();
  void PlaceConcatenated();
  void PlaceSlices();
  void FindLogitParts(const std::vector<uint32_t>& uses);
  uint32_t WidthOf(uint32_t value) const { return values_[value].width; }

  GraphSpec spec_;
  uint32_t slots_ = 0;
  uint32_t named_tables_ = 0;
  std::vector<uint32_t> table_slots_;
  std::vector<TablePlace> table_places_;
  std::vector<GraphLayer> layers_;
  std::vector<GraphValue> values_;
  size_t parameters_ = 0;
  size_t learned_parameters_ = 0;
  bool has_key_weights_ = false;
  bool has_embeddings_ = false;
};

}  // namespace strata
