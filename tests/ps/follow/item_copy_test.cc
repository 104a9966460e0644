// A copy and its home, question by question: it is what the home was whenever it says that it is
// whole, whatever changes come between the questions.
#include "ps/follow/item_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/thread/work_pool.h"
#include "proto/format/item_change.h"
#include "tests/ps/server/lane_fixture.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Command;

constexpr const char* kName = "c";
const uint64_t kId = wire::CollectionIdOf(kName);
constexpr uint64_t kIds = 500;

class ItemCopyTest : public ::testing::Test {
 protected:
  ItemCopyTest() {
    Start(kTestIncarnation);
    Create();
  }

  SearchMeans Means() const {
    return {.rates = {}, .pool = pool_.get(), .threads = 1, .clock = &RealClock()};
  }
  void Start(uint64_t incarnation) {
    LaneConfig config = TestLaneConfig();
    // Two servers, and all shards are this one's.
    wire::ShardMap map = wire::MakeShardMap(std::vector<uint16_t>{1, 1}).value();
    map.owner.fill(0);
    config.map = std::make_shared<const wire::ShardMap>(map);
    config.hello.incarnation = incarnation;
    config.collections.emplace();
    config.collections->means = [this] { return Means(); };
    home_ = std::make_unique<TestLane>(config);
  }
  wire::Received Ask(wire::Header header, Message payload) {
    if (header.sequence != 0) header.settled_below = header.sequence;
    auto replies = home_->Handle("peer", wire::Seal(header, std::move(payload)));
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? wire::Received{} : std::move(replies[0].second);
  }
  void Create(uint8_t copies = 2) {
    const wire::CollectionDefinition definition{
        .name = kName, .attributes = {"a"}, .copies = copies};
    const Frame payload = wire::EncodeCollections(std::span(&definition, 1));
    const auto reply = Ask(client_.Write(Command::kCreateCollection, kId), {payload});
    ASSERT_TRUE(wire::StatusOfReply(reply).ok()) << wire::StatusOfReply(reply).ToString();
  }
  void Change(const std::vector<format::ItemChange>& changes) {
    std::vector<std::byte> bytes;
    for (const format::ItemChange& change : changes) format::AppendItemChange(change, &bytes);
    const auto reply =
        Ask(client_.Write(Command::kChangeItems, kId, static_cast<uint32_t>(changes.size())),
            {Frame::Own(std::move(bytes))});
    ASSERT_TRUE(wire::StatusOfReply(reply).ok()) << wire::StatusOfReply(reply).ToString();
  }
  format::ItemChange Draw(size_t tokens) {
    format::ItemChange change;
    change.is_upsert = random_.Below(4) != 0;
    change.id = random_.Below(kIds);
    if (!change.is_upsert) return change;
    const auto first = static_cast<Token>(random_.Below(1'000'000));
    for (size_t i = 0; i < tokens; ++i) change.tokens.push_back(first + static_cast<Token>(i));
    change.attributes = {static_cast<int64_t>(random_.Below(100))};
    return change;
  }
  void ChangeSome(size_t records, size_t tokens) {
    for (size_t i = 0; i < records; ++i) {
      std::vector<format::ItemChange> changes;
      for (size_t j = 0; j < random_.Below(4) + 1; ++j) changes.push_back(Draw(tokens));
      Change(changes);
    }
  }
  Status Follow(ItemCopy& copy) {
    wire::Header header = client_.Read(Command::kFollowItems, kId);
    if (copy.WantsDocuments()) header.flags |= wire::kFlagFull;
    const wire::Received reply = Ask(header, {wire::EncodeFollowRequest(copy.Next())});
    STRATA_TRY(wire::StatusOfReply(reply));
    return copy.Take(reply);
  }
  // What the home has by its own answer.
  std::map<DocumentId, Document> OfHome() {
    std::vector<uint64_t> ids;
    for (uint64_t id = 0; id < kIds; ++id) ids.push_back(id);
    const auto reply = Ask(client_.Read(Command::kReadItems, kId, kIds), {Keys(ids)});
    std::map<DocumentId, Document> documents;
    auto decoded = format::DecodeItemChanges(reply.payload[0].bytes());
    EXPECT_TRUE(decoded.ok());
    for (format::ItemChange& change : *decoded) {
      documents[change.id] = {change.id, std::move(change.tokens), std::move(change.attributes)};
    }
    return documents;
  }
  // Ids of documents that are not the same here and there.
  std::vector<DocumentId> Different(const ItemCopy& copy) {
    const auto home = OfHome();
    const auto here = Of(copy);
    std::vector<DocumentId> ids;
    for (DocumentId id = 0; id < kIds; ++id) {
      const auto a = home.find(id);
      const auto b = here.find(id);
      const bool is_there = a != home.end();
      if (is_there != (b != here.end()) || (is_there && a->second != b->second)) ids.push_back(id);
    }
    return ids;
  }
  static std::map<DocumentId, Document> Of(const ItemCopy& copy) {
    std::map<DocumentId, Document> documents;
    for (DocumentId id = 0; id < kIds; ++id) {
      if (auto document = copy.set()->Get(id)) documents[id] = std::move(*document);
    }
    return documents;
  }
  ItemCopy Copy() const { return ItemCopy({.spec = {.attributes = {"a"}}, .means = Means()}); }
  void Complete(ItemCopy& copy) {
    int questions = 0;
    do {
      ASSERT_TRUE(Follow(copy).ok());
    } while (++questions < 10'000 && (!copy.IsWhole() || copy.position() < copy.newest()));
    ASSERT_TRUE(copy.IsWhole());
  }

  std::unique_ptr<WorkPool> pool_ = WorkPool::Start("test", 0).value();
  Random random_{17};
  TestClient client_;
  std::unique_ptr<TestLane> home_;
};

TEST_F(ItemCopyTest, IsWhatTheHomeWasWheneverItIsWhole) {
  constexpr size_t kRuns = kSanitized ? 3 : 12;
  size_t whole = 0;
  size_t pages = 0;
  for (size_t run = 0; run < kRuns; ++run) {
    // Documents of 4 kB in pages of 256, or small ones in one page.
    const size_t tokens = run % 3 == 0 ? 5 : 1'000;
    ChangeSome(400, tokens);
    ItemCopy copy = Copy();
    EXPECT_FALSE(copy.IsWhole());
    for (int question = 0; question < 60; ++question) {
      const bool copied = copy.WantsDocuments();
      ASSERT_TRUE(Follow(copy).ok());
      pages += copied ? 1 : 0;
      ASSERT_EQ(copy.begun(), 1U);
      if (copy.IsWhole() && copy.position() == copy.newest()) {
        ++whole;
        ASSERT_THAT(Different(copy), IsEmpty()) << "run " << run << " question " << question;
      }
      // Now and then more than fits an answer.
      ChangeSome(random_.Below(8) == 0 ? 60 : random_.Below(4), tokens);
    }
    Complete(copy);
    ASSERT_THAT(Different(copy), IsEmpty());
  }
  EXPECT_GT(12 * whole, 50 * kRuns);
  EXPECT_GT(12 * pages, 40 * kRuns);
}

TEST_F(ItemCopyTest, BeginsAnewBehindMoreChangesThanTheHomeRemembers) {
  ItemCopy copy = Copy();
  Complete(copy);
  const auto before = copy.set();
  ChangeSome(200, 20'000);  // some 30 MB
  ASSERT_TRUE(Follow(copy).ok());
  EXPECT_FALSE(copy.IsWhole());
  EXPECT_EQ(copy.begun(), 2U);
  EXPECT_NE(copy.set(), before);
  Complete(copy);
  EXPECT_THAT(Different(copy), IsEmpty());
}

TEST_F(ItemCopyTest, BeginsAnewWithAnotherProcessAndAnotherCollectionOfTheName) {
  ChangeSome(20, 5);
  ItemCopy copy = Copy();
  Complete(copy);
  EXPECT_FALSE(Of(copy).empty());
  // The same server with its state: what it had not synced may be gone, and positions begin anew.
  Start(kTestIncarnation + 1);
  Create();
  ChangeSome(40, 5);
  ASSERT_TRUE(Follow(copy).ok());
  EXPECT_FALSE(copy.IsWhole());
  Complete(copy);
  EXPECT_EQ(copy.begun(), 2U);
  EXPECT_THAT(Different(copy), IsEmpty());

  ASSERT_TRUE(wire::StatusOfReply(Ask(client_.Write(Command::kDropCollection, kId), {})).ok());
  EXPECT_EQ(Follow(copy).code(), StatusCode::kNotFound);
  Create();
  ASSERT_TRUE(Follow(copy).ok());
  EXPECT_FALSE(copy.IsWhole());
  Complete(copy);
  EXPECT_EQ(copy.begun(), 3U);
  EXPECT_TRUE(Of(copy).empty());
}

TEST_F(ItemCopyTest, AnAnswerThatMakesNoSenseIsNotBelieved) {
  ChangeSome(20, 5);
  ItemCopy copy = Copy();
  Complete(copy);
  const auto answer = [&](const wire::FollowReply& reply, std::vector<format::ItemChange> changes) {
    wire::Received received;
    received.header.incarnation = kTestIncarnation;
    std::vector<std::byte> bytes;
    for (const format::ItemChange& change : changes) format::AppendItemChange(change, &bytes);
    received.payload = {wire::EncodeFollowReply(reply), Frame::Own(std::move(bytes)), {}};
    return received;
  };
  const wire::FollowRequest asked = copy.Next();
  const auto expect = [&](const wire::Received& reply, const std::string& words) {
    const Status taken = copy.Take(reply);
    EXPECT_EQ(taken.code(), StatusCode::kInvalid) << taken.ToString();
    EXPECT_THAT(taken.message(), HasSubstr(words));
    EXPECT_FALSE(copy.IsWhole());
    EXPECT_EQ(copy.Next().instance, 0U);
    Complete(copy);
  };
  expect(answer({.instance = asked.instance + 1, .position = 99, .newest = 99}, {}),
         "changes to follow: expected those behind");
  expect(answer({.instance = asked.instance, .position = 0, .newest = 99}, {}),
         "found those up to 0");
  expect(answer({.instance = asked.instance, .position = 99, .newest = 99},
                {{.is_upsert = true, .id = 1, .tokens = {1}, .attributes = {}}}),
         "document 1 has 0 attributes; the collection has 1");
  wire::Received cut = answer({.instance = asked.instance, .position = 99, .newest = 99}, {});
  cut.payload[1] = Frame::Own(std::vector<std::byte>(5));
  expect(cut, "changes to follow: ");
  EXPECT_THAT(Different(copy), IsEmpty());
}

TEST_F(ItemCopyTest, WhatAHomeRefuses) {
  wire::Received reply =
      Ask(client_.Read(Command::kFollowItems, kId), {Frame::Own(std::vector<std::byte>(8))});
  EXPECT_EQ(wire::StatusOfReply(reply).code(), StatusCode::kInvalid);
  ASSERT_TRUE(wire::StatusOfReply(Ask(client_.Write(Command::kDropCollection, kId), {})).ok());
  Create(1);
  ItemCopy copy = Copy();
  const Status refused = Follow(copy);
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_THAT(refused.message(), HasSubstr("collection 'c' has no copies to be kept"));
}

}  // namespace
}  // namespace strata
