// Checkpoints of one lane, on a simulated disk, with the real log: what was cut is what is loaded,
// whatever was written meanwhile; base and log give the lane that lived; RESTORE is a write.
#include <fmt/format.h>

#include <deque>
#include <random>

#include "storage/checkpoint/checkpoint_files.h"
#include "tests/ps/server/lane_machine.h"

namespace strata {
namespace {

using wire::Command;

// A large file takes a disk a while to remove, in which the lane serves.
TEST(LaneCheckpoint, TheLogIsTrimmedInTheBackground) {
  Machine machine(1, 200, true);
  const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, 1));
  ASSERT_TRUE(wire::StatusOfReply(part).ok() && machine.Commit(1, part.payload.at(0)).ok());
  const size_t before = machine.disk.List("log")->size();
  machine.holds = true;
  EXPECT_TRUE(machine.Send(machine.Call(Command::kTrimLog, 1), {}).empty());
  for (const bool removes : {false, true}) {  // first the base moves
    ASSERT_EQ(machine.held.size(), 1U);
    EXPECT_EQ(machine.disk.List("log")->size(), before + (removes ? 1 : 0)) << "with the base";
    machine.held.front()();
    machine.held.pop_front();
    const auto replies = machine.Tick();
    ASSERT_EQ(replies.size(), removes ? 1U : 0U);
    EXPECT_TRUE(!removes || wire::StatusOfReply(replies[0].second).ok());
  }
  EXPECT_LT(machine.disk.List("log")->size(), before);
}

TEST(LaneCheckpoint, BaseAndLogGiveTheLaneThatLived) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Machine machine(seed, 0, true);
    std::vector<Traffic::Sent> sent;
    for (uint32_t number = 1; number <= 4; ++number) {
      machine.Play(60, &sent);
      machine.Checkpoint(number, number == 1);
      machine.Play(20, &sent);
      const Rows64 lived = machine.Rows();
      EXPECT_EQ(machine.lane->lane.Report().log_base, number);
      machine.Boot();
      EXPECT_EQ(machine.Rows(), lived) << "checkpoint " << number;
      EXPECT_EQ(machine.lane->lane.Report().cut, number);
    }
    // Nothing that was ever decided is decided again.
    const Rows64 before = machine.Rows();
    for (const Traffic::Sent& one : sent) {
      if (!one.header.is(wire::kFlagSync)) machine.Send(one.header, one.payload);
    }
    EXPECT_EQ(machine.Rows(), before);
  }
}

// Requests come between the cut and the saving, and between any two pages of it.
TEST(LaneCheckpoint, WhatWasCutIsWhatIsRestored) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Machine machine(seed, 0, true);
    Rows64 cuts[4];
    for (uint32_t number = 1; number <= 3; ++number) {
      machine.Play(80);
      cuts[number] = machine.Rows();
      wire::Header ping = machine.admin.Read(Command::kPing);
      ping.cut = number;
      EXPECT_EQ(machine.Ask(ping).header.cut, number);
      machine.Play(30);
      auto replies = machine.Send(machine.Call(Command::kCheckpoint, number), {});
      for (int i = 0; replies.empty() && i < 1000; ++i) {
        machine.Play(1);
        replies = machine.Tick();
        std::erase_if(replies, [](const auto& reply) {
          return reply.second.header.command != Command::kCheckpoint;
        });
      }
      ASSERT_EQ(replies.size(), 1U);
      ASSERT_TRUE(machine.Commit(number, replies[0].second.payload.at(0)).ok());
      ASSERT_TRUE(wire::StatusOfReply(machine.Ask(machine.Call(Command::kTrimLog, number))).ok());
    }
    for (const uint32_t number : {3U, 2U}) {
      const Status restored = machine.Restore(number);
      ASSERT_TRUE(restored.ok()) << restored.ToString();
      EXPECT_EQ(machine.Rows(), cuts[number]) << "checkpoint " << number;
    }
    machine.Play(30);
    const Rows64 lived = machine.Rows();
    machine.Boot();
    EXPECT_EQ(machine.Rows(), lived);
    machine.Checkpoint(4, false);
    ASSERT_TRUE(machine.Restore(4).ok());
    EXPECT_EQ(machine.Rows(), lived);
  }
}

// Of the rows of `all` those of one table.
Rows64 OfTable(const Rows64& all, const std::string& table) {
  Rows64 rows;
  for (const auto& [key, bits] : all) {
    if (key.first == table) rows.emplace(key, bits);
  }
  return rows;
}

