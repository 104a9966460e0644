// Trainer: synchronous training (staleness 0) of a Network by the ranks of a group, with the rows
// in any TableStore.
//
// A step: pull the rows of the rank's part of the batch (marked with the step, so that they wait
// for the step before), forward and backward, allreduce of the dense gradient, the loss and the
// number of samples, push of the row gradients, update of the dense part on every rank alike. While
// rows are on their way, the next part is read, so that the push of a step asks for the rows of the
// next one too. Ranks whose share is at its end go on with empty parts until all shares are.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "cluster/collective/group.h"
#include "storage/table.h"
#include "strata/status.h"
#include "worker/ctr/divergence.h"
#include "worker/ctr/pending.h"
#include "worker/ctr/training_run.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/side_finder.h"
#include "worker/model/network.h"

namespace strata {

struct TrainerOptions {
  uint64_t seed = 0;        // of the dense part's initial values and of dropout
  uint32_t batch_size = 0;  // of all ranks together: at least one sample a rank
  float dropout = 0;
  float l2 = 0;
  OptimizerSpec dense_optimizer;
  std::vector<TableId> tables;  // those of the model: each exists, with its row_dim
  uint64_t nonce = 0;           // random; rank 0's names the run
  // One message to each lane a step, which brings gradients and asks for the next rows. Otherwise
  // two: the rows then need not wait for what an acknowledgement waits for.
  bool fused = true;
  // Batches ahead of their use whose keys the store is told, for tables that keep rows in slower
  // tiers. That many and one, at least, are in memory.
  uint32_t hint_batches = 1;
  BetweenSteps between_steps = {};
  InputNames names = {};         // for messages
  const Clock* clock = nullptr;  // of stages(); null: they are not measured
  // Threads that help with distinct keys, gradients and the dense part's update; null: the calling
  // one works alone. They change no bits.
  WorkPool* threads = nullptr;
  // Finds the distinct keys of the part after the next one while a step is computed. Null: the
  // calling thread finds those of the next one while rows are on their way.
  SideThread* beside = nullptr;
  // Asked in each step. When it says so on any rank, training ends after that step on all of them.
  std::function<bool()> wants_end = {};
};

// One thread at a time.
class Trainer final : public TrainingRun {
 public:
  Trainer(const TrainerOptions& options, Network& network, TableStore& store, Group& group);

  // The rank's samples of a step: batch_size / world, the remainder to the low ranks.
  static size_t PartSize(uint32_t batch_size, int rank, int world);

  // Agrees on the run's name. Once, before training. kInvalid when the batch is smaller than the
  // group.
  Status Start() override;
  Status Resume(TrainerState state) override;
  // Returns once all updates are applied.
  Status TrainEpoch(BatchSource& source, uint64_t epoch,
                    const std::function<Status(const StepReport&)>& on_step) override;

  TrainerState State() const override;
  std::vector<float> Dense() const override { return dense_; }
  uint64_t samples() const override { return samples_; }
  uint64_t steps() const override { return step_ - 1; }
  const StageTimes& stages() const override { return stages_; }
  bool has_ended() const override { return has_ended_; }

 private:
  // What one step works on; the store holds on to it while an operation is under way.
  struct Part {
    Batch batch;
    UniqueKeys unique;
    std::shared_ptr<float[]> memory;  // for
    std::span<float> rows;
    std::span<float> gradients;  // of the rows
    size_t room = 0;             // numbers in memory
  };

  size_t OwnPartSize() const;
  Status SkipToPosition(BatchSource& source);
  // Reads a part, and begins to find its distinct keys.
  Status BeginPart(BatchSource& source);
  // The next part, with all that training takes.
  Status TakePart(BatchSource& source, std::shared_ptr<Part>* part);
  void GiveRoom(Part* part) const;
  std::span<float> RowsOf(const Part& part, std::span<float> all, size_t table) const {
    return RowsOfTable(network_.graph(), part.unique, table, all);
  }
  void Scale(float scale, std::span<float> gradients) const;
  // Reads what is to be read before `part` is trained.
  Status ReadAhead(BatchSource& source, const Part& part);
  void SubmitLookup(const std::shared_ptr<Part>& part);
  void SubmitHint(const std::shared_ptr<Part>& part);
  Status Compute(Part& part);
  // Sends the gradients of `part`; fused, also asks for the rows of `next`.
  void SubmitUpdate(const std::shared_ptr<Part>& part, const std::shared_ptr<Part>& next);
  Status Finish(const std::shared_ptr<Part>& part, const std::shared_ptr<Part>& next, bool* ended,
                StepReport* report);
  // Why the loss of the step that `part` was computed in is not finite.
  Status Diverged(double loss, const Part& part);
  SyncGroup Mark() const;

  TrainerOptions options_;
  Network& network_;
  TableStore& store_;
  Group& group_;
  uint32_t run_ = 0;
  uint64_t first_step_ = 1;  // of this run
  uint64_t step_ = 1;        // the next one
  uint64_t epoch_ = 0;
  uint64_t epoch_steps_ = 0;
  uint64_t samples_ = 0;
  std::vector<float> dense_;
  std::vector<float> dense_state_;
  std::vector<float> reduced_;  // dense gradient, loss, samples, ranks that want the end
  bool has_ended_ = false;
  StageTimes stages_;
  std::vector<float> logits_;
  std::deque<std::shared_ptr<Part>> ahead_;  // read, not trained yet; an empty one ends the share
  // Those that were trained last. The gradients of the last one are still on their way when the
  // next part is read, and so the one before is used again.
  static constexpr size_t kSparesMax = 2;
  std::deque<std::shared_ptr<Part>> spares_;
  std::shared_ptr<Part> begun_;  // its distinct keys are being found; null: no part's are
  SideFinder finder_;            // after what it works on
  // A lookup waits for the step before to be closed, which it never is when the update fails.
  std::shared_ptr<PendingGroup> pending_ = std::make_shared<PendingGroup>();
  Pending lookup_{pending_};  // of the next part's rows, most often with the update before
  Pending update_{pending_};  // one that asks for no rows
};

}  // namespace strata
