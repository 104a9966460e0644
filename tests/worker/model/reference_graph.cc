#include "tests/worker/model/reference_graph.h"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

using Vector = std::vector<double>;

// Reads parameters from the first to the last, as layers stand in the graph.
class Parameters {
 public:
  Parameters(const std::vector<float>& all, size_t at) : all_(&all), at_(at) {}
  Vector Take(size_t count) {
    const auto begin = all_->begin() + static_cast<ptrdiff_t>(at_);
    at_ += count;
    return {begin, begin + static_cast<ptrdiff_t>(count)};
  }

 private:
  const std::vector<float>* all_;
  size_t at_;
};

// x W, with W of x.size() x out.
Vector Times(const Vector& x, const Vector& w, size_t out) {
  Vector y(out);
  for (size_t o = 0; o < out; ++o) {
    for (size_t i = 0; i < x.size(); ++i) y[o] += x[i] * w[i * out + o];
  }
  return y;
}

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector Part(const Vector& x, size_t number, size_t size) {
  const auto begin = x.begin() + static_cast<ptrdiff_t>(number * size);
  return {begin, begin + static_cast<ptrdiff_t>(size)};
}

struct Value {
  Vector x;
  size_t vectors = 1;
};

double Applied(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
  }
  return x;
}

Value Linear(const LayerSpec& layer, const Vector& x, Parameters* next) {
  const Vector w = next->Take(x.size() * layer.width);
  const Vector b = next->Take(layer.width);
  Value out{Times(x, w, layer.width)};
  for (size_t o = 0; o < b.size(); ++o) out.x[o] = Applied(layer.activation, out.x[o] + b[o]);
  return out;
}

Value Concat(const std::vector<Value>& in) {
  Value out{{}, 0};
  for (const Value& part : in) {
    out.x.insert(out.x.end(), part.x.begin(), part.x.end());
    out.vectors += part.vectors;
  }
  return out;
}

Value Interaction(const Value& in) {
  const size_t dim = in.x.size() / in.vectors;
  Value out{Part(in.x, 0, dim)};
  for (size_t v = 1; v < in.vectors; ++v) {
    for (size_t u = 0; u < v; ++u) {
      out.x.push_back(Dot(Part(in.x, v, dim), Part(in.x, u, dim)));
    }
  }
  while (out.x.size() % 8 != 0) out.x.push_back(0);
  return out;
}

Value Cross(const Vector& x0, const Vector& x, Parameters* next) {
  const Vector w = next->Take(x.size());
  const Vector b = next->Take(x.size());
  Value out;
  for (size_t e = 0; e < b.size(); ++e) out.x.push_back(x0[e] * Dot(x, w) + b[e] + x[e]);
  return out;
}

Value LowRankCross(const Vector& x0, const Vector& x, size_t rank, Parameters* next) {
  const Vector u = next->Take(x.size() * rank);
  const Vector v = next->Take(rank * x.size());
  const Vector b = next->Take(x.size());
  const Vector gates = Times(Times(x, u, rank), v, x.size());
  Value out;
  for (size_t e = 0; e < x.size(); ++e) out.x.push_back(x0[e] * (gates[e] + b[e]) + x[e]);
  return out;
}

Value Pairs(const Value& in) {
  const size_t dim = in.x.size() / in.vectors;
  double sum = 0;
  for (size_t s = 0; s < in.vectors; ++s) {
    for (size_t t = s + 1; t < in.vectors; ++t) {
      sum += Dot(Part(in.x, s, dim), Part(in.x, t, dim));
    }
  }
  return {{sum}};
}

Value Sum(const std::vector<Value>& in) {
  Value out{Vector(in[0].x.size())};
  for (const Value& part : in) {
    for (size_t e = 0; e < out.x.size(); ++e) out.x[e] += part.x[e];
  }
  return out;
}

Value Product(const Value& a, const Value& b) {
  Value out = a;
  for (size_t e = 0; e < out.x.size(); ++e) out.x[e] *= b.x[e];
  return out;
}

