// Whose message is next, what one client may have waiting, and what becomes of it when it is gone.
#include "ps/shard/arrived_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/ps/server/lane_fixture.h"

namespace strata {
namespace {

constexpr size_t kMega = size_t{1} << 20;

wire::Header HeaderOf(wire::Command command, uint32_t count = 0, uint32_t width = 0) {
  TestClient client;
  wire::Header header = client.Read(command, 1, count);
  header.width = width;
  return header;
}

// A pull of one key whose reply is announced to have `reply_bytes`.
Envelope Pull(const std::string& peer, size_t reply_bytes = 0) {
  const auto width = static_cast<uint32_t>(reply_bytes / sizeof(float));
  return {peer, wire::Seal(HeaderOf(wire::Command::kPull, 1, width), {Keys({1})})};
}
Envelope Ping(const std::string& peer) {
  return {peer, wire::Seal(HeaderOf(wire::Command::kPing), {})};
}
Envelope Bytes(const std::string& peer, size_t bytes) {
  return {peer, {Frame::Own(std::vector<uint8_t>(bytes))}};
}

Status Add(ArrivedQueue& queue, Envelope envelope) { return queue.Add(&envelope, 0); }

// The peers of all that waits, in turn.
std::string Turns(ArrivedQueue& queue) {
  std::string turns;
  while (!queue.empty()) turns += queue.Next().envelope.peer;
  return turns;
}

TEST(ArrivedQueue, ClientsTakeTurnsWhateverTheySent) {
  ArrivedQueue queue(64 * kMega);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Add(queue, Pull("a")).ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Add(queue, Pull("b")).ok());
  ASSERT_TRUE(Add(queue, Pull("c")).ok());
  EXPECT_EQ(Turns(queue), "abcabaa");
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(ArrivedQueue, WhoseRequestsCostMoreHasFewerTurns) {
  ArrivedQueue queue(64 * kMega);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Add(queue, Pull("a", 4 * kMega)).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Add(queue, Pull("b", 4096)).ok());
  // All of b's together ask for less than one of a's.
  EXPECT_EQ(Turns(queue), "ab" + std::string(99, 'b') + "aa");
}

TEST(ArrivedQueue, MessagesOfAClientKeepTheirOrder) {
  ArrivedQueue queue(64 * kMega);
  for (TimeNs at = 1; at <= 50; ++at) {
    Envelope envelope = Pull(at % 3 == 0 ? "b" : "a", static_cast<size_t>(at) * 1000);
    ASSERT_TRUE(queue.Add(&envelope, at).ok());
  }
  std::map<std::string, TimeNs> last;
  while (!queue.empty()) {
    const ArrivedQueue::Arrived next = queue.Next();
    EXPECT_LT(last[next.envelope.peer], next.time);
    last[next.envelope.peer] = next.time;
  }
}

TEST(ArrivedQueue, UrgentMessagesGoBeforeQueuedWork) {
  for (const wire::Command command : {wire::Command::kPing, wire::Command::kHello,
                                      wire::Command::kShardMap, wire::Command::kControl}) {
    ArrivedQueue queue(64 * kMega);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(Add(queue, Pull("a", kMega)).ok());
    ASSERT_TRUE(Add(queue, {"b", wire::Seal(HeaderOf(command), {Frame::Copy({})})}).ok());
    EXPECT_EQ(queue.Next().envelope.peer, "b") << static_cast<int>(command);
  }
}

TEST(ArrivedQueue, ABusyLaneGetsOnlyWhatItCanAnswerInBetween) {
  ArrivedQueue queue(64 * kMega);
  EXPECT_FALSE(queue.NextForBusyLane(7).has_value());
  ASSERT_TRUE(Add(queue, Pull("a")).ok());
  const auto control = wire::Seal(HeaderOf(wire::Command::kControl), {Frame::Copy({})});
  ASSERT_TRUE(Add(queue, {"b", control}).ok());
  ASSERT_TRUE(Add(queue, Ping("b")).ok()) << "after its CONTROL, whose order it keeps";
  EXPECT_FALSE(queue.NextForBusyLane(7).has_value());
  ASSERT_TRUE(Add(queue, Ping("c")).ok());
  ASSERT_TRUE(Add(queue, Ping("c")).ok());
  for (int i = 0; i < 2; ++i) {
    const auto next = queue.NextForBusyLane(7);
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->envelope.peer, "c");
  }
  EXPECT_FALSE(queue.NextForBusyLane(7).has_value());
  EXPECT_EQ(Turns(queue), "bba");

  wire::Header checkpoint = HeaderOf(wire::Command::kPing);
  checkpoint.cut = 8;  // the lane has to cut first
  ASSERT_TRUE(Add(queue, {"d", wire::Seal(checkpoint, {})}).ok());
  EXPECT_FALSE(queue.NextForBusyLane(7).has_value());
  EXPECT_TRUE(queue.NextForBusyLane(8).has_value());
}

TEST(ArrivedQueue, AFloodOfUrgentMessagesStopsNobody) {
  ArrivedQueue queue(64 * kMega);
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(Add(queue, Ping("flood")).ok());
  ASSERT_TRUE(Add(queue, Pull("b")).ok());
  ASSERT_TRUE(Add(queue, Ping("c")).ok());
  const std::string turns = Turns(queue);
  EXPECT_LT(turns.find('c'), 3U * 5);
  EXPECT_LT(turns.find('b'), 40U * 5);
}

