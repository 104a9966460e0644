#include "storage/checkpoint/checkpoint_marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/format/checkpoint_manifest.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_writer.h"

namespace strata {
namespace {

std::string MarkPath(const std::string& root, uint32_t number, const wire::LaneName& lane) {
  return fmt::format("{}/{}", CheckpointFolder(root, number),
                     format::CheckpointMarkName(lane.server, lane.lane));
}

}  // namespace

Status MarkNeeded(Disk& disk, const std::string& root, uint32_t number,
                  const wire::LaneName& lane) {
  STRATA_TRY(ReadCheckpointManifest(disk, root, number).status());
  STRATA_TRY(disk.Create(MarkPath(root, number, lane)).status());
  STRATA_TRY(disk.SyncFolder(CheckpointFolder(root, number)));
  return ReadCheckpointManifest(disk, root, number).status();
}

Status UnmarkOthers(Disk& disk, const std::string& root, const std::set<uint32_t>& needed,
                    const wire::LaneName& lane) {
  STRATA_ASSIGN(const std::vector<uint32_t> numbers, CheckpointNumbers(disk, root));
  for (const uint32_t number : numbers) {
    if (needed.contains(number)) continue;
    const Status removed = disk.Remove(MarkPath(root, number, lane));
    if (removed.code() != StatusCode::kNotFound) STRATA_TRY(removed);
  }
  return {};
}

bool IsMarked(std::span<const std::string> names, std::span<const wire::LaneName> lanes) {
  return std::ranges::any_of(lanes, [&](const wire::LaneName& lane) {
    const std::string mark = format::CheckpointMarkName(lane.server, lane.lane);
    return std::ranges::find(names, mark) != names.end();
  });
}

Result<bool> PutManifestBack(Disk& disk, const std::string& root, uint32_t number) {
  const std::string folder = CheckpointFolder(root, number);
  const auto names = disk.List(folder);
  if (names.status().code() == StatusCode::kNotFound) return false;
  STRATA_TRY(names.status());
  if (std::ranges::find(*names, format::kRetiredManifestName) == names->end()) return false;
  STRATA_TRY(disk.Rename(fmt::format("{}/{}", folder, format::kRetiredManifestName),
                         fmt::format("{}/{}", folder, format::kCheckpointManifestName)));
  STRATA_TRY(disk.SyncFolder(folder));
  return true;
}

}  // namespace strata
