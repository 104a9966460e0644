// Locations: where each document of a collection is, in 4 bytes and the room that hash maps with
// open addressing leave free. The ids stand in the segments; they are looked at there.
//
// Each part has the documents of one range of Mix64(id), which is the order of scans: no more than
// kPartMost of them, or it is split at their middle. Within a part a document's place goes by a
// hash with a secret seed. So whatever ids there are, a search looks at few places, and a page of a
// scan costs what its documents and one part cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/seeded_hash.h"
#include "strata/set_list.h"

namespace strata {

struct Location {
  uint16_t slot = 0;   // of a segment
  uint16_t place = 0;  // in it

  friend bool operator==(const Location&, const Location&) = default;
};

// One thread at a time.
class Locations {
 public:
  static constexpr size_t kMostSlots = 65'535;

  Locations();
  // The ids of a slot, by place. They stay there as long as a document is located in it.
  void SetIds(uint16_t slot, const DocumentId* ids);

  std::optional<Location> Find(DocumentId id) const;
  // A new document, or one that has moved: the ids of both places are in memory then.
  void Put(DocumentId id, Location location);
  void Erase(DocumentId id);

  struct Found {
    uint64_t hash = 0;  // Mix64 of its id, which no other id has
    Location location;
  };
  // The first `most` documents whose hash is `from` or more, by rising hash; fewer: there are no
  // more. Takes the time of these, whatever else there is.
  std::vector<Found> From(uint64_t from, size_t most) const;

  size_t size() const { return size_; }
  size_t bytes() const;
  // Places that a search for the id looks at; tests bound them.
  size_t PlacesRead(DocumentId id) const;

 private:
  struct Part {
    std::vector<uint32_t> entries;  // location, or kNone
    size_t used = 0;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kPartMost = 2'048;

  // The number of the part of this Mix64.
  size_t PartOf(uint64_t hash) const;
  size_t HomeOf(DocumentId id, size_t entries) const;
  DocumentId IdOf(uint32_t entry) const { return ids_[entry >> 16][entry & 0xFFFF]; }
  // The entry of the id, or the free one where it would be.
  size_t Search(const Part& part, DocumentId id) const;
  // Makes room for one more in the part of this hash, and returns it.
  Part& WithRoom(uint64_t hash);
  void Split(size_t number);
  // Takes these entries in place of its own, with room for an eighth more.
  void Fill(Part& part, const std::vector<uint32_t>& entries);
  // After an erasure: a part keeps no more room than four times what it uses.
  void Shrink(size_t number);
  static std::vector<uint32_t> UsedOf(const Part& part);

  const SeededHash hash_;
  std::vector<const DocumentId*> ids_;
  // Of each part the first hash of its range, rising from 0 on.
  std::vector<uint64_t> firsts_;
  std::vector<Part> parts_;
  size_t size_ = 0;
  size_t entries_ = 0;  // of all parts
};

}  // namespace strata
