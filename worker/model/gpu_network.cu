#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/gpu_calls.cuh"
#include "worker/model/gpu_backend.h"
#include "worker/model/key_weights.h"
#include "worker/model/network.h"
#include "worker/model/pass_checks.h"

namespace strata {
namespace {

class GpuNetwork final : public Network {
 public:
  GpuNetwork(LayerGraph graph, const Exec& exec, GemmPrecision precision,
             std::unique_ptr<WorkPool> threads)
      : graph_(std::move(graph)),
        exec_(exec),
        threads_(std::move(threads)),
        batch_(exec, exec.stream, *threads_, graph_.table_slots()),
        backend_(exec, precision, graph_),
        executor_(graph_, backend_) {}
  ~GpuNetwork() override {
    const DeviceScope device(exec_.ordinal);
    if (exec_.stream != nullptr) (void)cudaStreamDestroy(StreamOf(exec_));
  }
  Status Make() {
    STRATA_TRY(batch_.Make());
    return backend_.Make();
  }

  const LayerGraph& graph() const override { return graph_; }
  std::string device() const override;
  Status Score(const NetworkInput& input, std::span<float> logits) override;
  Status Prepare(const NetworkInput& input) override;
  Result<double> Train(const NetworkInput& input, const Regularisation& regularisation,
                       const NetworkGradients& gradients) override;
  std::shared_ptr<float[]> TakeMemory(size_t count) override { return pinned_->Take(count); }
  std::optional<NotFinitePlace> FirstNotFinite() override {
    const DeviceScope device(exec_.ordinal);
    return executor_.FirstNotFinite();
  }

 private:
  // All but the rows, to the GPU.
  Status Bring(const NetworkInput& input);
  // Batches are computed as if they had at least `samples_min` samples. `trains`: as
  // GraphExecutor::Begin has it.
  Status Forward(const NetworkInput& input, size_t samples_min, bool trains,
                 const Regularisation& regularisation);

  const LayerGraph graph_;
  const Exec exec_;  // its stream is the network's own
  const std::unique_ptr<WorkPool> threads_;
  const std::shared_ptr<PinnedPool> pinned_ = PinnedPool::Make();
  GpuBatch batch_;
  std::vector<float> combined_;  // of NetworkKeyWeights
  bool is_prepared_ = false;     // what Bring brings is there
  GpuBackend backend_;
  GraphExecutor<GpuBackend> executor_;
};

std::string GpuNetwork::device() const {
  cudaDeviceProp properties = {};
  Must(FromCuda(cudaGetDeviceProperties(&properties, exec_.ordinal), "asking a GPU what it is"));
  return properties.name;
}

Status GpuNetwork::Score(const NetworkInput& input, std::span<float> logits) {
  const DeviceScope device(exec_.ordinal);
  is_prepared_ = false;
  // A product's rounding may depend on the number of its rows, so that is always the same.
  STRATA_TRY(Forward(input, kScoreBatch, /*trains=*/false, {}));
  backend_.GetLogits(executor_.Value(graph_.output()), logits);
  batch_.End();
  return {};
}

Status GpuNetwork::Bring(const NetworkInput& input) {
  CheckInput(graph_, input);
  backend_.SetParameters(input.parameters);
  STRATA_TRY(
      batch_.Bring(input.batch, NetworkKeyWeights(graph_, input.batch, &combined_), &input.unique));
  batch_.Begin();
  return {};
}

Status GpuNetwork::Prepare(const NetworkInput& input) {
  const DeviceScope device(exec_.ordinal);
  is_prepared_ = false;
  if (input.batch.samples == 0) return {};
  STRATA_TRY(Bring(input));
  is_prepared_ = true;
  return {};
}

Result<double> GpuNetwork::Train(const NetworkInput& input, const Regularisation& regularisation,
                                 const NetworkGradients& gradients) {
  const DeviceScope device(exec_.ordinal);
  const Batch& batch = input.batch;
  CheckGradients(graph_, input, gradients);
  if (batch.samples == 0) {
    ClearGradients(gradients);
    return 0.0;
  }
  STRATA_TRY(Forward(input, 0, /*trains=*/true, regularisation));
  STRATA_TRY(backend_.SortKeys(input.unique));
  STRATA_TRY(executor_.BeginBackward());
  const GpuColumns logits = executor_.Value(graph_.output());
  backend_.Loss(logits, 1.0F, executor_.Gradient(graph_.output()));
  STRATA_TRY(executor_.Backward(regularisation));
  backend_.RowGradients(executor_.Gradient(LayerGraph::kEmbeddings), regularisation.l2);
  if (regularisation.l2 > 0) {
    backend_.Penalise(regularisation.l2 * static_cast<float>(batch.samples));
  }
  backend_.GetGradients(gradients);
  batch_.End();
  return backend_.GetLoss(logits, gradients.logits);
}

Status GpuNetwork::Forward(const NetworkInput& input, size_t samples_min, bool trains,
                           const Regularisation& regularisation) {
  const Batch& batch = input.batch;
  const size_t samples = std::max(batch.samples, samples_min);
  if (!std::exchange(is_prepared_, false)) STRATA_TRY(Bring(input));
  STRATA_TRY(backend_.SetBatch(batch_, samples));
  STRATA_TRY(backend_.SetRows(input.unique, input.rows));
  if (regularisation.dropout > 0) backend_.SetSeed(regularisation.dropout_seed);
  STRATA_TRY(executor_.Begin(samples, trains));
  executor_.ClearDense();
  backend_.FillDense(executor_.Value(LayerGraph::kDense));
  backend_.FillEmbeddings(executor_.Value(LayerGraph::kEmbeddings));
  return executor_.Forward(regularisation);
}

}  // namespace

Result<std::unique_ptr<Network>> MakeGpuNetwork(LayerGraph graph, int gpu, GemmPrecision precision,
                                                int threads) {
  STRATA_TRY(CheckDevice(gpu));
  const DeviceScope device(gpu);
  STRATA_ASSIGN(const cudaStream_t stream, MakeStream());
  STRATA_ASSIGN(auto pool, WorkPool::Start("batch", threads - 1));
  const Exec exec{DeviceKind::kCuda, gpu, stream};
  auto network = std::make_unique<GpuNetwork>(std::move(graph), exec, precision, std::move(pool));
  STRATA_TRY(network->Make());
  return Result<std::unique_ptr<Network>>(std::move(network));
}

}  // namespace strata
