// The tasks of a LightGBM train.conf or a job of boosted trees.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/file/output_file.h"
#include "strata/status.h"
#include "worker/gbdt/boost/booster.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// What a tree task has to say in the end.
struct TreeTaskResult {
  std::string task;
  size_t rows = 0;
  // Rows of the data that could not be read. To predict they are among the rows, elsewhere they are
  // left out.
  uint64_t bad_rows = 0;
  size_t features = 0;
  size_t rounds = 0;                    // of the model
  uint64_t samples = 0;                 // gone over: rows, of training times rounds
  std::optional<size_t> best_round;     // where early stopping ended
  std::string stop_reason = {};         // of training that ended early, where it is known
  double load_seconds = 0;              // reading, and finding and filling bins
  double train_seconds = 0;             // rounds with their metrics
  std::vector<Evaluation> evaluations;  // of the last round
  std::string output;                   // written
};

// Where training stands.
struct TreeProgress {
  size_t round = 0;  // done
  size_t rounds = 0;
  uint64_t rows = 0;
  const std::vector<Evaluation>* evaluations = nullptr;  // null: not measured after this round
};

// What a tree task works with; all of it outlives the call.
struct TreeTaskContext {
  Disk& disk;
  const Clock& clock;
  std::function<void(const TreeProgress&)> progress;  // called after each round
  std::function<Status()> check;                      // not OK: stop
  // True: nobody reads what training shows any more. It then ends, and keeps its model.
  std::function<bool()> is_unread = {};
  // The ranks that train together, which all run the task; null: this process alone. Rank 0 writes
  // models; all call progress.
  Group* group = nullptr;
  // What the process reads besides the parameters' files, and what must stay as it is.
  std::span<const NamedFile> files = {};
};

Result<TreeTaskResult> RunTreeTask(const TreeParameters& parameters,
                                   const TreeTaskContext& context);

}  // namespace strata
