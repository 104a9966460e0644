#include "worker/gbdt/catboost/category_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace strata {
namespace {

constexpr uint64_t kCity0 = 0xc3a5c85c97cb3127ULL;
constexpr uint64_t kCity1 = 0xb492b66fbe98f273ULL;
constexpr uint64_t kCity2 = 0x9ae16a3b2f90404fULL;
constexpr uint64_t kCity3 = 0xc949d7c7509e6557ULL;
constexpr uint64_t kCityMix = 0x9ddfea08eb382d69ULL;

using Pair = std::pair<uint64_t, uint64_t>;

uint64_t Word(std::string_view bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

uint64_t HalfWord(std::string_view bytes, size_t at) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

uint64_t Folded(uint64_t x) { return x ^ (x >> 47); }

uint64_t Turned(uint64_t x, size_t by) { return std::rotr(x, static_cast<int>(by)); }

uint64_t Mixed(uint64_t low, uint64_t high) {
  const uint64_t a = Folded((low ^ high) * kCityMix);
  return Folded((high ^ a) * kCityMix) * kCityMix;
}

uint64_t HashUpTo16(std::string_view s) {
  const size_t n = s.size();
  if (n > 8) {
    const uint64_t last = Word(s, n - 8);
    return Mixed(Word(s, 0), Turned(last + n, n)) ^ last;
  }
  if (n >= 4) return Mixed(n + (HalfWord(s, 0) << 3), HalfWord(s, n - 4));
  if (n == 0) return kCity2;
  const auto byte = [s](size_t at) { return uint64_t{static_cast<uint8_t>(s[at])}; };
  const uint64_t first = byte(0) + (byte(n / 2) << 8);
  const uint64_t last = n + (byte(n - 1) << 2);
  return Folded(first * kCity2 ^ last * kCity3) * kCity2;
}

uint64_t HashUpTo32(std::string_view s) {
  const size_t n = s.size();
  const uint64_t a = Word(s, 0) * kCity1;
  const uint64_t b = Word(s, 8);
  const uint64_t c = Word(s, n - 8) * kCity2;
  const uint64_t d = Word(s, n - 16) * kCity0;
  return Mixed(Turned(a - b, 43) + Turned(c, 30) + d, a + Turned(b ^ kCity3, 20) - c + n);
}

// Of 32 bytes from `at` on, begun with a and z.
Pair HalfOfUpTo64(std::string_view s, size_t at, uint64_t a, uint64_t z) {
  uint64_t b = Turned(a + z, 52);
  uint64_t c = Turned(a, 37);
  a += Word(s, at + 8);
  c += Turned(a, 7);
  a += Word(s, at + 16);
  return {a + z, b + Turned(a, 31) + c};
}

uint64_t HashUpTo64(std::string_view s) {
  const size_t n = s.size();
  const Pair front = HalfOfUpTo64(s, 0, Word(s, 0) + (n + Word(s, n - 16)) * kCity0, Word(s, 24));
  const Pair back = HalfOfUpTo64(s, n - 32, Word(s, 16) + Word(s, n - 32), Word(s, n - 8));
  const uint64_t r =
      Folded((front.first + back.second) * kCity2 + (back.first + front.second) * kCity0);
  return Folded(r * kCity0 + front.second) * kCity2;
}

// Of 32 bytes from `at` on, begun with a and b.
Pair WeakHash(std::string_view s, size_t at, uint64_t a, uint64_t b) {
  a += Word(s, at);
  b = Turned(b + a + Word(s, at + 24), 21);
  const uint64_t c = a;
  a += Word(s, at + 8) + Word(s, at + 16);
  b += Turned(a, 44);
  return {a + Word(s, at + 24), b + c};
}

uint64_t HashLong(std::string_view s) {
  const size_t n = s.size();
  uint64_t x = Word(s, 0);
  uint64_t y = Word(s, n - 16) ^ kCity1;
  uint64_t z = Word(s, n - 56) ^ kCity0;
  Pair v = WeakHash(s, n - 64, n, y);
  Pair w = WeakHash(s, n - 32, n * kCity1, kCity0);
  z += Folded(v.second) * kCity1;
  x = Turned(z + x, 39) * kCity1;
  y = Turned(y, 33) * kCity1;
  for (size_t at = 0; at < (n - 1) / 64 * 64; at += 64) {
    x = Turned(x + y + v.first + Word(s, at + 16), 37) * kCity1;
    y = Turned(y + v.second + Word(s, at + 48), 42) * kCity1;
    x ^= w.second;
    y ^= v.first;
    z = Turned(z ^ w.first, 33);
    v = WeakHash(s, at, v.second * kCity1, x + w.first);
    w = WeakHash(s, at + 32, z + w.second, y);
    std::swap(z, x);
  }
  return Mixed(Mixed(v.first, w.first) + Folded(y) * kCity1 + z, Mixed(v.second, w.second) + x);
}

}  // namespace

uint64_t CityHash64(std::string_view bytes) {
  if (bytes.size() <= 16) return HashUpTo16(bytes);
  if (bytes.size() <= 32) return HashUpTo32(bytes);
  return bytes.size() <= 64 ? HashUpTo64(bytes) : HashLong(bytes);
}

}  // namespace strata
