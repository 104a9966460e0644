// Joins samples of several batches to one.
#pragma once

#include <cstddef>
#include <span>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"

namespace strata {

// Samples [begin, end) of a batch.
struct BatchSlice {
  const Batch* batch = nullptr;
  size_t begin = 0;
  size_t end = 0;
};

// Makes `batch` hold the samples of the slices, one slice after another; without any it is empty.
// All have the slots and the dense numbers of `shape`. Of the members `bad` is left empty. Several
// threads copy. kInvalid: there are more than Batch::kKeysMax keys in all.
Status JoinSlices(std::span<const BatchSlice> slices, const Batch& shape, WorkPool& threads,
                  Batch* batch);

}  // namespace strata
