// A whole collection, and an answer of it, beside a model.
#pragma once

#include <gtest/gtest.h>

#include "storage/itemset/item_set.h"
#include "tests/storage/itemset/item_set_model.h"

namespace strata::test {

inline void ExpectModel(const ItemSetModel& model, const ItemSet& set) {
  ASSERT_EQ(set.Stats().documents, model.documents().size());
  for (const auto& [id, document] : model.documents()) {
    const auto found = set.Get(id);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(*found, document);
  }
  const Tokens query{5, 10, 20, 30, 40, 41, 42, 60};
  const SearchGoal goal{.metric = SetMetric::kJaccard, .k = 20};
  const auto answers = set.Search(Lists(std::vector<Tokens>{query}).view(), goal, {});
  ASSERT_TRUE(answers.ok());
  ASSERT_EQ((*answers)[0], model.Search(query, goal, {}));
}

}  // namespace strata::test
