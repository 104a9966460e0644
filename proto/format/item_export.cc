#include "proto/format/item_export.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_text.h"
#include "proto/format/sealed_json.h"

namespace strata::format {
namespace {

constexpr const char* kVersionMember = "strata_collection_export";
constexpr uint32_t kVersion = 1;

}  // namespace

std::string EncodeItemExport(const ItemExport& manifest) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const ItemExport::File& file : manifest.files) {
    files.push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", DigestText(file.digest)}});
  }
  const nlohmann::ordered_json root = {
      {kVersionMember, kVersion},          {"collection", manifest.collection},
      {"attributes", manifest.attributes}, {"documents", manifest.documents},
      {"tokens", manifest.tokens},         {"one_moment", manifest.is_one_moment},
      {"files", std::move(files)}};
  return root.dump(2) + "\n";
}

Result<ItemExport> DecodeItemExport(std::string_view bytes, const std::string& path) {
  const nlohmann::json root = ParseJson(bytes);
  if (!root.is_object() || !root.contains(kVersionMember)) {
    return Invalid(
        fmt::format("{}: expected JSON with \"{}\", the manifest of an export; found "
                    "something else: name a folder that collection export wrote",
                    path, kVersionMember));
  }
  Members members(root, path);
  uint32_t version = 0;
  members.Take(kVersionMember, &version);
  STRATA_TRY(members.status());
  if (version != kVersion) {
    return Invalid(
        fmt::format("{}: expected version {}, found {}: load it with a strata-admin of "
                    "the version that wrote it, or a later one",
                    path, kVersion, version));
  }
  ItemExport manifest;
  members.Take("collection", &manifest.collection);
  members.Take("attributes", &manifest.attributes);
  members.Take("documents", &manifest.documents);
  members.Take("tokens", &manifest.tokens);
  members.Take("one_moment", &manifest.is_one_moment);
  const nlohmann::json* const files = members.Array("files");
  STRATA_TRY(members.status());
  for (const nlohmann::json& of : *files) {
    ItemExport::File file;
    std::string digest;
    Members its(of, path + ": \"files\"");
    its.Take("name", &file.name);
    its.Take("bytes", &file.bytes);
    its.Take("xxh3_128", &digest);
    STRATA_TRY(its.status());
    const std::optional<Digest> parsed = ParseDigest(digest);
    if (!parsed) {
      return Corrupt(
          fmt::format("{}: {}: expected 32 hexadecimal digits as \"xxh3_128\"", path, file.name));
    }
    file.digest = *parsed;
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

}  // namespace strata::format
