// GpuTrainer: training of a click model by one worker, with rows and dense part in the memory of
// one GPU (worker/model/gpu_training.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "strata/optimizer_spec.h"
#include "strata/status.h"
#include "worker/ctr/divergence.h"
#include "worker/ctr/training_run.h"
#include "worker/data/batch/batch.h"
#include "worker/model/gpu_training.h"
#include "worker/model/layer_graph.h"

namespace strata {

struct GpuTrainerOptions {
  uint64_t seed = 0;        // of the dense part's initial values and of dropout
  uint32_t batch_size = 0;  // at least 1
  float dropout = 0;
  OptimizerSpec dense_optimizer;  // that of the GpuTraining
  // As TrainerOptions has them.
  BetweenSteps between_steps = {};
  InputNames names = {};
  const Clock* clock = nullptr;
  std::function<bool()> wants_end = {};
};

class GpuTrainer final : public TrainingRun {
 public:
  // Both outlive the trainer.
  GpuTrainer(GpuTrainerOptions options, const LayerGraph& graph, GpuTraining& training);

  Status Start() override;
  Status Resume(TrainerState state) override;
  Status TrainEpoch(BatchSource& source, uint64_t epoch,
                    const std::function<Status(const StepReport&)>& on_step) override;
  TrainerState State() const override;
  std::vector<float> Dense() const override { return State().dense; }
  uint64_t samples() const override { return samples_; }
  uint64_t steps() const override { return step_ - 1; }
  const StageTimes& stages() const override { return stages_; }
  bool has_ended() const override { return has_ended_; }

 private:
  // Takes the next batch of the source to the GPU, unless the source is at its end.
  Status ReadNext(BatchSource& source);
  // Why the loss of the current batch is not finite.
  Status Diverged(double loss);
  // Learns from the current batch, and reads the next one meanwhile. `loss` gets the loss before
  // that, as a mean. False: training ends before the step.
  Result<bool> Step(BatchSource& source, double* loss);

  const GpuTrainerOptions options_;
  const LayerGraph& graph_;
  GpuTraining& training_;
  uint64_t step_ = 1;  // the next one
  uint64_t epoch_ = 0;
  uint64_t epoch_steps_ = 0;
  uint64_t samples_ = 0;
  bool has_ended_ = false;
  StageTimes stages_;
  Batch batch_;  // of the step under way
  Batch next_;
  std::span<const float> logits_;  // of that step
};

}  // namespace strata