TEST(LaneCheckpoint, ATableIsRestoredWhileOthersGoOn) {
  Machine machine(21, 100);
  const Rows64 before = machine.Rows();
  machine.Checkpoint(1, true);
  machine.Play(100);
  const Rows64 after = machine.Rows();
  ASSERT_NE(OfTable(before, "t1"), OfTable(after, "t1"));
  ASSERT_NE(OfTable(before, "t0"), OfTable(after, "t0"));
  const auto named = [](std::string_view name) {
    return Message{Frame::Copy(std::as_bytes(std::span(name)))};
  };
  const Status restored =
      wire::StatusOfReply(machine.Ask(machine.Call(Command::kRestore, 1), named("t1")));
  ASSERT_TRUE(restored.ok()) << restored.ToString();
  for (const bool booted : {false, true}) {
    if (booted) machine.Boot();
    const Rows64 now = machine.Rows();
    EXPECT_EQ(OfTable(now, "t0"), OfTable(after, "t0"));
    EXPECT_EQ(OfTable(now, "t1"), OfTable(before, "t1"));
    EXPECT_EQ(OfTable(now, "t2"), OfTable(after, "t2"));
  }
  const Status missing =
      wire::StatusOfReply(machine.Ask(machine.Call(Command::kRestore, 1), named("none")));
  EXPECT_EQ(missing.code(), StatusCode::kNotFound) << missing.ToString();
  const Status nonsense =
      wire::StatusOfReply(machine.Ask(machine.Call(Command::kRestore, 1), named("a b")));
  EXPECT_EQ(nonsense.code(), StatusCode::kInvalid) << nonsense.ToString();
}

// Their names have the same 32 bits in a header.
TEST(LaneCheckpoint, ATableThatIsRestoredTakesNoOthersPlace) {
  const TableSpec lost = TestSpec("job135225_emb");
  const TableSpec present = TestSpec("job85452_emb");
  Machine machine(23);
  const auto create = [&](const TableSpec& spec) {
    const wire::Header header = machine.admin.Write(Command::kCreateTable, IdOf(spec));
    return wire::StatusOfReply(machine.Ask(
        header, {wire::EncodeTableDefinitions(std::vector<wire::TableDefinition>{ToWire(spec)})}));
  };
  ASSERT_TRUE(create(lost).ok());
  machine.Checkpoint(1, true);
  const wire::Header drop = machine.admin.Write(Command::kDropTable, IdOf(lost));
  ASSERT_TRUE(wire::StatusOfReply(machine.Ask(drop)).ok());
  ASSERT_TRUE(create(present).ok());
  const Message name = {Frame::Copy(std::as_bytes(std::span(lost.name)))};
  const Status restored =
      wire::StatusOfReply(machine.Ask(machine.Call(Command::kRestore, 1), name));
  EXPECT_EQ(restored.code(), StatusCode::kExists) << restored.ToString();
  for (const TableSpec& spec : {lost, present}) {
    EXPECT_NE(restored.message().find("'" + spec.name + "'"), std::string::npos);
  }
}

TEST(LaneCheckpoint, RepeatsJoinAndAreAnsweredAgain) {
  Machine machine(5, 50);
  EXPECT_TRUE(machine.Send(machine.Call(Command::kCheckpoint, 7), {}).empty());
  EXPECT_TRUE(machine.Send(machine.Call(Command::kCheckpoint, 7), {}).empty());
  std::vector<std::pair<std::string, wire::Received>> replies;
  while (replies.size() < 2) {
    for (auto& reply : machine.Tick()) replies.push_back(std::move(reply));
  }
  const wire::Received again = machine.Ask(machine.Call(Command::kCheckpoint, 7));
  machine.Boot();  // the next process answers from the file
  const wire::Received later = machine.Ask(machine.Call(Command::kCheckpoint, 7));
  for (const wire::Received& reply : {replies[0].second, replies[1].second, again, later}) {
    ASSERT_TRUE(wire::StatusOfReply(reply).ok()) << wire::StatusOfReply(reply).ToString();
    EXPECT_TRUE(std::ranges::equal(reply.payload[0].bytes(), later.payload[0].bytes()));
  }
  ASSERT_TRUE(machine.Commit(7, later.payload[0]).ok());
  ASSERT_TRUE(machine.Commit(7, later.payload[0]).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(wire::StatusOfReply(machine.Ask(machine.Call(Command::kTrimLog, 7))).ok());
  }
  // A cut whose process is gone before it was saved cannot be saved.
  wire::Header ping = machine.admin.Read(Command::kPing);
  ping.cut = 8;
  machine.Ask(ping);
  machine.Boot();
  const Status gone = wire::StatusOfReply(machine.Ask(machine.Call(Command::kCheckpoint, 8)));
  EXPECT_EQ(gone.code(), StatusCode::kCancelled);
  EXPECT_NE(gone.message().find("server 0 has restarted since the cut 8"), std::string::npos)
      << gone.ToString();
}

