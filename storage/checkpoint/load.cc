#include "storage/checkpoint/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/memory/scan_pages.h"

namespace strata {
namespace {

using format::BlockKind;
using format::CheckpointManifest;
using format::PartEntry;

const PartEntry::Table* FindTable(const PartEntry& part, const std::string& name) {
  const auto found = std::ranges::find(part.tables, name, &PartEntry::Table::name);
  return found == part.tables.end() ? nullptr : &*found;
}

bool Holds(const CheckpointManifest& manifest, uint32_t shard, const PartEntry& part) {
  return manifest.shards.lanes[manifest.shards.owner[shard]] ==
         wire::LaneName{part.server, part.lane};
}

// Whether the table of `part` in `manifest` is in `base` too, with the same shards.
Status CheckBase(const CheckpointManifest& manifest, const PartEntry& part,
                 const PartEntry::Table& table, const CheckpointManifest& base) {
  const std::string what = fmt::format("checkpoint {}: {}: table '{}' builds on checkpoint {}",
                                       manifest.number, part.file_name(), table.name, base.number);
  const PartEntry* below = base.FindPart(part.server, part.lane);
  if (below == nullptr || FindTable(*below, table.name) == nullptr) {
    return Corrupt(what + ", which does not hold it there");
  }
  for (uint32_t shard = 0; shard < wire::kShards; ++shard) {
    if (Holds(manifest, shard, part) == Holds(base, shard, part)) continue;
    return Corrupt(fmt::format("{}, where the lane held other shards: {} among them", what, shard));
  }
  return {};
}

class Loader {
 public:
  Loader(Disk& disk, const std::string& root, const std::vector<CheckpointManifest>& chain,
         LoadTarget& target)
      : disk_(disk), root_(root), target_(target) {
    for (const CheckpointManifest& manifest : chain) chain_.emplace(manifest.number, &manifest);
  }

  // All that the lane of `part`, of the newest checkpoint, saved: the oldest rows first.
  Status LoadLane(const PartEntry& part) {
    const CheckpointManifest& newest = *chain_.rbegin()->second;
    uint32_t held = 0;
    uint32_t wanted = 0;
    for (uint32_t shard = 0; shard < wire::kShards; ++shard) {
      if (!Holds(newest, shard, part)) continue;
      ++held;
      if (target_.Owns(shard)) ++wanted;
    }
    if (wanted == 0) return {};
    std::map<uint32_t, std::set<std::string>> tables;  // to be read of each checkpoint
    for (const PartEntry::Table& table : part.tables) {
      if (!target_.Wants(table.name)) continue;
      for (uint32_t number = newest.number; number != 0;) {
        tables[number].insert(table.name);
        const PartEntry* there = chain_.at(number)->FindPart(part.server, part.lane);
        number = FindTable(*there, table.name)->since;
      }
    }
    std::string* const image = target_.ImageOf({part.server, part.lane});
    if (image != nullptr) tables[newest.number];
    for (const auto& [number, names] : tables) {
      const CheckpointManifest& manifest = *chain_.at(number);
      STRATA_TRY(LoadPart(manifest, *manifest.FindPart(part.server, part.lane),
                          {.tables = names,
                           .shards = wanted,
                           .shards_held = held,
                           .image = number == newest.number ? image : nullptr}));
    }
    return {};
  }

 private:
  // What is wanted of a part.
  struct Wanted {
    const std::set<std::string>& tables;
    uint32_t shards = 0;  // of those that its lane held
    uint32_t shards_held = 0;
    std::string* image = nullptr;  // null: not wanted
  };

  // The table to load into, which makes room for what the part has of it; null: not wanted.
  Result<LocalTable*> TableFor(const std::string& path, const TableSpec& spec,
                               const PartEntry& part, const Wanted& wanted) {
    if (!wanted.tables.contains(spec.name)) return nullptr;
    STRATA_ASSIGN(LocalTable * table, target_.Table(spec));
    STRATA_TRY(CheckSpec(path, spec, table->spec()));
    const PartEntry::Table* entry = FindTable(part, spec.name);
    if (entry != nullptr && entry->since == 0) {
      table->ExpectRows(entry->rows * wanted.shards / wanted.shards_held);
    }
    return table;
  }

