// KeyIndex: where a key is in the list of a table's keys.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/seeded_hash.h"

namespace strata {

// Immutable; any number of threads. Probes one place after the other, of twice as many as keys or
// more. Their order depends on a secret, so that no file can make it slow.
class KeyIndex {
 public:
  static constexpr uint32_t kNone = ~0U;

  // Fewer than 2^32 - 1 keys, no two of them the same. They outlive it.
  explicit KeyIndex(std::span<const uint64_t> keys)
      : keys_(keys), places_(std::bit_ceil(2 * keys.size() + 1), kNone) {
    for (size_t i = 0; i < keys.size(); ++i) {
      places_[PlaceOf(keys[i])] = static_cast<uint32_t>(i);
    }
  }

  // Asks memory for where Find of the key begins, so that many keys wait for it together.
  void Prefetch(uint64_t key) const { __builtin_prefetch(&places_[HomeOf(key)]); }

  // The place of the key in the list; kNone: it is not there.
  uint32_t Find(uint64_t key) const { return places_[PlaceOf(key)]; }

 private:
  size_t HomeOf(uint64_t key) const { return hash_(key) & (places_.size() - 1); }

  // Where the key is, or would be.
  size_t PlaceOf(uint64_t key) const {
    size_t at = HomeOf(key);
    while (places_[at] != kNone && keys_[places_[at]] != key) {
      at = (at + 1) & (places_.size() - 1);
    }
    return at;
  }

  SeededHash hash_;
  std::span<const uint64_t> keys_;
  std::vector<uint32_t> places_;
};

}  // namespace strata