Value Activated(Activation activation, const Value& in) {
  Value out = in;
  for (double& x : out.x) x = Applied(activation, x);
  return out;
}

Value Columns(const LayerSpec& layer, const Value& in) {
  const auto begin = in.x.begin() + layer.begin;
  const size_t length = in.x.size() / in.vectors;
  const bool is_whole = layer.begin % length == 0 && layer.width % length == 0;
  return {Vector(begin, begin + layer.width), is_whole ? layer.width / length : 1};
}

Value SumOfVectors(const Value& in) {
  const size_t dim = in.x.size() / in.vectors;
  Value out{Vector(dim)};
  for (size_t e = 0; e < in.x.size(); ++e) out.x[e % dim] += in.x[e];
  return out;
}

Value Normalised(const Value& in, Parameters* next) {
  const Vector scales = next->Take(in.x.size());
  const Vector biases = next->Take(in.x.size());
  const auto count = static_cast<double>(in.x.size());
  double mean = 0;
  for (const double x : in.x) mean += x / count;
  double variance = 0;
  for (const double x : in.x) variance += (x - mean) * (x - mean) / count;
  Value out = in;
  for (size_t e = 0; e < out.x.size(); ++e) {
    out.x[e] = (in.x[e] - mean) / std::sqrt(variance + 1e-5) * scales[e] + biases[e];
  }
  return out;
}

// Of all samples. The moments are those of the batch if it `trains`, and else the running ones.
// `sums` gets what statistics have as gradients.
std::vector<Value> BatchNormalised(const std::vector<Value>& in, bool trains, Parameters* next,
                                   Parameters* statistics, Vector* sums) {
  const size_t width = in[0].x.size();
  const auto samples = static_cast<double>(in.size());
  const Vector scales = next->Take(width);
  const Vector biases = next->Take(width);
  const Vector running_means = statistics->Take(width);
  const Vector running_variances = statistics->Take(width);
  Vector square_sums(width);
  std::vector<Value> out = in;
  for (size_t e = 0; e < width; ++e) {
    double mean = 0;
    for (const Value& of : in) mean += of.x[e] / samples;
    double variance = 0;
    for (const Value& of : in) {
      variance += std::pow(of.x[e] - mean, 2) / samples;
      square_sums[e] += std::pow(of.x[e] - running_means[e], 2);
    }
    sums->push_back((mean - running_means[e]) * samples);
    if (!trains) {
      mean = running_means[e];
      variance = running_variances[e];
    }
    for (Value& of : out) {
      of.x[e] = (of.x[e] - mean) / std::sqrt(variance + 1e-5) * scales[e] + biases[e];
    }
  }
  sums->insert(sums->end(), square_sums.begin(), square_sums.end());
  return out;
}

Value Compute(const LayerSpec& layer, const std::vector<Value>& in, Parameters* next) {
  switch (layer.kind) {
    case LayerKind::kLinear:
      return Linear(layer, in[0].x, next);
    case LayerKind::kConcat:
      return Concat(in);
    case LayerKind::kInteraction:
      return Interaction(in[0]);
    case LayerKind::kCross:
      return Cross(in[0].x, in[1].x, next);
    case LayerKind::kLowRankCross:
      return LowRankCross(in[0].x, in[1].x, layer.width, next);
    case LayerKind::kFm:
      return Pairs(in[0]);
    case LayerKind::kAdd:
      return Sum(in);
    case LayerKind::kMultiply:
      return Product(in[0], in[1]);
    case LayerKind::kActivation:
      return Activated(layer.activation, in[0]);
    case LayerKind::kSlice:
      return Columns(layer, in[0]);
    case LayerKind::kSumVectors:
      return SumOfVectors(in[0]);
    case LayerKind::kLayerNorm:
      return Normalised(in[0], next);
    case LayerKind::kWide:       // of keys and dense features, not of layers
    case LayerKind::kBatchNorm:  // of all samples
      break;
  }
  return {};
}

}  // namespace

