// strata-admin tables, stats, table create and table drop. The first two are added up from the
// servers' own status, so that they also work while some servers are down.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "storage/optimizer_fields.h"
#include "tools/admin/commands.h"
#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/nodes/node_query.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/tables/tiers.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

TableSums SumOf(const std::vector<NodeAnswer>& answers) {
  TableSums sums;
  for (const NodeAnswer& answer : answers) {
    for (const control::TableStatus& part : answer.node.server().table()) {
      control::TableStatus& sum = sums[part.name()];
      sum.set_name(part.name());
      sum.set_dim(part.dim());
      sum.set_optimizer(part.optimizer());
      sum.set_rows(sum.rows() + part.rows());
      sum.set_bytes(sum.bytes() + part.bytes());
      sum.set_lookups(sum.lookups() + part.lookups());
      sum.set_lookup_hits(sum.lookup_hits() + part.lookup_hits());
      sum.set_updates(sum.updates() + part.updates());
      sum.set_steps(std::max(sum.steps(), part.steps()));  // every server takes part in a step
      sum.set_rejected(sum.rejected() + part.rejected());
      sum.set_cold_rows(sum.cold_rows() + part.cold_rows());
      sum.set_passed_down(sum.passed_down() + part.passed_down());
      AddTiers(part, &sum);
    }
  }
  return sums;
}

// The tables' definitions, by name. Each server knows all of them.
using Definitions = std::map<std::string, TableSpec>;

Result<Definitions> DefinitionsOf(const ClusterConfig& config,
                                  const std::vector<NodeAnswer>& answers, TimeNs timeout) {
  std::vector<uint16_t> absent;
  for (const NodeAnswer& answer : answers) {
    if (!answer.status.ok()) absent.push_back(static_cast<uint16_t>(answer.machine.rank));
  }
  STRATA_ASSIGN(const auto store, ConnectStore(config, timeout, absent));
  STRATA_ASSIGN(const std::vector<TableSpec> specs, store->ListTables());
  Definitions definitions;
  for (const TableSpec& spec : specs) definitions.emplace(spec.name, spec);
  return definitions;
}

// The double of the fewest digits that stands for the float: 0.1, not 0.10000000149011612.
Json Shortest(float value) { return Json::parse(fmt::format("{}", value), nullptr, false); }

// Those that the optimizer uses, but for the learning rate, which stands for itself.
Json Constants(const OptimizerSpec& optimizer) {
  Json constants = Json::object();
  for (const OptimizerField& field : OptimizerFields()) {
    if (field.real == &OptimizerSpec::learning_rate || !field.is_used(optimizer)) continue;
    constants[std::string(field.name)] = Json::parse(field.TextIn(optimizer), nullptr, false);
  }
  return constants;
}

// What only the definition says is null without one.
Json Definition(const control::TableStatus& table, const TableSpec* spec) {
  Json json = {
      {"name", table.name()},     {"dim", table.dim()},    {"optimizer", table.optimizer()},
      {"learning_rate", nullptr}, {"constants", nullptr},  {"initializer", nullptr},
      {"scale", nullptr},         {"ack", nullptr},        {"seed", nullptr},
      {"value_type", nullptr},    {"state_type", nullptr}, {"rows", table.rows()},
      {"bytes", table.bytes()}};
  if (spec != nullptr) {
    json["learning_rate"] = Shortest(spec->optimizer.learning_rate);
    json["constants"] = Constants(spec->optimizer);
    json["initializer"] = InitializerKindName(spec->initializer.kind);
    json["scale"] = Shortest(spec->initializer.scale);
    json["ack"] = AckLevelName(spec->ack);
    json["seed"] = spec->seed;
    json["value_type"] = ElementTypeName(spec->value_type);
    json["state_type"] = ElementTypeName(spec->state_type);
  }
  return json;
}

const TableSpec* Find(const Definitions& definitions, const std::string& name) {
  const auto found = definitions.find(name);
  return found == definitions.end() ? nullptr : &found->second;
}

Json Counts(const control::TableStatus& table) {
  return {{"name", table.name()},
          {"rows", table.rows()},
          {"bytes", table.bytes()},
          {"lookups", table.lookups()},
          {"lookup_hits", table.lookup_hits()},
          {"updates", table.updates()},
          {"steps", table.steps()},
          {"rejected", table.rejected()},
          {"cold_rows", table.cold_rows()},
          {"passed_down", table.passed_down()},
          {"tiers", TiersJson(table)}};
}

std::string AsJson(Json tables, const std::vector<NodeAnswer>& answers) {
  Json down = Json::array();
  Json refused = Json::array();
  for (const NodeAnswer& answer : answers) {
    if (answer.down()) down.push_back(answer.machine.rank);
    if (answer.refused()) refused.push_back(answer.machine.rank);
  }
  return JsonLine({{"tables", std::move(tables)},
                   {"servers", answers.size()},
                   {"servers_down", std::move(down)},
                   {"servers_refused", std::move(refused)}});
}

bool AnyAnswered(const std::vector<NodeAnswer>& answers) {
  return std::ranges::any_of(answers, [](const NodeAnswer& answer) { return answer.status.ok(); });
}

// A line for the end of a table of sums: which servers they are without; "" when all answered.
std::string WithoutText(const std::vector<NodeAnswer>& answers) {
  std::vector<std::string> absent;
  for (const NodeAnswer& answer : answers) {
    if (!answer.status.ok()) absent.push_back(answer.Name());
  }
  return absent.empty() ? "" : fmt::format("without {}\n", fmt::join(absent, ", "));
}

