// PrefetchSource: reads batches of another source ahead of their use, in a thread of its own.
//
// Batches circulate: the reader fills an empty one, the caller gets it by Next and gives its own
// back in exchange. The number of batches is the reader's credit, so memory is bounded, and once
// warm nothing is allocated.
#pragma once

#include <memory>

#include "base/clock.h"
#include "worker/data/batch/batch.h"

namespace strata {

class PrefetchSource : public BatchSource {
 public:
  // Reads batches of `samples_max`, at most `batches_ahead` (at least 1) before their use. The
  // thread starts with the first Rewind.
  PrefetchSource(std::unique_ptr<BatchSource> source, size_t samples_max, size_t batches_ahead,
                 const Clock& clock = RealClock());
  ~PrefetchSource() override;  // stops the thread after the batch it is at

  // Drops what was read ahead, after the batch that the thread is at.
  Status Rewind(uint64_t epoch) override;
  // `samples_max` is the one of the constructor. Blocks until a batch is there. After an error, or
  // at the end, the same comes again until Rewind.
  Status Next(size_t samples_max, Batch* batch) override;
  // Both as of the batch that Next gave last.
  double Progress() const override;
  uint64_t bad_rows() const override;
  TimeNs reading_time() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
