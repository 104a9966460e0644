// No legal request keeps the lane's thread for so long that another client's PING is missed: the
// largest ones that there are, and the time of the processor that each takes.
#include <gtest/gtest.h>

#include <numeric>

#include "base/thread/thread_time.h"
#include "base/thread/work_pool.h"
#include "proto/format/item_change.h"
#include "storage/memory/host_table.h"
#include "tests/ps/server/lane_fixture.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using wire::Command;

constexpr TimeNs kLongest = kSanitized ? 20 * kSecond : kSecond;

struct BusyLane {
  std::unique_ptr<WorkPool> pool = WorkPool::Start("test", 0).value();
  TestClient client;
  TableSpec spec = TestSpec("t", 1);
  std::unique_ptr<TestLane> lane;

  BusyLane() {
    LaneConfig config = TestLaneConfig();
    config.make_table = [](const TableSpec& of) { return std::make_unique<HostTable>(of); };
    config.collections.emplace();
    config.collections->means = [this] {
      return SearchMeans{.rates = {}, .pool = pool.get(), .threads = 1, .clock = &RealClock()};
    };
    lane = std::make_unique<TestLane>(std::move(config));
    EXPECT_TRUE(
        lane->AskStatus(client.Write(Command::kCreateTable, IdOf(spec)), {Definition(spec)}).ok());
  }

  // Asks, and says how long the lane's thread was at it.
  Status Ask(const wire::Header& header, Message payload) {
    const Message message = wire::Seal(header, std::move(payload));
    std::vector<Envelope> out;
    const TimeNs begin = ThreadTime();
    lane->lane.Handle({"peer", message}, lane->now, &out);
    EXPECT_TRUE(lane->lane.Commit(&out).ok());
    const TimeNs took = ThreadTime() - begin;
    EXPECT_LT(took, kLongest) << "command " << static_cast<int>(header.command);
    auto replies = TestLane::Opened(std::move(out));
    return replies.empty() ? Status() : wire::StatusOfReply(replies[0].second);
  }
};

std::vector<uint64_t> ScatteredKeys(size_t count) {
  std::vector<uint64_t> keys(count);
  for (size_t i = 0; i < count; ++i) keys[i] = i * 0x9e3779b97f4a7c15;
  return keys;
}

TEST(LaneWork, TheLargestBatchesOfKeysTakeLessThanASecond) {
  BusyLane busy;
  const uint64_t table = IdOf(busy.spec);
  const auto count = static_cast<uint32_t>(wire::kKeysMax);
  const Frame keys = Keys(ScatteredKeys(count));
  const Frame rows = Rows(std::vector<float>(count, 1));
  for (const Command command : {Command::kPush, Command::kPush, Command::kPut}) {
    EXPECT_TRUE(busy.Ask(busy.client.Write(command, table, count, 1), {keys, rows}).ok());
  }
  EXPECT_TRUE(busy.Ask(busy.client.Read(Command::kPull, table, count), {keys}).ok());
  EXPECT_TRUE(busy.Ask(busy.client.Read(Command::kPrefetch, table, count), {keys}).ok());
  EXPECT_TRUE(busy.Ask(busy.client.Read(Command::kScan, table, UINT32_MAX), {}).ok());
  EXPECT_TRUE(busy.Ask(busy.client.Write(Command::kErase, table, count), {keys}).ok());
}

TEST(LaneWork, MoreKeysThanALaneTakesAtATimeAreInvalid) {
  BusyLane busy;
  const uint64_t table = IdOf(busy.spec);
  const auto count = static_cast<uint32_t>(wire::kKeysMax) + 1;
  const Frame keys = Keys(std::vector<uint64_t>(count, 1));
  const Frame rows = Rows(std::vector<float>(count, 1));
  const Status push = busy.Ask(busy.client.Write(Command::kPush, table, count, 1), {keys, rows});
  EXPECT_EQ(push.code(), StatusCode::kInvalid) << push.ToString();
  EXPECT_NE(push.message().find("1048577 keys in a request"), std::string::npos);
  const Status pull = busy.Ask(busy.client.Read(Command::kPull, table, count), {keys});
  EXPECT_EQ(pull.code(), StatusCode::kInvalid);
  const Status both =
      busy.Ask(busy.client.Write(Command::kPushPull, table, 1, 1), {Keys({1}), Rows({1}), keys});
  EXPECT_EQ(both.code(), StatusCode::kInvalid);
}

TEST(LaneWork, TheLargestChangesOfACollectionTakeLessThanASecond) {
  BusyLane busy;
  const wire::CollectionDefinition definition{.name = "c", .attributes = {}};
  const uint64_t id = wire::CollectionIdOf(definition.name);
  EXPECT_TRUE(busy.Ask(busy.client.Write(Command::kCreateCollection, id),
                       {wire::EncodeCollections(std::vector{definition})})
                  .ok());
  const auto change = [&](size_t documents, uint32_t tokens) {
    std::vector<std::byte> bytes;
    format::ItemChange document{.is_upsert = true, .id = 0, .tokens = {}, .attributes = {}};
    document.tokens.resize(tokens);
    std::iota(document.tokens.rbegin(), document.tokens.rend(), 1);
    for (size_t i = 0; i < documents; ++i) {
      document.id = i;
      format::AppendItemChange(document, &bytes);
    }
    const auto count = static_cast<uint32_t>(documents);
    return busy.Ask(busy.client.Write(Command::kChangeItems, id, count),
                    {Frame::Own(std::move(bytes))});
  };
  EXPECT_TRUE(change(wire::kItemChangesMax, 50).ok());
  EXPECT_TRUE(change(1, 1'000'000).ok());
  const auto count = static_cast<uint32_t>(wire::kKeysMax);
  EXPECT_TRUE(busy.Ask(busy.client.Read(Command::kReadItems, id, count),
                       {Keys(std::vector<uint64_t>(count, uint64_t{1} << 40))})
                  .ok());
}

}  // namespace
}  // namespace strata