bool AnyOnGpu(const std::vector<NodeAnswer>& answers) {
  return std::ranges::any_of(answers, [](const NodeAnswer& answer) {
    return answer.node.server().device().starts_with("cuda");
  });
}

std::string InitializerText(const InitializerSpec& initializer) {
  const std::string_view kind = InitializerKindName(initializer.kind);
  return initializer.kind == InitializerKind::kZero ? std::string(kind)
                                                    : fmt::format("{} {}", kind, initializer.scale);
}

// Of the value, and of the optimizer's state where that is another.
std::string TypesText(const TableSpec& spec) {
  const std::string_view value = ElementTypeName(spec.value_type);
  return spec.state_type == spec.value_type
             ? std::string(value)
             : fmt::format("{}, state {}", value, ElementTypeName(spec.state_type));
}

std::string DefinitionsText(const TableSums& sums, const Definitions& definitions) {
  using enum TableText::Align;
  TableText text({{"table"},
                  {"dim", kRight},
                  {"type"},
                  {"optimizer"},
                  {"rate", kRight},
                  {"initializer"},
                  {"ack"},
                  {"seed", kRight},
                  {"rows", kRight},
                  {"memory", kRight}});
  for (const auto& [name, table] : sums) {
    const TableSpec* spec = Find(definitions, name);
    text.AddRow({name, fmt::to_string(table.dim()), spec == nullptr ? "?" : TypesText(*spec),
                 table.optimizer(),
                 spec == nullptr ? "?" : fmt::to_string(spec->optimizer.learning_rate),
                 spec == nullptr ? "?" : InitializerText(spec->initializer),
                 spec == nullptr ? "?" : std::string(AckLevelName(spec->ack)),
                 spec == nullptr ? "?" : fmt::to_string(spec->seed), HumanCount(table.rows()),
                 HumanBytes(table.bytes())});
  }
  return text.ToString();
}

std::string CountsText(const TableSums& sums, bool on_gpu) {
  using enum TableText::Align;
  std::vector<TableText::Column> columns = {
      {"table"},           {"rows", kRight},    {"on disk", kRight},
      {"memory", kRight},  {"lookups", kRight}, {"hits", kRight},
      {"updates", kRight}, {"steps", kRight},   {"rejected", kRight}};
  if (on_gpu) columns.push_back({"passed down", kRight});
  TableText text(std::move(columns));
  for (const auto& [name, table] : sums) {
    std::vector<std::string> row = {name,
                                    HumanCount(table.rows()),
                                    HumanCount(table.cold_rows()),
                                    HumanBytes(table.bytes()),
                                    HumanCount(table.lookups()),
                                    Percent(table.lookup_hits(), table.lookups()),
                                    HumanCount(table.updates()),
                                    HumanCount(table.steps()),
                                    HumanCount(table.rejected())};
    if (on_gpu) row.push_back(HumanCount(table.passed_down()));
    text.AddRow(std::move(row));
  }
  return text.ToString();
}

}  // namespace

Status RunTables(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  const auto answers = AskStatus(config, config.machines.Of(Role::kServer), request.timeout);
  const TableSums sums = SumOf(answers);
  Status verdict = Verdict(answers);
  Definitions definitions;
  if (AnyAnswered(answers)) {
    Result<Definitions> listed = DefinitionsOf(config, answers, request.timeout);
    if (verdict.ok()) verdict = listed.status();
    if (listed.ok()) definitions = std::move(listed).value();
  }
  if (request.output == Request::Output::kJson) {
    Json tables = Json::array();
    for (const auto& [name, table] : sums) {
      tables.push_back(Definition(table, Find(definitions, name)));
    }
    *out = AsJson(std::move(tables), answers);
  } else if (AnyAnswered(answers)) {
    *out = DefinitionsText(sums, definitions) + WithoutText(answers);
  }
  return verdict;
}

Status RunStats(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  const auto answers = AskStatus(config, config.machines.Of(Role::kServer), request.timeout);
  TableSums sums = SumOf(answers);
  const Status verdict = Verdict(answers);
  if (!request.table.empty()) {
    const auto found = sums.find(request.table);
    if (found == sums.end()) {
      return verdict.ok() ? NotFound(fmt::format("there is no table '{}'", request.table))
                          : verdict;
    }
    sums = {*found};
  }
  if (request.output == Request::Output::kJson) {
    Json tables = Json::array();
    for (const auto& [name, table] : sums) tables.push_back(Counts(table));
    *out = AsJson(std::move(tables), answers);
  } else if (AnyAnswered(answers)) {
    const bool on_gpu = AnyOnGpu(answers);
    *out = CountsText(sums, on_gpu) + TiersText(sums, on_gpu) + WithoutText(answers);
  }
  return verdict;
}

Status RunTableCreate(const Request& request, std::string* out) {
  STRATA_ASSIGN(const auto store, ConnectForAll(request));
  STRATA_TRY(store->CreateTable(request.spec));
  *out =
      request.output == Request::Output::kJson
          ? JsonLine({{"created", request.spec.name}, {"dim", request.spec.dim}})
          : fmt::format("created table {} of dimension {}\n", request.spec.name, request.spec.dim);
  return {};
}

Status RunTableDrop(const Request& request, std::string* out) {
  if (!request.yes) {
    return Refused(
        fmt::format("this drops table '{}' with all its rows; to do it, add --yes", request.table));
  }
  STRATA_ASSIGN(const auto store, ConnectForAll(request));
  STRATA_TRY(store->DropTable(request.table));
  *out = request.output == Request::Output::kJson
             ? JsonLine({{"dropped", request.table}})
             : fmt::format("dropped table {}\n", request.table);
  return {};
}

}  // namespace strata::admin
