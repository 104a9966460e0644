// The file that becomes the next segment of a log. It is reserved ahead, so that a full disk is met
// before anything is half written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/disk.h"
#include "base/status.h"
#include "storage/log/log.h"

namespace strata {

// Thread-safe.
class SpareSegment {
 public:
  // `used`: the bytes of all segments that have a name.
  SpareSegment(const LogOptions& options, std::atomic<uint64_t>* used)
      : options_(options), used_(used) {}

  // Has a spare with room for `capacity` bytes, if these and what is used are at most the options'
  // bytes_max. kDiskFull: there is none, and nothing has changed.
  Status Prepare(uint64_t capacity);

  struct Taken {
    std::unique_ptr<File> file;  // under SpareSegmentPath
    uint64_t capacity = 0;
  };
  // The spare, which Prepare has made; there is none afterwards. Its capacity is used from now on.
  Taken Take();

  uint64_t bytes() const;  // that it occupies

 private:
  const LogOptions& options_;
  std::atomic<uint64_t>* const used_;
  mutable std::mutex mutex_;
  Taken spare_;
};

}  // namespace strata
