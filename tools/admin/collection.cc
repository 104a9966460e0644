// strata-admin collection create, drop and stats.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "ps/client/collections.h"
#include "tools/admin/commands.h"
#include "tools/admin/json_line.h"
#include "tools/admin/store.h"
#include "tools/admin/table_text.h"

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

}  // namespace

Status RunCollectionCreate(const Request& request, std::string* out) {
  const CollectionSpec spec{request.collection.name, request.collection.attributes};
  STRATA_TRY(ValidateCollectionSpec(spec));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
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
                     {"existed", existed},
                     {"was_missing_on", lacked}});
    return {};
  }
  *out = fmt::format("{} collection {} with {}\n", existed ? "there is already a" : "created",
                     spec.name, Counted(spec.attributes.size(), "attribute"));
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
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  STRATA_TRY(Collections(*store).Drop(name));
  *out = IsJson(request) ? JsonLine({{"dropped", name}})
                         : fmt::format("dropped collection {}\n", name);
  return {};
}

Status RunCollectionStats(const Request& request, std::string* out) {
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  Collections collections(*store);
  STRATA_ASSIGN(const std::vector<CollectionSpec> specs, collections.List());
  using enum TableText::Align;
  TableText text({{"collection"},
                  {"documents", kRight},
                  {"memory", kRight},
                  {"log", kRight},
                  {"segments", kRight},
                  {"put in", kRight},
                  {"deleted", kRight},
                  {"queries", kRight},
                  {"a batch", kRight},
                  {"attributes"}});
  Json all = Json::array();
  std::string missing;
  for (const CollectionSpec& spec : specs) {
    if (!request.collection.name.empty() && request.collection.name != spec.name) continue;
    std::string attributes;
    for (const std::string& name : spec.attributes) {
      attributes += (attributes.empty() ? "" : ", ") + name;
    }
    const auto found = collections.Stats(spec.name);
    if (found.status().code() == StatusCode::kNotFound) {
      STRATA_ASSIGN(const auto lanes, collections.LanesWithout(spec.name));
      const std::vector<std::string> lacking = NamesOf(lanes);
      text.AddRow({spec.name, "-", "-", "-", "-", "-", "-", "-", "-", attributes});
      missing += fmt::format(
          "collection {} is missing on {}: bring those servers back with their data, or create it "
          "again and load what they held\n",
          spec.name, fmt::join(lacking, ", "));
      all.push_back(
          {{"name", spec.name}, {"attributes", spec.attributes}, {"missing_on", lacking}});
      continue;
    }
    if (!found.ok()) return found.status();
    const wire::CollectionStatsReply& stats = *found;
    const uint64_t batches = std::max<uint64_t>(stats.batches, 1);
    text.AddRow(
        {spec.name, HumanCount(stats.documents), HumanBytes(stats.bytes),
         HumanBytes(stats.log_bytes), HumanCount(stats.segments), HumanCount(stats.upserts),
         HumanCount(stats.deletes), HumanCount(stats.queries),
         fmt::format("{:.1f} in {:.2f} ms",
                     static_cast<double>(stats.queries) / static_cast<double>(batches),
                     static_cast<double>(stats.search_ns) / 1e6 / static_cast<double>(batches)),
         attributes});
    all.push_back({{"name", spec.name},
                   {"attributes", spec.attributes},
                   {"documents", stats.documents},
                   {"bytes", stats.bytes},
                   {"log_bytes", stats.log_bytes},
                   {"segments", stats.segments},
                   {"dead", stats.dead},
                   {"merges", stats.merges},
                   {"upserts", stats.upserts},
                   {"deletes", stats.deletes},
                   {"queries", stats.queries},
                   {"search_batches", stats.batches},
                   {"search_seconds", static_cast<double>(stats.search_ns) / 1e9}});
  }
  if (all.empty() && !request.collection.name.empty()) {
    return NotFound(
        fmt::format("there is no collection '{}'; strata-admin collection stats names "
                    "those that there are",
                    request.collection.name));
  }
  *out = IsJson(request) ? JsonLine({{"collections", std::move(all)}}) : text.ToString() + missing;
  return {};
}

}  // namespace strata::admin