  Status LoadPart(const CheckpointManifest& manifest, const PartEntry& part, const Wanted& wanted) {
    const std::string path = CheckpointFolder(root_, manifest.number) + "/" + part.file_name();
    const format::PartName name{.number = manifest.number,
                                .parent = 0,
                                .server = part.server,
                                .lane = part.lane,
                                .cluster = manifest.cluster};
    STRATA_ASSIGN(const auto reader, PartReader::Open(disk_, path, name, &part));
    std::vector<LocalTable*> tables;  // null: not wanted
    PartBlock block;
    while (true) {
      STRATA_ASSIGN(const bool more, reader->Next(&block));
      if (!more) return {};
      if (block.kind == BlockKind::kTable) {
        STRATA_ASSIGN(LocalTable * table,
                      TableFor(path, reader->tables().back().spec, part, wanted));
        tables.push_back(table);
        continue;
      }
      if (block.kind == BlockKind::kLane && wanted.image != nullptr) {
        wanted.image->append(reinterpret_cast<const char*>(block.lane_image.data()),
                             block.lane_image.size());
      }
      LocalTable* table = block.kind == BlockKind::kLane ? nullptr : tables[block.table];
      if (table == nullptr) continue;
      if (block.kind == BlockKind::kErased) {
        STRATA_TRY(table->Erase(block.page.keys).status().Prefixed(path));
        continue;
      }
      if (wanted.shards != wanted.shards_held) {
        KeepRows(&block.page,
                 [&](size_t i) { return target_.Owns(wire::ShardOf(block.page.keys[i])); });
      }
      STRATA_TRY(table->Load(block.page).Prefixed(path));
    }
  }

  static Status CheckSpec(const std::string& path, const TableSpec& found,
                          const TableSpec& expected) {
    if (found == expected) return {};
    return Corrupt(
        fmt::format("{}: table '{}' has another definition than in the checkpoints that "
                    "build on this one: {}",
                    path, found.name, DifferenceOf(expected, found)));
  }

  Disk& disk_;
  const std::string& root_;
  LoadTarget& target_;
  std::map<uint32_t, const CheckpointManifest*> chain_;
};

}  // namespace

Result<std::vector<CheckpointManifest>> ReadCheckpointChain(Disk& disk, const std::string& root,
                                                            uint32_t number) {
  std::map<uint32_t, CheckpointManifest, std::greater<>> chain;
  std::set<uint32_t> wanted = {number};
  while (!wanted.empty()) {
    const uint32_t next = *wanted.rbegin();  // the newest: what builds on it has been read
    wanted.erase(next);
    auto manifest = ReadCheckpointManifest(disk, root, next);
    if (!manifest.ok() && next != number) {
      return manifest.status().Prefixed(
          fmt::format("checkpoint {} builds on checkpoint {}", chain.rbegin()->first, next));
    }
    STRATA_TRY(manifest.status());
    for (const PartEntry& part : manifest->parts) {
      for (const PartEntry::Table& table : part.tables) {
        if (table.since != 0) wanted.insert(table.since);
      }
    }
    chain.emplace(next, std::move(*manifest));
  }
  for (const auto& [child, manifest] : chain) {
    for (const PartEntry& part : manifest.parts) {
      for (const PartEntry::Table& table : part.tables) {
        if (table.since == 0) continue;
        STRATA_TRY(CheckBase(manifest, part, table, chain.at(table.since)));
      }
    }
  }
  std::vector<CheckpointManifest> result;
  for (auto& [child, manifest] : chain) result.push_back(std::move(manifest));
  return result;
}

Result<CheckpointManifest> LoadCheckpoint(Disk& disk, const std::string& root, uint32_t number,
                                          LoadTarget& target) {
  STRATA_ASSIGN(auto chain, ReadCheckpointChain(disk, root, number));
  Loader loader(disk, root, chain, target);
  for (const PartEntry& part : chain.front().parts) STRATA_TRY(loader.LoadLane(part));
  return std::move(chain.front());
}

}  // namespace strata
