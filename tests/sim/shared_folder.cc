#include "tests/sim/shared_folder.h"

#include "proto/format/checkpoint_manifest.h"

namespace strata::sim {
namespace {

// Of the checkpoint whose manifest lies at the path, set aside or not; nothing for other files.
std::optional<uint32_t> NumberOfManifest(const std::string& path) {
  const size_t file = path.rfind('/');
  if (file == std::string::npos) return std::nullopt;
  const std::string name = path.substr(file + 1);
  if (name != format::kRetiredManifestName && name != format::kCheckpointManifestName) {
    return std::nullopt;
  }
  const size_t folder = path.rfind('/', file - 1);
  return format::ParseCheckpointFolderName(path.substr(folder + 1, file - folder - 1));
}

}  // namespace

SharedFolder::SharedFolder(uint64_t seed)
    : disk_({.seed = seed}),
      watched_(disk_, [this](auto change, const auto& path) { return Watch(change, path); }) {
  // Servers mount it: it is there before they are.
  STRATA_CHECK(MakeDurableFolder(disk_, kCheckpointsFolder).ok());
}

Result<bool> SharedFolder::Watch(DiskChange change, const std::string& path) {
  if (change == DiskChange::kRemove && on_retired_) {
    if (const std::optional<uint32_t> number = NumberOfManifest(path)) on_retired_(*number);
  }
  if (fuse_ == 0 || --fuse_ > 0) return true;
  ++power_losses_;
  disk_.Crash();
  return Failed("the machine that keeps the checkpoints lost power");
}

}  // namespace strata::sim
