// Hashes beyond those of the public face (strata/hash.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/hash.h"

namespace strata {

// The inverse of Mix64: its steps backwards, with the inverses of its factors modulo 2^64.
constexpr uint64_t Unmix64(uint64_t hash) {
  hash ^= (hash >> 31) ^ (hash >> 62);
  hash *= 0x319642b2d24d8ec3ULL;
  hash ^= (hash >> 27) ^ (hash >> 54);
  hash *= 0x96de1b173f119089ULL;
  hash ^= (hash >> 30) ^ (hash >> 60);
  return hash - 0x9e3779b97f4a7c15ULL;
}

// CRC-32C (Castagnoli, reflected, as iSCSI and RFC 3720 define it): header checksums.
uint32_t Crc32c(std::span<const std::byte> bytes);

}  // namespace strata
