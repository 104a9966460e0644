#include "storage/checkpoint/table_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/seeded_hash.h"
#include "storage/checkpoint/load.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/memory/scan_pages.h"

namespace strata {
namespace {

using format::BlockKind;
using format::PartEntry;

Result<std::unique_ptr<PartReader>> OpenPart(Disk& disk, const std::string& root,
                                             const format::CheckpointManifest& manifest,
                                             const PartEntry& part) {
  return PartReader::Open(disk, CheckpointFolder(root, manifest.number) + "/" + part.file_name(),
                          {.number = manifest.number,
                           .parent = 0,
                           .server = part.server,
                           .lane = part.lane,
                           .cluster = manifest.cluster},
                          &part);
}

// Visits the blocks of one table in one part, to its end.
Status WalkPart(PartReader& reader, const std::string& table,
                const std::function<Status(PartBlock&, const TableSpec&)>& visit) {
  PartBlock block;
  while (true) {
    STRATA_ASSIGN(const bool more, reader.Next(&block));
    if (!more) return {};
    if (block.kind == BlockKind::kLane || reader.tables()[block.table].spec.name != table) continue;
    STRATA_TRY(visit(block, reader.tables()[block.table].spec));
  }
}

}  // namespace

Result<TableRows> TableRows::Open(Disk& disk, const std::string& root, uint32_t number,
                                  const std::string& table) {
  TableRows rows(disk, root, table);
  STRATA_ASSIGN(rows.chain_, ReadCheckpointChain(disk, root, number));
  STRATA_TRY(rows.ReadSpec());
  return rows;
}

Status TableRows::ReadSpec() {
  const format::CheckpointManifest& newest = chain_.front();
  std::vector<std::string> names;
  for (const auto& entry : newest.parts.front().tables) names.push_back(entry.name);
  if (std::ranges::find(names, table_) == names.end()) {
    return NotFound(fmt::format("checkpoint {} has no table '{}'; it has: {}", newest.number,
                                table_, fmt::join(names, ", ")));
  }
  STRATA_ASSIGN(const auto reader, OpenPart(*disk_, root_, newest, newest.parts.front()));
  PartBlock block;
  while (spec_.name != table_) {
    STRATA_ASSIGN(const bool more, reader->Next(&block));
    if (!more) break;
    if (block.kind == BlockKind::kTable) spec_ = reader->tables().back().spec;
  }
  return {};
}

Status TableRows::Walk(const std::function<Status(const ScanPage&)>& visit) const {
  for (const PartEntry& newest : chain_.front().parts) {
    SeededSet decided;
    uint32_t link = chain_.front().number;
    for (const format::CheckpointManifest& manifest : chain_) {
      if (manifest.number != link) continue;
      const PartEntry* part = manifest.FindPart(newest.server, newest.lane);
      const auto entry = std::ranges::find(part->tables, table_, &PartEntry::Table::name);
      if (entry == part->tables.end()) break;  // made on some lanes only
      link = entry->since;
      STRATA_ASSIGN(const auto reader, OpenPart(*disk_, root_, manifest, *part));
      std::vector<Key> decided_here;
      const Status walked =
          WalkPart(*reader, table_, [&](PartBlock& block, const TableSpec& spec) -> Status {
            if (spec != spec_) {
              return Corrupt(fmt::format("checkpoint {}: {}: table '{}' has another definition: {}",
                                         manifest.number, part->file_name(), table_,
                                         DifferenceOf(spec_, spec)));
            }
            if (block.kind == BlockKind::kTable) return {};
            const std::vector<Key>& keys = block.page.keys;
            if (link != 0) decided_here.insert(decided_here.end(), keys.begin(), keys.end());
            if (block.kind == BlockKind::kErased) return {};
            KeepRows(&block.page, [&](size_t i) { return !decided.contains(keys[i]); });
            return visit(block.page);
          });
      STRATA_TRY(walked);
      decided.insert(decided_here.begin(), decided_here.end());
    }
  }
  return {};
}

}  // namespace strata
