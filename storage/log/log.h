// Log: the write-ahead log of one lane. Records go in, in order, each under the next log sequence
// number (LSN, from 1); after a crash ReplayLog gives them back. docs/decisions/0006 says what a
// lane writes into it, proto/format/log_format.h how it lies on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

using Lsn = uint64_t;  // 0: before the first record

// Numbers are on disk. Bodies: docs/decisions/0006.
enum class RecordKind : uint16_t {
  kWrites = 1,
  kAnswer = 2,
  kExpired = 3,
  kCut = 4,
  kRestored = 5,
  kItems = 6,      // changes of a collection, in a log of its own: proto/format/item_change.h
  kItemsNote = 7,  // in a lane's log: whose write a record of a collection's log is
};

// What a lane needs of a log. Not thread-safe but for Sync and synced().
class WriteAheadLog {
 public:
  virtual ~WriteAheadLog() = default;
  // Puts a record into the buffer; the pieces are its body. kDiskFull: there is no room for it; the
  // log is as it was and a later call may succeed. Any other error is final. For kCut room is kept,
  // in a small segment of its own or, without one, at the end of each segment: a checkpoint can
  // begin when nothing else has room, and its trimming makes some.
  virtual Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body) = 0;
  // Whether a record of such a body goes into the buffer and writes nothing. An Append of one that
  // does not fit, of any kind but kCut, may write what was appended before it.
  virtual bool Fits(size_t body_bytes) const = 0;
  // Hands everything appended to the kernel: it survives the process. An error is final.
  virtual Status Write() = 0;
  // Everything written before the call is on stable storage when it returns. An error is final. One
  // thread besides the lane's may call it, at any time.
  virtual Status Sync() = 0;
  // Segments all of whose records are below `lsn` are the log's no more. What it returns removes
  // them: on any thread, also when the log is gone, in the order of the calls.
  virtual std::function<Status()> TakeBelow(Lsn lsn) = 0;
  Status Trim(Lsn lsn) { return TakeBelow(lsn)(); }
  // kDiskFull when an Append, or the opening, found no room for records other than cuts and there
  // is none still. Any other error is final.
  virtual Status LookForRoom() = 0;

  virtual Lsn appended() const = 0;  // LSN of the last record, 0 when there is none
  virtual Lsn written() const = 0;
  virtual Lsn synced() const = 0;       // any thread
  virtual size_t buffered() const = 0;  // bytes appended and not written
  virtual uint64_t bytes_on_disk() const = 0;
};

struct LogOptions {
  Disk* disk = nullptr;
  std::string folder;    // of the lane
  uint64_t lineage = 0;  // of the server's state; a segment of another one is refused
  uint16_t lane = 0;     // likewise
  // BootId(): tells a crash of the process from one of the machine, which may lose what was not
  // synced. A simulated machine has another one after each crash; "" is never the same.
  std::string boot_id;
  uint64_t segment_bytes = uint64_t{64} << 20;
  uint64_t bytes_max = UINT64_MAX;  // of all segments; Append is kDiskFull beyond
  // OpenLog has succeeded before: a folder without any segment has lost them.
  bool made = false;
};

struct LogRecord {
  RecordKind kind{};
  Lsn lsn = 0;
  std::span<const std::byte> body;  // valid during the visit
  Lsn synced_lsn = 0;               // up to there the log was on stable storage when it was made
};

struct ReplaySummary {
  Lsn last = 0;  // of the last valid record, for OpenLog; at least `from` - 1
  uint64_t records = 0;
  uint64_t bytes = 0;
  struct Torn {
    std::string file;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    std::string reason;
  };
  std::optional<Torn> torn;  // a tail that was cut
};

// Visits the records from LSN `from` on, in order; an error of `visit` ends it. kCorrupt names
// file, offset, expected and found, or the folder that has lost its segments, or that the log ends
// before `from` - 1; kNotFound says that the log begins behind `from`. A folder that does not
// exist, or is empty, is an empty log unless one was made, for a `from` of at most 1. Changes
// nothing.
Result<ReplaySummary> ReplayLog(const LogOptions& options, Lsn from,
                                const std::function<Status(const LogRecord&)>& visit);

// Begins a new segment behind `last`, what ReplayLog found; what replay had cut is set aside under
// other names until Trim. All before it is on stable storage when this returns: records that may
// not be are written over themselves, which takes no room. Makes the folder. What was appended and
// not written is lost with the Log. When there is no room for the segment, a small one is begun,
// where cuts and some more fit. Without room for that, the log is opened all the same: it takes
// nothing (kDiskFull) until an Append finds room, and where the file system itself takes room to
// write over something (copy on write) it says that nothing is synced until then. A log that is
// empty and was not made before is kDiskFull without room for a whole segment.
Result<std::unique_ptr<WriteAheadLog>> OpenLog(const LogOptions& options, Lsn last);

}  // namespace strata
