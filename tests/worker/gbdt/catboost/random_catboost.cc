#include "tests/worker/gbdt/catboost/random_catboost.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string>

#include "tests/worker/gbdt/catboost/reference_catboost.h"
#include "worker/gbdt/catboost/category_hash.h"

namespace strata {

CatBoostModel RandomCatBoost::Make() {
  CatBoostModel model;
  model.oblivious = Below(2) == 0;
  model.outputs = 1 + Below(3);
  model.scale = 0.5 + Unit();
  for (size_t k = 0; k < model.outputs; ++k) model.bias.push_back(Unit());
  const size_t numbers = 1 + Below(4);
  for (uint32_t f = 0; f < numbers; ++f) {
    model.numbers.push_back({.id = "",
                             .index = f,
                             .flat_index = 2 * f,
                             .borders = Borders(Below(3) == 0 ? 600 : Below(9)),
                             .has_nans = true,
                             .nan = static_cast<NanTreatment>(Below(3))});
  }
  for (uint32_t c = 0; c < 3; ++c) {
    model.categories.push_back(
        {.id = "", .index = c, .flat_index = 2 * c + 1, .values = {}, .string_values = {}});
    const size_t values = c == 0 ? 300 : Below(3);
    for (size_t v = 0; v < values; ++v) {
      model.categories.back().values.push_back(
          static_cast<int32_t>(CategoryHash(fmt::format("{}", v))));
    }
  }
  model.ListFeatureSplits();
  feature_splits_ = model.splits.size();
  for (size_t t = 0; t < 4; ++t) AddTable(&model);
  model.ListCtrSplits();
  if (model.splits.empty()) return Make();
  for (size_t t = 0; t < 12; ++t) model.trees.push_back(Tree(model));
  return model;
}

CatBoostRows RandomCatBoost::Rows(const CatBoostModel& model, size_t count) {
  CatBoostRows rows(model, count);
  for (size_t row = 0; row < count; ++row) {
    for (size_t f = 0; f < model.numbers.size(); ++f) {
      const std::vector<float>& borders = model.numbers[f].borders;
      float value = static_cast<float>(4 * Unit() - 2);
      if (!borders.empty() && Below(3) == 0) value = borders[Below(borders.size())];
      rows.Number(f)[row] = Below(8) == 0 ? NAN : value;
    }
    for (size_t c = 0; c < model.categories.size(); ++c) {
      rows.Category(c)[row] = CategoryHash(fmt::format("{}", Below(c == 0 ? 320 : 4)));
    }
  }
  return rows;
}

std::vector<float> RandomCatBoost::Borders(size_t count) {
  std::set<float> borders;
  while (borders.size() < count) borders.insert(static_cast<float>(4 * Unit() - 2));
  return {borders.begin(), borders.end()};
}

void RandomCatBoost::AddTable(CatBoostModel* model) {
  CtrTable table;
  table.type = static_cast<CtrType>(model->tables.size() + Below(3));
  table.projection.categories.push_back(static_cast<uint32_t>(Below(3)));
  if (Below(2) == 0) table.projection.categories.push_back(static_cast<uint32_t>(Below(3)));
  std::set<uint32_t> splits;
  if (feature_splits_ > 0) splits.insert(static_cast<uint32_t>(Below(feature_splits_)));
  table.projection.splits.assign(splits.begin(), splits.end());
  for (const CtrTable& other : model->tables) {
    if (other.type == table.type && other.projection == table.projection) return;
  }
  table.width = table.IsMean() ? 2 : table.IsCount() ? 1 : 2 + Below(3);
  table.denominator = table.IsCount() ? 50 : 0;
  // Keys that rows have, as the reference below makes them; and some that none has.
  std::set<uint64_t> keys = {0, ~uint64_t{0}};
  const CatBoostRows rows = Rows(*model, 60);
  model->tables.push_back(table);
  for (size_t row = 0; row < rows.rows(); ++row) {
    keys.insert(ReferenceKey(*model, table, rows, row));
  }
  CtrTable& added = model->tables.back();
  added.keys.assign(keys.begin(), keys.end());
  for (size_t i = 0; i < keys.size() * table.width; ++i) {
    added.numbers.push_back(static_cast<double>(Below(50)));
  }
  const size_t ctrs = 1 + Below(2);
  for (size_t i = 0; i < ctrs; ++i) {
    const bool by_class = !table.IsMean() && !table.IsCount();
    model->ctrs.push_back(
        {.table = model->tables.size() - 1,
         .target_border = by_class ? static_cast<uint32_t>(Below(table.width - 1)) : 0,
         .prior_numerator = 0.5F,
         .prior_denominator = 1,
         .shift = 0.25F,
         .scale = 1.5F,
         .borders = Borders(Below(4) == 0 ? 300 : 5)});
  }
}

CatBoostTree RandomCatBoost::Tree(const CatBoostModel& model) {
  CatBoostTree tree;
  size_t leaves = 1;
  if (model.oblivious) {
    const size_t depth = Below(11);
    for (size_t k = 0; k < depth; ++k) {
      tree.splits.push_back(static_cast<uint32_t>(Below(model.splits.size())));
    }
    leaves <<= depth;
  } else {
    leaves = 1 + Below(12);
    for (size_t i = 0; i + 1 < leaves; ++i) {
      // Each node's left child is a leaf, and its right one the next node.
      const bool is_last = i + 2 == leaves;
      tree.nodes.push_back(
          {.split = static_cast<uint32_t>(Below(model.splits.size())),
           .left = ~static_cast<int32_t>(i),
           .right = is_last ? ~static_cast<int32_t>(i + 1) : static_cast<int32_t>(i + 1)});
    }
  }
  for (size_t i = 0; i < leaves * model.outputs; ++i) tree.values.push_back(Unit() - 0.5);
  return tree;
}

}  // namespace strata
