#include "worker/gbdt/output_folder.h"

#include <fmt/format.h>

namespace strata {

Status CheckFolderOf(Disk& disk, std::string_view key, const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const Status listed = disk.List(path.substr(0, slash)).status();
  if (listed.ok()) return {};
  return Invalid(fmt::format("{} = {}: expected a file in a folder that is there: {}", key, path,
                             listed.message()));
}

}  // namespace strata
