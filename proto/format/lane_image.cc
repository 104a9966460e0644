#include "proto/format/lane_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/wire/bytes.h"

namespace strata::format {
namespace {

constexpr uint64_t kMagic = 0x454e414c41525453;  // "STRALANE"
constexpr uint32_t kVersion = 1;
constexpr size_t kTextMax = 0xffff;
// The least that one of each takes: bounds what is reserved for a count that bytes claim.
constexpr size_t kClientBytes = 28, kWriteBytes = 12, kNameBytes = 16, kGroupBytes = 32,
                 kOwnerBytes = 20;

using wire::ByteReader;
using wire::ByteWriter;

void Put(ByteWriter& out, const LaneImage::Name& name) {
  out.Put(name.hi);
  out.Put(name.lo);
}

LaneImage::Name GetName(ByteReader& in) {
  LaneImage::Name name;
  name.hi = in.Get<uint64_t>();
  name.lo = in.Get<uint64_t>();
  return name;
}

void Fail(ByteReader& in) { in.GetText(in.left() + 1); }

// A u32 that must fit 16 bits.
uint16_t GetSmall(ByteReader& in) {
  const auto value = in.Get<uint32_t>();
  if (value > 0xffff) Fail(in);
  return static_cast<uint16_t>(value);
}

// Reads `count` elements of at least `least` bytes each; stops with the reader.
template <typename T, typename Get>
std::vector<T> GetMany(ByteReader& in, uint64_t count, size_t least, Get get) {
  std::vector<T> many;
  if (count > in.left() / least) {
    Fail(in);  // more is claimed than there can be
    return many;
  }
  many.reserve(count);
  for (uint64_t i = 0; i < count && in.ok(); ++i) many.push_back(get(in));
  return many;
}

LaneImage::Write GetWrite(ByteReader& in) {
  LaneImage::Write write;
  write.sequence = in.Get<uint64_t>();
  write.code = in.Get<uint16_t>();
  write.text = in.GetText(in.Get<uint16_t>());
  return write;
}

LaneImage::Client GetClient(ByteReader& in) {
  LaneImage::Client client;
  client.name = GetName(in);
  client.settled_below = in.Get<uint64_t>();
  const auto writes = in.Get<uint32_t>();
  client.writes = GetMany<LaneImage::Write>(in, writes, kWriteBytes, GetWrite);
  return client;
}

LaneImage::Owner GetOwner(ByteReader& in) {
  LaneImage::Owner owner;
  owner.rank = GetSmall(in);
  owner.client = GetName(in);
  return owner;
}

LaneImage::Group GetGroup(ByteReader& in) {
  LaneImage::Group group;
  group.table = in.Get<uint32_t>();
  group.id = in.Get<uint32_t>();
  group.world = GetSmall(in);
  group.first_step = in.Get<uint64_t>();
  group.closed = in.Get<uint64_t>();
  const auto owners = in.Get<uint32_t>();
  group.owners = GetMany<LaneImage::Owner>(in, owners, kOwnerBytes, GetOwner);
  return group;
}

template <typename T, typename Of>
bool Rises(const std::vector<T>& many, Of of) {
  return std::ranges::adjacent_find(
             many, [&](const T& a, const T& b) { return !(of(a) < of(b)); }) == many.end();
}

bool MakesSense(const LaneImage& image) {
  const auto sorted_writes = [](const LaneImage::Client& client) {
    return Rises(client.writes, [](const auto& write) { return write.sequence; });
  };
  const auto sound_group = [](const LaneImage::Group& group) {
    const bool ranks = std::ranges::all_of(
        group.owners, [&](const auto& owner) { return owner.rank < group.world; });
    return ranks && group.first_step != 0 && group.closed + 1 >= group.first_step &&
           Rises(group.owners, [](const auto& owner) { return owner.rank; });
  };
  return Rises(image.clients, [](const auto& client) { return client.name; }) &&
         Rises(image.expired, [](const auto& name) { return name; }) &&
         Rises(image.groups, [](const auto& group) { return std::pair(group.table, group.id); }) &&
         std::ranges::all_of(image.clients, sorted_writes) &&
         std::ranges::all_of(image.groups, sound_group);
}

}  // namespace

std::vector<std::byte> EncodeLaneImage(const LaneImage& image) {
  ByteWriter out;
  out.Put(kMagic);
  out.Put(kVersion);
  out.Put(uint32_t{0});
  out.Put(uint64_t{image.clients.size()});
  for (const LaneImage::Client& client : image.clients) {
    Put(out, client.name);
    out.Put(client.settled_below);
    out.Put(static_cast<uint32_t>(client.writes.size()));
    for (const LaneImage::Write& write : client.writes) {
      const std::string text = write.text.substr(0, kTextMax);
      out.Put(write.sequence);
      out.Put(write.code);
      out.Put(static_cast<uint16_t>(text.size()));
      out.PutText(text);
    }
  }
  out.Put(uint64_t{image.expired.size()});
  for (const LaneImage::Name& name : image.expired) Put(out, name);
  out.Put(uint64_t{image.groups.size()});
  for (const LaneImage::Group& group : image.groups) {
    out.Put(group.table);
    out.Put(group.id);
    out.Put(uint32_t{group.world});
    out.Put(group.first_step);
    out.Put(group.closed);
    out.Put(static_cast<uint32_t>(group.owners.size()));
    for (const LaneImage::Owner& owner : group.owners) {
      out.Put(uint32_t{owner.rank});
      Put(out, owner.client);
    }
  }
  const Frame frame = out.Take();
  return {frame.bytes().begin(), frame.bytes().end()};
}

Result<LaneImage> DecodeLaneImage(std::span<const std::byte> bytes, const std::string& where) {
  ByteReader in(bytes);
  const auto magic = in.Get<uint64_t>();
  const auto version = in.Get<uint32_t>();
  const auto reserved = in.Get<uint32_t>();
  if (!in.ok() || magic != kMagic) return Invalid(where + ": not the image of a lane");
  if (version != kVersion) {
    return Invalid(fmt::format("{}: a lane's image of version {}, this build reads {}", where,
                               version, kVersion));
  }
  LaneImage image;
  image.clients = GetMany<LaneImage::Client>(in, in.Get<uint64_t>(), kClientBytes, GetClient);
  image.expired = GetMany<LaneImage::Name>(in, in.Get<uint64_t>(), kNameBytes, GetName);
  image.groups = GetMany<LaneImage::Group>(in, in.Get<uint64_t>(), kGroupBytes, GetGroup);
  if (!in.ok() || in.left() != 0 || reserved != 0 || !MakesSense(image)) {
    return Corrupt(where + ": the image of a lane is damaged");
  }
  return image;
}

}  // namespace strata::format
