// Collections through servers and back, beside a plain reference: a map of documents that is
// searched one by one.
#include "ps/client/collections.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "tests/ps/client/collection_reference.h"

namespace strata {
namespace {

TEST(Collections, AnswerAsAPlainReferenceOverTwoServers) {
  const TestServers servers(2, 2);
  const auto store = servers.Connect();
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  std::mt19937_64 random(7);
  Sets sets;
  for (int i = 0; i < 700; ++i) sets[random() % 100'000] = SomeTokens(random);
  Status status = collections.Upsert("c", DocumentsOf(sets));
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectAsReference(collections, sets, random);

  std::vector<DocumentId> gone;
  for (const auto& [id, tokens] : sets) {
    if (random() % 3 == 0) gone.push_back(id);
  }
  ASSERT_TRUE(collections.Delete("c", gone).ok());
  for (const DocumentId id : gone) sets.erase(id);
  for (auto& [id, tokens] : sets) {
    if (random() % 4 == 0) tokens = SomeTokens(random);
  }
  ASSERT_TRUE(collections.Upsert("c", DocumentsOf(sets)).ok());
  ExpectAsReference(collections, sets, random);

  std::vector<DocumentId> asked = gone;
  for (const auto& [id, tokens] : sets) asked.push_back(id);
  const auto documents = collections.Get("c", asked);
  ASSERT_TRUE(documents.ok()) << documents.status().ToString();
  EXPECT_EQ(*documents, DocumentsOf(sets));

  const auto stats = collections.Stats("c");
  ASSERT_TRUE(stats.ok()) << stats.status().ToString();
  EXPECT_EQ(stats->documents, sets.size());
  EXPECT_EQ(stats->deletes, gone.size());

  std::vector<Document> scanned;
  for (uint16_t lane = 0; lane < 4; ++lane) {
    DocumentPage page;
    while (!page.done) {
      auto next = collections.ScanLane("c", lane, page.cursor);
      ASSERT_TRUE(next.ok()) << next.status().ToString();
      page = std::move(*next);
      std::ranges::copy(page.documents, std::back_inserter(scanned));
    }
  }
  std::ranges::sort(scanned, {}, &Document::id);
  EXPECT_EQ(scanned, DocumentsOf(sets));
}

TEST(Collections, ASearchIsExplainedLaneByLane) {
  const TestServers servers(2, 2);
  const auto store = servers.Connect();
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  std::vector<Document> documents;
  for (DocumentId id = 0; id < 400; ++id) {
    documents.push_back({.id = id, .tokens = {1, static_cast<Token>(id)}, .attributes = {}});
  }
  ASSERT_TRUE(collections.Upsert("c", documents).ok());
  SetLists queries;
  for (Token token = 0; token < 300; ++token) queries.Add(std::vector<Token>{1, token});
  std::vector<LaneExplanation> explained;
  const SearchGoal goal{.k = 3};
  const auto plain = collections.Search("c", queries.view(), goal);
  const auto found = collections.SearchExplained("c", queries.view(), goal, {}, kNever, &explained);
  ASSERT_TRUE(plain.ok() && found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, *plain);
  ASSERT_EQ(explained.size(), 8U);  // 256 queries and 44, of four lanes each
  std::map<std::pair<uint16_t, uint16_t>, uint32_t> asked;
  uint64_t of_documents = 0;
  for (const LaneExplanation& lane : explained) {
    asked[{lane.lane.server, lane.lane.lane}] += lane.queries;
    ASSERT_TRUE(lane.explanation);
    EXPECT_GE(lane.explanation->queries, lane.queries);
    EXPECT_GT(lane.explanation->took_ns, 0U);
    uint32_t searched = 0;
    for (const auto& part : lane.explanation->parts) {
      of_documents += part.documents;
      for (const auto& engine : part.engines) {
        searched += engine.queries;
        EXPECT_GE(engine.candidates, engine.queries);  // all have token 1
      }
    }
    EXPECT_EQ(searched, lane.explanation->queries * lane.explanation->parts.size());
  }
  EXPECT_EQ(of_documents, 2 * documents.size());
  ASSERT_EQ(asked.size(), 4U);
  for (const auto& [lane, count] : asked) EXPECT_EQ(count, 300U);
}

// One lane, whose answers a test gives.
class ScriptedLane : public LaneExchange {
 public:
  Result<std::vector<wire::Received>> Exchange(LaneMessages messages) override {
    asked = std::move(messages);
    return std::vector<wire::Received>{{answer, payload}};
  }
  wire::ShardMap Map() override { return wire::MakeShardMap(std::array<uint16_t, 1>{1}).value(); }

  LaneMessages asked;
  wire::Header answer;
  Message payload;
};

// An answer of two frames, and a page that does not come forward.
TEST(Collections, AnOlderServerAnswersAndDoesNotExplain) {
  ScriptedLane lane;
  lane.answer.count = 1;
  lane.payload = {
      wire::EncodeOffsets(std::vector<uint64_t>{0, 1}),
      wire::EncodeHits(std::vector<wire::SearchHit>{{.id = 7, .overlap = 1, .length = 2}})};
  Collections collections(lane);
  SetLists queries;
  queries.Add(std::vector<Token>{1});
  std::vector<LaneExplanation> explained;
  const auto found = collections.SearchExplained("c", queries.view(), {}, {}, kNever, &explained);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ((*found)[0].size(), 1U);
  EXPECT_EQ(lane.asked.parts[0].flags, uint32_t{wire::kFlagFull});
  ASSERT_EQ(explained.size(), 1U);
  EXPECT_EQ(explained[0].queries, 1U);
  EXPECT_FALSE(explained[0].explanation);
  ASSERT_TRUE(collections.Search("c", queries.view(), {}).ok());
  EXPECT_EQ(lane.asked.parts[0].flags, 0U);

  lane.payload = {Frame()};
  lane.answer.cursor = 5;
  EXPECT_EQ(collections.ScanLane("c", 0, 4)->cursor, 5U);
  EXPECT_EQ(lane.asked.parts[0].cursor, 4U);
  const auto stuck = collections.ScanLane("c", 0, 5).status();
  EXPECT_EQ(stuck.code(), StatusCode::kFailed);
  EXPECT_NE(stuck.message().find("a page from 5 on with one that ends at 5"), std::string::npos);
  lane.answer.flags |= wire::kFlagDone;
  EXPECT_TRUE(collections.ScanLane("c", 0, 5)->done);
}

TEST(Collections, AFilterByAttributesAndIdsHoldsOnAllLanes) {
  const TestServers servers(2, 1);
  const auto store = servers.Connect();
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {"price", "shop"}}).ok());
  std::vector<Document> documents;
  for (DocumentId id = 0; id < 300; ++id) {
    documents.push_back(
        {.id = id,
         .tokens = {1, static_cast<Token>(2 + id % 5)},
         .attributes = {static_cast<int64_t>(id) - 100, static_cast<int64_t>(id % 3)}});
  }
  ASSERT_TRUE(collections.Upsert("c", documents).ok());
  SetLists queries;
  queries.Add(std::vector<Token>{1});
  ItemFilter filter;
  filter.ranges = {{.attribute = 0, .low = -5, .high = 20}, {.attribute = 1, .low = 2, .high = 2}};
  const SearchGoal goal{.metric = SetMetric::kOverlap, .k = SearchGoal::kAll, .at_least = {1, 1}};
  auto found = collections.Search("c", queries.view(), goal, filter);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  std::vector<DocumentId> ids;
  for (const Hit& hit : (*found)[0]) ids.push_back(hit.id);
  std::vector<DocumentId> expected;
  for (DocumentId id = 95; id <= 120; ++id) {
    if (id % 3 == 2) expected.push_back(id);
  }
  EXPECT_EQ(ids, expected);

