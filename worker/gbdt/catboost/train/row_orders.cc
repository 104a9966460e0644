#include "worker/gbdt/catboost/train/row_orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace strata {
namespace {

RowOrder Shuffled(size_t count, Random* random) {
  RowOrder order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random->Below(i)]);
  return order;
}

RowOrder MovedBlocks(const RowOrder& rows, size_t block, Random* random) {
  RowOrder moved;
  moved.reserve(rows.size());
  for (const uint32_t b : Shuffled((rows.size() + block - 1) / block, random)) {
    const size_t begin = b * block;
    const size_t end = std::min(begin + block, rows.size());
    moved.insert(moved.end(), rows.begin() + static_cast<ptrdiff_t>(begin),
                 rows.begin() + static_cast<ptrdiff_t>(end));
  }
  return moved;
}

}  // namespace

std::vector<RowOrder> MakeRowOrders(const CategoryParameters& parameters, size_t rows,
                                    Random* random) {
  if (parameters.has_time) return {RowOrder()};
  const size_t block =
      parameters.permutation_block.value_or(std::min<size_t>(256, rows / 1000 + 1));
  std::vector<RowOrder> orders = {Shuffled(rows, random)};
  const size_t learning_folds = std::max<size_t>(2, parameters.permutation_count) - 1;
  while (orders.size() < learning_folds + 1) {
    orders.push_back(MovedBlocks(orders[0], block, random));
  }
  return orders;
}

}  // namespace strata
