// The versions of the protocol: replies in their requests' version, names that are checked from
// version 2 on, and the boots that clients know.
#include <gmock/gmock.h>

#include "base/hash.h"
#include "proto/wire/collection_payload.h"
#include "proto/wire/command_table.h"
#include "tests/proto/wire_samples.h"
#include "tests/ps/server/lane_fixture.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using wire::Command;

// Two names whose hashes have the same lower half.
const TableSpec kPresent = TestSpec("job85452_emb");
const TableSpec kAbsent = TestSpec("job135225_emb");
constexpr const char* kPresentCollection = "c38593";
constexpr const char* kAbsentCollection = "c69762";

class LaneVersions : public ::testing::Test {
 protected:
  LaneConfig WithCollections() {
    LaneConfig config = TestLaneConfig();
    config.collections.emplace();
    config.collections->means = [this] {
      return SearchMeans{.rates = {}, .pool = pool_.get(), .threads = 1, .clock = &RealClock()};
    };
    config.boot.nonce = 0xb007;
    config.boot.past = {{uint16_t{0xffff}, 0xb006}};
    return config;
  }

  std::unique_ptr<WorkPool> pool_ = WorkPool::Start("test", 0).value();
};

TEST_F(LaneVersions, AReplyHasTheVersionOfItsRequest) {
  LaneConfig config = WithCollections();
  config.cluster_id = wire::Samples(1).front().header.cluster_id;
  for (const uint16_t version : {uint16_t{1}, uint16_t{2}}) {
    for (const wire::Sample& sample : wire::Samples(version)) {
      if (sample.header.is(wire::kFlagReply)) continue;
      SCOPED_TRACE(fmt::format("version {} {}", version, sample.name));
      TestLane lane(config);
      auto replies = lane.Handle("peer", sample.message);
      for (auto& tick : lane.Tick()) replies.push_back(std::move(tick));
      ASSERT_EQ(replies.size(), 1U);
      const wire::Header& reply = replies[0].second.header;
      EXPECT_EQ(reply.version, version);
      EXPECT_EQ(reply.boot_nonce, version == 1 ? 0 : config.boot.nonce);
      EXPECT_EQ(reply.trace, version == 1 ? 0 : sample.header.trace);
      EXPECT_EQ(reply.name_check, 0U);
    }
  }
}

TEST_F(LaneVersions, AMessageOfALaterVersionIsAnsweredInTheNewest) {
  TestLane lane(WithCollections());
  wire::Header header = TestClient().Read(Command::kPing);
  header.version = wire::kVersion + 1;
  const wire::Received reply = lane.Ask(header);
  EXPECT_EQ(reply.header.version, wire::kVersion);
  EXPECT_EQ(wire::StatusOfReply(reply).code(), StatusCode::kRefused);
}

TEST_F(LaneVersions, TheNamesHaveTheSameId) {
  ASSERT_EQ(wire::ShortId(IdOf(kPresent)), wire::ShortId(IdOf(kAbsent)));
  ASSERT_NE(IdOf(kPresent), IdOf(kAbsent));
  ASSERT_EQ(wire::ShortCollectionId(kPresentCollection),
            wire::ShortCollectionId(kAbsentCollection));
}

