#include "tests/soak/checkpoint_watch.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "proto/format/checkpoint_manifest.h"

namespace strata::soak {

NewestCheckpoints FindNewest(const std::string& checkpoints) {
  NewestCheckpoints newest;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, none)) {
    const auto number = format::ParseCheckpointFolderName(entry.path().filename().string());
    if (!number) continue;
    newest.begun = std::max(newest.begun, *number);
    if (*number > newest.whole &&
        std::filesystem::exists(entry.path() / format::kCheckpointManifestName)) {
      newest.whole = *number;
    }
  }
  return newest;
}

}  // namespace strata::soak
