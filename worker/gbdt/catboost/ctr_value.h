// The key that CatBoost's statistics of categories have for a row, and the number that is made of
// them, in float as CatBoost has it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/key_index.h"

namespace strata {

// A key begins as 0 and takes in one element after the other (CatBoost's CalcHash).
inline uint64_t CombinedKey(uint64_t key, uint64_t element) {
  constexpr uint64_t kFactor = 0x4906ba494954cb65ULL;
  return kFactor * (key + kFactor * element);
}

// What a key takes in of a category: its hash as a signed number.
inline uint64_t KeyOfCategory(uint32_t hash) {
  return static_cast<uint64_t>(int64_t{static_cast<int32_t>(hash)});
}

// `place` of the key in the table; KeyIndex::kNone: a key that training has not seen, which has no
// rows.
inline float CtrValue(const CtrTable& table, const CatBoostCtr& ctr, uint32_t place) {
  double good = 0;
  double total = table.IsCount() ? static_cast<double>(table.denominator) : 0;
  if (place != KeyIndex::kNone) {
    const double* const numbers = table.numbers.data() + size_t{place} * table.width;
    if (table.IsCount() || table.IsMean()) {
      good = numbers[0];
      if (table.IsMean()) total = numbers[1];
    } else {
      for (size_t k = 0; k < table.width; ++k) {
        const bool counts =
            table.type == CtrType::kBuckets ? k == ctr.target_border : k > ctr.target_border;
        good += counts ? numbers[k] : 0;
        total += numbers[k];
      }
    }
  }
  const float share = (static_cast<float>(good) + ctr.prior_numerator) /
                      (static_cast<float>(total) + ctr.prior_denominator);
  return (share + ctr.shift) * ctr.scale;
}

}  // namespace strata