  filter.has_ids = true;
  filter.ids = {.first = 100, .bits = {0b10010}};  // 101 and 104
  found = collections.Search("c", queries.view(), goal, filter);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ids.clear();
  for (const Hit& hit : (*found)[0]) ids.push_back(hit.id);
  EXPECT_EQ(ids, (std::vector<DocumentId>{101, 104}));
}

TEST(Collections, ErrorsNameCollectionServerAndLane) {
  const TestServers servers(2, 1);
  const auto store = servers.Connect();
  Collections collections(*store);
  SetLists queries;
  queries.Add(std::vector<Token>{1});
  const auto expect = [](const Status& status, StatusCode code, std::vector<std::string> words) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    for (const std::string& word : words) {
      EXPECT_NE(status.message().find(word), std::string::npos) << status.ToString();
    }
  };
  expect(collections.Search("missing", queries.view(), {}).status(), StatusCode::kNotFound,
         {"collection 'missing'", "server 0", "lane 0", "never created"});
  expect(collections.Drop("missing"), StatusCode::kNotFound, {"collection 'missing'"});
  expect(collections.Create({.name = "", .attributes = {}}), StatusCode::kInvalid,
         {"collection name", "found 0"});
  expect(collections.Create({.name = "a b", .attributes = {}}), StatusCode::kInvalid, {"0x20"});
  expect(collections.Create({.name = "..", .attributes = {}}), StatusCode::kInvalid,
         {"expected more than dots, found '..'"});
  expect(collections.Create({.name = "c", .attributes = {"x", "x"}}), StatusCode::kInvalid,
         {"two attributes 'x'"});
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {"x"}}).ok());
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {"x"}}).ok());
  expect(collections.Create({.name = "c", .attributes = {"y"}}), StatusCode::kExists,
         {"collection 'c'", "other attributes", "lane 0"});
  expect(collections.Upsert("c", std::vector<Document>{{.id = 5, .tokens = {1}, .attributes = {}}}),
         StatusCode::kInvalid, {"document 5 has 0 attributes; the collection has 1", "lane 0"});
  ItemFilter filter;
  filter.ranges = {{.attribute = 1}};
  expect(collections.Search("c", queries.view(), {}, filter).status(), StatusCode::kInvalid,
         {"a range of attribute 1", "lane 0"});
  const auto all = collections.List();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().name, "c");
  EXPECT_EQ(all->front().attributes, std::vector<std::string>{"x"});
  ASSERT_TRUE(collections.Drop("c").ok());
  expect(collections.Search("c", queries.view(), {}).status(), StatusCode::kNotFound, {});
  EXPECT_TRUE(collections.List()->empty());
}

