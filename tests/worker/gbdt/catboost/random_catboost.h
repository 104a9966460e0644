// Random models of CatBoost, and rows for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"

namespace strata {

class RandomCatBoost {
 public:
  explicit RandomCatBoost(uint32_t seed) : random_(seed) {}

  // Of both kinds of trees, up to three outputs, features of more than 255 borders and values, and
  // statistics of all types.
  CatBoostModel Make();
  // With missing values, values on borders, and keys that are not known.
  CatBoostRows Rows(const CatBoostModel& model, size_t count);

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  double Unit() { return static_cast<double>(random_()) / 4294967296.0; }
  std::vector<float> Borders(size_t count);
  void AddTable(CatBoostModel* model);
  CatBoostTree Tree(const CatBoostModel& model);

  std::mt19937 random_;
  size_t feature_splits_ = 0;
};

}  // namespace strata
