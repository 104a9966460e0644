// RowOrders: the orders in which the rows of a training come to the statistics of categories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "worker/gbdt/catboost/train/category_parameters.h"

namespace strata {

// The row of each place; empty: rows come as they stand.
using RowOrder = std::vector<uint32_t>;

// As CatBoost has it (private/libs/algo/learn_context.cpp and fold.cpp of its sources): rows are
// shuffled, and there is an order for each of permutation_count - 1 learning folds, of which the
// first keeps that of the shuffled rows, and one for the averaging fold, the last of all. The
// others move blocks of them. With has_time there is one fold, whose rows come as they stand.
// Fewer than 2^32 rows.
std::vector<RowOrder> MakeRowOrders(const CategoryParameters& parameters, size_t rows,
                                    Random* random);

}  // namespace strata