// Each thread sees its own documents as soon as its upserts have returned.
TEST(Collections, ASearchSeesWhatWasAcknowledgedBeforeIt) {
  const TestServers servers(2, 2);
  const auto store = servers.Connect();
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  ExpectOwnChangesAreSeen(collections, 60);
}

TEST(Collections, ComeBackWithTheServersAndAClientGoesOn) {
  DurableServers servers(2);
  const auto store = servers.Connect();
  ASSERT_NE(store, nullptr);
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  ASSERT_TRUE(collections.Create({.name = "gone", .attributes = {"x"}}).ok());
  std::mt19937_64 random(11);
  Sets sets;
  for (int round = 0; round < 3; ++round) {
    Sets more;
    for (int i = 0; i < 300; ++i) more[random() % 2000] = SomeTokens(random);
    const AckLevel ack = round == 1 ? AckLevel::kSynced : AckLevel::kDefault;
    const Status put = collections.Upsert("c", DocumentsOf(more), ack);
    ASSERT_TRUE(put.ok()) << put.ToString();
    for (auto& [id, tokens] : more) sets[id] = tokens;
    std::vector<DocumentId> gone;
    for (const auto& [id, tokens] : sets) {
      if (random() % 5 == 0) gone.push_back(id);
    }
    ASSERT_TRUE(collections.Delete("c", gone, ack).ok());
    for (const DocumentId id : gone) sets.erase(id);
    if (round == 1) {
      ASSERT_TRUE(collections.Drop("gone").ok());
    }
    servers.Restart();
    ExpectAsReference(collections, sets, random);
    ASSERT_EQ(collections.List()->size(), round == 0 ? 2U : 1U);
  }
  // Another one of the dropped one's name knows nothing of it.
  ASSERT_TRUE(collections.Create({.name = "gone", .attributes = {}}).ok());
  EXPECT_EQ(collections.Stats("gone")->documents, 0U);
  servers.Restart();
  EXPECT_EQ(collections.Stats("gone")->documents, 0U);
  EXPECT_EQ(collections.Stats("c")->documents, sets.size());
}

TEST(Collections, WithoutADataFolderLevelsAboveAppliedAreRefused) {
  const TestServers servers(1, 1);
  const auto store = servers.Connect();
  Collections collections(*store);
  ASSERT_TRUE(collections.Create({.name = "c", .attributes = {}}).ok());
  const std::vector<Document> one = {{.id = 1, .tokens = {1}, .attributes = {}}};
  EXPECT_TRUE(collections.Upsert("c", one, AckLevel::kApplied).ok());
  const Status refused = collections.Upsert("c", one, AckLevel::kSynced);
  EXPECT_EQ(refused.code(), StatusCode::kRefused) << refused.ToString();
  EXPECT_NE(refused.message().find("needs a server with a data folder"), std::string::npos);
}

}  // namespace
}  // namespace strata