GraphExample::GraphExample(GraphSpec spec_in, size_t samples, uint64_t seed, bool weighted)
    : spec(std::move(spec_in)) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  batch.samples = samples;
  batch.slots = 0;
  for (const GraphTable& table : spec.tables) batch.slots += table.slots;
  batch.dense_width = spec.dense_width;
  batch.offsets = {0};
  // Where there are several tables, two slots have the same keys, of one table or of two.
  const size_t slots_of_a_key = spec.tables.size() > 1 ? 2 : 1;
  for (size_t slot = 0; slot < samples * batch.slots; ++slot) {
    for (uint64_t keys = random() % 3; keys > 0; --keys) {
      batch.keys.push_back(slot % batch.slots / slots_of_a_key * 100 + random() % 6);
    }
    batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
  }
  for (size_t i = 0; i < samples; ++i) {
    for (size_t d = 0; d < spec.dense_width; ++d) batch.dense.push_back(uniform(random));
    batch.labels.push_back(static_cast<float>(random() % 2));
    if (spec.loss == LossKind::kMse) batch.labels.back() += static_cast<float>(i % 5) * 0.75F - 2;
    batch.weights.push_back(i % 3 == 0 ? 2.5F : 1.0F);
  }
  if (weighted) batch.key_weights.resize(batch.keys.size());
  for (float& weight : batch.key_weights) weight = uniform(random);
  const Result<LayerGraph> graph = LayerGraph::Make(spec);
  STRATA_CHECK(graph.ok());
  UniqueFinder().Find(batch, graph->table_slots(), &unique);
  rows.resize(RowElements(*graph, unique));
  for (float& value : rows) value = uniform(random);
  parameters.resize(graph->parameters());
  for (float& value : parameters) value = uniform(random) / 2;
  for (const GraphLayer& layer : graph->layers()) {
    const ParameterRange& range = layer.parameters.statistics;
    for (size_t i = range.at + range.count / 2; i < range.end(); ++i) {
      parameters[i] = std::abs(parameters[i]) + 0.25F;  // a variance
    }
  }
}

size_t GraphExample::learned() const { return LayerGraph::Make(spec)->learned_parameters(); }

bool GraphExample::has_key_weights() const {
  return std::ranges::any_of(spec.layers,
                             [](const LayerSpec& layer) { return layer.kind == LayerKind::kWide; });
}

GraphExample::RowOfKey GraphExample::Row(size_t slot, uint32_t key) const {
  const size_t weights = has_key_weights() ? 1 : 0;
  const float* of_table = rows.data();
  for (size_t table = 0;; ++table) {
    const size_t row_dim = spec.tables[table].dim + weights;
    if (slot < spec.tables[table].slots) {
      const float* const row = of_table + unique.index[key] * row_dim;
      return {row, row + weights, spec.tables[table].dim};
    }
    slot -= spec.tables[table].slots;
    of_table += (unique.begins[table + 1] - unique.begins[table]) * row_dim;
  }
}

const GraphTable& GraphExample::TableOf(size_t slot) const {
  size_t table = 0;
  for (; slot >= spec.tables[table].slots; ++table) slot -= spec.tables[table].slots;
  return spec.tables[table];
}

double GraphExample::KeyWeight(size_t bag, uint32_t key) const {
  const double weight = batch.key_weights.empty() ? 1 : batch.key_weights[key];
  if (TableOf(bag % batch.slots).combiner == Combiner::kSum) return weight;
  return weight / (batch.offsets[bag + 1] - batch.offsets[bag]);
}

Vector GraphExample::Embeddings(size_t sample) const {
  Vector all;
  for (size_t s = 0; s < batch.slots; ++s) {
    Vector sum(TableOf(s).dim);
    const size_t at = sample * batch.slots + s;
    for (uint32_t k = batch.offsets[at]; k < batch.offsets[at + 1]; ++k) {
      for (size_t d = 0; d < sum.size(); ++d) sum[d] += KeyWeight(at, k) * Row(s, k).vector[d];
    }
    all.insert(all.end(), sum.begin(), sum.end());
  }
  return all;
}

