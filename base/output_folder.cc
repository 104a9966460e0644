#include "base/output_folder.h"

namespace strata {

Status CheckFolderOf(Disk& disk, const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::string folder = path.substr(0, slash);
  if (folder == "/dev" || folder == "/dev/fd" || folder.starts_with("/proc")) {
    return Invalid(
        "expected a file, which is written apart and then put in place: name one, and copy it to a "
        "device from there");
  }
  const Status listed = disk.List(folder).status();
  if (listed.ok()) return {};
  return Invalid("expected a file in a folder that is there: " + listed.message());
}

}  // namespace strata
