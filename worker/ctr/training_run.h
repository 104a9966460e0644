// TrainingRun: the training of a click model as the task that asks for it sees it, wherever rows
// and dense part are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "strata/status.h"
#include "worker/ctr/best_evaluation.h"
#include "worker/ctr/stage_times.h"
#include "worker/data/batch/batch.h"

namespace strata {

// Where training stands between two steps: all that the ranks share beside the table.
struct TrainerState {
  uint64_t steps = 0;        // done, over all epochs
  uint64_t epoch = 0;        // that the next step belongs to, from 0
  uint64_t epoch_steps = 0;  // done of it: as many batches has each rank taken from its source
  uint64_t samples = 0;      // over all ranks and epochs
  std::vector<float> dense;
  std::vector<float> dense_state;  // of the optimizer
  // Of a run that keeps the best evaluation's model; a TrainingRun itself knows of none.
  std::optional<EvaluationState> evaluations = {};
};

// kCorrupt: the state's dense part has not this many parameters and numbers of optimizer state.
Status CheckDense(const TrainerState& state, size_t parameters, size_t numbers);

// Called before the updates of each step, the first one too: the table then holds the updates of
// all steps before and of no other, whatever the other ranks have sent, until it returns. False, on
// all ranks alike, ends training there. An error ends it, too.
using BetweenSteps = std::function<Result<bool>()>;

// After each step, on every rank.
struct StepReport {
  uint64_t step = 0;     // from 1, over all epochs
  uint64_t samples = 0;  // of this step, over all ranks
  uint64_t samples_total = 0;
  double loss = 0;  // mean over the step's samples, before its update
  // This rank's part: what the model said before it learned from them.
  const Batch* batch = nullptr;
  std::span<const float> logits;
};

// One thread at a time.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  // Once, before training.
  virtual Status Start() = 0;

  // Goes on where another run stood, whose table is there: training then ends with the bits that it
  // would have ended with. Before the first epoch, alike on all ranks. kCorrupt: a state of another
  // model.
  virtual Status Resume(TrainerState state) = 0;

  // All ranks' shares, once, or until it is asked to end or BetweenSteps ends it; of the epoch of
  // the resumed state, what is left of it. `on_step` may end training with an error. kFailed when
  // the loss is no number any more.
  virtual Status TrainEpoch(BatchSource& source, uint64_t epoch,
                            const std::function<Status(const StepReport&)>& on_step) = 0;

  virtual TrainerState State() const = 0;
  virtual std::vector<float> Dense() const = 0;
  virtual uint64_t samples() const = 0;  // over all ranks and epochs
  virtual uint64_t steps() const = 0;
  // Of the epochs, or what there is of them.
  virtual const StageTimes& stages() const = 0;
  virtual bool has_ended() const = 0;  // before its data did
};

}  // namespace strata
