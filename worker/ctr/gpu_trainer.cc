#include "worker/ctr/gpu_trainer.h"

#include <cmath>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/thread/thread.h"
#include "kernels/optim/apply.h"
#include "worker/model/network.h"

namespace strata {

GpuTrainer::GpuTrainer(GpuTrainerOptions options, const LayerGraph& graph, GpuTraining& training)
    : options_(std::move(options)), graph_(graph), training_(training), stages_(options_.clock) {}

Status GpuTrainer::Start() {
  std::vector<float> dense(graph_.parameters());
  std::vector<float> state(StateWidth(options_.dense_optimizer, graph_.learned_parameters()));
  InitializeParameters(graph_, options_.seed, dense);
  InitialState(options_.dense_optimizer, state);
  return training_.SetDense(dense, state);
}

Status GpuTrainer::Resume(TrainerState state) {
  STRATA_TRY(CheckDense(state, graph_.parameters(),
                        StateWidth(options_.dense_optimizer, graph_.learned_parameters())));
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
  state.dense_state.resize(StateWidth(options_.dense_optimizer, graph_.learned_parameters()));
  training_.GetDense(state.dense, state.dense_state);
  return state;
}

Status GpuTrainer::ReadNext(BatchSource& source) {
  STRATA_TRY(source.Next(options_.batch_size, &next_));
  return next_.samples == 0 ? Status::Ok() : training_.Bring(next_);
}

// The rows are on the GPU: of them the pooled embeddings tell.
Status GpuTrainer::Diverged(double loss) {
  const std::vector<float> dense = Dense();
  return strata::Diverged(step_, loss,
                          FirstCause({.graph = graph_,
                                      .batch = batch_,
                                      .parameters = dense,
                                      .logits = logits_,
                                      .place = training_.FirstNotFinite()},
                                     options_.names),
                          nullptr);
}

Result<bool> GpuTrainer::Step(BatchSource& source, double* loss) {
  // An error ends the step once the thread is through, so that nothing is read after it.
  Status read;
  STRATA_ASSIGN(std::jthread reader, StartThread("read ahead", [&] { read = ReadNext(source); }));
  // The seed is that of a Trainer alone.
  STRATA_TRY(training_.Begin(
      {.dropout = options_.dropout, .dropout_seed = Mix64(Mix64(options_.seed) + step_)}));
  STRATA_ASSIGN(const BatchLoss found, training_.Finish());
  stages_.End(Stage::kCompute);
  logits_ = found.logits;
  *loss = found.sum / static_cast<double>(batch_.samples);
  if (!std::isfinite(*loss)) return Diverged(*loss);
  if (options_.between_steps) {
    STRATA_ASSIGN(const bool goes_on, options_.between_steps());
    if (!goes_on) return false;
  }
  stages_.End(Stage::kOther);
  STRATA_TRY(training_.Update(step_));
  stages_.End(Stage::kUpdates);
  reader.join();
  stages_.End(Stage::kData);
  STRATA_TRY(read);
  return true;
}

Status GpuTrainer::TrainEpoch(BatchSource& source, uint64_t epoch,
                              const std::function<Status(const StepReport&)>& on_step) {
  stages_.Start();
  STRATA_TRY(source.Rewind(epoch));
  if (epoch != epoch_) epoch_steps_ = 0;
  epoch_ = epoch;
  for (uint64_t i = 0; i < epoch_steps_; ++i) {
    STRATA_TRY(source.Next(options_.batch_size, &next_));
  }
  training_.Forget();  // where an epoch ended early
  STRATA_TRY(ReadNext(source));
  stages_.End(Stage::kData);
  while (next_.samples > 0) {
    std::swap(batch_, next_);
    has_ended_ = options_.wants_end && options_.wants_end();
    double loss = 0;
    STRATA_ASSIGN(const bool done, Step(source, &loss));
    if (!done) {
      has_ended_ = true;
      return {};
    }
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
    stages_.End(Stage::kOther);
    if (has_ended_) return {};
  }
  ++epoch_;
  epoch_steps_ = 0;
  return {};
}

}  // namespace strata
