// PushCounts: how often keys without a row were pushed, in a fixed number of bytes.
//
// A count-min sketch (G. Cormode, S. Muthukrishnan, J. Algorithms 55, 2005) of 8-bit counters with
// conservative update (C. Estan, G. Varghese, SIGCOMM 2002). It never counts a key too low, so no
// row is made late. It counts one too high only if the key shares each of its four counters with
// another: with n keys in counters of width w the chance is at most (1 - exp(-n / w))^4: 2.4 % at
// n = w / 2, 16 % at n = w.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "storage/row_schema.h"

namespace strata {

// Not thread-safe. A function of the calls alone: the same history gives the same counts.
class PushCounts {
 public:
  static constexpr uint32_t kCountMax = 255;

  // Four rows of counters, each a power of two wide: at most `bytes` in all, at least 64.
  explicit PushCounts(uint64_t bytes);

  uint32_t Count(Key key) const;
  void Add(Key key, uint32_t pushes);  // stops at kCountMax
  uint64_t width() const { return width_; }
  uint64_t bytes() const { return counters_.size(); }

 private:
  static constexpr size_t kRows = 4;
  using Places = std::array<uint64_t, kRows>;

  Places PlacesOf(Key key) const;

  uint64_t width_;
  std::vector<uint8_t> counters_;
};

}  // namespace strata
