// strata-admin get, put and erase: single rows, for a look and for a try.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/human_text.h"
#include "ps/client/existing_rows.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

Outcome Run(TableStore& store, OpKind kind, TablePart part) {
  Operation operation;
  operation.kind = kind;
  operation.parts = {part};
  return SubmitAndWait(store, std::move(operation));
}

// Whether what is shown is a row, or what a key without one is answered with.
std::string_view ExistenceText(std::optional<bool> exists) {
  if (!exists) return "not known: the server is of an older version";
  return *exists ? "exists" : "missing: initial value";
}

// "erased 2 rows of table t, of 3 keys": keys that have no row, and repeats, erase nothing.
std::string ErasedText(const std::string& table, size_t keys, std::optional<uint64_t> erased) {
  if (!erased) {
    return fmt::format(
        "erased {} of table {}; how many of them had a row is not known, as a server "
        "had to be asked twice, or is of an older version\n",
        Counted(keys, "key"), table);
  }
  return fmt::format("erased {} of table {}, of {}\n", Counted(*erased, "row"), table,
                     Counted(keys, "key"));
}

}  // namespace

Status RunGet(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ReachableStore reachable, ConnectReachable(request));
  STRATA_ASSIGN(const TableSpec spec, FindTable(reachable, request.table));
  const std::vector<Key> keys = reachable.Reachable(request.keys);
  STRATA_ASSIGN(const std::vector<ExistingRow> rows, LookUpExisting(*reachable.store, spec, keys));

  Json json = Json::array();
  TableText text({{"key", TableText::Align::kRight}, {"values"}, {"row"}});
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& [values, exists] = rows[i];
    json.push_back(
        {{"key", keys[i]}, {"exists", exists ? Json(*exists) : Json()}, {"values", values}});
    text.AddRow({fmt::to_string(keys[i]), fmt::format("{}", fmt::join(values, " ")),
                 std::string(ExistenceText(exists))});
  }
  *out = request.output == Request::Output::kJson
             ? JsonLine({{"table", spec.name}, {"dim", spec.dim}, {"rows", std::move(json)}})
             : text.ToString();
  return reachable.CheckAllReachable(request.keys);
}

Status RunPut(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ReachableStore reachable, ConnectReachable(request));
  STRATA_ASSIGN(const TableSpec spec, FindTable(reachable, request.table));
  STRATA_TRY(reachable.CheckAllReachable(request.keys));
  if (request.values.size() != spec.dim) {
    return Invalid(fmt::format("table '{}' has dimension {}: expected as many values, found {}",
                               spec.name, spec.dim, request.values.size()));
  }
  TablePart part;
  part.table = spec.id();
  part.keys = request.keys;
  part.in = request.values;
  STRATA_TRY(Run(*reachable.store, OpKind::kAssign, part).status);
  *out = request.output == Request::Output::kJson
             ? JsonLine({{"table", spec.name}, {"key", request.keys[0]}})
             : fmt::format("put key {} of table {}\n", request.keys[0], spec.name);
  return {};
}

Status RunErase(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ReachableStore reachable, ConnectReachable(request));
  STRATA_ASSIGN(const TableSpec spec, FindTable(reachable, request.table));
  // All of them or none.
  STRATA_TRY(reachable.CheckAllReachable(request.keys));
  TablePart part;
  part.table = spec.id();
  part.keys = request.keys;
  const Outcome outcome = Run(*reachable.store, OpKind::kErase, part);
  STRATA_TRY(outcome.status);
  const Json erased = outcome.erased ? Json(*outcome.erased) : Json();
  *out = request.output == Request::Output::kJson
             ? JsonLine({{"table", spec.name}, {"keys", request.keys}, {"erased", erased}})
             : ErasedText(spec.name, request.keys.size(), outcome.erased);
  return {};
}

}  // namespace strata::admin