struct Cut {
  Status status;
  uint64_t number = 0;
};

// One client after the other asks for a number; `again` repeats its last request.
struct Takers {
  Machine& machine;
  std::deque<TestClient> clients;

  Cut Ask(size_t i, uint32_t least, bool again = false) {
    while (clients.size() <= i) clients.push_back({.id = 2000 + clients.size()});
    wire::Header header = clients[i].Read(Command::kCut);
    header.cursor = least;
    if (!again) ++clients[i].next_sequence;
    header.sequence = clients[i].next_sequence;
    const wire::Received reply = machine.Ask(header);
    return {wire::StatusOfReply(reply), reply.header.cursor};
  }
  Status Say(size_t i, Command command, uint32_t number, uint32_t flags = 0) {
    wire::Header header = clients.at(i).Read(command);
    header.cursor = number;
    header.flags = flags;
    return wire::StatusOfReply(machine.Ask(header));
  }
  void Pass(TimeNs time) { machine.lane->now += time; }
};

TEST(LaneCut, ANumberBelongsToOneTakerAndTheOthersWaitInTheirOrder) {
  Machine machine(3, 20);
  Takers takers{machine, {}};
  EXPECT_EQ(takers.Ask(0, 5).number, 5U);
  EXPECT_EQ(takers.Ask(0, 5, true).number, 5U) << "the reply was lost";
  for (const size_t waits : {1, 2, 0}) {
    const Cut cut = takers.Ask(waits, 1);
    EXPECT_EQ(cut.status.code(), StatusCode::kUnavailable);
    EXPECT_NE(cut.status.message().find("checkpoint 5"), std::string::npos);
  }
  ASSERT_TRUE(takers.Say(1, Command::kCut, 5, wire::kFlagDone).ok());
  EXPECT_FALSE(takers.Ask(1, 1, true).status.ok()) << "somebody else cannot end it";
  ASSERT_TRUE(takers.Say(0, Command::kCut, 5, wire::kFlagDone).ok());
  EXPECT_EQ(takers.Ask(2, 1, true).status.code(), StatusCode::kUnavailable) << "1 came before it";
  EXPECT_EQ(takers.Ask(1, 1, true).number, 6U) << "one is above all that are known";
  ASSERT_TRUE(takers.Say(1, Command::kCut, 6, wire::kFlagDone).ok());
  EXPECT_EQ(takers.Ask(1, 1, true).number, 6U) << "a late repeat begins nothing";
  EXPECT_EQ(takers.Ask(1, 1).status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(takers.Ask(2, 1, true).number, 7U);
  EXPECT_EQ(machine.lane->lane.Report().cut, 7U);
}

TEST(LaneCut, WhoAsksNoMoreLosesItsPlace) {
  Machine machine(3);
  Takers takers{machine, {}};
  EXPECT_EQ(takers.Ask(0, 1).number, 1U);
  EXPECT_FALSE(takers.Ask(1, 1).status.ok());
  takers.Pass(CheckpointTurn::kPlaceKept - 1);
  EXPECT_FALSE(takers.Ask(2, 1).status.ok());
  ASSERT_TRUE(takers.Say(0, Command::kCut, 1, wire::kFlagDone).ok());
  EXPECT_FALSE(takers.Ask(2, 1, true).status.ok());
  takers.Pass(1);
  EXPECT_EQ(takers.Ask(2, 1, true).number, 2U);
}

TEST(LaneCut, ATakerThatIsSilentHoldsNobodyUpForLong) {
  Machine machine(3, 50);
  Takers takers{machine, {}};
  EXPECT_EQ(takers.Ask(0, 1).number, 1U);
  takers.Pass(CheckpointTurn::kSilenceMax - 1);
  EXPECT_FALSE(takers.Ask(1, 1).status.ok());
  EXPECT_TRUE(takers.Say(0, Command::kCheckpoint, 1).ok()) << "a sign of life";
  takers.Pass(CheckpointTurn::kSilenceMax - 1);
  EXPECT_FALSE(takers.Ask(1, 1).status.ok());
  EXPECT_TRUE(takers.Say(1, Command::kCheckpoint, 1).ok()) << "somebody else's is none";
  takers.Pass(1);
  EXPECT_EQ(takers.Ask(1, 1).number, 2U);
  // What was saved is there to be committed; what was not, hears what came between.
  EXPECT_TRUE(takers.Say(0, Command::kCheckpoint, 1).ok());
  takers.Pass(CheckpointTurn::kSilenceMax);
  EXPECT_EQ(takers.Ask(0, 1).number, 3U);
  const Status late = takers.Say(1, Command::kCheckpoint, 2);
  EXPECT_EQ(late.code(), StatusCode::kCancelled);
  EXPECT_NE(late.message().find("the cut 3 came before cut 2 was saved"), std::string::npos)
      << late.ToString();
}

TEST(LaneCut, WhileAManifestIsWrittenNobodyNeedBeHeard) {
  Machine machine(3, 50);
  Takers takers{machine, {}};
  ASSERT_EQ(takers.Ask(0, 1).number, 1U);
  const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, 1));
  machine.holds = true;
  const Frame parts[] = {part.payload.at(0)};
  machine.Send(machine.Call(Command::kCommitCheckpoint, 1),
               {wire::EncodeBlocks(parts), wire::EncodeNamedBlocks({})});
  takers.Pass(CheckpointTurn::kSilenceMax);
  EXPECT_FALSE(takers.Ask(1, 1).status.ok());
  machine.holds = false;
  machine.held.front()();
  machine.Tick();
  EXPECT_EQ(takers.Ask(1, 1).number, 2U);
}

