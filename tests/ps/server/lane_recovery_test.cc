// A lane is a function of its log: replayed to any record, it is bit for bit the lane that lived.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <random>

#include "ps/service/lane.h"
#include "tests/ps/server/durable_lane.h"
#include "tests/ps/server/lane_traffic.h"

namespace strata {
namespace {

using wire::Command;

struct Moment {  // what the lane that lived looked like
  Rows64 rows;
  size_t records = 0;
};

TEST(LaneRecovery, AtAnyRecordItIsTheLaneThatLived) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DurableLane lived;
    Traffic traffic(seed, true);
    std::vector<Moment> moments = {{}};
    for (int i = 0; i < 150; ++i) {
      const Traffic::Sent sent = traffic.Next();
      lived.lane.Handle("peer", wire::Seal(sent.header, sent.payload));
      lived.Commit();
      if (lived.log->records.size() == moments.back().records) continue;
      moments.push_back({AllRows([&](const auto& h) { return lived.lane.Ask(h); }, {.id = 99}),
                         lived.log->records.size()});
    }
    ASSERT_GT(moments.size(), 50U);
    for (size_t i = 0; i < moments.size(); i += 1 + i / 8) {
      TestLane back(DurableConfig());
      ASSERT_TRUE(RecoverFrom(back, lived.log, moments[i].records).ok());
      const auto ask = [&](const auto& h) { return back.Ask(h); };
      ASSERT_EQ(AllRows(ask, {.id = 99}), moments[i].rows) << "record " << moments[i].records;
    }
  }
}

// Cut anywhere, sent everything again: every write once, the same answers, the same rows.
TEST(LaneRecovery, WindowsAndBarrierComeBackWithTheRows) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DurableLane lived;
    Traffic traffic(seed, false);
    std::vector<Traffic::Sent> sent;
    for (int i = 0; i < 150; ++i) {
      sent.push_back(traffic.Next());
      sent.back().header.settled_below = 1;  // so that all may come again
      lived.lane.Handle("peer", wire::Seal(sent.back().header, sent.back().payload));
    }
    lived.Commit();
    const auto answers = AnswersOf(lived.lane, sent);
    const auto rows = AllRows([&](const auto& h) { return lived.lane.Ask(h); }, {.id = 99});
    std::mt19937_64 random(seed);
    for (const size_t records :
         {size_t{0}, lived.log->records.size(), random() % lived.log->records.size(),
          random() % lived.log->records.size()}) {
      TestLane back(DurableConfig());
      ASSERT_TRUE(RecoverFrom(back, lived.log, records).ok());
      std::vector<Envelope> out;
      ASSERT_TRUE(back.lane.Commit(&out).ok());
      AnswersOf(back, sent);  // the rest is applied, what was applied before is not
      EXPECT_EQ(AnswersOf(back, sent), answers) << "record " << records;
      EXPECT_EQ(AllRows([&](const auto& h) { return back.Ask(h); }, {.id = 99}), rows)
          << "record " << records;
    }
  }
}

TEST(LaneRecovery, RequestsMeanwhileAreToldTheProgress) {
  TestLane lane(DurableConfig());
  TestClient client;
  lane.lane.NoteProgress({.bytes_done = 1'200'000'000, .bytes_total = 3'300'000'000});
  EXPECT_TRUE(lane.lane.recovering());
  for (const wire::Header& header :
       {client.Read(Command::kPing), client.Write(Command::kDropTable, 1)}) {
    const Status status = lane.AskStatus(header);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(status.message(),
              "server 0 lane 0 is recovering: 36 %, 1.1 GiB of 3.1 GiB of its log");
  }
  lane.lane.NoteProgress({.bytes_done = 1 << 10, .bytes_total = 4 << 10});
  EXPECT_EQ(lane.AskStatus(client.Read(Command::kPing)).message(),
            "server 0 lane 0 is recovering: 25 %, 1.0 KiB of 4.0 KiB of its log");
  lane.lane.NoteProgress({});
  EXPECT_EQ(lane.AskStatus(client.Read(Command::kPing)).message(), "server 0 lane 0 is recovering");
  const Status hello = lane.AskStatus(client.Read(Command::kHello),
                                      {wire::EncodeHelloRequest({.client_name = "x"})});
  EXPECT_EQ(hello.code(), StatusCode::kUnavailable);
  lane.lane.Serve(std::make_unique<FakeLog>(std::make_shared<FakeLogState>()));
  EXPECT_TRUE(lane.AskStatus(client.Read(Command::kPing)).ok());
}

TEST(LaneRecovery, ABootOfTheSameLineageIsAsGoodAsAnother) {
  TestLane lane;
  TestClient client;
  wire::Header ping = client.Read(Command::kPing);
  ping.incarnation = kTestIncarnation - 1;
  const wire::Received reply = lane.Ask(ping);
  EXPECT_TRUE(wire::StatusOfReply(reply).ok());
  EXPECT_EQ(reply.header.incarnation, kTestIncarnation);
  ping.incarnation = kTestIncarnation + (1 << 16);
  EXPECT_EQ(lane.AskStatus(ping).code(), StatusCode::kLost);
}

// Such a value is refused today, but a log may hold one.
TEST(LaneRecovery, APutOfMoreThanTheTypeHoldsIsAppliedAgain) {
  DurableLane lived;
  TestClient client;
  TableSpec spec = TestSpec();
  spec.value_type = ElementType::kFp16;
  ASSERT_TRUE(lived.AskStatus(client.Write(Command::kCreateTable), {Definition(spec)}).ok());
  constexpr float kFits = 65504;
  ASSERT_TRUE(
      lived.AskStatus(client.Write(Command::kPut, IdOf(spec), 1, 2), {Keys({7}), Rows({1, kFits})})
          .ok());
  std::vector<std::byte>& body = lived.log->records.back().body;
  const auto bytes = std::bit_cast<std::array<std::byte, 4>>(kFits);
  const auto value = std::ranges::search(body, bytes);
  ASSERT_FALSE(value.empty());
  std::ranges::copy(std::bit_cast<std::array<std::byte, 4>>(70000.0F), value.begin());

  TestLane back(DurableConfig());
  const Status status = RecoverFrom(back, lived.log, lived.log->records.size());
  ASSERT_TRUE(status.ok()) << status.ToString();
  const wire::Received row = back.Ask(client.Read(Command::kPull, IdOf(spec), 1), {Keys({7})});
  EXPECT_EQ(wire::ReadRows(row.payload.at(0), 1, 2).value(),
            (std::vector<float>{1, std::numeric_limits<float>::infinity()}));
}

TEST(LaneRecovery, RecordsThatNoLaneWritesAreRefusedByName) {
  const std::vector<std::byte> junk(300, std::byte{7});
  for (const RecordKind kind : {RecordKind::kWrites, RecordKind::kAnswer, RecordKind::kExpired,
                                static_cast<RecordKind>(77)}) {
    for (const size_t size : {size_t{0}, size_t{15}, junk.size()}) {
      TestLane lane(DurableConfig());
      const Status status =
          lane.lane.Replay({.kind = kind, .lsn = 5, .body = std::span(junk).first(size)}, 0);
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.message().find("record 5"), std::string::npos) << status.ToString();
    }
  }
}

}  // namespace
}  // namespace strata
