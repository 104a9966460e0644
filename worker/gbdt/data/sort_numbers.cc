#include "worker/gbdt/data/sort_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace strata {
namespace {

constexpr size_t kFew = 2048;  // are compared
constexpr unsigned kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// Integers in the order of the numbers that they are the bits of, and back.
template <typename Key>
Key Ordered(Key bits) {
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
template <typename Key>
Key Disordered(Key key) {
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  return (key & kSign) != 0 ? key ^ kSign : ~key;
}

// Least significant digit first.
template <typename Key>
void SortKeys(std::vector<Key>* keys) {
  constexpr unsigned kBits = 8 * sizeof(Key);
  constexpr unsigned kPasses = (kBits + kDigitBits - 1) / kDigitBits;
  std::array<std::array<uint32_t, kDigits>, kPasses> counts = {};
  const auto digit = [](Key key, unsigned pass) {
    return static_cast<size_t>(key >> (pass * kDigitBits)) & (kDigits - 1);
  };
  for (const Key key : *keys) {
    for (unsigned pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(key, pass)];
  }
  std::vector<Key> other(keys->size());
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    std::array<uint32_t, kDigits>& places = counts[pass];
    if (places[digit(keys->front(), pass)] == keys->size()) continue;
    uint32_t before = 0;
    for (uint32_t& place : places) before += std::exchange(place, before);
    for (const Key key : *keys) other[places[digit(key, pass)]++] = key;
    keys->swap(other);
  }
}

template <typename Number, typename Key>
void SortAs(std::vector<double>* numbers) {
  std::vector<Key> keys(numbers->size());
  std::ranges::transform(*numbers, keys.begin(), [](double number) {
    return Ordered(std::bit_cast<Key>(static_cast<Number>(number)));
  });
  SortKeys(&keys);
  std::ranges::transform(keys, numbers->begin(), [](Key key) {
    return static_cast<double>(std::bit_cast<Number>(Disordered(key)));
  });
}

}  // namespace

void SortNumbers(std::vector<double>* numbers) {
  if (numbers->size() < kFew || numbers->size() > UINT32_MAX) {
    std::ranges::sort(*numbers);
    return;
  }
  const bool are_floats = std::ranges::all_of(*numbers, [](double number) {
    return static_cast<double>(static_cast<float>(number)) == number;
  });
  if (are_floats) {
    SortAs<float, uint32_t>(numbers);
  } else {
    SortAs<double, uint64_t>(numbers);
  }
}

}  // namespace strata
