// CatBoostRows: the features of some rows that a model of CatBoost reads, column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

class CatBoostRows {
 public:
  // All numbers and categories are 0. Features are known by their places in the model's lists.
  CatBoostRows(const CatBoostModel& model, size_t rows)
      : rows_(rows),
        numbers_(model.numbers.size() * rows),
        categories_(model.categories.size() * rows) {}

  size_t rows() const { return rows_; }
  size_t numbers() const { return rows_ == 0 ? 0 : numbers_.size() / rows_; }
  size_t categories() const { return rows_ == 0 ? 0 : categories_.size() / rows_; }
  // Of each row; a missing number is NaN, and a category the hash of its text.
  std::span<float> Number(size_t feature) { return {&numbers_[feature * rows_], rows_}; }
  std::span<const float> Number(size_t feature) const {
    return {&numbers_[feature * rows_], rows_};
  }
  std::span<uint32_t> Category(size_t feature) { return {&categories_[feature * rows_], rows_}; }
  std::span<const uint32_t> Category(size_t feature) const {
    return {&categories_[feature * rows_], rows_};
  }

  // Copies `count` rows from one on, feature after feature: the bits of numbers, then categories.
  void CopyRows(size_t first, size_t count, uint32_t* to) const {
    for (size_t f = 0; f < numbers(); ++f, to += count) {
      std::memcpy(to, &numbers_[f * rows_ + first], count * sizeof(float));
    }
    for (size_t c = 0; c < categories(); ++c, to += count) {
      std::memcpy(to, &categories_[c * rows_ + first], count * sizeof(uint32_t));
    }
  }

 private:
  size_t rows_;
  std::vector<float> numbers_;
  std::vector<uint32_t> categories_;
};

}  // namespace strata
