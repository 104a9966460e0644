#include "storage/checkpoint/checkpoint_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/failpoint.h"
#include "base/file/text_file.h"
#include "base/human_text.h"
#include "proto/wire/cut_limit.h"
#include "storage/checkpoint/checkpoint_marks.h"
#include "storage/checkpoint/part_writer.h"

namespace strata {
namespace {

using format::CheckpointManifest;

std::string ManifestPath(const std::string& root, uint32_t number) {
  return CheckpointFolder(root, number) + "/" + std::string(format::kCheckpointManifestName);
}

// All that a checkpoint's tables build on directly.
std::set<uint32_t> ParentsOf(const CheckpointManifest& manifest) {
  std::set<uint32_t> parents;
  for (const format::PartEntry& part : manifest.parts) {
    for (const auto& table : part.tables) parents.insert(table.since);
  }
  parents.erase(0);
  return parents;
}

// Removes a folder that had its files removed, durably. A lane that is late may have put a part
// into it meanwhile: the next retirement removes that, and the folder with it.
void RemoveEmptied(Disk& disk, const std::string& folder) {
  static_cast<void>(disk.Remove(folder));
}

// Removes the checkpoint and its folder, unless one of the lanes has marked it: false.
Result<bool> RemoveCheckpoint(Disk& disk, const std::string& root, uint32_t number,
                              std::span<const wire::LaneName> lanes) {
  const std::string folder = CheckpointFolder(root, number);
  Result<std::vector<std::string>> listed = disk.List(folder);
  // Another lane's retirement was faster.
  if (listed.status().code() == StatusCode::kNotFound) return true;
  STRATA_TRY(listed.status());
  std::vector<std::string> names = std::move(listed).value();
  if (names.empty()) {  // its removal ended before the folder's
    RemoveEmptied(disk, folder);
    return true;
  }
  const std::string manifest(format::kCheckpointManifestName);
  const std::string aside(format::kRetiredManifestName);
  if (std::ranges::find(names, manifest) != names.end()) {
    STRATA_TRY(disk.Rename(ManifestPath(root, number), folder + "/" + aside));
    STRATA_ASSIGN(names, disk.List(folder));
  }
  if (IsMarked(names, lanes)) {
    STRATA_TRY(PutManifestBack(disk, root, number).status());
    return false;
  }
  // The manifest first, durably: what is half removed must not look whole. Whoever removed it may
  // have died before that was durable.
  if (std::erase(names, aside) != 0) STRATA_TRY(disk.Remove(folder + "/" + aside));
  STRATA_TRY(disk.SyncFolder(folder));
  for (const std::string& name : names) {
    STRATA_FAILPOINT("checkpoint.remove");
    STRATA_TRY(disk.Remove(fmt::format("{}/{}", folder, name)));
  }
  STRATA_TRY(disk.SyncFolder(folder));
  RemoveEmptied(disk, folder);
  return true;
}

std::string OwnerName(uint64_t cluster) {
  return cluster == 0 ? "a job without servers" : fmt::format("cluster {:016x}", cluster);
}

Status CheckOwner(const CheckpointManifest& manifest, const std::string& root, uint64_t cluster) {
  if (manifest.cluster == cluster) return {};
  return Refused(
      fmt::format("checkpoint {} under {} belongs to {}, this is {}: give each a folder of its "
                  "own (server.checkpoints, cluster.name)",
                  manifest.number, root, OwnerName(manifest.cluster), OwnerName(cluster)));
}

Status CheckDraft(const CheckpointManifest& draft) {
  const std::string what = fmt::format("checkpoint {}", draft.number);
  if (draft.number == 0) return Invalid("a checkpoint's number is 1 or more");
  if (draft.parent >= draft.number) {
    return Invalid(fmt::format("{}: its parts build on checkpoint {}", what, draft.parent));
  }
  if (draft.parts.size() != draft.shards.lanes.size()) {
    return Invalid(fmt::format("{}: expected the parts of {}, found {}", what,
                               Counted(draft.shards.lanes.size(), "lane"), draft.parts.size()));
  }
  for (size_t i = 0; i < draft.parts.size(); ++i) {
    const wire::LaneName lane{draft.parts[i].server, draft.parts[i].lane};
    if (lane == draft.shards.lanes[i]) continue;
    return Invalid(fmt::format(
        "{}: expected the part of server {} lane {}, found server {} lane {}", what,
        draft.shards.lanes[i].server, draft.shards.lanes[i].lane, lane.server, lane.lane));
  }
  return {};
}

// Files of a checkpoint older than the newest one may have been removed as leftovers, or because it
// was there once and has been retired: a commit that comes so late must not bring it back.
Status CheckNewest(Disk& disk, const std::string& root, uint32_t number) {
  STRATA_ASSIGN(const std::vector<uint32_t> numbers, CheckpointNumbers(disk, root));
  for (const uint32_t other : numbers) {
    if (other <= number) break;
    if (wire::CutOrNone(other) == 0) continue;  // nothing can be newer
    if (ReadCheckpointManifest(disk, root, other).status().code() == StatusCode::kNotFound)
      continue;
    return Cancelled(
        fmt::format("checkpoint {} was committed before checkpoint {}; take the checkpoint again",
                    other, number));
  }
  return {};
}

Status CheckNames(std::span<const Attachment> attachments) {
  std::set<std::string> names;
  for (const Attachment& attachment : attachments) {
    if (!format::IsAttachmentName(attachment.name) || !names.insert(attachment.name).second) {
      return Invalid(
          fmt::format("attachment '{}': a name has 1 to 64 characters of [a-z0-9_.-], no \"..\", "
                      "and comes once",
                      attachment.name));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> CheckpointNumbers(Disk& disk, const std::string& root) {
  std::vector<uint32_t> numbers;
  const auto names = disk.List(root);
  if (names.status().code() == StatusCode::kNotFound) return numbers;
  STRATA_TRY(names.status());
  for (const std::string& name : *names) {
    if (const auto number = format::ParseCheckpointFolderName(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers, std::ranges::greater());
  return numbers;
}

Result<CheckpointManifest> ReadCheckpointManifest(Disk& disk, const std::string& root,
                                                  uint32_t number) {
  const std::string path = ManifestPath(root, number);
  const auto text = ReadTextFile(disk, path, format::kCheckpointManifestBytesMax);
  if (text.status().code() == StatusCode::kNotFound) {
    return NotFound(fmt::format("checkpoint {} does not exist under {}: {}", number, root,
                                text.status().message()));
  }
  STRATA_TRY(text.status());
  STRATA_ASSIGN(CheckpointManifest manifest, format::DecodeCheckpointManifest(*text, path));
  if (manifest.number == number) return manifest;
  return Corrupt(
      fmt::format("{}: expected checkpoint {}, found {}", path, number, manifest.number));
}

Result<CheckpointList> ListCheckpoints(Disk& disk, const std::string& root) {
  CheckpointList list;
  STRATA_ASSIGN(const std::vector<uint32_t> numbers, CheckpointNumbers(disk, root));
  for (const uint32_t number : numbers) {
    auto manifest = ReadCheckpointManifest(disk, root, number);
    if (manifest.ok()) {
      list.checkpoints.push_back(std::move(*manifest));
    } else if (manifest.status().code() == StatusCode::kNotFound) {
      list.unfinished.push_back(number);
    } else {
      list.damaged.push_back({number, manifest.status()});
    }
  }
  return list;
}

Status CheckCheckpointOwner(Disk& disk, const std::string& root, uint64_t cluster,
                            uint32_t number) {
  std::vector<uint32_t> numbers = {number};
  if (number == 0) {
    STRATA_ASSIGN(numbers, CheckpointNumbers(disk, root));
  }
  for (const uint32_t one : numbers) {
    const auto manifest = ReadCheckpointManifest(disk, root, one);
    if (manifest.ok()) return CheckOwner(*manifest, root, cluster);
  }
  return {};
}

CheckpointInfo InfoOf(const CheckpointManifest& manifest) {
  CheckpointInfo info{.number = manifest.number,
                      .parent = manifest.parent,
                      .rows = manifest.rows(),
                      .bytes = manifest.bytes(),
                      .wall_unix_ns = static_cast<int64_t>(manifest.wall_unix_ns),
                      .attachments = {}};
  for (const auto& attachment : manifest.attachments) info.attachments.push_back(attachment.name);
  return info;
}

std::vector<CheckpointInfo> InfosOf(const CheckpointList& list) {
  std::vector<CheckpointInfo> infos;
  for (const CheckpointManifest& manifest : list.checkpoints) infos.push_back(InfoOf(manifest));
  for (const CheckpointList::Damaged& damaged : list.damaged) {
    infos.push_back(
        {.number = damaged.number, .attachments = {}, .damage = damaged.status.ToString()});
  }
  std::ranges::sort(infos, std::ranges::greater(), &CheckpointInfo::number);
  return infos;
}

Status CheckParentsExist(Disk& disk, const std::string& root, const CheckpointManifest& draft) {
  for (const uint32_t parent : ParentsOf(draft)) {
    const Status there = ReadCheckpointManifest(disk, root, parent).status();
    if (there.code() != StatusCode::kNotFound) continue;
    return Cancelled(
        fmt::format("checkpoint {} builds on checkpoint {}, which is not there any more; take the "
                    "checkpoint again",
                    draft.number, parent));
  }
  return {};
}

Result<CheckpointManifest> CommitCheckpoint(Disk& disk, const std::string& root,
                                            CheckpointManifest draft,
                                            std::span<const Attachment> attachments) {
  std::ranges::sort(draft.parts, {}, [](const format::PartEntry& part) {
    return std::pair(part.server, part.lane);
  });
  const std::set<uint32_t> parents = ParentsOf(draft);
  draft.parent = parents.empty() ? 0 : *parents.rbegin();
  STRATA_TRY(CheckDraft(draft));
  STRATA_TRY(CheckNames(attachments));
  draft.attachments.clear();
  for (const Attachment& attachment : attachments) {
    draft.attachments.push_back(
        {.name = attachment.name,
         .bytes = attachment.bytes.size(),
         .digest = format::DigestOf(std::as_bytes(std::span(attachment.bytes)))});
  }
  auto existing = ReadCheckpointManifest(disk, root, draft.number);
  const bool same_parts = existing.ok() && existing->parts == draft.parts;
  if (same_parts && existing->attachments == draft.attachments) {
    // Whoever wrote it may have died before its name was durable.
    STRATA_TRY(disk.SyncFolder(CheckpointFolder(root, draft.number)));
    return existing;
  }
  if (existing.ok()) {
    return AlreadyExists(fmt::format(
        "checkpoint {} is committed under {} with other {}, by somebody else: take the checkpoint "
        "again",
        draft.number, root, same_parts ? "attachments" : "parts"));
  }
  if (existing.status().code() != StatusCode::kNotFound) return existing;
  STRATA_TRY(CheckNewest(disk, root, draft.number));
  draft.writer = "strata " STRATA_VERSION;
  for (size_t i = 0; i < attachments.size(); ++i) {
    const std::string file = draft.attachments[i].file_name();
    STRATA_TRY(WriteFileAtomically(disk, CheckpointFolder(root, draft.number) + "/" + file,
                                   attachments[i].bytes));
  }
  STRATA_FAILPOINT("checkpoint.commit");
  STRATA_TRY(WriteFileAtomically(disk, ManifestPath(root, draft.number),
                                 format::EncodeCheckpointManifest(draft)));
  STRATA_FAILPOINT("checkpoint.committed");
  return draft;
}

Result<std::string> ReadCheckpointAttachment(Disk& disk, const std::string& root,
                                             const CheckpointManifest& manifest,
                                             const std::string& name) {
  const auto entry = std::ranges::find(manifest.attachments, name, &format::AttachmentEntry::name);
  if (entry == manifest.attachments.end()) {
    return NotFound(fmt::format("checkpoint {} has no attachment '{}'; it has: {}", manifest.number,
                                name, fmt::join(InfoOf(manifest).attachments, ", ")));
  }
  const std::string path = CheckpointFolder(root, manifest.number) + "/" + entry->file_name();
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t bytes, file->Size());
  if (bytes != entry->bytes) {
    return Corrupt(fmt::format("{}: expected {} bytes, found {}", path, entry->bytes, bytes));
  }
  STRATA_ASSIGN(std::string content, ReadFile(disk, path, entry->bytes));
  const format::Digest found = format::DigestOf(std::as_bytes(std::span(content)));
  if (content.size() != entry->bytes || found != entry->digest) {
    return Corrupt(fmt::format("{}: {} bytes: expected digest {}, found {}", path, content.size(),
                               format::DigestText(entry->digest), format::DigestText(found)));
  }
  return content;
}

Result<std::vector<uint32_t>> RetireCheckpoints(Disk& disk, const std::string& root, uint32_t keep,
                                                const std::set<uint32_t>& pinned,
                                                const RetireLimits& limits) {
  STRATA_ASSIGN(CheckpointList list, ListCheckpoints(disk, root));
  if (!list.damaged.empty()) {
    return list.damaged.front().status.Prefixed("no checkpoint was retired");
  }
  // What is set aside is built on by others as before.
  bool put_back = false;
  for (const uint32_t number : list.unfinished) {
    STRATA_ASSIGN(const bool one, PutManifestBack(disk, root, number));
    put_back |= one;
  }
  if (put_back) {
    STRATA_ASSIGN(list, ListCheckpoints(disk, root));
  }
  std::set<uint32_t> kept = pinned;
  std::map<std::string, uint32_t> of_jobs;  // by name, as far as known
  uint32_t others = 0;
  std::vector<uint32_t> removed;
  for (const CheckpointManifest& manifest : list.checkpoints) {  // children before parents
    const uint32_t number = manifest.number;
    const bool is_of_job = !manifest.attachments.empty();
    const bool is_old_job =
        is_of_job && of_jobs.size() >= kJobsKept && !of_jobs.contains(manifest.job);
    uint32_t& newer = is_of_job && !is_old_job ? of_jobs[manifest.job] : others;
    const bool newest = !is_old_job && newer++ < keep;
    bool stays = newest || number >= limits.below || kept.contains(number);
    if (!stays) {
      STRATA_ASSIGN(const bool gone, RemoveCheckpoint(disk, root, number, limits.lanes));
      stays = !gone;
    }
    if (stays) {
      kept.merge(ParentsOf(manifest));
    } else {
      removed.push_back(number);
    }
  }
  for (const uint32_t number : list.unfinished) {
    if (list.checkpoints.empty() || number > list.checkpoints.front().number) continue;
    if (pinned.contains(number) || number >= limits.below) continue;
    STRATA_TRY(RemoveCheckpoint(disk, root, number, limits.lanes).status());
  }
  return removed;
}

}  // namespace strata
