#include <algorithm>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "kernels/dense/cross.h"
#include "kernels/dense/fm.h"
#include "kernels/dense/interaction.h"
#include "kernels/dense/linear.h"
#include "kernels/dense/loss.h"
#include "kernels/dense/matmul.h"
#include "kernels/sparse/pooling.h"
#include "worker/model/network.h"

namespace strata {
namespace {

constexpr Exec kCpu;

class CpuNetwork final : public Network {
 public:
  CpuNetwork(LayerGraph graph, int threads)
      : graph_(std::move(graph)),
        matmul_(threads),
        values_(graph_.values().size()),
        gradients_(graph_.values().size()),
        has_gradient_(graph_.values().size()),
        kept_(graph_.layers().size()) {}

  const LayerGraph& graph() const override { return graph_; }
  Status Score(const NetworkInput& input, std::span<float> logits) override;
  Result<double> Train(const NetworkInput& input, const Regularisation& regularisation,
                       const NetworkGradients& gradients) override;

 private:
  // A value's columns, or those of its gradient, in the matrix that holds them.
  struct Columns {
    std::span<float> elements;  // from the first of them to the last
    size_t stride = 0;
  };

  const GraphValue& ValueOf(uint32_t value) const { return graph_.values()[value]; }
  size_t StrideOf(uint32_t value) const { return ValueOf(ValueOf(value).root).width; }
  Columns In(std::vector<std::vector<float>>& matrices, uint32_t value);
  Columns Value(uint32_t value) { return In(values_, value); }
  // The gradient of a value to which more is to be added.
  Columns AddedGradient(uint32_t value);
  bool HasGradientWithin(uint32_t value) const;
  std::span<const float> Range(const NetworkInput& input, const ParameterRange& range) const {
    return input.parameters.subspan(range.at, range.count);
  }
  RowShape Rows(uint32_t value) const { return {samples_, ValueOf(value).width, StrideOf(value)}; }
  PoolShape Pooling(const Batch& batch) const;
  CrossShape Cross(const GraphLayer& layer) const;
  InteractionShape Interaction(const GraphLayer& layer) const;
  FmShape Pairs(const GraphLayer& layer, size_t samples) const;

  // Batches are computed as if they had at least `samples_min` samples.
  Status Forward(const NetworkInput& input, size_t samples_min,
                 const Regularisation& regularisation);
  void FillInputs(const NetworkInput& input);
  Status ForwardLayer(size_t number, const NetworkInput& input,
                      const Regularisation& regularisation);
  void ForwardWide(const GraphLayer& layer, const NetworkInput& input);
  void ForwardConcat(const GraphLayer& layer);
  void ForwardAdd(const GraphLayer& layer);
  Status ForwardLinear(const GraphLayer& layer, const NetworkInput& input,
                       const Regularisation& regularisation);
  Status ForwardLowRank(size_t number, const NetworkInput& input);

  Status Backward(const NetworkInput& input, const Regularisation& regularisation,
                  const NetworkGradients& gradients);
  Status BackwardLayer(size_t number, const NetworkInput& input,
                       const Regularisation& regularisation, const NetworkGradients& gradients);
  void BackwardWide(const GraphLayer& layer, const NetworkInput& input,
                    const NetworkGradients& gradients);
  Status BackwardLinear(const GraphLayer& layer, const NetworkInput& input,
                        const Regularisation& regularisation, const NetworkGradients& gradients);
  Status BackwardLowRank(size_t number, const NetworkInput& input,
                         const NetworkGradients& gradients);
  void AddColumns(Columns from, uint32_t to, size_t column);
  void AddPenalties(const NetworkInput& input, float l2, const NetworkGradients& gradients) const;

