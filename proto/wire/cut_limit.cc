#include "proto/wire/cut_limit.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::wire {

Status CutLimit::Take(uint32_t own, uint32_t number, TimeNs now) {
  if (counted_at_ == 0) counted_at_ = now;
  const auto seconds = static_cast<uint64_t>((now - counted_at_) / kSecond);
  if (seconds > 0) {
    left_ = std::min<uint64_t>(at_once_, left_ + seconds * kCutsPerSecond);
    counted_at_ = now;
  }
  if (number <= own) return {};
  if (number > kCutMax) {
    return Invalid(
        fmt::format("cut {}: expected a number of at most {}; the sender may know it from a server "
                    "of an older version: start it again",
                    number, kCutMax));
  }
  if (number - own > left_) {
    return Invalid(
        fmt::format("cut {}: expected one that is at most {} above {}, since cuts rise by at most "
                    "{} a second; docs/durability.md says what to do if it is right",
                    number, left_, own, kCutsPerSecond));
  }
  left_ -= number - own;
  return {};
}

}  // namespace strata::wire
