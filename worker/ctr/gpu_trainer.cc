#include "worker/ctr/gpu_trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/hash.h"
#include "kernels/optim/apply.h"
#include "worker/model/network.h"

namespace strata {

GpuTrainer::GpuTrainer(GpuTrainerOptions options, const LayerGraph& graph, GpuTraining& training)
    : options_(std::move(options)), graph_(graph), training_(training) {}

Status GpuTrainer::Start() {
  std::vector<float> dense(graph_.parameters());
  std::vector<float> state(StateWidth(options_.dense_optimizer, dense.size()));
  InitializeParameters(graph_, options_.seed, dense);
  InitialState(options_.dense_optimizer, state);
  return training_.SetDense(dense, state);
}

Status GpuTrainer::Resume(TrainerState state) {
  const size_t dense = graph_.parameters();
  const size_t numbers = StateWidth(options_.dense_optimizer, dense);
  if (state.dense.size() != dense || state.dense_state.size() != numbers) {
    return Corrupt(fmt::format(
        "the training state has {} dense parameters with {} numbers of optimizer state; the model "
        "has {} with {}",
        state.dense.size(), state.dense_state.size(), dense, numbers));
  }
  step_ = state.steps + 1;
  epoch_ = state.epoch;
  epoch_steps_ = state.epoch_steps;
  samples_ = state.samples;
  return training_.SetDense(state.dense, state.dense_state);
}

TrainerState GpuTrainer::State() const {
  TrainerState state;
  state.steps = steps();
  state.epoch = epoch_;
  state.epoch_steps = epoch_steps_;
  state.samples = samples_;
  state.dense.resize(graph_.parameters());
  state.dense_state.resize(StateWidth(options_.dense_optimizer, state.dense.size()));
  training_.GetDense(state.dense, state.dense_state);
  return state;
}

Result<double> GpuTrainer::Step() {
  logits_.resize(batch_.samples);
  const auto samples = static_cast<double>(batch_.samples);
  const auto before_update = [&](double loss) -> Status {
    if (!std::isfinite(loss)) {
      return Failed(
          fmt::format("step {}: the loss is {}: the model diverged; use a smaller "
                      "sparse.learning_rate or dense.learning_rate",
                      step_, loss / samples));
    }
    return options_.between_steps ? options_.between_steps() : Status::Ok();
  };
  // The seed is that of a Trainer alone.
  const Regularisation regularisation{.dropout = options_.dropout,
                                      .l2 = options_.l2,
                                      .dropout_seed = Mix64(Mix64(options_.seed) + step_)};
  STRATA_ASSIGN(const double loss,
                training_.Step(batch_, regularisation, step_, logits_, before_update));
  return loss / samples;
}

Status GpuTrainer::TrainEpoch(BatchSource& source, uint64_t epoch,
                              const std::function<Status(const StepReport&)>& on_step) {
  STRATA_TRY(source.Rewind(epoch));
  if (epoch != epoch_) epoch_steps_ = 0;
  epoch_ = epoch;
  for (uint64_t i = 0; i < epoch_steps_; ++i) {
    STRATA_TRY(source.Next(options_.batch_size, &batch_));
  }
  while (true) {
    STRATA_TRY(source.Next(options_.batch_size, &batch_));
    if (batch_.samples == 0) break;
    has_ended_ = options_.wants_end && options_.wants_end();
    STRATA_ASSIGN(const double loss, Step());
    samples_ += batch_.samples;
    const StepReport report{.step = step_,
                            .samples = batch_.samples,
                            .samples_total = samples_,
                            .loss = loss,
                            .batch = &batch_,
                            .logits = logits_};
    ++step_;
    ++epoch_steps_;
    STRATA_TRY(on_step(report));
    if (has_ended_) return {};
  }
  ++epoch_;
  epoch_steps_ = 0;
  return {};
}

}  // namespace strata
