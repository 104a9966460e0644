// A collection and its model, to which a test does the same, at random.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "storage/itemset/item_set.h"
#include "tests/storage/itemset/item_set_model.h"

namespace strata::test {

// Not thread-safe.
class ItemSetPair {
 public:
  ItemSetPair(uint64_t seed, std::unique_ptr<ItemSet> set, Spread spread, Token vocabulary,
              size_t longest)
      : random_(seed),
        set_(std::move(set)),
        sets_(seed, spread, vocabulary),
        longest_(longest),
        ids_(20 + random_.Below(1'500)) {}

  ItemSet& set() { return *set_; }
  const ItemSetModel& model() const { return model_; }
  Random& random() { return random_; }

  DocumentId DrawId() { return Mix64(random_.Below(ids_)); }
  Document Draw() {
    Document document{
        .id = DrawId(), .tokens = sets_.Draw(random_.Below(longest_ + 1)), .attributes = {}};
    for (size_t i = 0; i < set_->spec().attributes.size(); ++i) {
      document.attributes.push_back(static_cast<int64_t>(random_.Below(20)) - 10);
    }
    return document;
  }
  void Change() {
    if (random_.Below(4) == 0) {
      const DocumentId id = DrawId();
      ASSERT_EQ(set_->Delete(id), model_.Delete(id));
      return;
    }
    Document document = Draw();
    model_.Upsert(document);
    // As it may come in: in any order, some tokens twice.
    auto& tokens = document.tokens;
    if (!tokens.empty()) tokens.push_back(tokens[random_.Below(tokens.size())]);
    std::reverse(tokens.begin(), tokens.end());
    const Status done = set_->Upsert(std::move(document));
    ASSERT_TRUE(done.ok()) << done.ToString();
  }
  void Search() {
    std::vector<Tokens> queries;
    for (size_t i = 0; i < random_.Below(5) + 1; ++i) {
      queries.push_back(sets_.Draw(random_.Below(longest_ + 1)));
    }
    constexpr std::array<size_t, 5> kCounts = {1, 10, 100, 3'000, SearchGoal::kAll};
    const SetMetric metric = static_cast<SetMetric>(random_.Below(kSetMetrics));
    SearchGoal goal{.metric = metric, .k = kCounts.at(random_.Below(kCounts.size()))};
    if (random_.Below(3) == 0) goal.at_least = SimilarityOf(goal.metric, 0.25);
    ItemFilter filter;
    if (random_.Below(3) == 0) {
      for (size_t i = 0; i < set_->spec().attributes.size(); ++i) {
        filter.ranges.push_back({i, static_cast<int64_t>(random_.Below(12)) - 12,
                                 static_cast<int64_t>(random_.Below(12))});
      }
    }
    if (random_.Below(5) == 0 && !model_.documents().empty()) {
      filter.has_ids = true;
      filter.ids.first = model_.documents().begin()->first;
      filter.ids.bits = {random_.Next(), random_.Next()};
    }
    const auto answers = set_->Search(Lists(queries).view(), goal, filter);
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    for (size_t i = 0; i < queries.size(); ++i) {
      ASSERT_EQ((*answers)[i], model_.Search(queries[i], goal, filter));
    }
  }
  // Page by page, while changes go on: what is there all the time comes once, and as it is now
  // where it did not change.
  void Scan() {
    std::set<DocumentId> touched;
    std::map<DocumentId, Document> before = model_.documents();
    std::map<DocumentId, Document> found;
    const bool changes = random_.Below(2) == 0;
    const size_t most = 1 + random_.Below(400);
    const size_t bytes = random_.Below(3) == 0 ? 500 : size_t{1} << 20;
    DocumentPage page;
    while (!page.done) {
      page = set_->Scan(page.cursor, most, bytes);
      ASSERT_TRUE(page.documents.size() <= most && (page.done || !page.documents.empty()));
      for (Document& document : page.documents) {
        const DocumentId id = document.id;
        ASSERT_TRUE(found.emplace(id, std::move(document)).second) << id;
      }
      for (size_t i = 0; changes && i < 5; ++i) {
        Document document = Draw();
        touched.insert(document.id);
        if (random_.Below(2) == 0) {
          model_.Upsert(document);
          ASSERT_TRUE(set_->Upsert(std::move(document)).ok());
        } else {
          ASSERT_EQ(set_->Delete(document.id), model_.Delete(document.id));
        }
      }
    }
    for (const DocumentId id : touched) {
      before.erase(id);
      found.erase(id);
    }
    ASSERT_EQ(found, before);
  }
  void Get() {
    const DocumentId id = DrawId();
    const auto found = set_->Get(id);
    const auto expected = model_.documents().find(id);
    ASSERT_EQ(found.has_value(), expected != model_.documents().end());
    if (found) {
      ASSERT_EQ(*found, expected->second);
    }
  }

 private:
  Random random_;
  std::unique_ptr<ItemSet> set_;
  RandomSets sets_;
  size_t longest_;
  uint64_t ids_;
  ItemSetModel model_;
};

}  // namespace strata::test