TEST(LaneCut, ARestartForgetsWhoseTurnItIs) {
  Machine machine(3, 50);
  Takers takers{machine, {}};
  ASSERT_EQ(takers.Ask(0, 4).number, 4U);
  machine.Boot();
  EXPECT_EQ(takers.Ask(1, 1).number, 5U);
  EXPECT_EQ(takers.Say(0, Command::kCheckpoint, 4).code(), StatusCode::kCancelled);
}

TEST(LaneCut, OnlyTheFirstLaneGivesNumbers) {
  LaneConfig config = TestLaneConfig(2, 1);
  SimDisk disk;
  config.checkpoints = CheckpointConfig{.disk = &disk, .root = kRoot, .base = nullptr};
  TestLane lane(std::move(config));
  TestClient client;
  wire::Header header = client.Read(Command::kCut);
  header.cursor = 1;
  EXPECT_EQ(lane.AskStatus(header).code(), StatusCode::kRefused);
  EXPECT_EQ(lane.AskStatus(client.Read(Command::kCut)).code(), StatusCode::kInvalid);
}

// A lane whose background does nothing until it is asked to.
struct IdleBackground {
  SimDisk disk;
  std::deque<std::function<void()>> work;
  TestClient client;
  std::unique_ptr<TestLane> lane;

  explicit IdleBackground(size_t queue_bytes_max) {
    LaneConfig config = TestLaneConfig();
    config.queue_bytes_max = queue_bytes_max;
    config.checkpoints.emplace();
    config.checkpoints->disk = &disk;
    config.checkpoints->root = "checkpoints";
    config.checkpoints->clock = &RealClock();
    config.background = [this](std::function<void()> one) { work.push_back(std::move(one)); };
    lane = std::make_unique<TestLane>(config);
    wire::Header ping = client.Read(Command::kPing);
    ping.cut = 1;  // which is committed later on
    EXPECT_TRUE(lane->AskStatus(ping).ok());
  }
  // The answer at once, if there is one.
  std::optional<Status> Commit(Message payload) {
    wire::Header header = client.Read(Command::kCommitCheckpoint);
    header.cursor = 1;
    return Only(lane->Handle("peer", wire::Seal(header, std::move(payload))));
  }
  std::optional<Status> Work() {
    work.front()();
    work.pop_front();
    return Only(lane->Tick());
  }
  static std::optional<Status> Only(std::vector<std::pair<std::string, wire::Received>> replies) {
    if (replies.empty()) return std::nullopt;
    return wire::StatusOfReply(replies.front().second);
  }
};

