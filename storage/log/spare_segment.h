// The file that becomes the next segment of a log. It is reserved ahead, so that a full disk is met
// before anything is half written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/file/disk.h"
#include "base/thread/mutex.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class SpareSegment {
 public:
  // `path`: of the spare; `used`: the bytes of all segments that have a name.
  SpareSegment(const LogOptions& options, std::string path, std::atomic<uint64_t>* used)
      : options_(options), path_(std::move(path)), used_(used) {}

  // Has a spare with room for `capacity` bytes, if these and what is used are at most the options'
  // bytes_max. kDiskFull: there is none, and nothing has changed.
  Status Prepare(uint64_t capacity);

  struct Begun {
    std::unique_ptr<File> file;
    uint64_t capacity = 0;  // used from now on
  };
  // Makes the spare, which Prepare has made, the segment at `path`, beginning with `header`; there
  // is no spare afterwards. The file has its name only once the header is on stable storage: a
  // segment is never found without one. An error is final.
  Result<Begun> Begin(const std::string& path, std::span<const std::byte> header);

  uint64_t bytes() const;  // that it occupies

 private:
  const LogOptions& options_;
  const std::string path_;
  std::atomic<uint64_t>* const used_;
  mutable Mutex mutex_;
  Begun spare_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata
