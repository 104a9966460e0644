// The folder of checkpoints: `root` holds one folder for each, named by its number
// (proto/format/checkpoint_manifest.h). A checkpoint exists once its manifest does.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "proto/format/checkpoint_manifest.h"
#include "storage/checkpoint/checkpointer.h"
#include "strata/status.h"

namespace strata {

// All functions may run on any thread, but no two that write at the same time.

// kNotFound: there is no such checkpoint, or it was never committed.
Result<format::CheckpointManifest> ReadCheckpointManifest(Disk& disk, const std::string& root,
                                                          uint32_t number);

struct CheckpointList {
  struct Damaged {
    uint32_t number = 0;
    Status status;  // why the manifest cannot be read: file, expected and found
  };
  std::vector<format::CheckpointManifest> checkpoints;  // newest first, as the others
  std::vector<Damaged> damaged;
  std::vector<uint32_t> unfinished;  // folders without a manifest
};
// An empty list when there is no folder `root`.
Result<CheckpointList> ListCheckpoints(Disk& disk, const std::string& root);

// kRefused, naming both, when checkpoint `number` under `root`, or with 0 the newest one there,
// belongs to another cluster than `cluster` (0: a job without servers). One that does not exist
// belongs to nobody; damaged ones are for others to tell. Reads one manifest.
Status CheckCheckpointOwner(Disk& disk, const std::string& root, uint64_t cluster,
                            uint32_t number = 0);

// As the checkpointer tells them: newest first, damaged ones among the others.
CheckpointInfo InfoOf(const format::CheckpointManifest& manifest);
std::vector<CheckpointInfo> InfosOf(const CheckpointList& list);

// kCancelled when what the draft's parts build on is not there: parts that were saved long ago may
// build on what has been retired since.
Status CheckParentsExist(Disk& disk, const std::string& root,
                         const format::CheckpointManifest& draft);

// Makes checkpoint `draft.number` of parts that are on stable storage: writes the attachments, then
// the manifest. Of `draft`, writer, parent and attachments are filled in and parts sorted. Again
// with the same parts and attachments: the manifest that is there. kInvalid: the parts do not fit
// the shard map's lanes, or a name is no attachment's; kExists: it is committed with others;
// kCancelled: a newer one is committed.
Result<format::CheckpointManifest> CommitCheckpoint(Disk& disk, const std::string& root,
                                                    format::CheckpointManifest draft,
                                                    std::span<const Attachment> attachments);

// kNotFound with the names that there are; kCorrupt when its bytes are not those of the manifest.
Result<std::string> ReadCheckpointAttachment(Disk& disk, const std::string& root,
                                             const format::CheckpointManifest& manifest,
                                             const std::string& name);

// The numbers of the folders of checkpoints, whatever is in them, newest first. None when there is
// no folder `root`.
Result<std::vector<uint32_t>> CheckpointNumbers(Disk& disk, const std::string& root);

// Jobs that RetireCheckpoints keeps checkpoints of: those that took one last.
constexpr size_t kJobsKept = 16;

// What a retirement may not touch, besides what it keeps by number.
struct RetireLimits {
  uint32_t below = UINT32_MAX;             // it removes only checkpoints of lower numbers,
  std::vector<wire::LaneName> lanes = {};  // and none that one of these lanes has marked
};
// Removes checkpoints but of each of the last kJobsKept jobs named in manifests the newest `keep`
// with attachments, from which it can go on, the newest `keep` without, those in `pinned` or beyond
// `limits`, and all that these build on; also what unfinished ones below the newest left. Their
// folders go with them. The numbers removed. Does not touch anything when a manifest is damaged:
// what it builds on cannot be known.
Result<std::vector<uint32_t>> RetireCheckpoints(Disk& disk, const std::string& root, uint32_t keep,
                                                const std::set<uint32_t>& pinned,
                                                const RetireLimits& limits = {});

}  // namespace strata
