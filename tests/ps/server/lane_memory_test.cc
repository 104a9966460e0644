// What a command holds in memory while it is done, and what becomes of it when there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/out_of_memory.h"
#include "base/thread/work_pool.h"
#include "proto/format/item_change.h"
#include "proto/wire/collection_payload.h"
#include "tests/ps/server/durable_lane.h"
#include "tests/support/allocations.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using wire::Command;

constexpr size_t kQueueBytes = size_t{16} << 20;
constexpr size_t kReplyBytes = kQueueBytes / 4;  // the most of an answer to a search
constexpr size_t kDocuments = 20'000;
constexpr uint32_t kDim = 16;
constexpr size_t kBeside = size_t{8} << 20;  // whatever a request asks: pages, groups of queries

// A lane with a table and a collection of documents that all have token 7.
class LaneMemoryTest : public testing::Test {
 protected:
  LaneMemoryTest() : pool_(WorkPool::Start("test", 0).value()), lane_(ConfigOf(*pool_, clock_)) {
    EXPECT_TRUE(Ask(client_.Write(Command::kCreateTable), {Definition(spec_)}).ok());
    const Frame definition =
        wire::EncodeCollections(std::vector<wire::CollectionDefinition>{{"c", {}}});
    EXPECT_TRUE(Ask(client_.Write(Command::kCreateCollection, collection_), {definition}).ok());
    std::vector<std::byte> changes;
    for (size_t i = 0; i < kDocuments; ++i) {
      format::AppendItemChange({.is_upsert = true, .id = i, .tokens = {7}, .attributes = {}},
                               &changes);
    }
    EXPECT_TRUE(
        Ask(client_.Write(Command::kChangeItems, collection_, kDocuments), {Frame::Own(changes)})
            .ok());
  }

  static LaneConfig ConfigOf(WorkPool& pool, const Clock& clock) {
    LaneConfig config = DurableConfig();
    config.queue_bytes_max = kQueueBytes;
    config.collections = CollectionsConfig();
    config.collections->clock = &clock;
    config.collections->means = [&pool] {
      return SearchMeans{.rates = {}, .pool = &pool, .threads = 1, .clock = &RealClock()};
    };
    return config;
  }

  // All replies to the message, with the round that ends after it.
  std::vector<std::pair<std::string, wire::Received>> All(const wire::Header& header,
                                                          Message payload) {
    Message message = wire::Seal(header, std::move(payload));
    std::vector<Envelope> out;
    lane_.lane.lane.Handle({"peer", std::move(message)}, lane_.lane.now, lane_.lane.now, &out);
    EXPECT_TRUE(lane_.lane.lane.Commit(&out).ok());
    lane_.lane.lane.Tick(lane_.lane.now, &out);
    return TestLane::Opened(std::move(out));
  }
  Status Ask(const wire::Header& header, Message payload = {}) {
    const auto replies = All(header, std::move(payload));
    EXPECT_EQ(replies.size(), 1U);
    return replies.empty() ? Internal("no reply") : wire::StatusOfReply(replies[0].second);
  }

  Message Queries(uint32_t count, uint32_t k) {
    wire::SearchTerms terms;
    terms.metric = 1;
    terms.k = k;
    std::vector<uint64_t> offsets;
    for (uint64_t i = 0; i <= count; ++i) offsets.push_back(i);
    return {wire::EncodeSearchTerms(terms), Frame::Own(std::move(offsets)),
            Frame::Own(std::vector<uint32_t>(count, 7))};
  }
  wire::Header Search(uint32_t count) { return client_.Read(Command::kSearch, collection_, count); }
  static std::vector<uint64_t> KeysFrom(uint64_t first, size_t count) {
    std::vector<uint64_t> keys(count);
    for (size_t i = 0; i < count; ++i) keys[i] = first + i;
    return keys;
  }
  wire::Header Push(uint32_t count) {
    return client_.Write(Command::kPush, IdOf(spec_), count, kDim);
  }
  static Message Gradients(uint64_t first, size_t count) {
    return {Keys(KeysFrom(first, count)), Rows(std::vector<float>(count * kDim, 1.0F))};
  }
  uint64_t RowsThere() { return lane_.lane.lane.Report().tables.at(0).stats.rows; }

