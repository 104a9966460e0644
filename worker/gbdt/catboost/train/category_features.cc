#include "worker/gbdt/catboost/train/category_features.h"

#include "worker/gbdt/catboost/catboost_rows.h"

namespace strata {
namespace {

std::vector<uint32_t> NumberOne(const LearnRows& rows, size_t category, ValueNumbers* values) {
  std::vector<uint32_t> numbers;
  numbers.reserve(rows.rows());
  for (const CatBoostRows& block : rows.blocks) {
    for (const uint32_t hash : block.Category(category)) numbers.push_back(values->Of(hash));
  }
  return numbers;
}

}  // namespace

CategoryNumbers CategoryFeatures::Number(const LearnRows& rows, WorkPool& pool) {
  CategoryNumbers numbers(values.size());
  pool.Run(with_statistics.size(), [&](size_t i) {
    const uint32_t category = with_statistics[i];
    numbers[category] = NumberOne(rows, category, &values[category]);
  });
  return numbers;
}

CategoryFeatures FindCategoryFeatures(size_t one_hot_max_size, const LearnRows& rows,
                                      WorkPool& pool, CatBoostModel* model,
                                      CategoryNumbers* numbers) {
  CategoryFeatures features;
  const size_t count = model->categories.size();
  features.values.resize(count);
  features.learned.resize(count);
  numbers->resize(count);
  pool.Run(count, [&](size_t c) { (*numbers)[c] = NumberOne(rows, c, &features.values[c]); });
  for (size_t c = 0; c < count; ++c) {
    ValueNumbers& values = features.values[c];
    if (values.size() > 1 && values.size() > one_hot_max_size) {
      features.with_statistics.push_back(static_cast<uint32_t>(c));
      features.learned[c] = static_cast<uint32_t>(values.size());
      continue;
    }
    if (values.size() > 1) {
      for (const uint64_t hash : values.values()) {
        model->categories[c].values.push_back(static_cast<int32_t>(hash));
      }
    }
    values = ValueNumbers();
    (*numbers)[c].clear();
  }
  return features;
}

}  // namespace strata
