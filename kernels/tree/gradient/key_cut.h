// KeyCut: the exact k-th largest of many 64-bit keys by counting digits from the top (radix
// selection), whoever counts which keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "strata/host_device.h"

namespace strata {

struct KeyCut {
  uint64_t key = 0;    // the k-th largest
  int64_t rows = 0;    // how many have just this key
  int64_t needed = 0;  // how many of those are among the k; to begin with, k

  static constexpr int kDigitBits = 11;
  static constexpr size_t kDigits = size_t{1} << kDigitBits;
  // Of the first digit; those of the next ones are each kDigitBits less, until 0.
  static constexpr int kFirstShift = 66 - kDigitBits;
  using Counts = std::array<int64_t, kDigits>;

  // Whether a key counts for the digit at a shift: it agrees with the cut in those found so far.
  STRATA_HD static bool IsCounted(uint64_t key, uint64_t cut, int shift) {
    return shift + kDigitBits >= 64 || (key ^ cut) >> (shift + kDigitBits) == 0;
  }
  STRATA_HD static uint32_t DigitOf(uint64_t key, int shift) {
    return static_cast<uint32_t>((key >> shift) % kDigits);
  }

  // Finds the digit at a shift, from how many keys that count have which.
  void Take(const Counts& counts, int shift) {
    size_t digit = kDigits - 1;
    while (digit > 0 && counts[digit] < needed) needed -= counts[digit--];
    rows = counts[digit];
    key |= static_cast<uint64_t>(digit) << shift;
  }
};

}  // namespace strata
