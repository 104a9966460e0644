#include "storage/itemset/locations.h"

#include <algorithm>

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

// Entries stand at their home or behind it, with no free one between, and homes rise with the hash:
// who comes to a free entry has seen all whose homes are before it. What found no room at the end
// stands at the front, before its home.
void Locations::FromShard(const Shard& shard, uint64_t from, size_t most,
                          std::vector<Found>* found) const {
  const size_t count = shard.entries.size();
  const auto look = [&](size_t at, bool is_at_front) {
    const uint32_t entry = shard.entries[at];
    const uint64_t hash = Mix64(IdOf(entry));
    if (hash < from || (HomeOf(hash, count) > at) != is_at_front) return;
    found->push_back(
        {hash, {static_cast<uint16_t>(entry >> 16), static_cast<uint16_t>(entry & 0xFFFF)}});
  };
  for (size_t at = HomeOf(from, count); at < count; ++at) {
    if (shard.entries[at] != kNone) {
      look(at, false);
    } else if (found->size() >= most) {
      return;
    }
  }
  for (size_t at = 0; shard.entries[at] != kNone; ++at) look(at, true);
}

std::vector<Locations::Found> Locations::From(uint64_t from, size_t most) const {
  std::vector<Found> found;
  for (size_t number = from >> (64 - kShardBits); number < shards_.size() && found.size() < most;
       ++number) {
    const auto begin = static_cast<ptrdiff_t>(found.size());
    const uint64_t first = uint64_t{number} << (64 - kShardBits);
    FromShard(shards_[number], std::max(from, first), most, &found);
    std::ranges::sort(found.begin() + begin, found.end(), {}, &Found::hash);
  }
  if (found.size() > most) found.resize(most);
  return found;
}

void Locations::Grow(Shard& shard) {
  const std::vector<uint32_t> old = std::move(shard.entries);
  shard.entries.assign(old.size() + old.size() / 8, kNone);
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
