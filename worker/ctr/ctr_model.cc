#include "worker/ctr/ctr_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "kernels/dense/fm.h"
#include "kernels/dense/linear.h"
#include "kernels/dense/loss.h"
#include "kernels/sparse/pooling.h"

namespace strata {
namespace {

constexpr Exec kCpu;
constexpr uint32_t kHiddenWidthMax = 65536;
constexpr size_t kInputsMax = 65536;

// Uniform in [-1, 1), a function of (seed, place).
float UniformAt(uint64_t seed, uint64_t place) {
  const uint64_t bits = Mix64(seed ^ Mix64(place)) >> 40;
  return static_cast<float>(bits) * 0x1p-23F - 1.0F;
}

PoolShape Pooling(const ModelShape& shape, size_t samples, size_t stride) {
  return {.samples = samples,
          .slots = shape.slots,
          .row_dim = shape.row_dim(),
          .first = 1,
          .dim = shape.embedding_dim,
          .stride = stride};
}

FmShape Interactions(const ModelShape& shape, size_t samples, size_t stride) {
  return {.samples = samples, .slots = shape.slots, .dim = shape.embedding_dim, .stride = stride};
}

}  // namespace

Status ValidateModelShape(const ModelShape& shape) {
  const bool has_factors = shape.kind != ModelKind::kLogistic;
  if (has_factors != (shape.embedding_dim > 0) || shape.row_dim() > RowSchema::kDimMax) {
    return Invalid(fmt::format("a {} model with embedding_dim {}: expected {}",
                               ModelKindName(shape.kind), shape.embedding_dim,
                               has_factors ? fmt::format("1 to {}", RowSchema::kDimMax - 1) : "0"));
  }
  if ((shape.kind == ModelKind::kDeepFm) != !shape.hidden.empty()) {
    return Invalid(fmt::format("a {} model with {} hidden layers", ModelKindName(shape.kind),
                               shape.hidden.size()));
  }
  for (const uint32_t width : shape.hidden) {
    if (width == 0 || width > kHiddenWidthMax) {
      return Invalid(
          fmt::format("a hidden layer of width {}: expected 1 to {}", width, kHiddenWidthMax));
    }
  }
  if (shape.slots > kInputsMax || shape.dense_width > kInputsMax) {
    return Invalid(
        fmt::format("a model of {} slots and {} dense features: expected at most {} each",
                    shape.slots, shape.dense_width, kInputsMax));
  }
  if (shape.slots == 0 && shape.dense_width == 0) {
    return Invalid("a model without inputs: the job file names no features");
  }
  return {};
}

InitializerSpec InitializerOf(const ModelShape& shape, const InitializerSpec& asked) {
  return shape.kind == ModelKind::kLogistic ? InitializerSpec{} : asked;
}

CtrModel::CtrModel(ModelShape shape, int threads) : shape_(std::move(shape)), matmul_(threads) {
  dense_parameters_ = 1 + shape_.dense_width;
  if (shape_.kind == ModelKind::kDeepFm) {
    std::vector<uint32_t> widths = shape_.hidden;
    widths.push_back(1);
    size_t in = input_width();
    for (const uint32_t out : widths) {
      const size_t weights = in * out;
      layers_.push_back({in, out, dense_parameters_, dense_parameters_ + weights});
      dense_parameters_ += weights + out;
      in = out;
    }
  }
  outputs_.resize(layers_.size());
  doutputs_.resize(layers_.size());
}

size_t CtrModel::input_width() const {
  const size_t factors = shape_.slots * shape_.embedding_dim;
  return shape_.kind == ModelKind::kDeepFm ? factors + shape_.dense_width : factors;
}

void CtrModel::InitializeDense(uint64_t seed, std::span<float> dense) const {
  STRATA_CHECK(dense.size() == dense_parameters_);
  std::fill(dense.begin(), dense.end(), 0.0F);
  for (const Layer& layer : layers_) {
    const float bound = std::sqrt(6.0F / static_cast<float>(layer.in + layer.out));
    for (size_t i = layer.weights_at; i < layer.biases_at; ++i) {
      dense[i] = bound * UniformAt(seed, i);
    }
  }
}

Status CtrModel::Score(const ModelInput& input, std::span<float> logits) {
  // A product's rounding may depend on the number of its rows, so that is always the same.
  return Forward(input, kScoreBatch, {}, logits);
}

Result<double> CtrModel::Train(const ModelInput& input, const Regularisation& regularisation,
                               const Gradients& gradients) {
  STRATA_TRY(Forward(input, 0, regularisation, gradients.logits));
  dlogits_.resize(input.batch.samples);
  const double loss = CrossEntropyWithLogits(kCpu, gradients.logits, input.batch.labels,
                                             input.batch.weights, dlogits_);
  STRATA_TRY(Backward(input, regularisation, gradients));
  return loss;
}

Status CtrModel::Forward(const ModelInput& input, size_t samples_min,
                         const Regularisation& regularisation, std::span<float> logits) {
  const Batch& batch = input.batch;
  STRATA_CHECK(batch.slots == shape_.slots && batch.dense_width == shape_.dense_width);
  STRATA_CHECK(input.rows.size() == input.unique.keys.size() * shape_.row_dim());
  STRATA_CHECK(input.dense.size() == dense_parameters_ && logits.size() == batch.samples);
  LinearPart(input, logits);
  if (shape_.kind == ModelKind::kLogistic || batch.samples == 0) return {};

  const size_t samples = std::max(batch.samples, samples_min);
  GatherInputs(input, samples);
  fm_sums_.resize(batch.samples * shape_.embedding_dim);
  FmForward(kCpu, Interactions(shape_, batch.samples, input_width()), inputs_, fm_sums_, logits);
  if (!has_network()) return {};
  STRATA_TRY(NetworkForward(input, samples, regularisation));
  for (size_t i = 0; i < batch.samples; ++i) logits[i] += outputs_.back()[i];
  return {};
}

void CtrModel::LinearPart(const ModelInput& input, std::span<float> logits) const {
  const Batch& batch = input.batch;
  const std::span<const float> weights = input.dense.subspan(1, shape_.dense_width);
  for (size_t i = 0; i < batch.samples; ++i) {
    float logit = input.dense[0];
    const uint32_t end = batch.offsets[(i + 1) * shape_.slots];
    for (uint32_t k = batch.offsets[i * shape_.slots]; k < end; ++k) {
      logit += input.rows[input.unique.index[k] * shape_.row_dim()];
    }
    const float* features = batch.dense.data() + i * shape_.dense_width;
    for (size_t d = 0; d < shape_.dense_width; ++d) logit += weights[d] * features[d];
    logits[i] = logit;
  }
}

void CtrModel::GatherInputs(const ModelInput& input, size_t samples) {
  const Batch& batch = input.batch;
  const size_t width = input_width();
  inputs_.resize(samples * width);
  std::fill(inputs_.begin() + static_cast<ptrdiff_t>(batch.samples * width), inputs_.end(), 0.0F);
  PoolForward(kCpu, Pooling(shape_, batch.samples, width), batch.offsets, input.unique.index,
              input.rows, inputs_);
  if (!has_network()) return;
  for (size_t i = 0; i < batch.samples; ++i) {
    std::copy_n(batch.dense.data() + i * shape_.dense_width, shape_.dense_width,
                inputs_.data() + i * width + shape_.slots * shape_.embedding_dim);
  }
}

Status CtrModel::NetworkForward(const ModelInput& input, size_t samples,
                                const Regularisation& regularisation) {
  std::span<const float> x = inputs_;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    outputs_[l].resize(samples * layer.out);
    STRATA_TRY(LinearForward(kCpu, matmul_, {samples, layer.in, layer.out}, x,
                             input.dense.subspan(layer.weights_at, layer.in * layer.out),
                             input.dense.subspan(layer.biases_at, layer.out), outputs_[l]));
    if (l + 1 == layers_.size()) break;
    ReluForward(kCpu, outputs_[l]);
    if (regularisation.dropout > 0) {
      DropoutForward(kCpu, regularisation.dropout, Mix64(regularisation.dropout_seed + l),
                     outputs_[l]);
    }
    x = outputs_[l];
  }
  return {};
}

