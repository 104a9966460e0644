// strata-admin collection create, drop and stats.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "ps/client/collections.h"
#include "tools/admin/collection/stored_documents.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

bool IsJson(const Request& request) { return request.output == Request::Output::kJson; }

std::vector<std::string> NamesOf(const std::vector<wire::LaneName>& lanes) {
  std::vector<std::string> names;
  for (const wire::LaneName& lane : lanes) {
    names.push_back(fmt::format("server {} lane {}", lane.server, lane.lane));
  }
  return names;
}

TableText StatsTable(const std::string& of, std::vector<TableText::Column> more) {
  using enum TableText::Align;
  std::vector<TableText::Column> columns = {{of},
                                            {"documents", kRight},
                                            {"dead", kRight},
                                            {"memory", kRight},
                                            {"log", kRight},
                                            {"segments", kRight},
                                            {"on GPUs", kRight},
                                            {"since start: put in", kRight},
                                            {"deleted", kRight},
                                            {"queries", kRight},
                                            {"a batch", kRight},
                                            {"copies", kRight}};
  columns.insert(columns.end(), more.begin(), more.end());
  return TableText(std::move(columns));
}

// Of those that lanes keep of others' documents.
std::string CopiesText(const wire::CollectionStatsReply& stats) {
  if (stats.copies == 0) return "-";
  if (stats.copies_ready < stats.copies) {
    return fmt::format("{} of {} ready", stats.copies_ready, stats.copies);
  }
  const double seconds = static_cast<double>(stats.copy_behind_ns) / 1e9;
  if (seconds < 1) return fmt::format("{} ready", stats.copies);
  return fmt::format("{} ready, {} behind since {}", stats.copies,
                     Counted(stats.copy_lacking, "record"), HumanSeconds(seconds));
}

// `answered`: queries by all lanes that the stats are of, each of which answers every query.
std::vector<std::string> StatsRow(const std::string& of, const wire::CollectionStatsReply& stats,
                                  uint64_t answered) {
  const auto batches = static_cast<double>(std::max<uint64_t>(stats.batches, 1));
  return {of,
          HumanCount(stats.documents),
          HumanCount(stats.dead),
          HumanBytes(stats.bytes),
          HumanBytes(stats.log_bytes),
          HumanCount(stats.segments),
          stats.gpu_segments + stats.gpu_lacking == 0
              ? "-"
              : fmt::format("{} in {}", stats.gpu_segments, HumanBytes(stats.gpu_bytes)),
          HumanCount(stats.upserts),
          HumanCount(stats.deletes),
          HumanCount(stats.queries),
          fmt::format("{:.1f} in {:.2f} ms", static_cast<double>(answered) / batches,
                      static_cast<double>(stats.search_ns) / 1e6 / batches),
          CopiesText(stats)};
}

Json StatsJson(Json of, const wire::CollectionStatsReply& stats) {
  of.update(Json{{"documents", stats.documents},
                 {"bytes", stats.bytes},
                 {"log_bytes", stats.log_bytes},
                 {"segments", stats.segments},
                 {"dead", stats.dead},
                 {"merges", stats.merges},
                 {"upserts", stats.upserts},
                 {"deletes", stats.deletes},
                 {"gpu_segments", stats.gpu_segments},
                 {"gpu_lacking_segments", stats.gpu_lacking},
                 {"gpu_bytes", stats.gpu_bytes},
                 {"queries", stats.queries},
                 {"queries_by_engine",
                  {{"counting", stats.counted},
                   {"scanning", stats.scanned},
                   {"gpu_counting", stats.gpu_counted},
                   {"gpu_scanning", stats.gpu_scanned},
                   {"gpu_streamed", stats.gpu_streamed}}},
                 {"search_batches", stats.batches},
                 {"search_seconds", static_cast<double>(stats.search_ns) / 1e9},
                 {"copies",
                  {{"kept", stats.copies},
                   {"ready", stats.copies_ready},
                   {"documents", stats.copy_documents},
                   {"bytes", stats.copy_bytes},
                   {"records_behind", stats.copy_lacking},
                   {"seconds_behind", static_cast<double>(stats.copy_behind_ns) / 1e9},
                   {"begun", stats.copies_begun},
                   {"queries", stats.copy_queries}}}});
  return of;
}

}  // namespace

