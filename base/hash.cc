#include "base/hash.h"

#include <array>

#include "base/xxh3.h"

namespace strata {
namespace {

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82f63b78U & (0U - (crc & 1U)));
    table[i] = crc;
  }
  return table;
}
constexpr auto kCrcTable = MakeCrcTable();

}  // namespace

uint64_t Hash64(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t Hash64(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

uint32_t Crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~0U;
  for (std::byte b : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint32_t>(b)) & 0xffU];
  }
  return ~crc;
}

}  // namespace strata
