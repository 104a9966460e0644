// The segments of a log before the one that is being written.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/log/log.h"
#include "storage/log/segment_files.h"
#include "strata/status.h"

namespace strata {

// One thread.
class OldSegments {
 public:
  explicit OldSegments(const LogOptions& options) : options_(options) {}

  // Takes over what earlier processes left, up to LSN `last`: all of it is on stable storage when
  // this returns. Segments behind it, which replay has cut, are set aside; empty ones are removed,
  // but for one whose name the next takes: a folder that was served is never without a segment.
  Status Adopt(Lsn last);

  // A segment that is full.
  void Add(Lsn first, uint64_t bytes);

  // Forgets the segments, and what was set aside, all of whose records are below `lsn`; the current
  // segment begins with `current_first`. Subtracts their bytes from `used`. Their paths, from the
  // oldest on: removed in that order, what is left never has a hole.
  std::vector<std::string> TakeBelow(Lsn lsn, Lsn current_first, std::atomic<uint64_t>* used);

  uint64_t bytes() const;  // of all

 private:
  struct Segment {
    SegmentFile file;
    uint64_t bytes = 0;
  };

  Status SetAside(std::vector<SegmentFile> segments, Lsn last);
  Status MakeDurable(const std::vector<SegmentFile>& segments, Lsn last);
  Result<Lsn> SyncedIn(const SegmentFile& segment, Lsn last) const;
  Status WriteAgain(const SegmentFile& segment, Lsn from, Lsn last);

  const LogOptions& options_;
  std::vector<Segment> segments_;  // by first LSN
  std::vector<SegmentFile> cut_;   // what was set aside, by first LSN
};

// OK too when there is none.
Status RemoveSegment(Disk& disk, const std::string& path);

}  // namespace strata
