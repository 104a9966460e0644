// The tasks of strata-worker: what happens between start and goodbye.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/ctr/metrics.h"
#include "worker/tasks/options.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/session.h"
#include "worker/tasks/stage_report.h"
#include "worker/tasks/status_board.h"

namespace strata {

// How training with train.early_stopping went.
struct EarlyStoppingResult {
  bool ended = false;       // before its last epoch did
  std::string best_by;      // the metric, as train.best_by has it
  uint64_t best_steps = 0;  // of the model that is kept
  uint64_t since_best = 0;  // evaluations after it
};

// What a task has to say in the end.
struct TaskResult {
  ModelKind model = ModelKind::kLogistic;
  uint64_t samples = 0;  // gone over by all workers in this run: epochs added for training
  // Rows of the task's data, by all workers, that could not be read. To predict they are among the
  // samples, elsewhere they are left out.
  uint64_t bad_rows = 0;
  double seconds = 0;                    // that this took
  double evaluation_seconds = 0;         // of training, for evaluations, not among those before
  uint64_t steps = 0;                    // training, with those before a resume
  std::optional<uint32_t> resumed_from;  // the checkpoint that training went on from
  uint64_t checkpoints = 0;              // taken; rank 0 alone knows
  std::optional<Metrics> metrics;        // of the model that is kept
  std::optional<EarlyStoppingResult> early_stopping = {};
  std::optional<StageReport> stages = {};  // of training
  std::string model_path;                  // written or read
  std::string predictions_path;            // written
};

// What a task works with; all of it outlives the call.
struct TaskContext {
  const WorkerOptions& options;
  Session& session;
  Disk& disk;
  const Clock& clock;
  StatusBoard& board;
  ProgressPrinter& printer;
  WorkPool* threads = nullptr;    // that help with a step; null: the calling thread works alone
  std::function<Status()> check;  // not OK: a signal came, stop
  // True: nobody reads what training shows any more. It then ends, and keeps its model.
  std::function<bool()> is_unread = {};
  // A task that can end between two steps says so, and when it no longer can. A signal then makes
  // `asked` say why it is to end, instead of `check`.
  std::function<void(bool)> set_ends_itself = [](bool) {};
  std::function<Status()> asked = [] { return Status(); };
  // It does so now: nothing ends its waits any more.
  std::function<void()> ends_now = [] {};
};

Result<TaskResult> RunTask(const TaskContext& context);

}  // namespace strata