  const LayerGraph graph_;
  MatMul matmul_;
  size_t samples_ = 0;                         // of the pass, with those that are made up
  std::vector<std::vector<float>> values_;     // of values that hold their own columns
  std::vector<std::vector<float>> gradients_;  // likewise
  std::vector<bool> has_gradient_;             // by value, in a backward pass
  std::vector<std::vector<float>> kept_;       // by layer: what its backward pass needs
  std::vector<float> scratch_;
  std::vector<float> scratch2_;
  std::vector<float> dlogits_;
};

CpuNetwork::Columns CpuNetwork::In(std::vector<std::vector<float>>& matrices, uint32_t value) {
  const GraphValue& of = ValueOf(value);
  std::vector<float>& matrix = matrices[of.root];
  const size_t stride = StrideOf(value);
  const size_t count = samples_ == 0 ? 0 : (samples_ - 1) * stride + of.width;
  return {std::span(matrix).subspan(samples_ == 0 ? 0 : of.column, count), stride};
}

// Whether something has been added to the gradient of any of its columns.
bool CpuNetwork::HasGradientWithin(uint32_t value) const {
  const GraphValue& of = ValueOf(value);
  for (uint32_t other = 0; other < graph_.values().size(); ++other) {
    const GraphValue& its = ValueOf(other);
    const bool overlaps = its.root == of.root && its.column < of.column + of.width &&
                          of.column < its.column + its.width;
    if (overlaps && has_gradient_[other]) return true;
  }
  return false;
}

CpuNetwork::Columns CpuNetwork::AddedGradient(uint32_t value) {
  has_gradient_[value] = true;
  return In(gradients_, value);
}

PoolShape CpuNetwork::Pooling(const Batch& batch) const {
  return {.samples = batch.samples,
          .slots = batch.slots,
          .row_dim = graph_.row_dim(),
          .first = graph_.has_key_weights() ? size_t{1} : size_t{0},
          .dim = graph_.spec().embedding_dim,
          .stride = StrideOf(LayerGraph::kEmbeddings)};
}

CrossShape CpuNetwork::Cross(const GraphLayer& layer) const {
  return {.samples = samples_,
          .width = ValueOf(layer.output).width,
          .x0_stride = StrideOf(layer.inputs[0]),
          .x_stride = StrideOf(layer.inputs[1]),
          .y_stride = StrideOf(layer.output)};
}

InteractionShape CpuNetwork::Interaction(const GraphLayer& layer) const {
  const GraphValue& x = ValueOf(layer.inputs[0]);
  return {.samples = samples_,
          .vectors = x.vectors,
          .dim = x.width / x.vectors,
          .x_stride = StrideOf(layer.inputs[0]),
          .y_stride = StrideOf(layer.output),
          .y_width = ValueOf(layer.output).width};
}

FmShape CpuNetwork::Pairs(const GraphLayer& layer, size_t samples) const {
  const GraphValue& x = ValueOf(layer.inputs[0]);
  return {.samples = samples,
          .slots = x.vectors,
          .dim = x.width / x.vectors,
          .stride = StrideOf(layer.inputs[0])};
}

Status CpuNetwork::Score(const NetworkInput& input, std::span<float> logits) {
  // A product's rounding may depend on the number of its rows, so that is always the same.
  STRATA_TRY(Forward(input, kScoreBatch, {}));
  std::ranges::copy(std::span(values_[graph_.output()]).first(logits.size()), logits.begin());
  return {};
}

Result<double> CpuNetwork::Train(const NetworkInput& input, const Regularisation& regularisation,
                                 const NetworkGradients& gradients) {
  const Batch& batch = input.batch;
  STRATA_CHECK(gradients.rows.size() == input.rows.size() &&
               gradients.parameters.size() == graph_.parameters() &&
               gradients.logits.size() == batch.samples);
  std::ranges::fill(gradients.rows, 0.0F);
  std::ranges::fill(gradients.parameters, 0.0F);
  if (batch.samples == 0) return 0.0;
  STRATA_TRY(Forward(input, 0, regularisation));
  std::ranges::copy(values_[graph_.output()], gradients.logits.begin());
  dlogits_.resize(batch.samples);
  const double loss =
      CrossEntropyWithLogits(kCpu, gradients.logits, batch.labels, batch.weights, dlogits_);
  STRATA_TRY(Backward(input, regularisation, gradients));
  return loss;
}

Status CpuNetwork::Forward(const NetworkInput& input, size_t samples_min,
                           const Regularisation& regularisation) {
  const Batch& batch = input.batch;
  STRATA_CHECK(batch.slots == graph_.spec().slots &&
               batch.dense_width == graph_.spec().dense_width);
  STRATA_CHECK(input.rows.size() == input.unique.keys.size() * graph_.row_dim());
  STRATA_CHECK(input.parameters.size() == graph_.parameters());
  samples_ = std::max(batch.samples, samples_min);
  for (uint32_t value = 0; value < values_.size(); ++value) {
    const GraphValue& of = ValueOf(value);
    if (of.root == value) values_[value].resize(samples_ * of.width);
  }
  FillInputs(input);
  for (size_t number = 0; number < graph_.layers().size(); ++number) {
    STRATA_TRY(ForwardLayer(number, input, regularisation));
  }
  return {};
}

// Samples that are made up have zeros.
void CpuNetwork::FillInputs(const NetworkInput& input) {
  const Batch& batch = input.batch;
  std::vector<float>& dense = values_[LayerGraph::kDense];
  std::ranges::fill(std::ranges::copy(batch.dense, dense.begin()).out, dense.end(), 0.0F);
  if (!graph_.has_embeddings()) return;
  const Columns embeddings = Value(LayerGraph::kEmbeddings);
  PoolForward(kCpu, Pooling(batch), batch.offsets, input.unique.index, input.rows,
              embeddings.elements);
  for (size_t i = batch.samples; i < samples_; ++i) {
    std::fill_n(embeddings.elements.data() + i * embeddings.stride,
                ValueOf(LayerGraph::kEmbeddings).width, 0.0F);
  }
}

Status CpuNetwork::ForwardLayer(size_t number, const NetworkInput& input,
                                const Regularisation& regularisation) {
  const GraphLayer& layer = graph_.layers()[number];
  const Columns output = Value(layer.output);
  std::vector<float>& kept = kept_[number];
  switch (layer.spec.kind) {
    case LayerKind::kLinear:
      return ForwardLinear(layer, input, regularisation);
    case LayerKind::kConcat:
      ForwardConcat(layer);
      return {};
    case LayerKind::kInteraction:
      InteractionForward(kCpu, Interaction(layer), Value(layer.inputs[0]).elements,
                         output.elements);
      return {};
    case LayerKind::kCross:
      kept.resize(samples_);
      CrossForward(kCpu, Cross(layer), Value(layer.inputs[0]).elements,
                   Value(layer.inputs[1]).elements, Range(input, layer.parameters.weights),
                   Range(input, layer.parameters.biases), kept, output.elements);
      return {};
    case LayerKind::kLowRankCross:
      return ForwardLowRank(number, input);
    case LayerKind::kFm: {
      const FmShape shape = Pairs(layer, samples_);
      kept.resize(samples_ * shape.dim);
      scratch_.assign(samples_, 0.0F);
      FmForward(kCpu, shape, Value(layer.inputs[0]).elements, kept, scratch_);
      for (size_t i = 0; i < samples_; ++i) output.elements[i * output.stride] = scratch_[i];
      return {};
    }
    case LayerKind::kWide:
      ForwardWide(layer, input);
      return {};
    case LayerKind::kAdd:
      ForwardAdd(layer);
      return {};
  }
  return {};
}

void CpuNetwork::ForwardWide(const GraphLayer& layer, const NetworkInput& input) {
  const Batch& batch = input.batch;
  const std::span<const float> weights = Range(input, layer.parameters.weights);
  const Columns output = Value(layer.output);
  for (size_t i = 0; i < samples_; ++i) {
    float logit = Range(input, layer.parameters.biases)[0];
    if (i < batch.samples) {
      const uint32_t end = batch.offsets[(i + 1) * batch.slots];
      for (uint32_t k = batch.offsets[i * batch.slots]; k < end; ++k) {
        logit += input.rows[input.unique.index[k] * graph_.row_dim()];
      }
      const float* features = batch.dense.data() + i * batch.dense_width;
      for (size_t d = 0; d < batch.dense_width; ++d) logit += weights[d] * features[d];
    }
    output.elements[i * output.stride] = logit;
  }
}

void CpuNetwork::ForwardConcat(const GraphLayer& layer) {
  const Columns whole = Value(layer.output);
  size_t column = 0;
  for (const uint32_t input : layer.inputs) {
    const Columns part = Value(input);
    const size_t width = ValueOf(input).width;
    if (part.elements.data() != whole.elements.data() + column) {
      for (size_t i = 0; i < samples_; ++i) {
        std::copy_n(part.elements.data() + i * part.stride, width,
                    whole.elements.data() + i * whole.stride + column);
      }
    }
    column += width;
  }
}

void CpuNetwork::ForwardAdd(const GraphLayer& layer) {
  const Columns output = Value(layer.output);
  const size_t width = ValueOf(layer.output).width;
  for (const uint32_t input : layer.inputs) {
    const Columns part = Value(input);
    for (size_t i = 0; i < samples_; ++i) {
      for (size_t e = 0; e < width; ++e) {
        float& sum = output.elements[i * output.stride + e];
        const float added = part.elements[i * part.stride + e];
        sum = input == layer.inputs[0] ? added : sum + added;
      }
    }
  }
}

Status CpuNetwork::ForwardLinear(const GraphLayer& layer, const NetworkInput& input,
                                 const Regularisation& regularisation) {
  const uint32_t x = layer.inputs[0];
  const Columns output = Value(layer.output);
  const RowShape rows = Rows(layer.output);
  STRATA_TRY(LinearForward(kCpu, matmul_,
                           {samples_, ValueOf(x).width, rows.width, StrideOf(x), output.stride},
                           Value(x).elements, Range(input, layer.parameters.weights),
                           Range(input, layer.parameters.biases), output.elements));
  if (layer.spec.activation == Activation::kRelu) ReluForward(kCpu, rows, output.elements);
  if (layer.spec.is_hidden && regularisation.dropout > 0) {
    DropoutForward(kCpu, rows, regularisation.dropout,
                   Mix64(regularisation.dropout_seed + layer.hidden_number), output.elements);
  }
  return {};
}

// kept: x U, then x U V + b.
Status CpuNetwork::ForwardLowRank(size_t number, const NetworkInput& input) {
  const GraphLayer& layer = graph_.layers()[number];
  const uint32_t x = layer.inputs[1];
  const size_t width = ValueOf(x).width;
  const size_t rank = layer.spec.width;
  std::vector<float>& kept = kept_[number];
  kept.resize(samples_ * (rank + width));
  const auto projected = std::span(kept).first(samples_ * rank);
  const auto gates = std::span(kept).subspan(samples_ * rank);
  STRATA_TRY(matmul_.Run(kCpu, {.m = samples_, .k = width, .n = rank, .a_stride = StrideOf(x)},
                         Value(x).elements, Range(input, layer.parameters.weights), {}, projected));
  STRATA_TRY(LinearForward(kCpu, matmul_, {samples_, rank, width}, projected,
                           Range(input, layer.parameters.second_weights),
                           Range(input, layer.parameters.biases), gates));
  GatedForward(kCpu, Cross(layer), Value(layer.inputs[0]).elements, gates, Value(x).elements,
               Value(layer.output).elements);
  return {};
}

Status CpuNetwork::Backward(const NetworkInput& input, const Regularisation& regularisation,
                            const NetworkGradients& gradients) {
  for (uint32_t value = 0; value < gradients_.size(); ++value) {
    const GraphValue& of = ValueOf(value);
    if (of.root == value) gradients_[value].assign(samples_ * of.width, 0.0F);
  }
  has_gradient_.assign(has_gradient_.size(), false);
  std::ranges::copy(dlogits_, gradients_[graph_.output()].begin());
  for (size_t number = graph_.layers().size(); number-- > 0;) {
    STRATA_TRY(BackwardLayer(number, input, regularisation, gradients));
  }
  if (graph_.has_embeddings()) {
    PoolBackward(kCpu, Pooling(input.batch), input.batch.offsets, input.unique.index,
                 In(gradients_, LayerGraph::kEmbeddings).elements, gradients.rows);
  }
  if (regularisation.l2 > 0) AddPenalties(input, regularisation.l2, gradients);
  return {};
}

Status CpuNetwork::BackwardLayer(size_t number, const NetworkInput& input,
                                 const Regularisation& regularisation,
                                 const NetworkGradients& gradients) {
  const GraphLayer& layer = graph_.layers()[number];
  const Columns doutput = In(gradients_, layer.output);
  const auto range = [&](const ParameterRange& of) {
    return gradients.parameters.subspan(of.at, of.count);
  };
  switch (layer.spec.kind) {
    case LayerKind::kLinear:
      return BackwardLinear(layer, input, regularisation, gradients);
    case LayerKind::kConcat: {
      size_t column = 0;
      for (const uint32_t part : layer.inputs) {
        AddColumns(doutput, part, column);
        column += ValueOf(part).width;
      }
      return {};
    }
    case LayerKind::kInteraction:
      InteractionBackward(kCpu, Interaction(layer), Value(layer.inputs[0]).elements,
                          doutput.elements, AddedGradient(layer.inputs[0]).elements);
      return {};
    case LayerKind::kCross:
      CrossBackward(kCpu, Cross(layer), Value(layer.inputs[0]).elements,
                    Value(layer.inputs[1]).elements, Range(input, layer.parameters.weights),
                    kept_[number], doutput.elements, AddedGradient(layer.inputs[0]).elements,
                    AddedGradient(layer.inputs[1]).elements, range(layer.parameters.weights),
                    range(layer.parameters.biases));
      return {};
    case LayerKind::kLowRankCross:
      return BackwardLowRank(number, input, gradients);
    case LayerKind::kFm: {
      scratch_.resize(samples_);
      for (size_t i = 0; i < samples_; ++i) scratch_[i] = doutput.elements[i * doutput.stride];
      FmBackward(kCpu, Pairs(layer, samples_), Value(layer.inputs[0]).elements, kept_[number],
                 scratch_, AddedGradient(layer.inputs[0]).elements);
      return {};
    }
    case LayerKind::kWide:
      BackwardWide(layer, input, gradients);
      return {};
    case LayerKind::kAdd:
      for (const uint32_t part : layer.inputs) AddColumns(doutput, part, 0);
      return {};
  }
  return {};
}

// Adds columns of a gradient, from `column` on, to that of a value, unless they are the same
// memory.
void CpuNetwork::AddColumns(Columns from, uint32_t to, size_t column) {
  const Columns target = AddedGradient(to);
  if (target.elements.data() == from.elements.data() + column) return;
  for (size_t i = 0; i < samples_; ++i) {
    for (size_t e = 0; e < ValueOf(to).width; ++e) {
      target.elements[i * target.stride + e] += from.elements[i * from.stride + column + e];
    }
  }
}

void CpuNetwork::BackwardWide(const GraphLayer& layer, const NetworkInput& input,
                              const NetworkGradients& gradients) {
  const Batch& batch = input.batch;
  const Columns doutput = In(gradients_, layer.output);
  const auto weights =
      gradients.parameters.subspan(layer.parameters.weights.at, layer.parameters.weights.count);
  for (size_t i = 0; i < batch.samples; ++i) {
    const float dlogit = doutput.elements[i * doutput.stride];
    gradients.parameters[layer.parameters.biases.at] += dlogit;
    const uint32_t end = batch.offsets[(i + 1) * batch.slots];
    for (uint32_t k = batch.offsets[i * batch.slots]; k < end; ++k) {
      gradients.rows[input.unique.index[k] * graph_.row_dim()] += dlogit;
    }
    const float* features = batch.dense.data() + i * batch.dense_width;
    for (size_t d = 0; d < batch.dense_width; ++d) weights[d] += dlogit * features[d];
  }
}

Status CpuNetwork::BackwardLinear(const GraphLayer& layer, const NetworkInput& input,
                                  const Regularisation& regularisation,
                                  const NetworkGradients& gradients) {
  const uint32_t x = layer.inputs[0];
  const Columns doutput = In(gradients_, layer.output);
  const RowShape rows = Rows(layer.output);
  if (layer.spec.activation == Activation::kRelu) {
    ReluBackward(kCpu, rows, Value(layer.output).elements, doutput.elements);
  }
  if (layer.spec.is_hidden && regularisation.dropout > 0) {
    DropoutBackward(kCpu, rows, regularisation.dropout, doutput.elements);
  }
  const auto range = [&](const ParameterRange& of) {
    return gradients.parameters.subspan(of.at, of.count);
  };
  const LayerParameters& parameters = layer.parameters;
  // Dense features have no gradient. One that has begun is added to.
  const bool is_first = !HasGradientWithin(x);
  Columns dx;
  LinearShape shape{samples_, ValueOf(x).width, rows.width, StrideOf(x), doutput.stride};
  if (x != LayerGraph::kDense) {
    dx = AddedGradient(x);
    if (!is_first) {
      scratch_.resize(dx.elements.size());
      dx.elements = scratch_;
    }
  }
  STRATA_TRY(LinearBackward(kCpu, matmul_, shape, Value(x).elements,
                            Range(input, parameters.weights), doutput.elements, dx.elements,
                            range(parameters.weights), range(parameters.biases)));
  if (x != LayerGraph::kDense && !is_first) AddColumns({scratch_, shape.x_stride}, x, 0);
  return {};
}

Status CpuNetwork::BackwardLowRank(size_t number, const NetworkInput& input,
                                   const NetworkGradients& gradients) {
  const GraphLayer& layer = graph_.layers()[number];
  const LayerParameters& parameters = layer.parameters;
  const uint32_t x = layer.inputs[1];
  const size_t width = ValueOf(x).width;
  const size_t rank = layer.spec.width;
  const auto projected = std::span(kept_[number]).first(samples_ * rank);
  const auto gates = std::span(kept_[number]).subspan(samples_ * rank);
  const auto range = [&](const ParameterRange& of) {
    return gradients.parameters.subspan(of.at, of.count);
  };
  std::vector<float>& dgates = scratch_;
  std::vector<float>& dprojected = scratch2_;
  dgates.resize(samples_ * width);
  dprojected.resize(samples_ * rank);
  GatedBackward(kCpu, Cross(layer), Value(layer.inputs[0]).elements, gates,
                In(gradients_, layer.output).elements, dgates,
                AddedGradient(layer.inputs[0]).elements, AddedGradient(x).elements);
  STRATA_TRY(LinearBackward(kCpu, matmul_, {samples_, rank, width}, projected,
                            Range(input, parameters.second_weights), dgates, dprojected,
                            range(parameters.second_weights), range(parameters.biases)));
  STRATA_TRY(matmul_.Run(
      kCpu, {.m = width, .k = samples_, .n = rank, .a_transposed = true, .a_stride = StrideOf(x)},
      Value(x).elements, dprojected, {}, range(parameters.weights)));
  STRATA_TRY(matmul_.Run(kCpu, {.m = samples_, .k = rank, .n = width, .b_transposed = true},
                         dprojected, Range(input, parameters.weights), {}, dgates));
  AddColumns({dgates, width}, x, 0);
  return {};
}

// Rows count once for each appearance, biases not at all.
void CpuNetwork::AddPenalties(const NetworkInput& input, float l2,
                              const NetworkGradients& gradients) const {
  const size_t row_dim = graph_.row_dim();
  for (const uint32_t row : input.unique.index) {
    for (size_t d = 0; d < row_dim; ++d) {
      gradients.rows[row * row_dim + d] += l2 * input.rows[row * row_dim + d];
    }
  }
  const float scale = l2 * static_cast<float>(input.batch.samples);
  const auto penalise = [&](const ParameterRange& range) {
    for (size_t i = range.at; i < range.end(); ++i) {
      gradients.parameters[i] += scale * input.parameters[i];
    }
  };
  for (const GraphLayer& layer : graph_.layers()) {
    penalise(layer.parameters.weights);
    penalise(layer.parameters.second_weights);
  }
}

}  // namespace

std::unique_ptr<Network> MakeCpuNetwork(LayerGraph graph, int threads) {
  return std::make_unique<CpuNetwork>(std::move(graph), threads);
}

}  // namespace strata
