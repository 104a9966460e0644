// GpuTraining: a click model that trains on one GPU, with its rows in that GPU's memory. Nothing of
// a step goes over the host but the batch, the loss and the logits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/dense/gpu/gemm.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"
#include "strata/table_spec.h"
#include "strata/table_store.h"
#include "worker/data/batch/batch.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

struct GpuTrainingOptions {
  int gpu = 0;
  GemmPrecision precision = GemmPrecision::kBf16;
  OptimizerSpec dense_optimizer = {};
  // Of the store, one for each of the graph's tables, whose row_dim it has. Each is updated by its
  // own optimizer.
  std::vector<TableSpec> tables = {};
};

struct BatchLoss {
  double sum = 0;                 // over the samples, without penalties
  std::span<const float> logits;  // of the samples; until the next Begin
};

// One thread at a time.
class GpuTraining {
 public:
  // `store` is one of strata/gpu/gpu_store.h on that GPU, and outlives the object. kNotFound: there
  // is no such GPU or table, or the build has no CUDA; kInvalid: the table cannot be trained so,
  // says why; kRefused: no memory.
  static Result<std::unique_ptr<GpuTraining>> Make(LayerGraph graph, TableStore& store,
                                                   const GpuTrainingOptions& options);
  virtual ~GpuTraining() = default;

  // The dense part, and the optimizer's state (StateWidth of what is learned of it).
  virtual Status SetDense(std::span<const float> parameters, std::span<const float> state) = 0;
  virtual void GetDense(std::span<float> parameters, std::span<float> state) = 0;

  // A step, of a batch of one sample or more: Bring, Begin, Finish, Update, in this order. There is
  // room for two batches: the next one may be brought once the batch before this one is updated, by
  // another thread too, while this one takes its step.
  virtual Status Bring(const Batch& batch) = 0;
  // Between steps: a batch that was brought takes no step.
  virtual void Forget() = 0;
  // Enqueues both ways of the batch that was brought. `regularisation` has no l2 (STRATA_CHECK).
  virtual Status Begin(const Regularisation& regularisation) = 0;
  // Waits for that batch's loss, while the GPU works on the way back.
  virtual Result<BatchLoss> Finish() = 0;
  // As Network has it, of the batch whose loss Finish has waited for.
  virtual std::optional<NotFinitePlace> FirstNotFinite() = 0;
  // Updates rows and dense part by the gradients of its mean loss, at time `step` (1 or more).
  // Waits for nothing that takes long.
  virtual Status Update(uint64_t step) = 0;
};

}  // namespace strata
