// VerifyCheckpoint: reads every byte of a checkpoint, and of those that it builds on, without a
// server, and tells all that is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

struct VerifyReport {
  std::vector<uint32_t> checkpoints;  // read, newest first
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  std::vector<Status> findings;  // file, offset, expected, found; none: all is well
};

// kNotFound: there is no such checkpoint. Everything else that is wrong is a finding; a file that
// no manifest names is one too.
Result<VerifyReport> VerifyCheckpoint(Disk& disk, const std::string& root, uint32_t number);

}  // namespace strata
