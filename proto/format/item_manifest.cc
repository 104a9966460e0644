#include "proto/format/item_manifest.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "proto/format/sealed_json.h"
#include "proto/format/segment_image.h"

namespace strata::format {
namespace {

constexpr Seal kSeal{.kind = "strata-items",
                     .version = 1,
                     .what = "the manifest of a collection",
                     .program = "the strata-server that wrote it"};

}  // namespace

std::string EncodeItemManifest(const ItemManifest& manifest) {
  nlohmann::json segments = nlohmann::json::array();
  for (const ItemManifest::Segment& segment : manifest.segments) {
    segments.push_back({{"number", segment.number},
                        {"level", segment.level},
                        {"age", segment.age},
                        {"documents", segment.documents},
                        {"dead", segment.dead},
                        {"order", segment.order},
                        {"parts", segment.parts}});
  }
  const nlohmann::json body = {{"lineage", manifest.lineage},
                               {"lane", manifest.lane},
                               {"from", manifest.from},
                               {"covered", manifest.covered},
                               {"segments", std::move(segments)}};
  return SealText(kSeal, body.dump() + "\n");
}

Result<ItemManifest> DecodeItemManifest(std::string_view bytes, const std::string& where) {
  STRATA_ASSIGN(const std::string_view text, UnsealText(kSeal, bytes, where));
  const nlohmann::json root = ParseJson(text);
  if (root.is_discarded()) return Corrupt(where + ": no JSON behind the header line");
  ItemManifest manifest;
  Members members(root, where);
  members.Take("lineage", &manifest.lineage);
  members.Take("lane", &manifest.lane);
  members.Take("from", &manifest.from);
  members.Take("covered", &manifest.covered);
  const nlohmann::json* const segments = members.Array("segments");
  STRATA_TRY(members.status());
  uint64_t last = 0;
  for (const nlohmann::json& object : *segments) {
    const std::string place = fmt::format("{}: segment {}", where, manifest.segments.size());
    ItemManifest::Segment segment;
    Members of(object, place);
    of.Take("number", &segment.number);
    of.Take("level", &segment.level);
    of.Take("age", &segment.age);
    of.Take("documents", &segment.documents);
    of.Take("dead", &segment.dead);
    of.Take("order", &segment.order);
    of.Take("parts", &segment.parts);
    STRATA_TRY(of.status());
    if (segment.number <= last || segment.documents > SegmentImage::kMostDocuments ||
        segment.dead > segment.documents || segment.parts == 0) {
      return Corrupt(
          fmt::format("{}: no segment can be number {} with {} documents, {} of them "
                      "dead, in {} parts",
                      place, segment.number, segment.documents, segment.dead, segment.parts));
    }
    last = segment.number;
    manifest.segments.push_back(segment);
  }
  if (manifest.from == 0 || manifest.from > manifest.covered + 1) {
    return Corrupt(fmt::format("{}: \"from\" is {}, expected a record up to \"covered\" + 1, {}",
                               where, manifest.from, manifest.covered + 1));
  }
  return manifest;
}

}  // namespace strata::format