TEST(ArrivedQueue, AClientWithFarMoreUnderWayThanItsCreditIsRefusedTheExcess) {
  ArrivedQueue queue(256 * kMega);
  size_t taken = 0;
  Status refused;
  for (int i = 0; i < 100; ++i) {
    const Status added = Add(queue, Pull("hog", 16 * kMega));
    if (added.ok()) ++taken;
    if (!added.ok()) refused = added;
  }
  EXPECT_EQ(taken, ArrivedQueue::kPeerCostMax / (16 * kMega) - 1);
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_NE(refused.message().find("credit"), std::string::npos) << refused.message();
  EXPECT_TRUE(Add(queue, Pull("other", 16 * kMega)).ok());
  queue.Next();
  queue.Next();
  EXPECT_TRUE(Add(queue, Pull("hog", 16 * kMega)).ok());
}

// All that it has under way, sent again after 1, 3 and 7 s.
TEST(ArrivedQueue, AClientThatKeepsToItsCreditIsNeverRefused) {
  ArrivedQueue queue(256 * kMega);
  for (int attempt = 0; attempt < 4; ++attempt) {
    for (size_t bytes = 0; bytes + kMega <= Credits::kCreditMax; bytes += kMega) {
      ASSERT_TRUE(Add(queue, Pull("a", kMega - 2 * ArrivedQueue::kLeastCost)).ok()) << attempt;
    }
  }
  // One request is always allowed, and the pushes of a step are.
  ASSERT_TRUE(Add(queue, Pull("b", 200 * kMega)).ok());
  TestClient client;
  for (uint64_t step = 1; step <= 64; ++step) {
    const wire::Header push = TestClient::Sync(
        client.Write(wire::Command::kPushPull, 1, 1, 4'000'000), {1, 0, 2, 1}, step);
    ASSERT_TRUE(Add(queue, {"c", wire::Seal(push, {Keys({1}), Rows({1}), Keys({1})})}).ok());
  }
}

TEST(ArrivedQueue, WhenTooMuchWaitsTheClientWithLittleStillHasItsShare) {
  ArrivedQueue queue(8 * kMega);
  Status added;
  for (int i = 0; i < 100 && added.ok(); ++i) added = Add(queue, Bytes("a", kMega));
  EXPECT_EQ(added.code(), StatusCode::kUnavailable);
  EXPECT_LE(queue.bytes(), 8 * kMega);
  EXPECT_TRUE(Add(queue, Bytes("b", kMega)).ok());
  EXPECT_TRUE(Add(queue, Ping("a")).ok());
  for (char peer = 'c'; peer <= 'z'; ++peer) {
    for (int i = 0; i < 100; ++i) added = Add(queue, Bytes(std::string(1, peer), kMega / 4));
  }
  EXPECT_LE(queue.bytes(), 16 * kMega + 2 * ArrivedQueue::kLeastCost);
}

TEST(ArrivedQueue, AMessageLargerThanAllRoomIsTakenWhenNothingWaits) {
  ArrivedQueue queue(kMega);
  EXPECT_TRUE(Add(queue, Bytes("a", 60 * kMega)).ok());
  EXPECT_EQ(Add(queue, Bytes("b", 60 * kMega)).code(), StatusCode::kUnavailable);
}

TEST(ArrivedQueue, EmptyMessagesTakeRoomToo) {
  ArrivedQueue queue(kMega);
  Status added;
  for (int i = 0; i < 100'000; ++i) added = Add(queue, Bytes("a", 0));
  EXPECT_EQ(added.code(), StatusCode::kUnavailable);
  EXPECT_LE(queue.bytes(), kMega);
  EXPECT_EQ(Turns(queue).size(), kMega / ArrivedQueue::kLeastCost);
}

TEST(ArrivedQueue, WorkOfAClientThatIsGoneIsDropped) {
  ArrivedQueue queue(64 * kMega);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Add(queue, Pull("a")).ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Add(queue, Ping("a")).ok());
  ASSERT_TRUE(Add(queue, Pull("b")).ok());
  EXPECT_EQ(queue.Drop("a"), 7U);
  EXPECT_EQ(queue.Drop("nobody"), 0U);
  EXPECT_EQ(Turns(queue), "b");
  ASSERT_TRUE(Add(queue, Pull("a")).ok());
  ASSERT_TRUE(Add(queue, Ping("a")).ok());
  EXPECT_EQ(Turns(queue), "aa");
  EXPECT_EQ(queue.bytes(), 0U);
}

// Any sequence of calls leaves nothing behind, and hands out what came in.
TEST(ArrivedQueue, RandomTrafficOfManyPeersBalances) {
  uint64_t seed = 7;
  const auto random = [&seed](uint64_t below) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33) % below;
  };
  ArrivedQueue queue(4 * kMega);
  size_t waiting = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string peer = std::to_string(random(i < 100'000 ? 6000 : 5));
    switch (random(4)) {
      case 0:
        waiting += Add(queue, Ping(peer)).ok() ? 1 : 0;
        break;
      case 1:
        waiting += Add(queue, Pull(peer, random(100'000))).ok() ? 1 : 0;
        break;
      case 2:
        if (random(10) == 0) waiting -= queue.Drop(peer);
        break;
      default:
        if (queue.empty()) break;
        queue.Next();
        --waiting;
    }
    ASSERT_EQ(queue.empty(), waiting == 0);
  }
  while (!queue.empty()) {
    queue.Next();
    --waiting;
  }
  EXPECT_EQ(waiting, 0U);
  EXPECT_EQ(queue.bytes(), 0U);
}

}  // namespace
}  // namespace strata
