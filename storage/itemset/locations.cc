#include "storage/itemset/locations.h"

#include "base/status.h"

namespace strata {

Locations::Locations() : shards_(size_t{1} << kShardBits) {
  constexpr size_t kFewest = 8;
  for (Shard& shard : shards_) shard.entries.assign(kFewest, kNone);
}

void Locations::SetIds(uint16_t slot, const DocumentId* ids) {
  STRATA_CHECK(slot < kMostSlots);
  if (slot >= ids_.size()) ids_.resize(slot + size_t{1});
  ids_[slot] = ids;
}

// The bits that do not say which shard, scaled to the number of entries.
size_t Locations::HomeOf(uint64_t hash, size_t entries) {
  using Wide = unsigned __int128;
  return static_cast<size_t>(static_cast<Wide>(hash << kShardBits) * entries >> 64);
}

size_t Locations::Search(const Shard& shard, DocumentId id, uint64_t hash) const {
  size_t at = HomeOf(hash, shard.entries.size());
  while (shard.entries[at] != kNone && IdOf(shard.entries[at]) != id) {
    if (++at == shard.entries.size()) at = 0;
  }
  return at;
}

std::optional<Location> Locations::Find(DocumentId id) const {
  const uint64_t hash = Mix64(id);
  const Shard& shard = ShardOf(hash);
  const uint32_t entry = shard.entries[Search(shard, id, hash)];
  if (entry == kNone) return std::nullopt;
  return Location{static_cast<uint16_t>(entry >> 16), static_cast<uint16_t>(entry & 0xFFFF)};
}

void Locations::Put(DocumentId id, Location location) {
  const uint64_t hash = Mix64(id);
  Shard& shard = ShardOf(hash);
  size_t at = Search(shard, id, hash);
  if (shard.entries[at] == kNone) {
    if ((shard.used + 1) * 5 > shard.entries.size() * 4) {
      Grow(shard);
      at = Search(shard, id, hash);
    }
    ++shard.used;
    ++size_;
  }
  shard.entries[at] = uint32_t{location.slot} << 16 | location.place;
}

// Entries behind the one that goes move up where that brings them nearer to their home, so that no
// search ends too early (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
void Locations::Erase(DocumentId id) {
  const uint64_t hash = Mix64(id);
  Shard& shard = ShardOf(hash);
  const size_t count = shard.entries.size();
  size_t hole = Search(shard, id, hash);
  if (shard.entries[hole] == kNone) return;
  for (size_t at = (hole + 1) % count; shard.entries[at] != kNone; at = (at + 1) % count) {
    const size_t home = HomeOf(Mix64(IdOf(shard.entries[at])), count);
    const size_t from_home = (at + count - home) % count;
    const size_t from_hole = (at + count - hole) % count;
    if (from_home < from_hole) continue;
    shard.entries[hole] = shard.entries[at];
    hole = at;
  }
  shard.entries[hole] = kNone;
  --shard.used;
  --size_;
}

void Locations::Grow(Shard& shard) {
  const std::vector<uint32_t> old = std::move(shard.entries);
  shard.entries.assign(old.size() + old.size() / 2, kNone);
  for (const uint32_t entry : old) {
    if (entry == kNone) continue;
    const DocumentId id = IdOf(entry);
    shard.entries[Search(shard, id, Mix64(id))] = entry;
  }
}

size_t Locations::bytes() const {
  size_t bytes = ids_.size() * sizeof(const DocumentId*);
  for (const Shard& shard : shards_) bytes += shard.entries.size() * sizeof(uint32_t);
  return bytes;
}

}  // namespace strata
