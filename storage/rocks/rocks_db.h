// RocksDb: the cold tier of a server, one RocksDB instance that its lanes' tables share.
//
// It holds nothing that must survive: it is emptied when it is opened, and filled again from
// checkpoint and log. So there is no write-ahead log in it. What it does keep is what was read:
// each block carries a checksum (XXH3), and one that does not fit is an error.
//
// A key in RocksDB is | space: 4 bytes | Mix64(key): 8 bytes |, both big-endian. A space is one
// physical table. Mix64 is a bijection and its highest ten bits are the key's virtual shard, so a
// table and a shard of a table are ranges, and hashes order the rows of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "storage/row_schema.h"
#include "strata/status.h"

namespace strata {

struct RocksOptions {
  std::string folder;  // made if need be; what a RocksDB left in it is removed
  // Write buffers, index, filters, blocks and buffers of compactions together. What the data ask
  // for beyond it is read from disk when needed.
  uint64_t memory_bytes_max = uint64_t{64} << 20;
  // Of the folder, from BeginLimit on; 0: as much as the disk has. Rows get half of it, beyond
  // which they are kDiskFull: to merge files takes as much room again.
  uint64_t disk_bytes_max = 0;
  // Past the page cache, whose memory nobody budgets. A file system without direct I/O needs false.
  bool direct_io = true;
  int read_threads = 7;  // besides the calling one, for reads of many keys
};

struct RocksStats {
  uint64_t memory_bytes = 0;  // write buffers and cache
  uint64_t disk_bytes = 0;
};

// One space of RocksDB.
enum class SpaceId : uint32_t {};

// One row to write. `row` null: the row is to be erased.
struct ColdWrite {
  Key key;
  const std::byte* row;
};

// The database as it was at one moment. Cheap; keeps old versions of rows from being cleaned away.
class RocksSnapshot {
 public:
  virtual ~RocksSnapshot() = default;
};

// Walks the rows of a space by rising hash. Not thread-safe. Ends before the database.
class RocksCursor {
 public:
  virtual ~RocksCursor() = default;
  virtual bool Valid() const = 0;  // false at the end, and after an error
  virtual uint64_t hash() const = 0;
  virtual Key key() const = 0;
  virtual const std::byte* row() const = 0;  // until Next; aligned for any element
  virtual void Next() = 0;
  virtual Status status() const = 0;
};

// Which rows lie above all that were ever written to a space, and above each other: those of a
// snapshot do, since its pages come by rising hash. Such a row is not there yet.
class AppendOrder {
 public:
  explicit AppendOrder(uint64_t hash_end) : hash_end_(hash_end) {}
  // False, and without effect, when the row of `key` is no next one.
  bool Take(Key key);
  uint64_t hash_end() const { return hash_end_; }  // no hash above the rows so far is lower

 private:
  uint64_t hash_end_;
};

// Thread-safe. Errors: kDiskFull (nothing of the call was done, the same call may pass later),
// kCorrupt (a checksum), kFailed (I/O).
class RocksDb {
 public:
  static Result<std::unique_ptr<RocksDb>> Open(const RocksOptions& options);
  ~RocksDb();

  // A new, empty space for rows of `row_bytes`.
  SpaceId MakeSpace(size_t row_bytes);
  // Its rows go; the disk gets their bytes back in time.
  Status DropSpace(SpaceId space);

  // Row i, if there is one, to out[i * row_bytes ...], and found[i] tells. Keys may repeat.
  Status Read(SpaceId space, std::span<const Key> keys, std::span<std::byte> out,
              std::span<uint8_t> found) const;
  // All or nothing, in order.
  Status Write(SpaceId space, std::span<const ColdWrite> writes);
  // Which rows Append takes now.
  AppendOrder OrderOf(SpaceId space) const;
  // Rows in the space's AppendOrder, none null: many times as fast as Write, and better to read.
  // Any number of calls make one file; the first other call on the space ends it. An error is final
  // for the space, since rows of earlier calls may be gone too.
  Status Append(SpaceId space, std::span<const ColdWrite> rows);

  std::unique_ptr<RocksSnapshot> Snapshot() const;
  // From the first row whose hash is `hash_min` or higher; as of `snapshot`, or of now.
  std::unique_ptr<RocksCursor> Cursor(SpaceId space, uint64_t hash_min,
                                      const RocksSnapshot* snapshot = nullptr) const;

  void BeginLimit();
  // kDiskFull, and why, while what was last refused would be refused again.
  Status LookForRoom();

  // What was written so far is in files then. For tests and measurements.
  Status Flush();
  RocksStats Stats() const;

 private:
  struct Impl;
  explicit RocksDb(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

// The hash that orders rows, and its inverse.
uint64_t ColdHashOf(Key key);
Key KeyOfColdHash(uint64_t hash);

}  // namespace strata