  const uint64_t collection_ = wire::CollectionIdOf("c");
  const TableSpec spec_ = TestSpec("t", kDim);
  const SimClock clock_{kSecond};
  std::unique_ptr<WorkPool> pool_;
  DurableLane lane_;
  TestClient client_;
};

TEST_F(LaneMemoryTest, ASearchForAllHoldsNoMoreThanAReplyMayHave) {
  for (const uint32_t queries : {10U, 200U, 2'000U}) {
    Message payload = Queries(queries, wire::SearchTerms::kAll);
    const size_t request = MessageBytes(payload);
    const size_t reply = queries * (kDocuments * wire::kSearchHitBytes + sizeof(uint64_t));
    const test::PeakMemory peak;
    const Status status = Ask(Search(queries), std::move(payload));
    EXPECT_EQ(status.ok(), reply <= kReplyBytes) << status.ToString();
    EXPECT_LT(peak.bytes(), 8 * (request + kReplyBytes) + kBeside) << queries << " queries";
  }
}

TEST_F(LaneMemoryTest, ASearchOfManyQueriesHoldsWhatItsReplyHas) {
  for (const uint32_t queries : {1'000U, kSanitized ? 3'000U : 15'000U}) {
    Message payload = Queries(queries, 1);
    const size_t request = MessageBytes(payload);
    const size_t reply = queries * (wire::kSearchHitBytes + sizeof(uint64_t));
    const test::PeakMemory peak;
    const auto replies = All(Search(queries), std::move(payload));
    ASSERT_EQ(replies.size(), 1U);
    ASSERT_TRUE(wire::StatusOfReply(replies[0].second).ok());
    EXPECT_LT(peak.bytes(), 8 * (request + reply) + kBeside) << queries << " queries";
  }
}

// What is refused together may be few documents for each.
TEST_F(LaneMemoryTest, SearchesThatFindTooMuchTogetherAreAnsweredAlone) {
  std::vector<Envelope> out;
  constexpr uint32_t kQueries = 10;  // 3.2 of the 4 MB of a reply
  for (int i = 0; i < 3; ++i) {
    lane_.lane.lane.Handle(
        {"peer", wire::Seal(Search(kQueries), Queries(kQueries, wire::SearchTerms::kAll))},
        lane_.lane.now, lane_.lane.now, &out);
  }
  ASSERT_TRUE(lane_.lane.lane.Commit(&out).ok());
  lane_.lane.lane.Tick(lane_.lane.now, &out);
  const auto replies = TestLane::Opened(std::move(out));
  ASSERT_EQ(replies.size(), 3U);
  for (const auto& [peer, reply] : replies) EXPECT_TRUE(wire::StatusOfReply(reply).ok());
}

TEST_F(LaneMemoryTest, CommandsOnRowsHoldWhatTheirMessagesHave) {
  constexpr uint32_t kCount = 100'000;
  constexpr size_t kRows = kCount * kDim * sizeof(float);
  ASSERT_TRUE(Ask(Push(kCount), Gradients(0, kCount)).ok());
  const auto peak_of = [&](const wire::Header& header, Message payload) {
    const test::PeakMemory peak;
    EXPECT_TRUE(Ask(header, std::move(payload)).ok());
    return peak.bytes();
  };
  const size_t request = kRows + kCount * sizeof(Key);
  EXPECT_LT(peak_of(Push(kCount), Gradients(0, kCount)), 4 * request + kBeside);
  EXPECT_LT(peak_of(client_.Write(Command::kPut, IdOf(spec_), kCount, kDim), Gradients(0, kCount)),
            4 * request + kBeside);
  EXPECT_LT(peak_of(client_.Read(Command::kPull, IdOf(spec_), kCount), {Keys(KeysFrom(0, kCount))}),
            4 * request + kBeside);
  EXPECT_LT(peak_of(client_.Read(Command::kScan, IdOf(spec_)), {}), kBeside);
  EXPECT_LT(peak_of(client_.Read(Command::kScanItems, collection_), {}), kBeside);
}

// Each allocation of a request fails in turn. Either nothing of it is done and the answer says so,
// or all of it is.
TEST_F(LaneMemoryTest, ARequestThatMemoryRunsOutForEndsAlone) {
  KeepReserve(size_t{64} << 20);
  constexpr uint32_t kCount = 40;
  uint64_t first = 0;
  size_t refused = 0;
  for (uint64_t n = 0;; ++n, first += kCount) {
    const uint64_t before = RowsThere();
    Message message = wire::Seal(Push(kCount), Gradients(first, kCount));
    std::vector<Envelope> out;
    out.reserve(4);
    test::FailAllocation(n);
    lane_.lane.lane.Handle({"peer", std::move(message)}, lane_.lane.now, lane_.lane.now, &out);
    const bool failed = test::AllocationsWork();
    ASSERT_TRUE(lane_.lane.lane.Commit(&out).ok()) << "allocation " << n;
    KeepReserve(size_t{64} << 20);
    const auto replies = TestLane::Opened(std::move(out));
    ASSERT_LE(replies.size(), 1U);
    const bool done = !replies.empty() && wire::StatusOfReply(replies[0].second).ok();
    ASSERT_EQ(RowsThere() - before, done ? kCount : 0) << "allocation " << n;
    refused += done ? 0 : 1;
    if (!failed) break;
  }
  EXPECT_GT(refused, 5U);
}

TEST_F(LaneMemoryTest, ASearchThatMemoryRunsOutForEndsAlone) {
  KeepReserve(size_t{64} << 20);
  size_t refused = 0;
  for (uint64_t n = 0;; ++n) {
    Message message = wire::Seal(Search(2), Queries(2, 5));
    std::vector<Envelope> out;
    out.reserve(4);
    test::FailAllocation(n);
    lane_.lane.lane.Handle({"peer", std::move(message)}, lane_.lane.now, lane_.lane.now, &out);
    ASSERT_TRUE(lane_.lane.lane.Commit(&out).ok());
    lane_.lane.lane.Tick(lane_.lane.now, &out);
    const bool failed = test::AllocationsWork();
    KeepReserve(size_t{64} << 20);
    const auto replies = TestLane::Opened(std::move(out));
    ASSERT_LE(replies.size(), 1U);
    if (replies.empty() || !wire::StatusOfReply(replies[0].second).ok()) ++refused;
    if (!failed) break;
  }
  EXPECT_GT(refused, 5U);
  EXPECT_TRUE(Ask(Search(2), Queries(2, 5)).ok());
}

TEST_F(LaneMemoryTest, WhatAsksForTooMuchIsRefusedAndOthersAreServed) {
  constexpr uint32_t kCount = 100'000;
  Message large = {Keys(KeysFrom(0, kCount))};
  Message small = {Keys(KeysFrom(0, 10))};
  test::FailLargeAllocations(size_t{1} << 20);
  const Status refused = Ask(client_.Read(Command::kPull, IdOf(spec_), kCount), std::move(large));
  const Status served = Ask(client_.Read(Command::kPull, IdOf(spec_), 10), std::move(small));
  EXPECT_TRUE(test::AllocationsWork());
  EXPECT_EQ(refused.code(), StatusCode::kRefused) << refused.ToString();
  EXPECT_NE(refused.message().find("out of memory"), std::string::npos) << refused.ToString();
  EXPECT_TRUE(served.ok()) << served.ToString();
}

}  // namespace
}  // namespace strata