Status RunCollectionCreate(const Request& request, std::string* out) {
  const CollectionSpec spec{request.collection.name, request.collection.attributes,
                            request.collection.copies};
  STRATA_TRY(ValidateCollectionSpec(spec));
  STRATA_ASSIGN(const auto store, ConnectForAll(request));
  Collections collections(*store);
  STRATA_ASSIGN(const std::vector<CollectionSpec> specs, collections.List());
  const bool existed = std::ranges::find(specs, spec.name, &CollectionSpec::name) != specs.end();
  std::vector<std::string> lacked;
  if (existed) {
    STRATA_ASSIGN(const auto lanes, collections.LanesWithout(spec.name));
    lacked = NamesOf(lanes);
  }
  STRATA_TRY(collections.Create(spec));
  if (IsJson(request)) {
    *out = JsonLine({{"created", spec.name},
                     {"attributes", spec.attributes},
                     {"copies", spec.copies},
                     {"existed", existed},
                     {"was_missing_on", lacked}});
    return {};
  }
  *out = fmt::format(
      "{} collection {} with {}{}\n", existed ? "there is already a" : "created", spec.name,
      Counted(spec.attributes.size(), "attribute"),
      spec.copies == 1 ? "" : fmt::format(", each document on {} servers", spec.copies));
  if (!lacked.empty()) {
    *out +=
        fmt::format("it was missing on {}, which have it now, empty: load again what they held\n",
                    fmt::join(lacked, ", "));
  }
  return {};
}

Status RunCollectionDrop(const Request& request, std::string* out) {
  const std::string& name = request.collection.name;
  if (!request.yes) {
    return Refused(fmt::format(
        "this drops collection '{}' with all its documents; to do it, add --yes", name));
  }
  STRATA_ASSIGN(const auto store, ConnectForAll(request));
  const Status dropped = Collections(*store).Drop(name);
  if (dropped.code() == StatusCode::kNotFound) return NoCollection(name);
  STRATA_TRY(dropped);
  *out = IsJson(request) ? JsonLine({{"dropped", name}})
                         : fmt::format("dropped collection {}\n", name);
  return {};
}

Status RunCollectionStats(const Request& request, std::string* out) {
  const std::string& only = request.collection.name;
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  const std::vector<wire::LaneName> lanes = store->Map().lanes;
  Collections collections(*store);
  STRATA_ASSIGN(const std::vector<CollectionSpec> specs, collections.List());
  TableText text = StatsTable("collection", {{"attributes"}});
  TableText of_lanes = StatsTable("lane", {});
  Json all = Json::array();
  std::string missing;
  for (const CollectionSpec& spec : specs) {
    if (!only.empty() && only != spec.name) continue;
    const std::string attributes = fmt::format("{}", fmt::join(spec.attributes, ", "));
    Json json = {
        {"name", spec.name}, {"attributes", spec.attributes}, {"servers_each", spec.copies}};
    const auto found = collections.StatsByLane(spec.name);
    if (found.status().code() == StatusCode::kNotFound) {
      STRATA_ASSIGN(const auto without, collections.LanesWithout(spec.name));
      const std::vector<std::string> lacking = NamesOf(without);
      text.AddRow({spec.name, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", attributes});
      missing += fmt::format(
          "collection {} is missing on {}: bring those servers back with their data, or create it "
          "again and load what they held\n",
          spec.name, fmt::join(lacking, ", "));
      json["missing_on"] = lacking;
      all.push_back(std::move(json));
      continue;
    }
    if (!found.ok()) return found.status();
    wire::CollectionStatsReply sum;
    uint64_t answered = 0;
    Json by_lane = Json::array();
    for (size_t i = 0; i < lanes.size(); ++i) {
      const wire::CollectionStatsReply& stats = (*found)[i];
      sum += stats;
      answered += stats.queries;
      of_lanes.AddRow(StatsRow(NamesOf({lanes[i]})[0], stats, stats.queries));
      by_lane.push_back(StatsJson({{"server", lanes[i].server}, {"lane", lanes[i].lane}}, stats));
    }
    std::vector<std::string> row = StatsRow(spec.name, sum, answered);
    row.push_back(attributes);
    text.AddRow(std::move(row));
    json = StatsJson(std::move(json), sum);
    json["lanes"] = std::move(by_lane);
    all.push_back(std::move(json));
  }
  if (all.empty() && !only.empty()) return NoCollection(only);
  *out = IsJson(request) ? JsonLine({{"collections", std::move(all)}}) : text.ToString() + missing;
  if (!IsJson(request) && !only.empty() && missing.empty()) *out += "\n" + of_lanes.ToString();
  return {};
}

}  // namespace strata::admin
