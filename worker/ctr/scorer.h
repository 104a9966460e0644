// Scorer: what a finished model says about samples, batch by batch. Pulls are not marked with a
// step: nobody may be training the table meanwhile.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cluster/collective/group.h"
#include "storage/table.h"
#include "strata/status.h"
#include "worker/ctr/metrics.h"
#include "worker/ctr/pending.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/unique_keys.h"
#include "worker/model/network.h"

namespace strata {

// One thread at a time.
class Scorer {
 public:
  // `dense` is the model's dense part and outlives the scorer; `tables` are the model's.
  Scorer(Network& network, std::span<const float> dense, TableStore& store,
         std::vector<TableId> tables);

  // Reads the source to its end. `use` gets each batch with its logits; its error ends the pass.
  using Use = std::function<Status(const Batch& batch, std::span<const float> logits)>;
  Status Score(BatchSource& source, const Use& use);

  // Metrics over the shares of all ranks: equal numbers on every rank, whatever their count. What
  // fails on one rank fails on all, once they are through with their shares.
  // `on_batch` gets the samples of each batch and may end the pass. in_groups: the source's batches
  // have groups.
  Result<Metrics> Evaluate(BatchSource& source, Group& group,
                           const std::function<Status(size_t samples)>& on_batch,
                           bool in_groups = false);

 private:
  struct Part {
    Batch batch;
    UniqueKeys unique;
    std::vector<float> rows;
  };

  Status Read(BatchSource& source, std::shared_ptr<Part>* part);

  Network& network_;
  std::span<const float> dense_;
  TableStore& store_;
  std::vector<TableId> tables_;
  UniqueFinder finder_;
  Pending lookup_;
};

}  // namespace strata
