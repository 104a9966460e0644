// Hashes of keys and of texts. They are frozen: shard maps, salted feature keys and initial values
// depend on them.
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

// Mix64 with a secret seed, a bijection for each: places in memory that nobody can foresee. Tables
// in memory keep their rows in the order of these.
constexpr uint64_t SeededMix(uint64_t key, uint64_t seed) { return Mix64(key ^ seed); }

// XXH3-64 of the bytes: checksums of bodies and files, and hashes of strings.
uint64_t Hash64(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t Hash64(std::string_view text, uint64_t seed = 0);

}  // namespace strata
