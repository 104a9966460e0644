// LoadCheckpoint: puts the rows of a checkpoint, and of those that it builds on, into tables. Who
// loads may own other shards than those who saved: any number of servers reads any checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "proto/format/checkpoint_manifest.h"
#include "storage/memory/local_table.h"
#include "strata/status.h"

namespace strata {

// Called on the thread that called LoadCheckpoint.
class LoadTarget {
 public:
  virtual ~LoadTarget() = default;
  // Of which keys rows are wanted.
  virtual bool Owns(uint32_t shard) const = 0;
  // Whether the table of that name is wanted.
  virtual bool Wants(const std::string& /*table*/) const { return true; }
  // The table to load into: made empty when it is asked for first; then the same again. Its epoch
  // is the checkpoint's number, so that rows keep their own.
  virtual Result<LocalTable*> Table(const TableSpec& spec) = 0;
  // Where to put what that lane had added as its image, of the checkpoint itself; null: it is not
  // wanted.
  virtual std::string* ImageOf(const wire::LaneName& /*lane*/) { return nullptr; }
};

// Every table of the checkpoint that is wanted is asked for, one without wanted rows too. After an
// error the tables hold some rows and must go. Errors name file, offset, expected and found;
// kNotFound: it does not exist, or one that it builds on does not.
Result<format::CheckpointManifest> LoadCheckpoint(Disk& disk, const std::string& root,
                                                  uint32_t number, LoadTarget& target);

// The checkpoints that `number` builds on, itself first: newest first. kCorrupt when one does not
// fit: a table's base without that table, other shards for the same lane.
Result<std::vector<format::CheckpointManifest>> ReadCheckpointChain(Disk& disk,
                                                                    const std::string& root,
                                                                    uint32_t number);

}  // namespace strata
