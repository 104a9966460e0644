// CategoryFeatures: the values of a training's categories, and what is made of each category.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/learn_rows.h"
#include "worker/gbdt/catboost/train/value_numbers.h"

namespace strata {

// By category of the model the number of each row's value; of those without statistics empty.
using CategoryNumbers = std::vector<std::vector<uint32_t>>;

struct CategoryFeatures {
  std::vector<uint32_t> with_statistics;  // categories, ascending
  // By category; of those without statistics empty.
  std::vector<ValueNumbers> values;  // hashes
  std::vector<uint32_t> learned;     // how many of them, from 0 on, training rows have

  // Numbers of rows; values that have not come yet get new ones.
  CategoryNumbers Number(const LearnRows& rows, WorkPool& pool);
};

// Counts the values of each category in the rows to learn from. Those with one are left out. Those
// with up to one_hot_max_size get their values in the model, in the order in which they come. The
// others have statistics, and `numbers` says which of their values each row has.
CategoryFeatures FindCategoryFeatures(size_t one_hot_max_size, const LearnRows& rows,
                                      WorkPool& pool, CatBoostModel* model,
                                      CategoryNumbers* numbers);

}  // namespace strata
