// GpuTraining: a click model that trains on one GPU, with its rows in that GPU's memory. Nothing of
// a step goes over the host but the batch, the loss and the logits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/dense/gpu/gemm.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"
#include "strata/table_store.h"
#include "worker/data/batch.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

struct GpuTrainingOptions {
  int gpu = 0;
  GemmPrecision precision = GemmPrecision::kBf16;
  OptimizerSpec dense_optimizer = {};
  std::string table;  // of the store, with the graph's row_dim
};

// One thread at a time.
class GpuTraining {
 public:
  // `store` is one of strata/gpu/gpu_store.h on that GPU, and outlives the object. kNotFound: there
  // is no such GPU or table; kInvalid: the table cannot be trained so, says why; kRefused: a build
  // without CUDA, or no memory.
  static Result<std::unique_ptr<GpuTraining>> Make(LayerGraph graph, TableStore& store,
                                                   const GpuTrainingOptions& options);
  virtual ~GpuTraining() = default;

  // The dense part and its optimizer's state (StateWidth of it).
  virtual Status SetDense(std::span<const float> parameters, std::span<const float> state) = 0;
  virtual void GetDense(std::span<float> parameters, std::span<float> state) = 0;

  // Learns from a batch of one sample or more, at time `step` (1 or more): the gradients of the
  // mean loss update rows and dense part. Returns the summed loss of the batch before that, without
  // penalties; `logits` gets those of the samples. `before_update` is called once they are known,
  // before anything is updated; its error ends the step. l2 of `regularisation` is of the dense
  // part alone.
  virtual Result<double> Step(const Batch& batch, const Regularisation& regularisation,
                              uint64_t step, std::span<float> logits,
                              const std::function<Status(double loss)>& before_update) = 0;
};

}  // namespace strata
