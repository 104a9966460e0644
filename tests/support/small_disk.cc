#include "tests/support/small_disk.h"

#include <sys/mount.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

SmallDisk::SmallDisk(std::string folder, const char* size) : folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, size) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
}

void SmallDisk::Resize(const char* size) {
  STRATA_CHECK(mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, size) == 0);
}

void FillUp(const std::string& filler) {
  const Result<std::unique_ptr<File>> file = RealDisk().Create(filler);
  STRATA_CHECK(file.ok());
  const std::vector<std::byte> page(4096);
  Status full;
  while (full.ok()) full = (*file)->Append(page);
  STRATA_CHECK(full.code() == StatusCode::kDiskFull);
}

}  // namespace strata
