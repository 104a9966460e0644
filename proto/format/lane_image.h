// The image of a lane: what it remembers besides its tables, as a part of a checkpoint holds it:
// which writes of which client were decided and how, and how far each group of synchronous
// training is. Little-endian:
//
//   magic "STRALANE", version u32, zeros u32
//   clients u64, each: hi u64, lo u64, settled below u64, writes u32, each: sequence u64,
//     status code u16, text length u16, text
//   expired clients u64, each: hi u64, lo u64
//   groups u64, each: table u32, id u32, world u32, first step u64, closed step u64,
//     owners u32, each: rank u32, client hi u64, lo u64
//
// Clients, writes, groups and ranks come in rising order, without repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata::format {

struct LaneImage {
  struct Name {
    uint64_t hi = 0;
    uint64_t lo = 0;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Write {
    uint64_t sequence = 0;
    uint16_t code = 0;  // StatusCode
    std::string text;   // at most 65,535 bytes; longer ones are cut
    friend bool operator==(const Write&, const Write&) = default;
  };
  struct Client {
    Name name;
    uint64_t settled_below = 0;
    std::vector<Write> writes;
    friend bool operator==(const Client&, const Client&) = default;
  };
  struct Owner {
    uint16_t rank = 0;
    Name client;
    friend bool operator==(const Owner&, const Owner&) = default;
  };
  struct Group {
    uint32_t table = 0;
    uint32_t id = 0;
    uint16_t world = 0;
    uint64_t first_step = 0;
    uint64_t closed = 0;
    std::vector<Owner> owners;
    friend bool operator==(const Group&, const Group&) = default;
  };
  std::vector<Client> clients;
  std::vector<Name> expired;
  std::vector<Group> groups;
  friend bool operator==(const LaneImage&, const LaneImage&) = default;
};

std::vector<std::byte> EncodeLaneImage(const LaneImage& image);
// kInvalid: another kind of bytes, or a newer version; kCorrupt: damaged. `where` is for messages.
Result<LaneImage> DecodeLaneImage(std::span<const std::byte> bytes, const std::string& where);

}  // namespace strata::format
