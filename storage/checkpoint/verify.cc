#include "storage/checkpoint/verify.h"

#include <fmt/format.h>

#include <set>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/load.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/part_writer.h"

namespace strata {
namespace {

using format::CheckpointManifest;
using format::PartEntry;

// Every key belongs to a shard that the lane held.
Status CheckKeys(const CheckpointManifest& manifest, const PartEntry& part, const std::string& path,
                 const std::vector<Key>& keys) {
  for (const Key key : keys) {
    const wire::LaneName& owner = manifest.shards.lanes[manifest.shards.LaneOf(key)];
    if (owner == wire::LaneName{part.server, part.lane}) continue;
    return Corrupt(fmt::format("{}: key {} belongs to server {} lane {}", path, key, owner.server,
                               owner.lane));
  }
  return {};
}

Status CheckPart(Disk& disk, const std::string& folder, const CheckpointManifest& manifest,
                 const PartEntry& part) {
  const std::string path = folder + "/" + part.file_name();
  STRATA_ASSIGN(const auto reader, PartReader::Open(disk, path,
                                                    {.number = manifest.number,
                                                     .parent = 0,
                                                     .server = part.server,
                                                     .lane = part.lane,
                                                     .cluster = manifest.cluster},
                                                    &part));
  PartBlock block;
  while (true) {
    STRATA_ASSIGN(const bool more, reader->Next(&block));
    if (!more) break;
    if (block.kind == format::BlockKind::kErased || block.kind == format::BlockKind::kRows) {
      STRATA_TRY(CheckKeys(manifest, part, path, block.page.keys));
    }
  }
  if (reader->entry() == part) return {};
  return Corrupt(fmt::format(
      "{}: expected {} rows of {} tables as in the manifest, found {} of {}, or other names", path,
      part.rows(), part.tables.size(), reader->entry().rows(), reader->entry().tables.size()));
}

Status CheckStrangers(Disk& disk, const std::string& folder, const CheckpointManifest& manifest) {
  std::set<std::string> known = {std::string(format::kCheckpointManifestName)};
  for (const PartEntry& part : manifest.parts) known.insert(part.file_name());
  for (const auto& attachment : manifest.attachments) known.insert(attachment.file_name());
  STRATA_ASSIGN(const std::vector<std::string> names, disk.List(folder));
  for (const std::string& name : names) {
    if (known.contains(name) || format::IsCheckpointMarkName(name)) continue;
    return Corrupt(
        fmt::format("{}/{}: the manifest does not name this file; remove it if nobody "
                    "put it there on purpose",
                    folder, name));
  }
  return {};
}

class Verifier {
 public:
  Verifier(Disk& disk, const std::string& root) : disk_(disk), root_(root) {}

  void Check(const CheckpointManifest& manifest) {
    const std::string folder = CheckpointFolder(root_, manifest.number);
    report_.checkpoints.push_back(manifest.number);
    ++report_.files;
    for (const PartEntry& part : manifest.parts) {
      Note(CheckPart(disk_, folder, manifest, part));
      Count(part.bytes);
      report_.rows += part.rows();
    }
    for (const auto& attachment : manifest.attachments) {
      Note(ReadCheckpointAttachment(disk_, root_, manifest, attachment.name).status());
      Count(attachment.bytes);
    }
    Note(CheckStrangers(disk_, folder, manifest));
  }

  void Note(const Status& status) {
    if (!status.ok()) report_.findings.push_back(status);
  }

  VerifyReport Take() { return std::move(report_); }

 private:
  void Count(uint64_t bytes) {
    ++report_.files;
    report_.bytes += bytes;
  }

  Disk& disk_;
  const std::string& root_;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> VerifyCheckpoint(Disk& disk, const std::string& root, uint32_t number) {
  auto newest = ReadCheckpointManifest(disk, root, number);
  if (newest.status().code() == StatusCode::kNotFound) return newest.status();
  Verifier verifier(disk, root);
  const auto chain = ReadCheckpointChain(disk, root, number);
  if (chain.ok()) {
    for (const CheckpointManifest& manifest : *chain) verifier.Check(manifest);
  } else {
    verifier.Note(chain.status());
    if (newest.ok()) verifier.Check(*newest);
  }
  return verifier.Take();
}

}  // namespace strata
