#include "base/output_folder.h"

#include <filesystem>
#include <system_error>

namespace strata {

Status CheckFolderOf(Disk& disk, const std::string& path) {
  if (path.empty()) return {};
  const size_t slash = path.rfind('/');
  const bool names_folder = slash != std::string::npos && slash > 0;
  const std::string folder = names_folder ? path.substr(0, slash) : "";
  if (folder == "/dev" || folder == "/dev/fd" || folder.starts_with("/proc")) {
    return Invalid(
        "expected a file, which is written apart and then put in place: name one, and copy it to a "
        "device from there");
  }
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {
    return Invalid(
        "is a link, whose place the file would take: name the file that it leads to, or remove it");
  }
  if (disk.List(path).ok()) return Invalid("is a folder; expected a file");
  if (disk.OpenToRead(path).status().code() == StatusCode::kInvalid) {
    return Invalid("is a pipe; expected a file");
  }
  if (!names_folder) return {};
  const Status listed = disk.List(folder).status();
  if (listed.ok()) return {};
  return Invalid("expected a file in a folder that is there: " + listed.message());
}

}  // namespace strata
