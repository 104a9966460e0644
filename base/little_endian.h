// Unsigned integers in little-endian bytes, the same on every host: on the wire and on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata {

// Writes sizeof(T) bytes, lowest first.
template <typename T>
void StoreLittle(T value, std::byte* out) {
  static_assert(std::is_unsigned_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) {
    out[i] = static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

template <typename T>
T LoadLittle(const std::byte* in) {
  static_assert(std::is_unsigned_v<T>);
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<uint64_t>(in[i]) << (8 * i);
  return static_cast<T>(value);
}

}  // namespace strata
