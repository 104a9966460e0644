// RecordStore: values under keys that stay, in a RocksDB of their own (the cold tier, rocks_db.h,
// keeps nothing). Large values lie in files beside the keys, one file for all that was put between
// two commits, so that no merge of files copies them; a file goes when all of its values have gone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "strata/status.h"

namespace strata {

// A change of a commit.
struct RecordChange {
  std::string key;
  std::optional<std::string> value;  // none: the key goes
};

// One thread, but any number may Read together. kDiskFull, or any other error of Put and Commit: it
// is to be opened again, and has then what the last commit that returned left, or, of the one that
// failed, all of it.
class RecordStore {
 public:
  virtual ~RecordStore() = default;

  virtual const std::string& name() const = 0;  // for messages: its folder

  // Will be durable with the next commit; after a crash before that it may be there, but then so is
  // all that was put before it.
  virtual Status Put(const std::string& key, std::span<const std::byte> value) = 0;
  // All of the changes or none; durable when it returns, with whatever was put before.
  virtual Status Commit(std::span<const RecordChange> changes) = 0;

  // kCorrupt: the disk returned other bytes than were written.
  virtual Result<std::optional<std::string>> Read(const std::string& key) const = 0;
};

enum class RecordAccess {
  kRead,   // changes nothing on disk, needs no room; where there is no store it is an empty one
  kWrite,  // makes the folder if need be
};

// How a store is opened whenever it is needed.
using RecordStoreOpener = std::function<Result<std::unique_ptr<RecordStore>>(RecordAccess)>;

// One process at a time has it open with kWrite. Beside what it reads and writes it takes up to
// 64 MiB of memory while values are put, and little else.
RecordStoreOpener RocksRecords(std::string folder);

}  // namespace strata
