// A small file that is replaced as a whole, also when the disk is full.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

// One thread at a time.
class ReplaceableFile {
 public:
  ReplaceableFile(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}

  // Writes path.tmp, syncs it, renames it over the file and syncs the folder: readers see the old
  // content or the new one, never a part.
  Status Replace(std::string_view content);

  // Has path.tmp with room for `bytes`, from now on: that much Replace writes whatever others do
  // with the disk, and keeps the room of what it replaced for the next time. kDiskFull: there is no
  // such room, and nothing has changed.
  Status KeepRoom(uint64_t bytes);

  const std::string& path() const { return path_; }

 private:
  Status Write(std::string_view content);

  Disk& disk_;
  const std::string path_;
  uint64_t room_bytes_ = 0;
  std::unique_ptr<File> room_;  // path.tmp, empty
};

}  // namespace strata