TEST_F(LaneVersions, EveryCommandThatNamesChecksTheName) {
  for (const wire::CommandInfo& info : wire::CommandTable()) {
    if (!info.has(wire::kNames)) continue;
    SCOPED_TRACE(info.name);
    TestLane lane(WithCollections());
    TestClient client;
    CreateTable(lane, client, kPresent);
    const wire::CollectionDefinition definition{.name = kPresentCollection, .attributes = {}};
    ASSERT_TRUE(lane.AskStatus(client.Write(Command::kCreateCollection),
                               {wire::EncodeCollections(std::span(&definition, 1))})
                    .ok());
    const auto ask = [&](uint64_t name_hash, uint16_t version) {
      wire::Header header = info.has(wire::kWrites) ? client.Write(info.command, name_hash)
                                                    : client.Read(info.command, name_hash);
      header.version = version;
      return lane.AskStatus(header, Message(info.request_frames_min, Frame()));
    };
    const bool of_collection = info.has(wire::kOfCollections);
    const uint64_t absent = of_collection ? wire::CollectionIdOf(kAbsentCollection) : IdOf(kAbsent);
    const uint64_t present =
        of_collection ? wire::CollectionIdOf(kPresentCollection) : IdOf(kPresent);
    const Status checked = ask(absent, 2);
    EXPECT_EQ(checked.code(), StatusCode::kNotFound) << checked.ToString();
    EXPECT_THAT(checked.message(), HasSubstr(of_collection ? kPresentCollection : kPresent.name));
    EXPECT_NE(ask(present, 2).code(), StatusCode::kNotFound);
  }
}

TEST_F(LaneVersions, ADropOfANameWithTheIdOfAnotherLeavesThatAlone) {
  TestLane lane(WithCollections());
  TestClient client;
  CreateTable(lane, client, kPresent);
  EXPECT_EQ(lane.AskStatus(client.Write(Command::kDropTable, IdOf(kAbsent))).code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(lane.AskStatus(client.Read(Command::kStats, IdOf(kPresent))).ok());
  EXPECT_TRUE(lane.AskStatus(client.Write(Command::kDropTable, IdOf(kPresent))).ok());
}

TEST_F(LaneVersions, ACreateOfANameWithTheIdOfAnotherNamesBoth) {
  TestLane lane(WithCollections());
  TestClient client;
  CreateTable(lane, client, kPresent);
  const Status table = lane.AskStatus(client.Write(Command::kCreateTable), {Definition(kAbsent)});
  EXPECT_EQ(table.code(), StatusCode::kExists);
  EXPECT_THAT(table.message(), HasSubstr(kPresent.name));
  EXPECT_THAT(table.message(), HasSubstr(kAbsent.name));
  Status collection;
  for (const char* name : {kPresentCollection, kAbsentCollection}) {
    const wire::CollectionDefinition definition{.name = name, .attributes = {}};
    collection = lane.AskStatus(client.Write(Command::kCreateCollection),
                                {wire::EncodeCollections(std::span(&definition, 1))});
  }
  EXPECT_EQ(collection.code(), StatusCode::kExists);
  EXPECT_THAT(collection.message(), HasSubstr(kPresentCollection));
  EXPECT_THAT(collection.message(), HasSubstr(kAbsentCollection));
}

Status PingOf(TestLane& lane, uint64_t incarnation, uint32_t nonce) {
  wire::Header header = TestClient().Read(Command::kPing);
  header.incarnation = incarnation;
  header.boot_nonce = nonce;
  return lane.AskStatus(header);
}

TEST_F(LaneVersions, AClientThatKnowsAnotherNonceOfABootIsLost) {
  TestLane lane(WithCollections());  // boot 1; the one before the first number is 0xffff
  constexpr uint64_t kBefore = kTestIncarnation - 1 + 0xffff;
  EXPECT_TRUE(PingOf(lane, kTestIncarnation, 0xb007).ok());
  EXPECT_TRUE(PingOf(lane, kTestIncarnation, 0).ok());
  EXPECT_TRUE(PingOf(lane, kBefore, 0xb006).ok());
  EXPECT_TRUE(PingOf(lane, kTestIncarnation + 5, 0x1234).ok());  // nothing is known of it
  for (const uint64_t incarnation : {kTestIncarnation, kBefore}) {
    const Status other = PingOf(lane, incarnation, 0x1234);
    EXPECT_EQ(other.code(), StatusCode::kLost);
    EXPECT_THAT(other.message(), HasSubstr("another copy of its data folder"));
    EXPECT_THAT(other.message(), HasSubstr("0x00001234"));
  }
}

}  // namespace
}  // namespace strata
