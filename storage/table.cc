#include "storage/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/thread/mutex.h"

namespace strata {
namespace {

bool IsUpdate(OpKind kind) { return kind == OpKind::kUpdate || kind == OpKind::kUpdateLookup; }

bool IsWrite(OpKind kind) {
  return IsUpdate(kind) || kind == OpKind::kAssign || kind == OpKind::kErase;
}

bool TakesKeys(OpKind kind) {
  return IsWrite(kind) || kind == OpKind::kLookup || kind == OpKind::kPrefetch;
}

bool TakesIn(OpKind kind) { return IsUpdate(kind) || kind == OpKind::kAssign; }

// The keys whose rows come out.
std::span<const Key> KeysOut(OpKind kind, const TablePart& part) {
  if (kind == OpKind::kUpdateLookup) return part.then;
  return kind == OpKind::kLookup ? part.keys : std::span<const Key>();
}

std::string PartName(OpKind kind, size_t index) {
  return fmt::format("{}, part {}", OpKindName(kind), index);
}

// A span that should hold whole rows of the same width for each of `keys` keys.
Status ValidateRowSpan(std::string_view span, size_t size, size_t keys) {
  if (keys == 0 && size == 0) return {};
  if (keys != 0 && size != 0 && size % keys == 0) return {};
  return Invalid(
      fmt::format("{}: expected the same number of elements for each of {} keys, found {} in all",
                  span, keys, size));
}

Status ValidateShape(OpKind kind, const TablePart& part) {
  if (!TakesKeys(kind) && !part.keys.empty()) {
    return Invalid(fmt::format("takes no keys, found {}", part.keys.size()));
  }
  if (kind != OpKind::kUpdateLookup && !part.then.empty()) {
    return Invalid(fmt::format("looks nothing up afterwards, found {} keys", part.then.size()));
  }
  STRATA_TRY(ValidateRowSpan("in", part.in.size(), TakesIn(kind) ? part.keys.size() : 0));
  STRATA_TRY(ValidateRowSpan("out", part.out.size(), KeysOut(kind, part).size()));
  if (kind == OpKind::kScan) {
    if (part.page == nullptr) return Invalid("a scan needs a page");
    if (part.page->rows_max == 0) return Invalid("rows_max: expected 1 or more, found 0");
  }
  if (kind == OpKind::kStats && part.stats == nullptr)
    return Invalid("stats needs a place for them");
  return {};
}

Status ValidateSync(const Operation& operation) {
  const SyncGroup& sync = *operation.sync;
  if (!IsUpdate(operation.kind) && operation.kind != OpKind::kLookup) {
    return Invalid(fmt::format(
        "{} cannot be part of a synchronous step; only lookup, update and update-lookup can",
        OpKindName(operation.kind)));
  }
  if (sync.rank >= sync.world) {
    return Invalid(
        fmt::format("rank: expected 0 to world - 1 ({} ranks), found {}", sync.world, sync.rank));
  }
  if (sync.first_step < 1 || operation.step < sync.first_step) {
    return Invalid(
        fmt::format("step {} of a group whose first step is {}: expected 1 <= first step "
                    "<= step",
                    operation.step, sync.first_step));
  }
  return {};
}

Status ValidateTablesOnce(const Operation& operation) {
  if (operation.parts.size() < 2) return {};
  std::vector<TableId> ids;
  ids.reserve(operation.parts.size());
  for (const TablePart& part : operation.parts) ids.push_back(part.table);
  std::sort(ids.begin(), ids.end());
  const auto repeated = std::adjacent_find(ids.begin(), ids.end());
  if (repeated == ids.end()) return {};
  return Invalid(fmt::format("{}: table id {:#x} comes in two parts; put its keys into one",
                             OpKindName(operation.kind), static_cast<uint32_t>(*repeated)));
}

}  // namespace

std::string_view OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kLookup:
      return "lookup";
    case OpKind::kUpdate:
      return "update";
    case OpKind::kAssign:
      return "assign";
    case OpKind::kErase:
      return "erase";
    case OpKind::kScan:
      return "scan";
    case OpKind::kStats:
      return "stats";
    case OpKind::kFlush:
      return "flush";
    case OpKind::kPrefetch:
      return "prefetch";
    case OpKind::kUpdateLookup:
      return "update-lookup";
  }
  return "unknown";
}

namespace {

Status RunOn(TableStore& store, const TableSpec& table, Operation operation) {
  return SubmitAndWait(store, std::move(operation))
      .status.Prefixed(fmt::format("table '{}'", table.name));
}

Status CheckRows(const TableSpec& table, std::string_view argument, size_t size, size_t keys) {
  const size_t expected = keys * table.dim;
  if (size == expected) return {};
  return Invalid(fmt::format("table '{}': {}: expected {} elements ({} keys x dim {}), found {}",
                             table.name, argument, expected, keys, table.dim, size));
}

// Runs an operation whose spans fit `table`. What the store has may be of another dim all the same;
// its own error then names the members of TablePart, which the caller has not seen.
Status RunWithRows(TableStore& store, const TableSpec& table, Operation operation) {
  Status status = RunOn(store, table, std::move(operation));
  if (status.code() != StatusCode::kInvalid) return status;
  const Result<std::vector<TableSpec>> tables = store.ListTables();
  if (!tables.ok()) return status;
  for (const TableSpec& ours : *tables) {
    if (ours.name != table.name || ours.dim == table.dim) continue;
    return Invalid(fmt::format(
        "table '{}': dim: expected {}, which the table was made with, found {} in the TableSpec of "
        "this call",
        table.name, ours.dim, table.dim));
  }
  return status;
}

}  // namespace

