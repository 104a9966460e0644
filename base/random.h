// Random numbers: a seedable generator whose sequence is the same everywhere and for ever (tests
// and deterministic training rely on it), and the system's source for seeds and identities.
#pragma once

#include <bit>
#include <cstdint>

#include "base/hash.h"

namespace strata {

// xoshiro256** 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS
// 2021), seeded through SplitMix64 as its authors advise. Not for secrets. One thread.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      word = Mix64(seed);
      seed += 0x9e3779b97f4a7c15ULL;  // SplitMix64's step
    }
  }

  // 64 random bits.
  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // In [0, 1), of 2^53 equally likely values.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // In [0, n), without bias: multiplication and rejection (Lemire, "Fast random integer generation
  // in an interval", ACM TOMACS 2019). 0 when n is 0.
  uint64_t Below(uint64_t n) {
    using Wide = unsigned __int128;
    if (n == 0) return 0;
    Wide product = static_cast<Wide>(Next()) * n;
    if (static_cast<uint64_t>(product) < n) {
      const uint64_t threshold = (0 - n) % n;
      while (static_cast<uint64_t>(product) < threshold) product = static_cast<Wide>(Next()) * n;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // True with probability p.
  bool Chance(double p) { return Uniform() < p; }

 private:
  uint64_t state_[4];
};

// 64 bits from the system's source of randomness, fit for identities and seeds. Thread-safe.
uint64_t SystemRandom64();

}  // namespace strata
