// Hashes. Hash64 and Mix64 are frozen: shard maps, salted feature keys and initial values depend on
// them, so their results may never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace strata {

// A bijection of 64-bit words with full avalanche (the finaliser of SplitMix64: Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The inverse of Mix64: its steps backwards, with the inverses of its factors modulo 2^64.
constexpr uint64_t Unmix64(uint64_t hash) {
  hash ^= (hash >> 31) ^ (hash >> 62);
  hash *= 0x319642b2d24d8ec3ULL;
  hash ^= (hash >> 27) ^ (hash >> 54);
  hash *= 0x96de1b173f119089ULL;
  hash ^= (hash >> 30) ^ (hash >> 60);
  return hash - 0x9e3779b97f4a7c15ULL;
}

// The same with a secret, which makes places in memory that nobody can foresee
// (base/seeded_hash.h): a bijection for each seed. The order of these is the order that tables in
// memory have (RowIndex): who asks for many keys in that order goes through their index from front
// to back.
constexpr uint64_t SeededMix(uint64_t key, uint64_t seed) { return Mix64(key ^ seed); }

// XXH3-64 of the bytes: checksums of bodies and files, and hashes of strings.
uint64_t Hash64(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t Hash64(std::string_view text, uint64_t seed = 0);

// CRC-32C (Castagnoli, reflected, as iSCSI and RFC 3720 define it): header checksums.
uint32_t Crc32c(std::span<const std::byte> bytes);

}  // namespace strata