Status CtrModel::Backward(const ModelInput& input, const Regularisation& regularisation,
                          const Gradients& gradients) {
  const Batch& batch = input.batch;
  STRATA_CHECK(gradients.rows.size() == input.rows.size());
  STRATA_CHECK(gradients.dense.size() == dense_parameters_);
  std::fill(gradients.rows.begin(), gradients.rows.end(), 0.0F);
  std::fill(gradients.dense.begin(), gradients.dense.end(), 0.0F);
  if (batch.samples == 0) return {};

  for (size_t i = 0; i < batch.samples; ++i) {
    const float dlogit = dlogits_[i];
    gradients.dense[0] += dlogit;
    const uint32_t end = batch.offsets[(i + 1) * shape_.slots];
    for (uint32_t k = batch.offsets[i * shape_.slots]; k < end; ++k) {
      gradients.rows[input.unique.index[k] * shape_.row_dim()] += dlogit;
    }
    const float* features = batch.dense.data() + i * shape_.dense_width;
    for (size_t d = 0; d < shape_.dense_width; ++d) {
      gradients.dense[1 + d] += dlogit * features[d];
    }
  }
  if (shape_.kind != ModelKind::kLogistic) {
    dinputs_.assign(inputs_.size(), 0.0F);
    if (has_network()) STRATA_TRY(NetworkBackward(input, regularisation, gradients));
    FmBackward(kCpu, Interactions(shape_, batch.samples, input_width()), inputs_, fm_sums_,
               dlogits_, dinputs_);
    PoolBackward(kCpu, Pooling(shape_, batch.samples, input_width()), batch.offsets,
                 input.unique.index, dinputs_, gradients.rows);
  }
  if (regularisation.l2 > 0) AddPenalties(input, regularisation.l2, gradients);
  return {};
}

