// RemoteCheckpointer over lanes played by the test: which messages, in which order, with what in
// them.
#include "ps/client/remote_checkpointer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/checkpoint_payload.h"
#include "proto/wire/command_table.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::Command;

Frame Text(std::string_view text) { return Frame::Copy(std::as_bytes(std::span(text))); }
std::string TextOf(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes().data()), frame.size()};
}

// Two lanes that keep checkpoints, and a log of what they were asked.
class FakeLanes : public LaneCaller {
 public:
  static constexpr size_t kLanes = 2;

  Result<std::vector<wire::Received>> CallLanes(LaneCall call) override {
    said.push_back(fmt::format("{} {}{}", wire::InfoOf(call.command).name, call.number,
                               call.flags == wire::kFlagFull   ? " full"
                               : call.flags == wire::kFlagDone ? " done"
                                                               : ""));
    if (call.command == Command::kCut && call.flags == wire::kFlagDone) {
      return std::vector<wire::Received>(1);
    }
    last = call;
    if (call.command == fails) return Failed("lane 1: no");
    std::vector<wire::Received> replies;
    // Others have cut as well while this one waited for its turn.
    const bool cuts_here = call.command == Command::kCut && call.flags == 0;
    if (cuts_here) cuts[0] = std::max(cuts[0], static_cast<uint32_t>(call.number) + overtaken);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (call.lane.value_or(lane) != lane) continue;
      cuts[lane] = deaf ? cuts[lane] : std::max(cuts[lane], call.cut);
      wire::Received reply;
      reply.header.cut = cuts[lane];
      if (cuts_here) reply.header.cursor = cuts[lane];
      reply.payload = PayloadOf(call, lane);
      replies.push_back(std::move(reply));
    }
    return replies;
  }

  Message PayloadOf(const LaneCall& call, size_t lane) {
    switch (call.command) {
      case Command::kCheckpoint:
        return {Text(fmt::format("part {}", lane))};
      case Command::kCommitCheckpoint:
        committed.insert(committed.begin(), {.number = static_cast<uint32_t>(call.number),
                                             .parent = 0,
                                             .rows = 5,
                                             .bytes = 50,
                                             .wall_unix_ns = 9,
                                             .attachments = {"dense"}});
        return {};
      case Command::kListCheckpoints:
        if (older) return {wire::EncodeCheckpointList(committed)};
        return {wire::EncodeCheckpointList(committed), wire::EncodeNamedBlocks(damaged)};
      case Command::kReadAttachment:
        return {Text("bytes of " + TextOf(call.payload[0]))};
      default:
        return {};
    }
  }

  uint32_t cuts[kLanes] = {3, 6};
  std::vector<wire::CheckpointEntry> committed = {
      {.number = 4, .parent = 0, .rows = 1, .bytes = 1, .wall_unix_ns = 1, .attachments = {}}};
  std::vector<wire::NamedBlock> damaged;
  bool older = false;  // a server that says nothing of damaged ones
  Command fails{};
  bool deaf = false;
  uint32_t overtaken = 0;
  std::vector<std::string> said;
  LaneCall last;
};

TEST(RemoteCheckpointerTest, ACutIsAboveAllThatIsKnown) {
  FakeLanes lanes;
  RemoteCheckpointer checkpointer(lanes);
  EXPECT_EQ(checkpointer.Cut(kNever).value(), 7U);
  EXPECT_THAT(lanes.cuts, ElementsAre(7, 7));
  lanes.committed[0].number = 20;
  EXPECT_EQ(checkpointer.Cut(kNever).value(), 21U);
  EXPECT_THAT(lanes.cuts, ElementsAre(21, 21));
  lanes.overtaken = 2;
  EXPECT_EQ(checkpointer.Cut(kNever).value(), 24U);
  EXPECT_THAT(lanes.cuts, ElementsAre(24, 24));
  lanes.deaf = true;
  EXPECT_THAT(checkpointer.Cut(kNever).status().message(), HasSubstr("keeps no checkpoints"));
}

