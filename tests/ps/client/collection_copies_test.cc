// Copies of a collection's documents on other servers, beside the plain reference: searches that go
// to them are exact and see what was acknowledged, whatever happens to homes and copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "ps/client/collections.h"
#include "tests/ps/client/collection_reference.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

wire::CollectionStatsReply StatsOf(Collections& collections) {
  const auto stats = collections.Stats("c");
  EXPECT_TRUE(stats.ok()) << stats.status().ToString();
  return stats.ok() ? *stats : wire::CollectionStatsReply{};
}

void AwaitCopies(Collections& collections, uint64_t copies) {
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(collections).copies_ready == copies; }));
}

// Until copies answer: after a refusal a client asks homes for a while.
void AwaitSearchesAtCopies(Collections& collections) {
  SetLists query;
  query.Add(std::vector<Token>{1});
  const uint64_t before = StatsOf(collections).copy_queries;
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_TRUE(collections.Search("c", query.view(), {}).ok());
    return StatsOf(collections).copy_queries > before;
  }));
}

struct Cluster {
  uint16_t servers;
  uint16_t lanes;
  uint8_t copies;
};

class CopiesOf : public ::testing::TestWithParam<Cluster> {};

TEST_P(CopiesOf, AnswerAsAPlainReference) {
  const auto [count, lanes, copies] = GetParam();
  const TestServers servers(count, lanes);
  const auto store = servers.Connect();
  Collections collections(*store);
  const Status made = collections.Create({.name = "c", .attributes = {}, .copies = copies});
  ASSERT_TRUE(made.ok()) << made.ToString();
  EXPECT_EQ(collections.List()->front().copies, copies);
  std::mt19937_64 random(7);
  Sets sets;
  for (int round = 0; round < 4; ++round) {
    Sets more;
    for (int i = 0; i < 300; ++i) more[random() % 2'000] = SomeTokens(random);
    ASSERT_TRUE(collections.Upsert("c", DocumentsOf(more)).ok());
    for (auto& [id, tokens] : more) sets[id] = tokens;
    std::vector<DocumentId> gone;
    for (const auto& [id, tokens] : sets) {
      if (random() % 4 == 0) gone.push_back(id);
    }
    ASSERT_TRUE(collections.Delete("c", gone).ok());
    for (const DocumentId id : gone) sets.erase(id);
    if (round == 1) {
      AwaitCopies(collections, uint64_t{count} * lanes * (copies - 1U));
      AwaitSearchesAtCopies(collections);
    }
    const uint64_t before = StatsOf(collections).copy_queries;
    ExpectAsReference(collections, sets, random);
    if (round > 1) {
      EXPECT_GT(StatsOf(collections).copy_queries, before);
    }
  }
  const wire::CollectionStatsReply stats = StatsOf(collections);
  EXPECT_EQ(stats.documents, sets.size());
  EXPECT_EQ(stats.copies, uint64_t{count} * lanes * (copies - 1U));
  EXPECT_EQ(stats.copies_begun, stats.copies);
  EXPECT_TRUE(WaitUntil(
      [&] { return StatsOf(collections).copy_documents == sets.size() * (copies - 1U); }));
  ASSERT_TRUE(collections.Drop("c").ok());
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  EXPECT_EQ(StatsOf(collections).copies, 0U);
}

INSTANTIATE_TEST_SUITE_P(Clusters, CopiesOf,
                         ::testing::Values(Cluster{2, 1, 2}, Cluster{2, 2, 2}, Cluster{3, 1, 2},
                                           Cluster{3, 2, 3}, Cluster{4, 1, 3}));

TEST(CollectionCopiesTest, WhatIsRefused) {
  const TestServers servers(2, 1);
  const auto store = servers.Connect();
  Collections collections(*store);
  const Status many = collections.Create({.name = "c", .attributes = {}, .copies = 3});
  EXPECT_EQ(many.code(), StatusCode::kInvalid);
  EXPECT_THAT(many.message(), HasSubstr("3 copies of collection 'c' need as many servers"));
  EXPECT_THAT(collections.Create({.name = "c", .attributes = {}, .copies = 0}).message(),
              HasSubstr("expected 1 to 64 copies, found 0"));
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}, .copies = 2}).ok());
  const Status other = collections.Create({.name = "c", .attributes = {}});
  EXPECT_EQ(other.code(), StatusCode::kExists);
  EXPECT_THAT(other.message(), HasSubstr("another number of copies (2, the request has 1)"));
}

// Each thread sees its own changes as soon as they have returned, while others change and search.
TEST(CollectionCopiesTest, ASearchSeesWhatWasAcknowledgedBeforeIt) {
  const TestServers servers(2, 1);
  const auto store = servers.Connect();
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}, .copies = 2}).ok());
  AwaitCopies(collections, 2);
  AwaitSearchesAtCopies(collections);
  const uint64_t before = StatsOf(collections).copy_queries;
  ExpectOwnChangesAreSeen(collections, 100);
  EXPECT_GT(StatsOf(collections).copy_queries, before + 400);
}