Frame FrameOf(const std::string& text) { return Frame::Copy(std::as_bytes(std::span(text))); }

TEST(LaneCheckpoint, ADescriptionIsReadInTheBackgroundAndNeitherDeepNorLong) {
  IdleBackground background(256 << 20);
  const auto commit = [&](const std::string& part) {
    const Message payload = {wire::EncodeBlocks(std::vector<Frame>{FrameOf(part)}), Frame()};
    EXPECT_FALSE(background.Commit(payload).has_value());
    return background.Work().value_or(Status());
  };
  for (const std::string& part : {std::string(100'000, '['), std::string(3 << 20, ' ')}) {
    EXPECT_EQ(commit(part).code(), StatusCode::kInvalid) << part.substr(0, 3);
  }
  EXPECT_NE(commit(std::string(100'000, '[')).message().find("deep"), std::string::npos);
}

TEST(LaneCheckpoint, ACommitHasNoMoreAttachmentsAndPartsThanThereMayBe) {
  IdleBackground background(256 << 20);
  std::vector<wire::NamedBlock> many(format::kAttachmentsMax + 1, {.name = "a", .bytes = {}});
  EXPECT_FALSE(background.Commit({Frame(), wire::EncodeNamedBlocks(many)}).has_value());
  const Status attachments = background.Work().value_or(Status());
  EXPECT_EQ(attachments.code(), StatusCode::kInvalid);
  EXPECT_NE(attachments.message().find("4097 attachments"), std::string::npos);
  const Frame parts = wire::EncodeBlocks(std::vector<Frame>(1000, FrameOf("{}")));
  EXPECT_FALSE(background.Commit({parts, Frame()}).has_value());
  EXPECT_EQ(background.Work().value_or(Status()).message(), "1,000 parts of 1 lane");
}

TEST(LaneCheckpoint, WhatWaitsForTheBackgroundIsBounded) {
  IdleBackground background(4 << 20);
  const Frame attachment = FrameOf(std::string(300'000, 'x'));
  const Message payload = {
      Frame(), wire::EncodeNamedBlocks(std::vector<wire::NamedBlock>{{"dense", attachment}})};
  size_t taken = 0;
  std::optional<Status> last;
  for (; !last && taken < 100; ++taken) last = background.Commit(payload);
  EXPECT_EQ(last.value_or(Status()).code(), StatusCode::kUnavailable);
  EXPECT_EQ(taken, 4U);
  while (!background.work.empty()) background.Work();
  EXPECT_FALSE(background.Commit(payload).has_value());
}

TEST(LaneCheckpoint, TheManifestNamesTheJobThatTookIt) {
  Machine machine(22, 20);
  const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, 1));
  const auto commit = [&](std::string_view job) {
    const Frame parts[] = {part.payload.at(0)};
    const wire::NamedBlock attachments[] = {
        {"job-name", Frame::Copy(std::as_bytes(std::span(job)))}};
    return wire::StatusOfReply(
        machine.Ask(machine.Call(Command::kCommitCheckpoint, 1),
                    {wire::EncodeBlocks(parts), wire::EncodeNamedBlocks(attachments)}));
  };
  EXPECT_EQ(commit("no name").code(), StatusCode::kInvalid);
  ASSERT_TRUE(commit("ctr").ok());
  EXPECT_EQ(ReadCheckpointManifest(machine.disk, kRoot, 1)->job, "ctr");
}

TEST(LaneCheckpoint, ListsAndAttachments) {
  Machine machine(6);
  for (const uint32_t number : {1U, 2U, 3U}) {
    machine.Play(30);
    machine.Checkpoint(number, true);
  }
  machine.Finish();
  const wire::Received listed = machine.Ask(machine.Call(Command::kListCheckpoints, 0));
  const auto entries = wire::DecodeCheckpointList(listed.payload.at(0).bytes()).value();
  ASSERT_EQ(entries.size(), 2U);  // the newest two are kept
  EXPECT_EQ(entries[0].number, 3U);
  EXPECT_EQ(entries[0].parent, 0U);
  EXPECT_EQ(entries[0].attachments, std::vector<std::string>{"dense"});
  EXPECT_GT(entries[0].rows, 0U);
  const auto name = [](const std::string& text) {
    return Message{Frame::Copy(std::as_bytes(std::span(text)))};
  };
  const wire::Received bytes =
      machine.Ask(machine.Call(Command::kReadAttachment, 3), name("dense"));
  EXPECT_EQ(bytes.payload.at(0).size(), 7U);
  EXPECT_EQ(
      wire::StatusOfReply(machine.Ask(machine.Call(Command::kReadAttachment, 3), name("x"))).code(),
      StatusCode::kNotFound);
  EXPECT_EQ(machine.Restore(1).code(), StatusCode::kNotFound);
  EXPECT_EQ(machine.Restore(0).code(), StatusCode::kInvalid);
  // A damaged one is told to those who know that there are such, in a frame of its own.
  const std::string manifest = CheckpointFolder(kRoot, 2) + "/manifest";
  ASSERT_TRUE(WriteFileAtomically(machine.disk, manifest, "strata-checkpoint 1 x").ok());
  wire::Header list = machine.Call(Command::kListCheckpoints, 0);
  EXPECT_EQ(machine.Ask(list).payload.size(), 1U);
  list = machine.Call(Command::kListCheckpoints, 0);
  list.flags |= wire::kFlagFull;
  const wire::Received both = machine.Ask(list);
  ASSERT_EQ(both.payload.size(), 2U);
  EXPECT_EQ(wire::DecodeCheckpointList(both.payload[0].bytes())->size(), 1U);
  const auto damaged = wire::DecodeNamedBlocks(both.payload[1]).value();
  ASSERT_EQ(damaged.size(), 1U);
  EXPECT_EQ(damaged[0].name, "2");
  const auto why = damaged[0].bytes.bytes();
  EXPECT_NE(std::string(reinterpret_cast<const char*>(why.data()), why.size()).find(manifest),
            std::string::npos);
}

TEST(LaneCheckpoint, AFullDiskFailsTheCheckpointAlone) {
  Machine machine(7, 50);
  const Rows64 rows = machine.Rows();
  machine.Send(machine.admin.Read(Command::kPing), {});
  wire::Header ping = machine.admin.Read(Command::kPing);
  ping.cut = 1;
  machine.Ask(ping);
  machine.disk.SetCapacity(machine.disk.bytes_used() + 10);
  for (const uint32_t number : {1, 1, 1, 2, 2}) {  // whoever asks again hears the same
    const Status full =
        wire::StatusOfReply(machine.Ask(machine.Call(Command::kCheckpoint, number)));
    EXPECT_EQ(full.code(), StatusCode::kDiskFull) << number << ": " << full.ToString();
  }
  machine.disk.SetCapacity(UINT64_MAX);
  EXPECT_EQ(machine.Rows(), rows);
  machine.Checkpoint(3, false);
  machine.Boot();
  EXPECT_EQ(machine.Rows(), rows);
}

// The checkpoint lies elsewhere, or fits; what the log has filled to the last byte is trimmed.
TEST(LaneCheckpoint, ATrimNeedsNoRoomAndMakesSome) {
  Machine machine(17);
  for (uint32_t number = 1; number <= 6; ++number) {
    machine.Play(100);
    const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, number));
    ASSERT_TRUE(machine.Commit(number, part.payload.at(0)).ok());
    const uint64_t full = machine.disk.bytes_used();
    machine.disk.SetCapacity(full);
    if (number % 2 == 0) machine.Boot();  // its room comes back in time
    const Status trimmed =
        wire::StatusOfReply(machine.Ask(machine.Call(Command::kTrimLog, number)));
    ASSERT_TRUE(trimmed.ok()) << number << ": " << trimmed.ToString();
    EXPECT_LT(machine.disk.bytes_used(), full) << number;
    machine.disk.SetCapacity(UINT64_MAX);
  }
  const Rows64 rows = machine.Rows();
  machine.Boot();
  EXPECT_EQ(machine.Rows(), rows);
}

// Lanes of other shards may have taken what is restored, and then nothing can build on it.
TEST(LaneCheckpoint, BehindARestoreTheNextOneIsFull) {
  Machine machine(11, 50);
  machine.Checkpoint(1, true);
  machine.Play(50);
  machine.Checkpoint(2, false);
  EXPECT_EQ(ReadCheckpointManifest(machine.disk, kRoot, 2)->parent, 1U);
  // Of a checkpoint that was committed before the restore the log is trimmed behind it.
  machine.Play(50);
  const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, 3));
  ASSERT_TRUE(machine.Commit(3, part.payload.at(0)).ok());
  ASSERT_TRUE(machine.Restore(2).ok());
  ASSERT_TRUE(wire::StatusOfReply(machine.Ask(machine.Call(Command::kTrimLog, 3))).ok());
  const Rows64 rows = machine.Rows();
  machine.Checkpoint(4, false);
  EXPECT_EQ(ReadCheckpointManifest(machine.disk, kRoot, 4)->parent, 0U);
  machine.Boot();
  EXPECT_EQ(machine.Rows(), rows);
  machine.Checkpoint(5, false);
  EXPECT_EQ(ReadCheckpointManifest(machine.disk, kRoot, 5)->parent, 4U);
}

// The log names what was restored until it begins behind that; then it goes as others do.
TEST(LaneCheckpoint, WhatWasRestoredStaysForAsLongAsTheLogNamesIt) {
  Machine machine(12, 50);
  machine.Checkpoint(1, true);
  machine.Play(50);
  machine.Checkpoint(2, true);
  const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, 3));
  ASSERT_TRUE(machine.Commit(3, part.payload.at(0)).ok());
  ASSERT_TRUE(machine.Restore(1).ok());
  for (const uint32_t flags : {0U, uint32_t{wire::kFlagFull}}) {
    wire::Header trim = machine.Call(Command::kTrimLog, 3);
    trim.flags |= flags;
    ASSERT_TRUE(wire::StatusOfReply(machine.Ask(trim)).ok());
  }
  machine.Play(50);
  const Rows64 rows = machine.Rows();
  machine.Boot();
  EXPECT_EQ(machine.Rows(), rows);
  machine.Checkpoint(4, false);
  EXPECT_EQ(ReadCheckpointManifest(machine.disk, kRoot, 1).status().code(), StatusCode::kNotFound);
  machine.Boot();
  EXPECT_EQ(machine.Rows(), rows);
}

// CORRUPT would say that the request came damaged, and the client would send it until its deadline.
TEST(LaneCheckpoint, ADamagedCheckpointFailsTheRestoreAtOnceAndChangesNothing) {
  Machine machine(9, 50);
  machine.Checkpoint(1, true);
  machine.Play(20);
  const Rows64 rows = machine.Rows();
  const std::string manifest = kRoot + "/0000000001/manifest";
  const auto text = ReadFile(machine.disk, manifest, 1 << 20);
  ASSERT_TRUE(text.ok());
  std::string damaged = *text;
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(machine.disk, manifest, damaged).ok());
  const Status status = machine.Restore(1);
  EXPECT_EQ(status.code(), StatusCode::kFailed) << status.ToString();
  EXPECT_NE(status.message().find("CORRUPT"), std::string::npos) << status.ToString();
  EXPECT_EQ(machine.Rows(), rows);
}

