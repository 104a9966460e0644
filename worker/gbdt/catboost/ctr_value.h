// The number that is made of CatBoost's statistics of a key, in float as CatBoost has it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/key_index.h"

namespace strata {

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
