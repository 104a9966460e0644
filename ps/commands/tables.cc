// CREATE_TABLE, DROP_TABLE, LIST_TABLES: this lane's part of each table.
#include <fmt/format.h>

#include <algorithm>

#include "ps/client/table_wire.h"
#include "ps/commands/checkpoints.h"
#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"

namespace strata {
namespace {

constexpr size_t kTablesMax = 4096;

Result<TableSpec> DecodeSpec(const Request& request) {
  STRATA_ASSIGN(const std::vector<wire::TableDefinition> definitions,
                wire::DecodeTableDefinitions(request.payload[0].bytes()));
  if (definitions.size() != 1) {
    return Invalid(fmt::format("CREATE_TABLE takes one definition, found {}", definitions.size()));
  }
  return FromWire(definitions.front());
}

}  // namespace

Result<Applied> ApplyCreateTable(LaneState& lane, Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(const TableSpec spec, DecodeSpec(request));
  const auto found = lane.tables.find(ShortId(spec.id()));
  if (found != lane.tables.end()) {
    const TableSpec& present = found->second->spec();
    if (present == spec) {
      STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
      return Applied(lsn);
    }
    if (present.name == spec.name) {
      return AlreadyExists(
          fmt::format("table '{}' exists with other properties: {}; drop it, or use another name",
                      spec.name, DifferenceOf(present, spec)));
    }
    return AlreadyExists(
        fmt::format("the names '{}' and '{}' have the same table id {:#010x}; use "
                    "another name",
                    spec.name, present.name, ShortId(spec.id())));
  }
  if (lane.tables.size() >= kTablesMax) {
    return Refused(fmt::format("{} tables exist, the most that a server keeps", kTablesMax));
  }
  STRATA_TRY(lane.CheckLevel(spec.ack).Prefixed(fmt::format("table '{}'", spec.name)));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  std::unique_ptr<LocalTable>& table = lane.tables[ShortId(spec.id())];
  table = lane.config.make_table(spec);
  table->SetEpoch(lane.checkpoint.cut);
  lane.KeepTablesToShares();
  return Applied(lsn);
}

Result<Applied> ApplyDropTable(LaneState& lane, Request& request) {
  STRATA_TRY(lane.CheckNotDraining());
  STRATA_ASSIGN(LocalTable * table, lane.FindTable(request.header));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  const Status reason = NotFound(fmt::format("table '{}' was dropped", table->spec().name));
  const uint32_t id = request.header.table;
  AnswerEnded(lane, lane.barrier.DropTable(id, reason));
  lane.NotePast(*table);
  KeepForSaving(lane, std::move(lane.tables.at(id)));
  lane.tables.erase(id);
  lane.last_push.erase(id);
  return Applied(lsn);
}

void HandleListTables(LaneState& lane, Request request) {
  std::vector<wire::TableDefinition> definitions;
  for (const auto& [id, table] : lane.tables) definitions.push_back(ToWire(table->spec()));
  std::ranges::sort(definitions, {}, &wire::TableDefinition::name);
  lane.Reply(request.reply_to(), {}, {wire::EncodeTableDefinitions(definitions)});
}

}  // namespace strata