TEST(RemoteCheckpointerTest, SavesThenCommitsThenTrims) {
  FakeLanes lanes;
  RemoteCheckpointer checkpointer(lanes);
  const std::vector<Attachment> attachments = {{"dense", "weights"}};
  const CheckpointInfo info = checkpointer.Save(7, true, attachments, 99).value();
  EXPECT_THAT(lanes.said, ElementsAre("CHECKPOINT 7 full", "COMMIT_CHECKPOINT 7", "TRIM_LOG 7",
                                      "TRIM_LOG 7 full", "CUT 7 done", "LIST_CHECKPOINTS 0 full"));
  EXPECT_EQ(info.number, 7U);
  EXPECT_EQ(info.rows, 5U);
  EXPECT_EQ(info.wall_unix_ns, 9);
  EXPECT_THAT(info.attachments, ElementsAre("dense"));
  EXPECT_EQ(lanes.last.deadline, 99);
}

TEST(RemoteCheckpointerTest, NothingIsCommittedBeforeEveryPartIsThere) {
  FakeLanes lanes;
  RemoteCheckpointer checkpointer(lanes);
  lanes.fails = Command::kCheckpoint;
  EXPECT_EQ(checkpointer.Save(7, false, {}, kNever).status().message(), "lane 1: no");
  EXPECT_THAT(lanes.said, ElementsAre("CHECKPOINT 7", "CUT 7 done")) << "the next one may begin";
  lanes.fails = Command::kCommitCheckpoint;
  EXPECT_FALSE(checkpointer.Save(7, false, {}, kNever).ok());
  EXPECT_THAT(lanes.said, ElementsAre("CHECKPOINT 7", "CUT 7 done", "CHECKPOINT 7",
                                      "COMMIT_CHECKPOINT 7", "CUT 7 done"));
  const auto parts = wire::DecodeBlocks(lanes.last.payload[0]).value();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(TextOf(parts[1]), "part 1");
  EXPECT_EQ(lanes.last.lane, 0);
  // A log that could not be trimmed is no reason to doubt the checkpoint.
  lanes.fails = Command::kTrimLog;
  EXPECT_TRUE(checkpointer.Save(7, false, {}, kNever).ok());
}

TEST(RemoteCheckpointerTest, DamagedOnesAreListedAndTheirNumbersNotTakenAgain) {
  FakeLanes lanes;
  RemoteCheckpointer checkpointer(lanes);
  lanes.damaged = {{"9", Text("CORRUPT: c/9/manifest: why")}, {"2", Text("CORRUPT: c/2/manifest")}};
  const std::vector<CheckpointInfo> infos = checkpointer.List(kNever).value();
  ASSERT_EQ(infos.size(), 3U);
  EXPECT_EQ(infos[0].number, 9U);
  EXPECT_EQ(infos[0].damage, "CORRUPT: c/9/manifest: why");
  EXPECT_EQ(infos[1].number, 4U);
  EXPECT_EQ(infos[1].damage, "");
  EXPECT_EQ(infos[2].number, 2U);
  EXPECT_EQ(checkpointer.Cut(kNever).value(), 10U);
  lanes.damaged = {{"9x", Text("why")}};
  EXPECT_EQ(checkpointer.List(kNever).status().code(), StatusCode::kInvalid);
  lanes.older = true;
  EXPECT_EQ(checkpointer.List(kNever)->size(), 1U);
}

TEST(RemoteCheckpointerTest, ListsReadsAndRestores) {
  FakeLanes lanes;
  RemoteCheckpointer checkpointer(lanes);
  EXPECT_EQ(checkpointer.List(kNever)->at(0).number, 4U);
  EXPECT_EQ(checkpointer.ReadAttachment(4, "dense", kNever).value(), "bytes of dense");
  EXPECT_EQ(lanes.last.number, 4U);
  EXPECT_TRUE(checkpointer.Restore(4, kNever).ok());
  EXPECT_EQ(lanes.last.command, Command::kRestore);
  EXPECT_FALSE(lanes.last.lane.has_value());
  EXPECT_TRUE(checkpointer.RestoreTable(4, "mine", kNever).ok());
  EXPECT_EQ(lanes.last.command, Command::kRestore);
  ASSERT_EQ(lanes.last.payload.size(), 1U);
  EXPECT_EQ(lanes.last.payload[0].size(), 4U);
  lanes.fails = Command::kRestore;
  EXPECT_FALSE(checkpointer.Restore(4, kNever).ok());
}

}  // namespace
}  // namespace strata
