// The manifest of a collection's images: which segments are in force, and from which record on the
// log has what is not in them. One header line as in sealed_json.h, of the kind "strata-items",
// then JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata::format {

struct ItemManifest {
  struct Segment {
    uint64_t number = 0;  // of its image
    uint32_t level = 0;
    uint64_t age = 0;
    uint32_t documents = 0;
    uint32_t dead = 0;   // of them: above 0 there are live bits, too
    uint64_t order = 0;  // of its tokens
    uint32_t parts = 0;  // that its image is kept in
    friend bool operator==(const Segment&, const Segment&) = default;
  };

  uint64_t lineage = 0;  // of the log that goes on from here, and its lane
  uint16_t lane = 0;
  // Replaying the records from `from` on over the images gives the collection; up to `covered` they
  // are in effect in what the images have, so a log that ends before it was shortened.
  uint64_t from = 1;
  uint64_t covered = 0;
  std::vector<Segment> segments;  // by rising number
  friend bool operator==(const ItemManifest&, const ItemManifest&) = default;
};

std::string EncodeItemManifest(const ItemManifest& manifest);
// kInvalid: other bytes, or of a newer version; kCorrupt: damaged, or not possible. `where` is for
// messages.
Result<ItemManifest> DecodeItemManifest(std::string_view bytes, const std::string& where);

}  // namespace strata::format
