// Text of click models read and parsed, without training.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cluster/collective/single_group.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"

namespace strata::bench {

// Goes over a file of WriteClickText as a job does that trains from it.
class ClickParse {
 public:
  // `threads` is data.threads. The features are fitted here, which reads the file once. Errors are
  // those of the job.
  static Result<std::unique_ptr<ClickParse>> Make(const std::string& path,
                                                  const std::string& format, bool shuffles,
                                                  int threads);

  // So many epochs.
  Status Run(uint64_t epochs);
  uint64_t samples() const { return samples_; }  // so far

 private:
  ClickParse() = default;

  SingleGroup group_;
  std::unique_ptr<BatchSource> source_;
  Batch batch_;
  uint64_t epoch_ = 0;
  uint64_t samples_ = 0;
};

}  // namespace strata::bench
