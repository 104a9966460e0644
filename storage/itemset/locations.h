// Locations: where each document of a collection is, in 4 bytes and the room that a hash map with
// open addressing leaves free. The ids stand in the segments; they are looked at there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "kernels/setops/set_list.h"

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

 private:
  // A part of the ids, so that growing takes a part of the time.
  struct Shard {
    std::vector<uint32_t> entries;  // location, or kNone
    size_t used = 0;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kShardBits = 8;

  static size_t HomeOf(uint64_t hash, size_t entries);
  Shard& ShardOf(uint64_t hash) { return shards_[hash >> (64 - kShardBits)]; }
  const Shard& ShardOf(uint64_t hash) const { return shards_[hash >> (64 - kShardBits)]; }
  DocumentId IdOf(uint32_t entry) const { return ids_[entry >> 16][entry & 0xFFFF]; }
  // The entry of the id, or the free one where it would be.
  size_t Search(const Shard& shard, DocumentId id, uint64_t hash) const;
  void Grow(Shard& shard);
  void FromShard(const Shard& shard, uint64_t from, size_t most, std::vector<Found>* found) const;

  std::vector<const DocumentId*> ids_;
  std::vector<Shard> shards_;
  size_t size_ = 0;
};

}  // namespace strata