TEST(LaneCheckpoint, AFolderOfAnotherClusterIsRefusedNamingBoth) {
  Machine machine(1);
  machine.Checkpoint(1, true);
  auto manifest = ReadCheckpointManifest(machine.disk, kRoot, 1);
  ASSERT_TRUE(manifest.ok());
  const uint64_t ours = manifest->cluster;
  manifest->cluster = 0xabcdef;
  ASSERT_TRUE(WriteFileAtomically(machine.disk, kRoot + "/0000000001/manifest",
                                  format::EncodeCheckpointManifest(*manifest))
                  .ok());
  for (const Command command : {Command::kRestore, Command::kCheckpoint}) {
    const uint32_t number = command == Command::kRestore ? 1 : 2;
    const Status status = wire::StatusOfReply(machine.Ask(machine.Call(command, number)));
    EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
    for (const uint64_t cluster : {uint64_t{0xabcdef}, ours}) {
      EXPECT_NE(status.message().find(fmt::format("{:016x}", cluster)), std::string::npos)
          << status.ToString();
    }
  }
  EXPECT_EQ(machine.disk.List(kRoot)->size(), 1u);  // nothing was begun
}

TEST(LaneCheckpoint, WithoutAFolderTheyAreRefusedByName) {
  TestLane lane;
  TestClient client;
  wire::Header header = client.Read(Command::kCheckpoint);
  header.cursor = 1;
  const Status status = lane.AskStatus(header);
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_NE(status.message().find("server.checkpoints"), std::string::npos);
}

}  // namespace
}  // namespace strata
