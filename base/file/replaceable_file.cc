#include "base/file/replaceable_file.h"

#include <filesystem>
#include <utility>

#include "base/failpoint.h"

namespace strata {

Status ReplaceableFile::Replace(std::string_view content) {
  const std::string temporary = path_ + ".tmp";
  if (Status written = Write(content); !written.ok()) {
    // The error to report is the first one.
    static_cast<void>(disk_.Remove(temporary));
    return written;
  }
  STRATA_FAILPOINT("file.rename");
  if (Status renamed = disk_.Rename(temporary, path_); !renamed.ok()) {
    static_cast<void>(disk_.Remove(temporary));
    return renamed;
  }
  STRATA_FAILPOINT("file.sync_folder");
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  STRATA_TRY(disk_.SyncFolder(folder.empty() ? "." : folder));
  if (room_bytes_ > 0) static_cast<void>(KeepRoom(room_bytes_));  // the next call may find some
  return {};
}

Status ReplaceableFile::Write(std::string_view content) {
  std::unique_ptr<File> file = std::move(room_);
  if (file == nullptr) {
    STRATA_ASSIGN(file, disk_.Create(path_ + ".tmp"));
  }
  STRATA_FAILPOINT("file.write");
  STRATA_TRY(file->Append(std::as_bytes(std::span(content))));
  STRATA_FAILPOINT("file.sync");
  return file->Sync();
}

Status ReplaceableFile::KeepRoom(uint64_t bytes) {
  room_bytes_ = bytes;
  if (room_ != nullptr) return {};
  const std::string temporary = path_ + ".tmp";
  STRATA_ASSIGN(std::unique_ptr<File> file, disk_.Create(temporary));
  if (Status reserved = file->Preallocate(bytes); !reserved.ok()) {
    static_cast<void>(disk_.Remove(temporary));
    return reserved;
  }
  room_ = std::move(file);
  return {};
}

}  // namespace strata