Status CtrModel::NetworkBackward(const ModelInput& input, const Regularisation& regularisation,
                                 const Gradients& gradients) {
  const size_t samples = input.batch.samples;
  doutputs_.back() = dlogits_;
  for (size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    if (l + 1 < layers_.size()) {
      ReluBackward(kCpu, outputs_[l], doutputs_[l]);
      if (regularisation.dropout > 0) {
        DropoutBackward(kCpu, regularisation.dropout, doutputs_[l]);
      }
    }
    std::vector<float>& dx = l == 0 ? dinputs_ : doutputs_[l - 1];
    dx.resize(samples * layer.in);
    STRATA_TRY(LinearBackward(
        kCpu, matmul_, {samples, layer.in, layer.out}, l == 0 ? inputs_ : outputs_[l - 1],
        input.dense.subspan(layer.weights_at, layer.in * layer.out), doutputs_[l], dx,
        gradients.dense.subspan(layer.weights_at, layer.in * layer.out),
        gradients.dense.subspan(layer.biases_at, layer.out)));
  }
  return {};
}

// A row is penalised once for each sample it appears in, so that the penalty, like the loss, is a
// sum over samples and does not depend on how they are dealt to ranks.
void CtrModel::AddPenalties(const ModelInput& input, float l2, const Gradients& gradients) const {
  const size_t dim = shape_.row_dim();
  for (const uint32_t row : input.unique.index) {
    for (size_t d = row * dim; d < (row + 1) * dim; ++d) {
      gradients.rows[d] += l2 * input.rows[d];
    }
  }
  const float scale = l2 * static_cast<float>(input.batch.samples);
  const auto penalise = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) gradients.dense[i] += scale * input.dense[i];
  };
  penalise(1, 1 + shape_.dense_width);
  for (const Layer& layer : layers_) penalise(layer.weights_at, layer.biases_at);
}

}  // namespace strata