double GraphExample::Wide(size_t sample, const Vector& biased) const {
  double sum = biased[0];
  const float* const features = batch.dense.data() + sample * spec.dense_width;
  for (size_t d = 0; d < spec.dense_width; ++d) sum += biased[1 + d] * features[d];
  for (size_t s = 0; s < batch.slots; ++s) {
    const size_t at = sample * batch.slots + s;
    for (uint32_t k = batch.offsets[at]; k < batch.offsets[at + 1]; ++k) {
      sum += KeyWeight(at, k) * Row(s, k).numbers[0];
    }
  }
  return sum;
}

GraphExample::Computed GraphExample::ComputeAll(bool trains) const {
  Parameters next(parameters, 0);
  Parameters statistics(parameters, learned());
  using OfSamples = std::vector<Value>;
  std::map<std::string, OfSamples> values;
  for (size_t i = 0; i < batch.samples; ++i) {
    const float* const features = batch.dense.data() + i * spec.dense_width;
    values[kDenseInput].push_back({Vector(features, features + spec.dense_width)});
    const Vector all = Embeddings(i);
    values[kEmbeddingsInput].push_back({all, batch.slots});
    auto begin = all.begin();
    for (const GraphTable& table : spec.tables) {
      const auto end = begin + static_cast<ptrdiff_t>(size_t{table.slots} * table.dim);
      if (!table.name.empty()) values[table.name].push_back({{begin, end}, table.slots});
      begin = end;
    }
  }
  Computed computed;
  for (const LayerSpec& layer : spec.layers) {
    if (layer.kind == LayerKind::kBatchNorm) {
      values[layer.name] =
          BatchNormalised(values.at(layer.inputs[0]), trains, &next, &statistics, &computed.sums);
      continue;
    }
    const Parameters first = next;
    OfSamples out;
    for (size_t i = 0; i < batch.samples; ++i) {
      next = first;
      std::vector<Value> in;
      for (const std::string& name : layer.inputs) in.push_back(values.at(name)[i]);
      out.push_back(layer.kind == LayerKind::kWide
                        ? Value{{Wide(i, next.Take(1 + spec.dense_width))}}
                        : Compute(layer, in, &next));
    }
    values[layer.name] = std::move(out);
  }
  for (const Value& of : values.at(spec.layers.back().name)) computed.logits.push_back(of.x.at(0));
  return computed;
}

// Rows count once for each appearance; weights once for each sample, and biases not at all.
double GraphExample::Penalty(double l2) const {
  double squares = 0;
  for (size_t bag = 0; bag + 1 < batch.offsets.size(); ++bag) {
    for (uint32_t k = batch.offsets[bag]; k < batch.offsets[bag + 1]; ++k) {
      const RowOfKey row = Row(bag % batch.slots, k);
      for (const float* number = row.numbers; number < row.vector + row.dim; ++number) {
        squares += std::pow(double{*number}, 2);
      }
    }
  }
  const Result<LayerGraph> graph = LayerGraph::Make(spec);
  for (const GraphLayer& layer : graph->layers()) {
    for (const ParameterRange& range :
         {layer.parameters.weights, layer.parameters.second_weights}) {
      for (size_t i = range.at; i < range.end(); ++i) {
        squares += static_cast<double>(batch.samples) * parameters[i] * parameters[i];
      }
    }
  }
  return l2 / 2 * squares;
}

double GraphExample::Loss(double l2) const {
  double loss = Penalty(l2);
  const Vector logits = ComputeAll(/*trains=*/true).logits;
  for (size_t i = 0; i < batch.samples; ++i) {
    const double z = logits[i];
    const double y = batch.labels[i];
    if (spec.loss == LossKind::kMse) {
      loss += batch.weights[i] * (z - y) * (z - y);
      continue;
    }
    loss += batch.weights[i] * (std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - y * z);
  }
  return loss;
}

}  // namespace strata
