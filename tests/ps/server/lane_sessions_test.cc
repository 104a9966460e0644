// The places of clients that write: those of clients whose connection has ended come back when
// others need them, and nothing of them is applied afterwards.
#include <algorithm>
#include <set>

#include "tests/ps/server/durable_lane.h"

namespace strata {
namespace {

using wire::Command;

constexpr size_t kPlaces = 3;
constexpr TimeNs kSilence = 10 * kSecond;

// A lane with few places; each client has a connection of its own, until it ends.
struct Sessions {
  std::set<std::string> connected;
  DurableLane lane{Config()};
  TableSpec spec = TestSpec();
  std::vector<TestClient> clients;

  Sessions() {
    for (uint64_t id = 1; id <= kPlaces; ++id) {
      clients.push_back({.id = id});
      connected.insert(PeerOf(clients.back()));
    }
    const auto created =
        Send(clients[0], clients[0].Write(Command::kCreateTable), {Definition(spec)});
    EXPECT_TRUE(created.ok());
    for (TestClient& client : clients) EXPECT_TRUE(Put(client).ok());
  }
  LaneConfig Config() {
    LaneConfig config = DurableConfig();
    config.dedup.clients_max = kPlaces;
    config.reaches = [this](const Envelope& to) { return connected.contains(to.peer); };
    return config;
  }
  static std::string PeerOf(const TestClient& client) { return std::to_string(client.id); }
  Status Send(const TestClient& client, const wire::Header& header, Message payload = {}) {
    auto replies = lane.lane.Handle(PeerOf(client), wire::Seal(header, std::move(payload)));
    for (auto& reply : lane.Commit()) replies.push_back(std::move(reply));
    EXPECT_EQ(replies.size(), 1U);
    return wire::StatusOfReply(replies.at(0).second);
  }
  wire::Header PutOf(TestClient& client) { return client.Write(Command::kPut, IdOf(spec), 1, 2); }
  Status Put(TestClient& client) { return Send(client, PutOf(client), {Keys({7}), Rows({1, 1})}); }
  size_t Expired() const {
    return static_cast<size_t>(
        std::ranges::count(lane.log->records, RecordKind::kExpired, &FakeLogState::Record::kind));
  }
};

TEST(LaneSessions, AConnectedClientKeepsItsPlace) {
  Sessions all;
  TestClient newcomer{.id = 9};
  all.lane.lane.now += 599 * kSecond;
  EXPECT_EQ(all.Put(newcomer).code(), StatusCode::kRefused);
  EXPECT_EQ(all.Put(newcomer).code(), StatusCode::kUnavailable) << "not looked for again at once";
  for (TestClient& client : all.clients) EXPECT_TRUE(all.Put(client).ok());
}

TEST(LaneSessions, PlacesOfClientsWhoseConnectionsHaveEndedComeBackAllAtOnce) {
  Sessions all;
  TestClient newcomer{.id = 9}, another{.id = 10};
  all.connected = {"3"};
  all.lane.lane.now += kSilence;
  EXPECT_TRUE(all.Put(newcomer).ok());
  EXPECT_TRUE(all.Put(another).ok());
  EXPECT_EQ(all.Expired(), 2U);
  EXPECT_TRUE(all.Put(all.clients[2]).ok());
}

// It may come back over another connection and ask for the answer.
TEST(LaneSessions, OneThatMayStillAskForAnAnswerKeepsItsPlaceForAMoment) {
  Sessions all;
  TestClient newcomer{.id = 9};
  all.connected.clear();
  all.lane.lane.now += kSilence - 1;
  EXPECT_EQ(all.Put(newcomer).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(all.Send(all.clients[1], all.clients[1].Read(Command::kPing)).ok());
  all.lane.lane.now += kSecond;
  EXPECT_TRUE(all.Put(newcomer).ok());
  EXPECT_TRUE(all.Put(all.clients[1]).ok()) << "it was heard of";
}

TEST(LaneSessions, ALateCopyOfAWriteOfOneThatIsGoneIsNeverAppliedAgain) {
  Sessions all;
  TestClient newcomer{.id = 9};
  wire::Header late = all.PutOf(all.clients[0]);
  const auto payload = [] { return Message{Keys({7}), Rows({5, 5})}; };
  ASSERT_TRUE(all.Send(all.clients[0], late, payload()).ok());
  all.connected.clear();
  all.lane.lane.now += kSilence;
  ASSERT_TRUE(all.Put(newcomer).ok());
  EXPECT_EQ(all.Send(all.clients[0], late, payload()).code(), StatusCode::kSessionExpired);
  TestLane back(DurableConfig());
  ASSERT_TRUE(RecoverFrom(back, all.lane.log, all.lane.log->records.size()).ok());
  EXPECT_EQ(back.AskStatus(late, payload()).code(), StatusCode::kSessionExpired);
}

TEST(LaneSessions, AWriteThatWaitsKeepsThePlace) {
  Sessions all;
  TestClient newcomer{.id = 9};
  TestClient& waiting = all.clients[0];
  const SyncGroup group{.id = 3, .rank = 0, .world = 2, .first_step = 1};
  const wire::Header push =
      TestClient::Sync(waiting.Write(Command::kPush, IdOf(all.spec), 1, 2), group, 1);
  EXPECT_TRUE(all.lane.lane.Handle("1", wire::Seal(push, {Keys({7}), Rows({1, 1})})).empty());
  all.connected = {"2", "3"};
  all.lane.lane.now += kSilence;
  EXPECT_EQ(all.Put(newcomer).code(), StatusCode::kRefused);
  EXPECT_EQ(all.lane.lane.lane.Evict({1, 1}).code(), StatusCode::kRefused);
}

TEST(LaneSessions, ClientsAreListedAndOneThatIsEvictedIsAnsweredSo) {
  Sessions all;
  TestClient newcomer{.id = 9};
  all.connected.erase("2");
  all.lane.lane.now += kSecond;
  const std::vector<LaneClient> known = all.lane.lane.lane.Clients(all.lane.lane.now);
  ASSERT_EQ(known.size(), kPlaces);
  EXPECT_EQ(known[1].id, (ClientId{2, 2}));
  EXPECT_FALSE(known[1].is_connected);
  EXPECT_TRUE(known[2].is_connected);
  EXPECT_EQ(known[1].idle, kSecond);
  EXPECT_EQ(known[1].unsettled, 1U);
  EXPECT_GT(known[1].credit, 0U);
  EXPECT_TRUE(all.lane.lane.lane.Evict({3, 3}).ok());
  EXPECT_EQ(all.lane.lane.lane.Evict({3, 3}).code(), StatusCode::kNotFound);
  EXPECT_TRUE(all.Put(newcomer).ok());
  EXPECT_EQ(all.Put(all.clients[2]).code(), StatusCode::kSessionExpired);
}

TEST(ClientIdTest, ItsTextGoesThereAndBack) {
  const ClientId id{0x0123456789abcdef, 0xf};
  EXPECT_EQ(ParseClientId(ToString(id)), id);
  for (const char* text :
       {"", "12", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef0",
        "-123456789abcdef0123456789abcdef"}) {
    EXPECT_EQ(ParseClientId(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace strata
