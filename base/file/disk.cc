#include "base/file/disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/file/replaceable_file.h"

namespace strata {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

Status TooLarge(const std::string& path, uint64_t bytes, uint64_t bytes_max) {
  return Refused(fmt::format("{} has {} bytes; at most {} are read", path, bytes, bytes_max));
}

}  // namespace

Status MakeDurableFolder(Disk& disk, const std::string& path) {
  const auto above = [](const std::string& folder) {
    const std::string parent = std::filesystem::path(folder).parent_path().string();
    return parent.empty() ? std::string(".") : parent;
  };
  const auto is_missing = [&](const std::string& folder) {
    return disk.List(folder).status().code() == StatusCode::kNotFound;
  };
  std::vector<std::string> missing;  // the deepest first
  std::string there = path;
  for (; there != above(there) && is_missing(there); there = above(there)) missing.push_back(there);
  // A process that died may have made this folder and not synced the one above it. An error is
  // ignored: this process may have no right to open a folder that has existed for long.
  static_cast<void>(disk.SyncFolder(above(there)));
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    STRATA_TRY(disk.MakeFolder(*folder));
    STRATA_TRY(disk.SyncFolder(above(*folder)));
  }
  return missing.empty() ? disk.MakeFolder(path) : Status();
}

Result<std::string> ReadFile(Disk& disk, const std::string& path, uint64_t bytes_max) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  if (size > bytes_max) return TooLarge(path, size, bytes_max);
  std::string content;
  // To the end rather than to `size`: files of /proc say 0, and others may be growing.
  while (true) {
    const size_t start = content.size();
    const uint64_t left = std::max<uint64_t>(size > start ? size - start : 0, 1);
    content.resize(start + static_cast<size_t>(std::min<uint64_t>(left, kChunkBytes)));
    STRATA_ASSIGN(const size_t got,
                  file->ReadAt(start, std::as_writable_bytes(std::span(content).subspan(start))));
    content.resize(start + got);
    if (got == 0) return content;
    if (content.size() > bytes_max) return TooLarge(path, content.size(), bytes_max);
  }
}

Status CheckClosedToOthers(Disk& disk, const std::string& path) {
  STRATA_ASSIGN(const bool open, disk.IsOpenToOthers(path));
  if (!open) return {};
  return Refused(
      fmt::format("{} is open to other users of this machine, and holds a secret: close it with "
                  "chmod 600 {}, or chmod 640 for its group",
                  path, path));
}

Status WriteFileAtomically(Disk& disk, const std::string& path, std::string_view content) {
  return ReplaceableFile(disk, path).Replace(content);
}

}  // namespace strata
