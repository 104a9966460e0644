#include "proto/format/collection_file.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "proto/format/sealed_json.h"

namespace strata::format {
namespace {

constexpr Seal kSeal{.kind = "strata-collection",
                     .version = 1,
                     .what = "a collection's definition",
                     .program = "the strata-server that wrote it"};

}  // namespace

std::string EncodeCollectionFile(const CollectionFile& file) {
  nlohmann::json body = {{"name", file.definition.name},
                         {"attributes", file.definition.attributes},
                         {"lineage", file.lineage},
                         {"lane", file.lane},
                         {"instance", file.instance}};
  if (file.definition.copies != 1) body["copies"] = file.definition.copies;
  return SealText(kSeal, body.dump(2) + "\n");
}

Result<CollectionFile> DecodeCollectionFile(std::string_view bytes, const std::string& path) {
  STRATA_ASSIGN(const std::string_view body, UnsealText(kSeal, bytes, path));
  const nlohmann::json root = ParseJson(body);
  if (root.is_discarded()) return Corrupt(path + ": no JSON behind the header line");
  CollectionFile file;
  Members members(root, path);
  members.Take("name", &file.definition.name);
  members.Take("attributes", &file.definition.attributes);
  members.Take("lineage", &file.lineage);
  members.Take("lane", &file.lane);
  members.Take("instance", &file.instance);
  if (root.is_object() && root.contains("copies")) members.Take("copies", &file.definition.copies);
  STRATA_TRY(members.status());
  if (file.definition.copies == 0 || file.definition.copies > wire::kCollectionCopiesMax) {
    return Corrupt(fmt::format("{}: expected 1 to {} copies, found {}", path,
                               wire::kCollectionCopiesMax, file.definition.copies));
  }
  if (file.definition.name.empty() || file.instance == 0) {
    return Corrupt(path + ": name must not be empty, instance not 0");
  }
  return file;
}

}  // namespace strata::format