// Pages of documents and records of changes come beside each other.
TEST(CollectionCopiesTest, ACopyIsMadeWhileDocumentsChange) {
  TestServers servers(2, 1);
  const auto store = servers.Connect();
  Collections collections(*store);
  servers.server(0).SetServers({});  // they do not find each other yet
  servers.server(1).SetServers({});
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}, .copies = 2}).ok());
  std::mt19937_64 random(3);
  Sets sets;
  for (int i = 0; i < 30'000; ++i) sets[random() % 1'000'000] = SomeTokens(random);
  ASSERT_TRUE(collections.Upsert("c", DocumentsOf(sets)).ok());
  EXPECT_EQ(StatsOf(collections).copies_ready, 0U);
  SetLists query;
  query.Add(std::vector<Token>{1});
  ASSERT_TRUE(collections.Search("c", query.view(), {}).ok());  // by the homes
  EXPECT_EQ(StatsOf(collections).copy_queries, 0U);
  servers.server(0).SetServers(servers.addresses());
  servers.server(1).SetServers(servers.addresses());
  while (StatsOf(collections).copies_ready < 2 && !testing::Test::HasFailure()) {
    Sets more;
    for (int i = 0; i < 20; ++i) more[random() % 1'000'000] = SomeTokens(random);
    ASSERT_TRUE(collections.Upsert("c", DocumentsOf(more)).ok());
    for (auto& [id, tokens] : more) sets[id] = tokens;
    std::vector<DocumentId> gone;
    for (auto at = sets.lower_bound(random() % 1'000'000); at != sets.end() && gone.size() < 20;
         ++at) {
      gone.push_back(at->first);
    }
    ASSERT_TRUE(collections.Delete("c", gone).ok());
    for (const DocumentId id : gone) sets.erase(id);
  }
  AwaitSearchesAtCopies(collections);
  SetLists queries;
  std::vector<std::set<Token>> drawn;
  for (int i = 0; i < 10; ++i) {
    drawn.push_back(SomeTokens(random));
    queries.Add(std::vector<Token>(drawn.back().begin(), drawn.back().end()));
  }
  const SearchGoal goal{.metric = SetMetric::kJaccard, .k = 20};
  for (int turn = 0; turn < 2; ++turn) {
    const auto found = collections.Search("c", queries.view(), goal);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    for (size_t i = 0; i < drawn.size(); ++i)
      EXPECT_EQ((*found)[i], Reference(sets, drawn[i], goal));
  }
}

// Servers go on with their documents; who kept copies makes them anew.
TEST(CollectionCopiesTest, AreMadeAnewWhenServersComeBack) {
  DurableServers servers(2);
  const auto store = servers.Connect();
  ASSERT_NE(store, nullptr);
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}, .copies = 2}).ok());
  std::mt19937_64 random(11);
  Sets sets;
  for (int round = 0; round < 3; ++round) {
    Sets more;
    for (int i = 0; i < 300; ++i) more[random() % 2'000] = SomeTokens(random);
    ASSERT_TRUE(collections.Upsert("c", DocumentsOf(more)).ok());
    for (auto& [id, tokens] : more) sets[id] = tokens;
    AwaitCopies(collections, 4);
    AwaitSearchesAtCopies(collections);
    ExpectAsReference(collections, sets, random);
    if (round == 0) servers.Restart();
    if (round == 1) {
      servers.Stop(1);
      servers.Start();
    }
  }
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(collections).copy_documents == sets.size(); }));
}

// A home without a data folder comes back empty, and so does what follows it: nothing of before is
// found in a copy.
TEST(CollectionCopiesTest, OfAHomeThatLostItsDocumentsAreEmptyToo) {
  DurableServers servers(1, /*with_data=*/false);
  {
    const auto store = servers.Connect();
    ASSERT_NE(store, nullptr);
    Collections collections(*store);
    ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}, .copies = 2}).ok());
    std::mt19937_64 random(5);
    Sets sets;
    for (int i = 0; i < 300; ++i) sets[random() % 2'000] = SomeTokens(random);
    ASSERT_TRUE(collections.Upsert("c", DocumentsOf(sets)).ok());
    AwaitCopies(collections, 2);
    AwaitSearchesAtCopies(collections);
  }
  servers.Stop(0);
  servers.Start();
  const auto store = servers.Connect();
  ASSERT_NE(store, nullptr);
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}, .copies = 2}).ok());
  const uint64_t left = StatsOf(collections).documents;
  SetLists queries;
  queries.Add(std::vector<Token>{1, 2, 3});
  const SearchGoal all{.metric = SetMetric::kOverlap, .k = 10'000};
  const auto search = [&] {
    const auto found = collections.Search("c", queries.view(), all);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_EQ((*found)[0].size(), left);
  };
  for (int i = 0; i < 40; ++i) search();
  AwaitCopies(collections, 2);
  AwaitSearchesAtCopies(collections);
  EXPECT_TRUE(WaitUntil([&] { return StatsOf(collections).copy_documents == left; }));
  for (int i = 0; i < 40; ++i) search();
}

}  // namespace
}  // namespace strata
