#include "tests/sim/watched_disk.h"

#include <utility>

namespace strata::sim {

class WatchedDisk::WatchedFile : public File {
 public:
  WatchedFile(const DiskWatch& watch, std::unique_ptr<File> below, std::string path)
      : watch_(watch), below_(std::move(below)), path_(std::move(path)) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    return below_->ReadAt(offset, out);
  }
  Status Append(std::span<const std::byte> bytes) override {
    STRATA_ASSIGN(const bool make, watch_(DiskChange::kAppend, path_));
    return make ? below_->Append(bytes) : Status();
  }
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
    STRATA_ASSIGN(const bool make, watch_(DiskChange::kWriteAt, path_));
    return make ? below_->WriteAt(offset, bytes) : Status();
  }
  Status Preallocate(uint64_t bytes) override { return below_->Preallocate(bytes); }
  Status Sync() override {
    STRATA_ASSIGN(const bool make, watch_(DiskChange::kSync, path_));
    return make ? below_->Sync() : Status();
  }
  Result<uint64_t> Size() const override { return below_->Size(); }

 private:
  const DiskWatch& watch_;
  const std::unique_ptr<File> below_;
  const std::string path_;
};

void WatchedDisk::Mount(std::string folder, Disk& other) {
  mounted_at_ = std::move(folder);
  mounted_ = &other;
}

Disk& WatchedDisk::For(std::string_view path) const {
  return mounted_ != nullptr && path.starts_with(mounted_at_) ? *mounted_ : below_;
}

Result<std::unique_ptr<File>> WatchedDisk::OpenToRead(const std::string& path) {
  STRATA_ASSIGN(std::unique_ptr<File> file, For(path).OpenToRead(path));
  return std::unique_ptr<File>(std::make_unique<WatchedFile>(watch_, std::move(file), path));
}

Result<std::unique_ptr<File>> WatchedDisk::OpenToRewrite(const std::string& path) {
  STRATA_ASSIGN(std::unique_ptr<File> file, For(path).OpenToRewrite(path));
  return std::unique_ptr<File>(std::make_unique<WatchedFile>(watch_, std::move(file), path));
}

Result<std::unique_ptr<File>> WatchedDisk::Create(const std::string& path) {
  STRATA_TRY(watch_(DiskChange::kCreate, path).status());
  STRATA_ASSIGN(std::unique_ptr<File> file, For(path).Create(path));
  return std::unique_ptr<File>(std::make_unique<WatchedFile>(watch_, std::move(file), path));
}

Status WatchedDisk::Rename(const std::string& from, const std::string& to) {
  STRATA_ASSIGN(const bool make, watch_(DiskChange::kRename, to));
  return make ? For(to).Rename(from, to) : Status();
}

Status WatchedDisk::Remove(const std::string& path) {
  STRATA_ASSIGN(const bool make, watch_(DiskChange::kRemove, path));
  return make ? For(path).Remove(path) : Status();
}

Status WatchedDisk::GiveBackReserve(const std::string& path) {
  return For(path).GiveBackReserve(path);
}

Status WatchedDisk::MakeFolder(const std::string& path) { return For(path).MakeFolder(path); }

Result<std::vector<std::string>> WatchedDisk::List(const std::string& folder) {
  return For(folder).List(folder);
}

Status WatchedDisk::SyncFolder(const std::string& folder) {
  STRATA_ASSIGN(const bool make, watch_(DiskChange::kSyncFolder, folder));
  return make ? For(folder).SyncFolder(folder) : Status();
}

}  // namespace strata::sim
