// ClickSteps: steps of a click model as a job without servers makes them, from batches in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread/work_pool.h"
#include "cluster/collective/single_group.h"
#include "storage/memory/local_store.h"
#include "strata/status.h"
#include "worker/ctr/trainer.h"
#include "worker/data/batch/batch.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata::bench {

struct ClickStepsOptions {
  ModelShape shape;
  uint32_t batch_size = 0;
  OptimizerKind optimizer = OptimizerKind::kSgd;  // of the rows; Adam is that of the dense part
  uint64_t rows = 0;                              // of each slot, all of which exist
  int threads = 1;
};

// One thread at a time.
class ClickSteps {
 public:
  static Result<std::unique_ptr<ClickSteps>> Make(const ClickStepsOptions& options);

  // Trains on `count` batches, which take turns.
  Status Run(uint64_t count);
  uint64_t steps() const { return trainer_->steps(); }  // all of them

 private:
  class Source;

  ClickSteps(const ClickStepsOptions& options, std::unique_ptr<WorkPool> threads);
  Status Fill(const TableSpec& table);

  const ClickStepsOptions options_;
  std::unique_ptr<WorkPool> threads_;  // outlives what it helps
  std::unique_ptr<LocalStore> store_;
  SingleGroup group_;
  std::unique_ptr<Network> network_;
  std::shared_ptr<Source> source_;
  std::unique_ptr<Trainer> trainer_;
  uint64_t passes_ = 0;
};

}  // namespace strata::bench
