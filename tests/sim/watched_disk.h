// WatchedDisk: a disk over another one that asks before each change, so that a test can let
// processes die and machines lose power between any two, or plant a bug.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"

namespace strata::sim {

enum class DiskChange : uint8_t {
  kCreate,
  kAppend,
  kWriteAt,
  kSync,
  kRename,
  kRemove,
  kSyncFolder
};

// Of a rename, `path` is the new name. True: the change is made; false: it is not, and nobody is
// told; an error: it is not, and ends with it.
using DiskWatch = std::function<Result<bool>(DiskChange, const std::string& path)>;

// One thread. `below` outlives it, and it outlives its files. Reads are as they are below, and so
// are folders and room that is reserved.
class WatchedDisk : public Disk {
 public:
  WatchedDisk(Disk& below, DiskWatch watch) : below_(below), watch_(std::move(watch)) {}

  // What lies in `folder`, a part of a relative path, is on another disk.
  void Mount(std::string folder, Disk& other);

  Result<std::unique_ptr<File>> OpenToRead(const std::string& path) override;
  Result<std::unique_ptr<File>> OpenToRewrite(const std::string& path) override;
  Result<std::unique_ptr<File>> Create(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status GiveBackReserve(const std::string& path) override;
  Status MakeFolder(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Status SyncFolder(const std::string& folder) override;

 private:
  class WatchedFile;
  Disk& For(std::string_view path) const;

  Disk& below_;
  Disk* mounted_ = nullptr;
  std::string mounted_at_;
  const DiskWatch watch_;
};

}  // namespace strata::sim
