// The file `definition` in a collection's folder: that the collection exists, and what it is. JSON
// behind a header line that seals it (sealed_json.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/wire/collection_payload.h"
#include "strata/status.h"

namespace strata::format {

constexpr const char* kCollectionFileName = "definition";
// What it is called before the collection is published and when it was dropped: what else is in the
// folder is not needed.
constexpr const char* kUnpublishedFileName = "definition.unpublished";
constexpr uint64_t kCollectionFileBytesMax = 64 << 10;

struct CollectionFile {
  wire::CollectionDefinition definition;
  uint64_t lineage = 0;  // of the server's state
  uint16_t lane = 0;
  uint64_t instance = 0;  // tells it from others of its name, before and after; not 0

  friend bool operator==(const CollectionFile&, const CollectionFile&) = default;
};

std::string EncodeCollectionFile(const CollectionFile& file);
// kInvalid: another kind of file, or of a newer version; kCorrupt: it is damaged. Both name `path`.
Result<CollectionFile> DecodeCollectionFile(std::string_view bytes, const std::string& path);

}  // namespace strata::format
