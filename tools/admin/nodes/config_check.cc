// strata-admin config check: every problem of a file at once, each with file, line and column.
#include "cluster/config_check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file/disk.h"
#include "base/file/text_file.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

constexpr uint64_t kListBytesMax = 16 << 20;

struct Report {
  std::vector<std::string> problems;
  MachineList machines;
};

// A file that is not named like TOML is taken for a machine list.
Report Check(const Request& request) {
  if (request.file.ends_with(".toml")) {
    ClusterConfigReport report = CheckClusterConfig(request.file, RealDisk(), request.timeout);
    return {std::move(report.problems), std::move(report.config.machines)};
  }
  Result<std::string> text = ReadTextFile(RealDisk(), request.file, kListBytesMax);
  if (!text.ok()) return {{text.status().message()}, {}};
  Result<MachineList> machines = ParseMachineList(*text, request.file);
  if (!machines.ok()) return {{machines.status().message()}, {}};
  return {{}, std::move(machines).value()};
}

nlohmann::ordered_json ToJson(const std::string& file, const Report& report) {
  nlohmann::ordered_json json = {
      {"file", file}, {"ok", report.problems.empty()}, {"problems", report.problems}};
  json["machines"] = nlohmann::json::array();
  for (const Machine& machine : report.machines.machines) {
    json["machines"].push_back({{"role", RoleName(machine.role)},
                                {"rank", machine.rank},
                                {"address", machine.Address()},
                                {"line", machine.line}});
  }
  return json;
}

std::string ToText(const std::string& file, const MachineList& machines) {
  if (machines.machines.empty()) return fmt::format("{}: no problems\n", file);
  TableText table({{"role"}, {"rank", TableText::Align::kRight}, {"address"}, {"line"}});
  for (const Machine& machine : machines.machines) {
    table.AddRow({std::string(RoleName(machine.role)), fmt::to_string(machine.rank),
                  machine.Address(), fmt::format("{}:{}", machines.file, machine.line)});
  }
  return fmt::format("{}: no problems\n{}", file, table.ToString());
}

}  // namespace

Status RunConfigCheck(const Request& request, std::string* out) {
  const Report report = Check(request);
  if (request.output == Request::Output::kJson) {
    *out = JsonLine(ToJson(request.file, report));
  } else if (report.problems.empty()) {
    *out = ToText(request.file, report.machines);
  }
  if (report.problems.empty()) return {};
  return Invalid(fmt::format("{}", fmt::join(report.problems, "\n")));
}

}  // namespace strata::admin
