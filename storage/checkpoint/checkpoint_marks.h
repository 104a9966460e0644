// Marks: empty files in a checkpoint's folder. A lane marks the checkpoints that its log needs, so
// that they are not retired: each lane trims and restores by itself, and none knows of the others.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "proto/wire/shard_map.h"
#include "strata/status.h"

namespace strata {

// All functions may run on any thread. A lane marks for itself, one call after the other.

// The lane's log is about to need the checkpoint. OK: the mark is on stable storage, and no
// retirement removes the checkpoint any more. kNotFound: there is no such checkpoint, or it is just
// being retired.
Status MarkNeeded(Disk& disk, const std::string& root, uint32_t number, const wire::LaneName& lane);

// The lane's log needs these checkpoints and no others: its marks in others go. What cannot be
// removed stays, and keeps its checkpoint.
Status UnmarkOthers(Disk& disk, const std::string& root, const std::set<uint32_t>& needed,
                    const wire::LaneName& lane);

// Whether one of the names in a checkpoint's folder is the mark of one of the lanes.
bool IsMarked(std::span<const std::string> names, std::span<const wire::LaneName> lanes);

// A retirement sets the manifest aside before it looks for marks, and puts it back where it finds
// one; MarkNeeded makes its mark before it looks for the manifest. So one of the two notices the
// other. This puts back what a retirement that died has set aside, and says whether there was
// something. To be called for a checkpoint that a lane has marked, or by whoever retires.
Result<bool> PutManifestBack(Disk& disk, const std::string& root, uint32_t number);

}  // namespace strata