Result<std::vector<float>> Pull(TableStore& store, const TableSpec& table,
                                std::span<const Key> keys) {
  std::vector<float> rows(keys.size() * table.dim);
  Operation lookup{.kind = OpKind::kLookup};
  lookup.parts.push_back({.table = table.id(), .keys = keys, .out = rows});
  STRATA_TRY(RunWithRows(store, table, std::move(lookup)));
  return rows;
}

Status Push(TableStore& store, const TableSpec& table, std::span<const Key> keys,
            std::span<const float> gradients, uint64_t step) {
  STRATA_TRY(CheckRows(table, "gradients", gradients.size(), keys.size()));
  Operation update{.kind = OpKind::kUpdate};
  update.parts.push_back({.table = table.id(), .keys = keys, .in = gradients});
  update.step = step;
  return RunWithRows(store, table, std::move(update));
}

Status Assign(TableStore& store, const TableSpec& table, std::span<const Key> keys,
              std::span<const float> values) {
  STRATA_TRY(CheckRows(table, "values", values.size(), keys.size()));
  Operation assign{.kind = OpKind::kAssign};
  assign.parts.push_back({.table = table.id(), .keys = keys, .in = values});
  return RunWithRows(store, table, std::move(assign));
}

Status Erase(TableStore& store, const TableSpec& table, std::span<const Key> keys) {
  Operation erase{.kind = OpKind::kErase};
  erase.parts.push_back({.table = table.id(), .keys = keys});
  return RunOn(store, table, std::move(erase));
}

Status Scan(
    TableStore& store, const TableSpec& table,
    const std::function<Status(std::span<const Key> keys, std::span<const float> rows)>& page) {
  ScanPage found;
  while (!found.done) {
    Operation scan{.kind = OpKind::kScan};
    scan.parts.push_back({.table = table.id(), .page = &found});
    STRATA_TRY(RunOn(store, table, std::move(scan)));
    STRATA_TRY(page(found.keys, found.rows));
  }
  return {};
}

Result<TableStats> Stats(TableStore& store, const TableSpec& table) {
  TableStats stats;
  Operation operation{.kind = OpKind::kStats};
  operation.parts.push_back({.table = table.id(), .stats = &stats});
  STRATA_TRY(RunOn(store, table, std::move(operation)));
  return stats;
}

Status ValidateOperation(const Operation& operation) {
  if (OpKindName(operation.kind) == "unknown") {
    return Invalid(fmt::format("operation kind: expected 1 (lookup) to 9 (update-lookup), found {}",
                               static_cast<int>(operation.kind)));
  }
  for (size_t i = 0; i < operation.parts.size(); ++i) {
    STRATA_TRY(
        ValidateShape(operation.kind, operation.parts[i]).Prefixed(PartName(operation.kind, i)));
  }
  STRATA_TRY(ValidateTablesOnce(operation));
  if (IsUpdate(operation.kind) && operation.step < 1) {
    return Invalid("step of an update: expected 1 or more, found 0");
  }
  if (operation.sync) STRATA_TRY(ValidateSync(operation));
  if (IsWrite(operation.kind) && operation.ack > AckLevel::kReplicated &&
      operation.ack != AckLevel::kDefault) {
    return Invalid(fmt::format("ack level {} does not exist", static_cast<int>(operation.ack)));
  }
  return {};
}

Status ValidatePart(OpKind kind, const TablePart& part, const TableSpec& spec) {
  const auto check = [&](std::string_view span, size_t size, size_t keys) -> Status {
    const size_t expected = keys * spec.dim;
    if (size == expected) return {};
    return Invalid(
        fmt::format("{} on table '{}': {}: expected {} elements ({} keys x dim {}), found {}",
                    OpKindName(kind), spec.name, span, expected, keys, spec.dim, size));
  };
  STRATA_TRY(check("in", part.in.size(), TakesIn(kind) ? part.keys.size() : 0));
  return check("out", part.out.size(), KeysOut(kind, part).size());
}

Outcome SubmitAndWait(TableStore& store, Operation operation) {
  struct Waiting {
    Mutex mutex;
    CondVar arrived;
    std::optional<Outcome> outcome STRATA_GUARDED_BY(mutex);
  } waiting;
  store.Submit(std::move(operation), [&waiting](Outcome outcome) {
    // Notified under the lock: the waiter may leave, and end `waiting`, only after it is released.
    const MutexLock lock(waiting.mutex);
    waiting.outcome = std::move(outcome);
    waiting.arrived.NotifyOne();
  });
  const MutexLock lock(waiting.mutex);
  while (!waiting.outcome.has_value()) waiting.arrived.Wait(waiting.mutex);
  return std::move(*waiting.outcome);
}

}  // namespace strata
