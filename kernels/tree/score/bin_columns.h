// Columns of bins that trees of CatBoost's models ask for. A row's numbers, its categories and
// what tables say of its keys become bytes, which a split compares with a constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/host_device.h"

namespace strata {

// A split's bit of a row is (bin ^ mask) >= least, where bin is the row's byte of the column.
struct BinSplit {
  uint32_t column = 0;
  uint8_t mask = 0;
  uint8_t least = 0;

  STRATA_HD bool Of(uint8_t bin) const { return static_cast<uint8_t>(bin ^ mask) >= least; }
};

// Borders of a number, at most 255, which ascend. A bin counts those that the number is above.
struct BorderColumn {
  uint32_t number = 0;  // of the row
  uint32_t begin = 0;   // among all borders
  uint32_t count = 0;
  bool nan_is_above = false;  // NaN is above all borders; else above none

  STRATA_HD uint8_t BinOf(const float* borders, float value) const {
    if (nan_is_above && value != value) return static_cast<uint8_t>(count);
    const float* const own = borders + begin;
    uint32_t below = 0;
    for (uint32_t left = count; left > 0;) {  // the answer is from below to below + left
      const uint32_t half = (left + 1) / 2;
      below += own[below + half - 1] < value ? half : 0;
      left -= half;
    }
    return static_cast<uint8_t>(below);
  }
};

// Values of a category, at most 255. A bin is the place of the row's value and one, or 0.
struct ValueColumn {
  uint32_t category = 0;  // of the row
  uint32_t begin = 0;     // among all values
  uint32_t count = 0;

  STRATA_HD uint8_t BinOf(const uint32_t* values, uint32_t hash) const {
    uint32_t bin = 0;
    for (uint32_t i = 0; i < count; ++i) bin = values[begin + i] == hash ? i + 1 : bin;
    return static_cast<uint8_t>(bin);
  }
};

// Part of an array.
struct ArrayPart {
  size_t begin = 0;
  size_t count = 0;

  template <typename T>
  std::span<T> Of(std::span<T> all) const {
    return all.subspan(begin, count);
  }
};

// Columns whose bins stand in a table by a row's key. A key takes in categories, then bits.
struct KeyTable {
  ArrayPart categories;  // of BinColumnsView::key_categories
  ArrayPart splits;      // of key_splits, whose columns are those of numbers and categories
  ArrayPart keys;        // of keys: they ascend
  ArrayPart columns;     // of key_columns
  size_t bins = 0;       // where in key_bins those of its keys begin

  // Returns where the bins of a key stand, by its place among the keys. A missing key has the place
  // keys.count.
  STRATA_HD size_t BinsOf(size_t place) const { return bins + place * columns.count; }
};

// A key begins as 0 and takes in one element after the other (CatBoost's CalcHash).
STRATA_HD uint64_t CombinedKey(uint64_t key, uint64_t element) {
  constexpr uint64_t kFactor = 0x4906ba494954cb65ULL;
  return kFactor * (key + kFactor * element);
}

// A key takes in a category's hash as a signed number.
STRATA_HD uint64_t KeyOfCategory(uint32_t hash) {
  return static_cast<uint64_t>(int64_t{static_cast<int32_t>(hash)});
}

// All columns: those of numbers come first, then those of values, then those of tables.
struct BinColumnsView {
  std::span<const BorderColumn> numbers;
  std::span<const float> borders;
  std::span<const ValueColumn> categories;
  std::span<const uint32_t> values;
  std::span<const KeyTable> tables;
  std::span<const uint32_t> key_categories;
  std::span<const BinSplit> key_splits;
  std::span<const uint64_t> keys;
  std::span<const uint32_t> key_columns;
  std::span<const uint8_t> key_bins;
  size_t columns = 0;
};

}  // namespace strata
