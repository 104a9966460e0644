#include "storage/itemset/locations.h"

#include <algorithm>

#include "strata/status.h"

namespace strata {
namespace {

constexpr size_t kEntriesMin = 8;  // of a part

// Of a part that has `used` documents: it is filled up to four fifths.
bool IsFull(size_t used, size_t entries) { return (used + 1) * 5 > entries * 4; }

}  // namespace

Locations::Locations() : firsts_{0}, parts_(1) { Fill(parts_[0], {}); }

void Locations::SetIds(uint16_t slot, const DocumentId* ids) {
  STRATA_CHECK(slot < kMostSlots);
  if (slot >= ids_.size()) ids_.resize(slot + size_t{1});
  ids_[slot] = ids;
}

size_t Locations::PartOf(uint64_t hash) const {
  return static_cast<size_t>(std::ranges::upper_bound(firsts_, hash) - firsts_.begin()) - 1;
}

size_t Locations::HomeOf(DocumentId id, size_t entries) const {
  using Wide = unsigned __int128;
  return static_cast<size_t>(static_cast<Wide>(hash_(id)) * entries >> 64);
}

size_t Locations::Search(const Part& part, DocumentId id) const {
  size_t at = HomeOf(id, part.entries.size());
  while (part.entries[at] != kNone && IdOf(part.entries[at]) != id) {
    if (++at == part.entries.size()) at = 0;
  }
  return at;
}

size_t Locations::PlacesRead(DocumentId id) const {
  const Part& part = parts_[PartOf(Mix64(id))];
  const size_t count = part.entries.size();
  return (Search(part, id) + count - HomeOf(id, count)) % count + 1;
}

std::optional<Location> Locations::Find(DocumentId id) const {
  const Part& part = parts_[PartOf(Mix64(id))];
  const uint32_t entry = part.entries[Search(part, id)];
  if (entry == kNone) return std::nullopt;
  return Location{static_cast<uint16_t>(entry >> 16), static_cast<uint16_t>(entry & 0xFFFF)};
}

void Locations::Put(DocumentId id, Location location) {
  const uint64_t hash = Mix64(id);
  const uint32_t entry = uint32_t{location.slot} << 16 | location.place;
  Part& known = parts_[PartOf(hash)];
  if (const size_t at = Search(known, id); known.entries[at] != kNone) {
    known.entries[at] = entry;
    return;
  }
  Part& part = WithRoom(hash);
  part.entries[Search(part, id)] = entry;
  ++part.used;
  ++size_;
}

Locations::Part& Locations::WithRoom(uint64_t hash) {
  size_t number = PartOf(hash);
  if (parts_[number].used == kPartMost) {
    Split(number);
    number = PartOf(hash);
  }
  Part& part = parts_[number];
  if (IsFull(part.used, part.entries.size())) Fill(part, UsedOf(part));
  return part;
}

// Entries behind the one that goes move up where that brings them nearer to their home, so that no
// search ends too early (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
void Locations::Erase(DocumentId id) {
  const size_t number = PartOf(Mix64(id));
  Part& part = parts_[number];
  const size_t count = part.entries.size();
  size_t hole = Search(part, id);
  if (part.entries[hole] == kNone) return;
  for (size_t at = (hole + 1) % count; part.entries[at] != kNone; at = (at + 1) % count) {
    const size_t home = HomeOf(IdOf(part.entries[at]), count);
    const size_t from_home = (at + count - home) % count;
    const size_t from_hole = (at + count - hole) % count;
    if (from_home < from_hole) continue;
    part.entries[hole] = part.entries[at];
    hole = at;
  }
  part.entries[hole] = kNone;
  --part.used;
  --size_;
  Shrink(number);
}

std::vector<Locations::Found> Locations::From(uint64_t from, size_t most) const {
  std::vector<Found> found;
  for (size_t number = PartOf(from); number < parts_.size() && found.size() < most; ++number) {
    const auto begin = static_cast<ptrdiff_t>(found.size());
    for (const uint32_t entry : parts_[number].entries) {
      if (entry == kNone) continue;
      const uint64_t hash = Mix64(IdOf(entry));
      if (hash < from) continue;
      found.push_back(
          {hash, {static_cast<uint16_t>(entry >> 16), static_cast<uint16_t>(entry & 0xFFFF)}});
    }
    std::ranges::sort(found.begin() + begin, found.end(), {}, &Found::hash);
  }
  if (found.size() > most) found.resize(most);
  return found;
}

std::vector<uint32_t> Locations::UsedOf(const Part& part) {
  std::vector<uint32_t> used;
  used.reserve(part.used);
  std::ranges::copy_if(part.entries, std::back_inserter(used),
                       [](uint32_t entry) { return entry != kNone; });
  return used;
}

void Locations::Fill(Part& part, const std::vector<uint32_t>& entries) {
  const size_t room = entries.size() + entries.size() / 8 + 1;
  const size_t count = std::max(kEntriesMin, room * 5 / 4 + 1);
  entries_ = entries_ - part.entries.size() + count;
  part.entries = std::vector<uint32_t>(count, kNone);
  part.used = entries.size();
  for (const uint32_t entry : entries) part.entries[Search(part, IdOf(entry))] = entry;
}

void Locations::Split(size_t number) {
  std::vector<uint32_t> used = UsedOf(parts_[number]);
  const auto middle = used.begin() + static_cast<ptrdiff_t>(used.size() / 2);
  const auto hash_of = [&](uint32_t entry) { return Mix64(IdOf(entry)); };
  std::ranges::nth_element(used, middle, {}, hash_of);
  const auto after = static_cast<ptrdiff_t>(number + 1);
  firsts_.insert(firsts_.begin() + after, hash_of(*middle));
  parts_.insert(parts_.begin() + after, Part());
  Fill(parts_[number + 1], std::vector<uint32_t>(middle, used.end()));
  used.erase(middle, used.end());
  Fill(parts_[number], used);
}

void Locations::Shrink(size_t number) {
  Part& part = parts_[number];
  if (part.used == 0 && parts_.size() > 1) {  // a neighbour has its range too, then
    entries_ -= part.entries.size();
    parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(number));
    firsts_.erase(firsts_.begin() + static_cast<ptrdiff_t>(number));
    firsts_.front() = 0;
  } else if (part.entries.size() > kEntriesMin && part.used * 4 < part.entries.size()) {
    Fill(part, UsedOf(part));
  }
}

size_t Locations::bytes() const {
  return ids_.size() * sizeof(const DocumentId*) + entries_ * sizeof(uint32_t) +
         parts_.size() * (sizeof(Part) + sizeof(uint64_t));
}

}  // namespace strata
