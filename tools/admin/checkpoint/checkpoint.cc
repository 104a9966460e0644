// strata-admin checkpoint, checkpoint list and restore: checkpoints of a running cluster.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/human_text.h"
#include "ps/client/remote_checkpointer.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

// Of saving and loading, which take as long as disks take. A server that is gone is noticed within
// request.timeout all the same.
constexpr TimeNs kWorkTimeout = 24 * 3600 * kSecond;

TimeNs After(TimeNs duration) { return RealClock().Now() + duration; }

double SecondsSince(TimeNs begin) { return SecondsBetween(begin, RealClock().Now()); }

// Those that cannot be loaded, since they or one that they build on is damaged or missing.
std::set<uint32_t> WithoutBase(const std::vector<CheckpointInfo>& newest_first) {
  std::set<uint32_t> whole = {0};
  std::set<uint32_t> broken;
  for (const CheckpointInfo& info : std::views::reverse(newest_first)) {
    const bool loads = info.damage.empty() && whole.contains(info.parent);
    (loads ? whole : broken).insert(info.number);
  }
  return broken;
}

Json ToJson(const CheckpointInfo& info) {
  if (!info.damage.empty()) return {{"number", info.number}, {"damaged", info.damage}};
  return {{"number", info.number},
          {"builds_on", info.parent == 0 ? Json() : Json(info.parent)},
          {"rows", info.rows},
          {"all_rows", info.parent == 0},
          {"bytes", info.bytes},
          {"unix_seconds", info.wall_unix_ns / kSecond},
          {"attachments", info.attachments}};
}

std::string Kind(const CheckpointInfo& info) {
  return info.parent == 0 ? "full" : fmt::format("changes since {}", info.parent);
}

// "12 changed" of one that holds no others.
std::string RowsText(const CheckpointInfo& info) {
  return HumanCount(info.rows) + (info.parent == 0 ? "" : " changed");
}

std::string ListText(const std::vector<CheckpointInfo>& all) {
  const std::set<uint32_t> broken = WithoutBase(all);
  using enum TableText::Align;
  TableText text({{"number", kRight},
                  {"taken (UTC)"},
                  {"rows", kRight},
                  {"size", kRight},
                  {"kind"},
                  {"attachments"}});
  std::string damage;
  for (const CheckpointInfo& info : all) {
    if (!info.damage.empty()) {
      text.AddRow({fmt::to_string(info.number), "", "", "", "damaged", ""});
      damage += fmt::format("checkpoint {} is damaged: {}\n", info.number, Printable(info.damage));
      continue;
    }
    const auto taken = static_cast<std::time_t>(info.wall_unix_ns / kSecond);
    text.AddRow({fmt::to_string(info.number),
                 fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(taken)), RowsText(info),
                 HumanBytes(info.bytes),
                 Kind(info) + (broken.contains(info.number) ? ", base missing or damaged" : ""),
                 fmt::format("{}", fmt::join(info.attachments, " "))});
  }
  return text.ToString() + damage;
}

// How many checkpoints a new one would build on, one on the other.
size_t ChainLength(const std::vector<CheckpointInfo>& newest_first) {
  size_t length = 0;
  uint32_t next = newest_first.empty() ? 0 : newest_first.front().number;
  for (const CheckpointInfo& info : newest_first) {
    if (info.number != next) continue;
    ++length;
    next = info.parent;
  }
  return length;
}

}  // namespace

Status RunCheckpoint(const Request& request, std::string* out) {
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  RemoteCheckpointer checkpointer(*store);
  const TimeNs begin = RealClock().Now();
  STRATA_ASSIGN(const auto before, checkpointer.List(After(kWorkTimeout)));
  const bool full = request.full || ChainLength(before) >= kFullEvery;
  STRATA_ASSIGN(const CheckpointInfo info,
                CutAndSave(checkpointer, full, {}, After(kWorkTimeout), After(kWorkTimeout)));
  const double seconds = SecondsSince(begin);
  if (request.output == Request::Output::kJson) {
    Json json = ToJson(info);
    json["seconds"] = seconds;
    *out = JsonLine(json);
  } else {
    *out = fmt::format("checkpoint {} ({}): {}, {}, {}\n", info.number, Kind(info),
                       Counted(info.rows, info.parent == 0 ? "row" : "changed row"),
                       HumanBytes(info.bytes), HumanSeconds(seconds));
  }
  return {};
}

// Server 0 alone keeps the folder.
Status RunCheckpointList(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ReachableStore reachable, ConnectReachable(request));
  RemoteCheckpointer checkpointer(*reachable.store);
  STRATA_ASSIGN(const std::vector<CheckpointInfo> all, checkpointer.List(After(request.timeout)));
  if (request.output == Request::Output::kJson) {
    Json list = Json::array();
    const std::set<uint32_t> broken = WithoutBase(all);
    for (const CheckpointInfo& info : all) {
      list.push_back(ToJson(info));
      list.back()["loadable"] = !broken.contains(info.number);
    }
    *out = JsonLine({{"checkpoints", std::move(list)}});
  } else {
    *out = all.empty() ? "there are no checkpoints\n" : ListText(all);
  }
  return {};
}

Status RunRestore(const Request& request, std::string* out) {
  if (!request.yes) {
    return Refused(fmt::format(
        "this puts all tables of the servers back to checkpoint {}, and what was written since is "
        "gone; nobody may write meanwhile; to do it, add --yes",
        request.number));
  }
  STRATA_ASSIGN(const auto store, ConnectForAll(request));
  RemoteCheckpointer checkpointer(*store);
  const TimeNs begin = RealClock().Now();
  STRATA_TRY(checkpointer.Restore(request.number, After(kWorkTimeout)));
  const double seconds = SecondsSince(begin);
  STRATA_ASSIGN(const std::vector<TableSpec> tables, store->ListTables());
  if (request.output == Request::Output::kJson) {
    Json names = Json::array();
    for (const TableSpec& table : tables) names.push_back(table.name);
    *out =
        JsonLine({{"number", request.number}, {"tables", std::move(names)}, {"seconds", seconds}});
  } else {
    *out = fmt::format("all servers are back at checkpoint {}: {}, {}\n", request.number,
                       Counted(tables.size(), "table"), HumanSeconds(seconds));
  }
  return {};
}

}  // namespace strata::admin
