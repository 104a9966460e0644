#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/dense/loss.h"
#include "worker/model/cpu_backend.h"
#include "worker/model/network.h"
#include "worker/model/pass_checks.h"

namespace strata {
namespace {

class CpuNetwork final : public Network {
 public:
  CpuNetwork(LayerGraph graph, WorkPool* threads)
      : graph_(std::move(graph)), backend_(threads), executor_(graph_, backend_) {}

  const LayerGraph& graph() const override { return graph_; }
  std::string device() const override { return "CPU"; }
  Status Score(const NetworkInput& input, std::span<float> logits) override;
  Result<double> Train(const NetworkInput& input, const Regularisation& regularisation,
                       const NetworkGradients& gradients) override;
  std::optional<NotFinitePlace> FirstNotFinite() override { return executor_.FirstNotFinite(); }

 private:
  // Batches are computed as if they had at least `samples_min` samples.
  Status Forward(const NetworkInput& input, const NetworkGradients* gradients, size_t samples_min,
                 const Regularisation& regularisation);
  void FillInputs(const NetworkInput& input, size_t samples);
  void AddPenalties(const NetworkInput& input, float l2, const NetworkGradients& gradients) const;

  const LayerGraph graph_;
  CpuBackend backend_;
  GraphExecutor<CpuBackend> executor_;
  std::vector<float> dlogits_;
};

Status CpuNetwork::Score(const NetworkInput& input, std::span<float> logits) {
  // A product's rounding may depend on the number of its rows, so that is always the same.
  STRATA_TRY(Forward(input, nullptr, kScoreBatch, {}));
  const CpuBackend::Columns found = executor_.Value(graph_.output());
  backend_.Copy(logits.size(), found, {logits.data(), 1, 1});
  return {};
}

Result<double> CpuNetwork::Train(const NetworkInput& input, const Regularisation& regularisation,
                                 const NetworkGradients& gradients) {
  const Batch& batch = input.batch;
  CheckGradients(graph_, input, gradients);
  backend_.Zero(gradients.rows);
  backend_.Zero(gradients.parameters);
  if (batch.samples == 0) return 0.0;
  STRATA_TRY(Forward(input, &gradients, 0, regularisation));
  backend_.Copy(batch.samples, executor_.Value(graph_.output()), {gradients.logits.data(), 1, 1});
  dlogits_.resize(batch.samples);
  const auto loss_of =
      graph_.spec().loss == LossKind::kMse ? &SquaredErrors : &CrossEntropyWithLogits;
  const double loss = loss_of({}, gradients.logits, batch.labels, batch.weights, dlogits_);
  STRATA_TRY(executor_.BeginBackward());
  backend_.Copy(batch.samples, {dlogits_.data(), 1, 1}, executor_.Gradient(graph_.output()));
  STRATA_TRY(executor_.Backward(regularisation));
  if (graph_.has_embeddings()) {
    backend_.PoolBack(executor_.Gradient(LayerGraph::kEmbeddings));
  }
  if (regularisation.l2 > 0) AddPenalties(input, regularisation.l2, gradients);
  return loss;
}

Status CpuNetwork::Forward(const NetworkInput& input, const NetworkGradients* gradients,
                           size_t samples_min, const Regularisation& regularisation) {
  CheckInput(graph_, input);
  const size_t samples = std::max(input.batch.samples, samples_min);
  backend_.Set(graph_, input, gradients);
  backend_.SetSeed(regularisation.dropout_seed);
  STRATA_TRY(executor_.Begin(samples, /*trains=*/gradients != nullptr));
  FillInputs(input, samples);
  return executor_.Forward(regularisation);
}

// Samples that are made up have zeros.
void CpuNetwork::FillInputs(const NetworkInput& input, size_t samples) {
  const Batch& batch = input.batch;
  float* const dense = executor_.Value(LayerGraph::kDense).data;
  std::fill_n(std::ranges::copy(batch.dense, dense).out,
              (samples - batch.samples) * batch.dense_width, 0.0F);
  if (!graph_.has_embeddings()) return;
  const CpuBackend::Columns embeddings = executor_.Value(LayerGraph::kEmbeddings);
  backend_.Pool(embeddings);
  const size_t made_up = batch.samples * embeddings.stride;
  backend_.ClearColumns(samples - batch.samples,
                        {embeddings.data + made_up, embeddings.stride, embeddings.width});
}

// Rows count once for each appearance, biases not at all.
void CpuNetwork::AddPenalties(const NetworkInput& input, float l2,
                              const NetworkGradients& gradients) const {
  backend_.PenaliseRows(l2);
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

std::unique_ptr<Network> MakeCpuNetwork(LayerGraph graph, WorkPool* threads) {
  return std::make_unique<CpuNetwork>(std::move(graph), threads);
}

}  // namespace strata
