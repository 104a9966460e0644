#include "proto/format/checkpoint_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/json_text.h"
#include "proto/format/checkpoint_part.h"
#include "proto/format/sealed_json.h"

namespace strata::format {
namespace {

using nlohmann::json;

constexpr Seal kSeal{.kind = "strata-checkpoint",
                     .version = kCheckpointVersion,
                     .what = "a checkpoint's manifest",
                     .program = "the build that took the checkpoint"};
// Room for thousands of tables. As values in memory a text takes many times as much.
constexpr size_t kPartTextBytesMax = size_t{2} << 20;

json ToJson(const PartEntry& part) {
  json tables = json::array();
  for (const PartEntry::Table& table : part.tables) {
    tables.push_back({{"name", table.name},
                      {"since", table.since},
                      {"rows", table.rows},
                      {"erased", table.erased}});
  }
  return {{"server", part.server}, {"lane", part.lane},
          {"bytes", part.bytes},   {"digest", DigestText(part.digest)},
          {"tables", tables},      {"lane_bytes", part.lane_bytes}};
}

Status TakeDigest(Members& members, const std::string& where, Digest* digest) {
  std::string text;
  members.Take("digest", &text);
  STRATA_TRY(members.status());
  const auto parsed = ParseDigest(text);
  if (!parsed) return Corrupt(where + ": \"digest\" is not of 32 hexadecimal digits");
  *digest = *parsed;
  return {};
}

Result<PartEntry> PartFromJson(const json& element, const std::string& where) {
  PartEntry part;
  Members members(element, where);
  members.Take("server", &part.server);
  members.Take("lane", &part.lane);
  members.Take("bytes", &part.bytes);
  members.Take("lane_bytes", &part.lane_bytes);
  const json* tables = members.Array("tables");
  STRATA_TRY(members.status());
  STRATA_TRY(TakeDigest(members, where, &part.digest));
  for (const json& entry : *tables) {
    PartEntry::Table table;
    Members of_table(entry, where + ": tables");
    of_table.Take("name", &table.name);
    of_table.Take("since", &table.since);
    of_table.Take("rows", &table.rows);
    of_table.Take("erased", &table.erased);
    STRATA_TRY(of_table.status());
    part.tables.push_back(std::move(table));
  }
  return part;
}

// The shards' owners as runs: [index into lanes, count].
json ShardsToJson(const wire::ShardMap& shards) {
  json lanes = json::array();
  for (const wire::LaneName& lane : shards.lanes) lanes.push_back({lane.server, lane.lane});
  json runs = json::array();
  for (size_t begin = 0; begin < shards.owner.size();) {
    size_t end = begin;
    while (end < shards.owner.size() && shards.owner[end] == shards.owner[begin]) ++end;
    runs.push_back({shards.owner[begin], end - begin});
    begin = end;
  }
  return {{"epoch", shards.epoch}, {"lanes", lanes}, {"owner", runs}};
}

Status ShardsFromJson(const json& element, const std::string& where, wire::ShardMap* shards) {
  std::vector<std::vector<uint16_t>> lanes;
  std::vector<std::vector<uint16_t>> runs;
  Members members(element, where);
  members.Take("epoch", &shards->epoch);
  members.Take("lanes", &lanes);
  members.Take("owner", &runs);
  STRATA_TRY(members.status());
  for (const auto& lane : lanes) {
    if (lane.size() != 2) return Corrupt(where + ": \"lanes\" are pairs of server and lane");
    shards->lanes.push_back({lane[0], lane[1]});
  }
  size_t at = 0;
  for (const auto& run : runs) {
    if (run.size() != 2 || run[0] >= lanes.size() || run[1] > shards->owner.size() - at) {
      return Corrupt(where + ": \"owner\" does not cover the shards with lanes that exist");
    }
    std::fill_n(shards->owner.begin() + static_cast<ptrdiff_t>(at), run[1], run[0]);
    at += run[1];
  }
  if (at == shards->owner.size()) return {};
  return Corrupt(
      fmt::format("{}: \"owner\" names {} shards of {}", where, at, shards->owner.size()));
}

// What the fields have to say of each other.
Status CheckManifest(const CheckpointManifest& manifest, const std::string& file) {
  if (manifest.number == 0 || manifest.parent >= manifest.number) {
    return Corrupt(fmt::format("{}: checkpoint {} cannot build on {}", file, manifest.number,
                               manifest.parent));
  }
  bool fits = manifest.parts.size() == manifest.shards.lanes.size();
  for (size_t i = 0; fits && i < manifest.parts.size(); ++i) {
    const PartEntry& part = manifest.parts[i];
    fits = wire::LaneName{part.server, part.lane} == manifest.shards.lanes[i];
    for (const PartEntry::Table& table : part.tables) {
      if (table.since <= manifest.parent) continue;
      return Corrupt(fmt::format("{}: {}: table '{}' builds on checkpoint {}, the newest is {}",
                                 file, part.file_name(), table.name, table.since, manifest.parent));
    }
  }
  if (!fits) {
    return Corrupt(fmt::format("{}: {} do not fit the shard map's {}", file,
                               Counted(manifest.parts.size(), "part"),
                               Counted(manifest.shards.lanes.size(), "lane")));
  }
  for (const AttachmentEntry& attachment : manifest.attachments) {
    if (!IsAttachmentName(attachment.name)) {
      return Corrupt(fmt::format("{}: '{}' is no name of an attachment", file, attachment.name));
    }
  }
  return {};
}

Status TakeLists(Members& members, const json& body, const std::string& file,
                 CheckpointManifest* manifest) {
  const json* parts = members.Array("parts");
  const json* attachments = members.Array("attachments");
  STRATA_TRY(members.status());
  for (const json& element : *parts) {
    STRATA_ASSIGN(PartEntry part, PartFromJson(element, file + ": parts"));
    manifest->parts.push_back(std::move(part));
  }
  for (const json& element : *attachments) {
    const std::string where = file + ": attachments";
    AttachmentEntry entry;
    Members of_entry(element, where);
    of_entry.Take("name", &entry.name);
    of_entry.Take("bytes", &entry.bytes);
    STRATA_TRY(of_entry.status());
    STRATA_TRY(TakeDigest(of_entry, where, &entry.digest));
    manifest->attachments.push_back(std::move(entry));
  }
  const auto shards = body.find("shards");
  if (shards == body.end()) return Corrupt(file + ": \"shards\" is missing");
  return ShardsFromJson(*shards, file + ": shards", &manifest->shards);
}

std::string Dump(const json& body) {
  return body.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string PartEntry::file_name() const { return PartFileName(server, lane); }

uint64_t PartEntry::rows() const {
  uint64_t sum = 0;
  for (const Table& table : tables) sum += table.rows;
  return sum;
}

std::string EncodePartEntry(const PartEntry& part) { return Dump(ToJson(part)); }

Result<PartEntry> DecodePartEntry(std::string_view bytes) {
  const std::string where = "description of a checkpoint's part";
  if (bytes.size() > kPartTextBytesMax) {
    return Invalid(fmt::format("{}: {} bytes, at most {} are allowed", where, bytes.size(),
                               kPartTextBytesMax));
  }
  if (NestsTooDeep(bytes)) {
    return Invalid(fmt::format("{}: lists and objects lie in each other more than {} deep", where,
                               kJsonDepthMax));
  }
  const auto part = PartFromJson(ParseJson(bytes), where);
  return part.ok() ? part : Invalid(part.status().message());
}

const PartEntry* CheckpointManifest::FindPart(uint16_t server, uint16_t lane) const {
  const auto found = std::ranges::find_if(
      parts, [&](const PartEntry& part) { return part.server == server && part.lane == lane; });
  return found == parts.end() ? nullptr : &*found;
}

uint64_t CheckpointManifest::rows() const {
  uint64_t sum = 0;
  for (const PartEntry& part : parts) sum += part.rows();
  return sum;
}

uint64_t CheckpointManifest::bytes() const {
  uint64_t sum = 0;
  for (const PartEntry& part : parts) sum += part.bytes;
  for (const AttachmentEntry& attachment : attachments) sum += attachment.bytes;
  return sum;
}

std::string EncodeCheckpointManifest(const CheckpointManifest& manifest) {
  json parts = json::array();
  for (const PartEntry& part : manifest.parts) parts.push_back(ToJson(part));
  json attachments = json::array();
  for (const AttachmentEntry& attachment : manifest.attachments) {
    attachments.push_back({{"name", attachment.name},
                           {"bytes", attachment.bytes},
                           {"digest", DigestText(attachment.digest)}});
  }
  const json body = {{"writer", manifest.writer},
                     {"number", manifest.number},
                     {"parent", manifest.parent},
                     {"cluster", manifest.cluster},
                     {"wall_unix_ns", manifest.wall_unix_ns},
                     {"job", manifest.job},
                     {"shards", ShardsToJson(manifest.shards)},
                     {"parts", parts},
                     {"attachments", attachments}};
  return SealText(kSeal, Dump(body));
}

Result<CheckpointManifest> DecodeCheckpointManifest(std::string_view bytes,
                                                    const std::string& file) {
  STRATA_ASSIGN(const std::string_view text, UnsealText(kSeal, bytes, file));
  const json body = ParseJson(text);
  CheckpointManifest manifest;
  Members members(body, file);
  members.Take("writer", &manifest.writer);
  members.Take("number", &manifest.number);
  members.Take("parent", &manifest.parent);
  members.Take("cluster", &manifest.cluster);
  members.Take("wall_unix_ns", &manifest.wall_unix_ns);
  members.Take("job", &manifest.job);
  STRATA_TRY(members.status());
  STRATA_TRY(TakeLists(members, body, file, &manifest));
  STRATA_TRY(CheckManifest(manifest, file));
  return manifest;
}

std::string CheckpointFolderName(uint32_t number) { return fmt::format("{:010}", number); }

std::optional<uint32_t> ParseCheckpointFolderName(std::string_view name) {
  uint32_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  if (number == 0 || CheckpointFolderName(number) != name) return std::nullopt;
  return number;
}

std::string CheckpointMarkName(uint16_t server, uint16_t lane) {
  return fmt::format("needed-server-{}-lane-{}", server, lane);
}

bool IsCheckpointMarkName(std::string_view name) { return name.starts_with("needed-server-"); }

bool IsAttachmentName(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(kAllowed) == std::string_view::npos &&
         name.find("..") == std::string_view::npos;
}

}  // namespace strata::format
