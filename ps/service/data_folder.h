// DataFolder: what a server keeps across its processes (server.data). `identity` says whose state
// it is, `lock` that a process uses it, lane-N holds the log of a lane.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/file/file_lock.h"
#include "base/file/replaceable_file.h"
#include "proto/format/server_identity.h"
#include "ps/shard/boot_identity.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe.
class DataFolder {
 public:
  struct Owner {
    uint64_t cluster_id = 0;
    std::string cluster_name = {};  // whose hash that is, for messages
    uint16_t rank = 0;
    std::vector<uint16_t> lanes_per_server;
  };

  // Random bits for what a boot has to draw.
  struct Draw {
    uint64_t lineage = 0;  // of which 48 are used, by the first boot
    uint32_t nonce = 0;
  };

  // Locks the folder, which is made when there is none, and begins the next boot, or the first of a
  // new lineage. kRefused: another process uses it (its id is named), or it is another cluster's,
  // rank's or shape's. kCorrupt: it holds logs but no identity, or a damaged one. kDiskFull: there
  // is no room for the first segments of the lanes' logs, of `segment_bytes` each, and nothing was
  // begun.
  static Result<std::unique_ptr<DataFolder>> Open(Disk& disk, const std::string& path,
                                                  const Owner& owner, const Draw& draw,
                                                  uint64_t segment_bytes);

  // Makes the boot durable, before anybody hears of it, and keeps room for that of the next start.
  Status Begin(const std::vector<uint16_t>& lane_ports);

  // Each lane has its log: notes it durably, once. From then on a lane without one was lost.
  Status NoteLanesMade();
  bool lanes_made() const { return identity_.lanes_made; }

  // Remembers the files and folders that the state lies in, to be called when all of them exist.
  Status NoteParts();
  // After NoteParts, on one thread at a time. kLost: one of them is missing, or another one is in
  // its place, so that what is logged from now on would not be found at the next start. Other
  // errors say nothing.
  Status CheckParts();

  uint64_t incarnation() const { return identity_.incarnation(); }
  uint64_t lineage() const { return identity_.lineage; }
  BootIdentity boot() const;
  // Where the lanes listened before; empty the first time.
  const std::vector<uint16_t>& last_ports() const { return identity_.lane_ports; }
  const std::string& path() const { return path_; }
  std::string LaneFolder(uint16_t lane) const;
  // Of a server that stands alone.
  std::string CheckpointsFolder() const;
  // Of the lane's collections, a folder each.
  std::string CollectionsFolder(uint16_t lane) const;

 private:
  DataFolder(Disk& disk, std::string path);
  Status ReadIdentity(const Owner& owner, const Draw& draw);
  Status CheckRoom(uint64_t lanes, uint64_t segment_bytes);
  Status WriteIdentity();
  Status CheckLogs();

  struct Part {
    std::string path;
    FileId id;
  };

  Disk& disk_;
  const std::string path_;
  std::unique_ptr<FileLock> lock_;
  format::ServerIdentityFile identity_;
  ReplaceableFile identity_file_;
  std::vector<Part> parts_;     // as NoteParts found them
  std::vector<Lsn> newest_;     // of each lane's log the newest segment that was seen; 0: none
  std::string identity_bytes_;  // of the identity file, likewise
};

}  // namespace strata
