// strata-admin collection create, drop and stats.
#include <fmt/format.h>

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

}  // namespace

Status RunCollectionCreate(const Request& request, std::string* out) {
  const CollectionSpec spec{request.collection.name, request.collection.attributes};
  STRATA_TRY(ValidateCollectionSpec(spec));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  STRATA_TRY(Collections(*store).Create(spec));
  *out = IsJson(request) ? JsonLine({{"created", spec.name}, {"attributes", spec.attributes}})
                         : fmt::format("created collection {} with {}\n", spec.name,
                                       Counted(spec.attributes.size(), "attribute"));
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
  for (const CollectionSpec& spec : specs) {
    if (!request.collection.name.empty() && request.collection.name != spec.name) continue;
    STRATA_ASSIGN(const auto stats, collections.Stats(spec.name));
    std::string attributes;
    for (const std::string& name : spec.attributes) {
      attributes += (attributes.empty() ? "" : ", ") + name;
    }
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
  *out = IsJson(request) ? JsonLine({{"collections", std::move(all)}}) : text.ToString();
  return {};
}

}  // namespace strata::admin
