// The manifest of a checkpoint. A checkpoint is a folder named by its number, ten digits:
//   manifest              this: one header line, then JSON. Written last: with it the checkpoint
//                         exists, and all that it names is whole and on stable storage
//   server-S-lane-L.part  what a lane saved (checkpoint_part.h)
//   attachment-NAME       bytes of the job: dense part, reader positions
//   manifest.retired      the manifest, while a retirement looks for lanes that need it
//   needed-server-S-lane-L
//                         empty: the log of that lane needs the checkpoint
// The header line is that of sealed_json.h, of the kind "strata-checkpoint".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/format/digest.h"
#include "proto/wire/shard_map.h"
#include "strata/status.h"

namespace strata::format {

constexpr uint32_t kCheckpointVersion = 1;
constexpr size_t kCheckpointManifestBytesMax = size_t{256} << 20;
constexpr std::string_view kCheckpointManifestName = "manifest";
constexpr std::string_view kRetiredManifestName = "manifest.retired";

// What is known of a part without reading it: a lane's answer when it has saved it.
struct PartEntry {
  struct Table {
    std::string name;
    uint32_t since = 0;  // 0: all rows
    uint64_t rows = 0;
    uint64_t erased = 0;
    friend bool operator==(const Table&, const Table&) = default;
  };
  uint16_t server = 0;
  uint16_t lane = 0;
  uint64_t bytes = 0;       // of the file
  Digest digest;            // of its footer, which vouches for the rest
  uint64_t lane_bytes = 0;  // of the lane's image
  std::vector<Table> tables;
  friend bool operator==(const PartEntry&, const PartEntry&) = default;

  std::string file_name() const;
  uint64_t rows() const;
};

// A part's description as bytes, which travel from its lane to the one that commits.
std::string EncodePartEntry(const PartEntry& part);
// kInvalid, also for more than 2 MiB.
Result<PartEntry> DecodePartEntry(std::string_view bytes);

constexpr size_t kAttachmentsMax = 4096;  // of a checkpoint

struct AttachmentEntry {
  std::string name;
  uint64_t bytes = 0;
  Digest digest;
  friend bool operator==(const AttachmentEntry&, const AttachmentEntry&) = default;

  std::string file_name() const { return "attachment-" + name; }
};

struct CheckpointManifest {
  std::string writer;  // "strata 0.1.0"
  uint32_t number = 0;
  uint32_t parent = 0;  // the newest that a table builds on; 0: full
  uint64_t cluster = 0;
  uint64_t wall_unix_ns = 0;
  std::string job;               // name of the job that took it; "": not known
  wire::ShardMap shards;         // which lane held which shard
  std::vector<PartEntry> parts;  // by (server, lane), one for each lane of `shards`
  std::vector<AttachmentEntry> attachments;
  friend bool operator==(const CheckpointManifest&, const CheckpointManifest&) = default;

  const PartEntry* FindPart(uint16_t server, uint16_t lane) const;
  uint64_t rows() const;
  uint64_t bytes() const;  // of all parts and attachments
};

std::string EncodeCheckpointManifest(const CheckpointManifest& manifest);
// `file` is the name for messages. kInvalid: not a manifest, or of a newer version; kCorrupt: bytes
// are missing, added or changed, or it contradicts itself.
Result<CheckpointManifest> DecodeCheckpointManifest(std::string_view bytes,
                                                    const std::string& file);

// "0000000012", and back; nullopt for another name.
std::string CheckpointFolderName(uint32_t number);
std::optional<uint32_t> ParseCheckpointFolderName(std::string_view name);

// "needed-server-0-lane-3", and whether a name is one of these.
std::string CheckpointMarkName(uint16_t server, uint16_t lane);
bool IsCheckpointMarkName(std::string_view name);

// 1 to 64 characters of [a-z0-9_.-], none of them "..": safe as a part of a file's name.
bool IsAttachmentName(std::string_view name);

}  // namespace strata::format
