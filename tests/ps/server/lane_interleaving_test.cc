// Commands that begin work in the background and finish it later, in each other's way: two of the
// same, and different ones. Each finish belongs to its own beginning, and the log replays whatever
// order came about.
#include <fmt/format.h>

#include <map>
#include <random>
#include <set>

#include "proto/format/log_base.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "tests/ps/server/lane_machine.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using wire::Command;
using Replies = std::vector<std::pair<std::string, wire::Received>>;

// Without those to the traffic's pushes that waited for a step.
Replies OfAdmins(Replies replies) {
  std::erase_if(replies, [](const auto& reply) { return reply.second.header.client_lo < 500; });
  return replies;
}

// Runs what is held, the oldest first, and what it leaves to finish.
Replies RunHeld(Machine& machine) {
  Replies replies;
  while (!machine.held.empty() || machine.lane->lane.NextTick() <= machine.lane->now) {
    if (!machine.held.empty()) {
      const auto work = std::move(machine.held.front());
      machine.held.pop_front();
      work();
    }
    for (auto& reply : machine.Tick()) replies.push_back(std::move(reply));
  }
  return OfAdmins(std::move(replies));
}

wire::Header RestoreOf(TestClient& client, uint32_t number) {
  wire::Header header = client.Write(Command::kRestore);
  header.cursor = number;
  return header;
}

// The clients of the RESTOREs in the log.
std::vector<uint64_t> RestorersIn(Machine& machine) {
  std::vector<uint64_t> clients;
  const auto visit = [&](const LogRecord& record) -> Status {
    if (record.kind != RecordKind::kRestored) return {};
    STRATA_ASSIGN(const LoggedRestore restored, DecodeRestored(record.body));
    clients.push_back(restored.header.client_lo);
    return {};
  };
  Lsn from = 1;
  const std::string base = machine.Folder() + "/base";
  const auto bytes = ReadFile(machine.disk, base, format::kLogBaseBytesMax);
  if (bytes.ok()) from = format::DecodeLogBase(*bytes, base)->cut_lsn + 1;
  EXPECT_TRUE(ReplayLog(machine.Log(), from, visit).ok());
  return clients;
}

TEST(LaneInterleaving, ASecondRestoreIsUnavailableWhileTheFirstOneLoads) {
  Machine machine(1, 60);
  machine.Checkpoint(1, true);
  TestClient first{.id = 500}, second{.id = 501};
  machine.holds = true;
  EXPECT_TRUE(machine.Send(RestoreOf(first, 1), {}).empty());
  const wire::Header late = RestoreOf(second, 1);
  const Replies refused = machine.Send(late, {});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(refused[0].second).code(), StatusCode::kUnavailable);
  const Replies done = RunHeld(machine);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_TRUE(wire::StatusOfReply(done[0].second).ok());
  EXPECT_EQ(done[0].second.header.client_lo, first.id);
  EXPECT_EQ(RestorersIn(machine), std::vector<uint64_t>{first.id});
  machine.Send(late, {});  // it asks again, under its sequence
  ASSERT_EQ(RunHeld(machine).size(), 1U);
  EXPECT_EQ(RestorersIn(machine), (std::vector<uint64_t>{first.id, second.id}));
}

TEST(LaneInterleaving, ARepeatThatNamesAnotherCheckpointDoesNotJoin) {
  Machine machine(1, 60);
  machine.Checkpoint(1, true);
  machine.holds = true;
  TestClient client{.id = 500};
  wire::Header header = RestoreOf(client, 1);
  EXPECT_TRUE(machine.Send(header, {}).empty());
  header.request_id = 77;
  header.cursor = 2;
  const Replies other = machine.Send(header, {});
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(other[0].second).code(), StatusCode::kInvalid);
  header.request_id = 78;
  header.cursor = 1;
  EXPECT_TRUE(machine.Send(header, {}).empty());
  EXPECT_EQ(RunHeld(machine).size(), 2U);
}

TEST(LaneInterleaving, AServerThatEndsAnswersTheRestoreAndItsLoadChangesNothing) {
  Machine machine(1, 60);
  machine.Checkpoint(1, true);
  machine.holds = true;
  TestClient client{.id = 500};
  EXPECT_TRUE(machine.Send(RestoreOf(client, 1), {}).empty());
  EXPECT_FALSE(machine.lane->lane.Idle());
  std::vector<Envelope> out;
  machine.lane->lane.EndAll(&out);
  const Replies ended = OfAdmins(TestLane::Opened(std::move(out)));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(ended[0].second).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(RunHeld(machine).empty());
  EXPECT_TRUE(RestorersIn(machine).empty());
}

TEST(LaneInterleaving, TheBaseOfALogNeverMovesBack) {
  Machine machine(1, 60);
  for (const uint32_t number : {1U, 2U}) {
    const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, number));
    ASSERT_TRUE(machine.Commit(number, part.payload.at(0)).ok());
    machine.Play(60);
  }
  const Rows64 rows = machine.Rows();
  machine.holds = true;
  EXPECT_TRUE(machine.Send(machine.Call(Command::kTrimLog, 2), {}).empty());
  const Replies late = machine.Send(machine.Call(Command::kTrimLog, 1), {});
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(late[0].second).code(), StatusCode::kUnavailable);
  ASSERT_EQ(RunHeld(machine).size(), 1U);
  EXPECT_EQ(machine.lane->lane.Report().log_base, 2U);
  machine.holds = false;
  machine.Boot();
  EXPECT_EQ(machine.lane->lane.Report().log_base, 2U);
  EXPECT_EQ(machine.Rows(), rows);
}

// The log is trimmed between the cut and the saving: the part builds on what it did at the cut.
TEST(LaneInterleaving, ATrimAfterACutChangesNothingOfItsPart) {
  Machine machine(1, 60);
  machine.Checkpoint(1, true);
  machine.Play(30);
  const wire::Received second = machine.Ask(machine.Call(Command::kCheckpoint, 2));
  ASSERT_TRUE(machine.Commit(2, second.payload.at(0)).ok());
  machine.Play(30);
  wire::Header ping = machine.admin.Read(Command::kPing);
  ping.cut = 3;
  machine.Ask(ping);
  for (const uint32_t flags : {0U, uint32_t{wire::kFlagFull}}) {
    wire::Header trim = machine.Call(Command::kTrimLog, 2);
    trim.flags |= flags;
    ASSERT_TRUE(wire::StatusOfReply(machine.Ask(trim)).ok());
  }
  machine.Finish();
  const Rows64 rows = machine.Rows();
  const wire::Received third = machine.Ask(machine.Call(Command::kCheckpoint, 3));
  ASSERT_TRUE(wire::StatusOfReply(third).ok()) << wire::StatusOfReply(third).ToString();
  ASSERT_TRUE(machine.Commit(3, third.payload.at(0)).ok());
  EXPECT_EQ(ReadCheckpointManifest(machine.disk, kRoot, 3)->parent, 1U);
  ASSERT_TRUE(machine.Restore(3).ok());
  EXPECT_EQ(machine.Rows(), rows);
}

// Sends commands in a random order, with a slow background, and counts their answers.
class Interleaver {
 public:
  explicit Interleaver(uint64_t seed) : machine(seed, 40, true), random_(seed) {
    machine.Checkpoint(1, true);
    numbers_.push_back(1);
    for (uint64_t i = 0; i < 3; ++i) {
      admins_.push_back({.id = 600 + i, .next_request = 1 + 1'000'000 * i});
    }
    machine.holds = true;
  }

  void Step() {
    TestClient& admin = admins_[random_() % admins_.size()];
    switch (random_() % 9) {
      case 0:
      case 1:
        return Send(RestoreOf(admin, Any()));
      case 2: {
        wire::Header cut = admin.Read(Command::kCut);
        cut.sequence = ++cuts_;
        cut.cursor = 1;
        machine.lane->now += CheckpointTurn::kSilenceMax;
        return Send(cut);
      }
      case 3:
        return Save(admin);
      case 4:
        return Commit(admin);
      case 5: {
        wire::Header trim = Of(admin, Command::kTrimLog, Any());
        if (random_() % 2 == 0) trim.flags |= wire::kFlagFull;
        return Send(trim);
      }
      case 6:
        return Take(machine.Tick());
      case 7:
        return Background();
      default:
        for (int i = 0; i < 3; ++i) {
          Traffic::Sent next = machine.traffic.Next();
          Take(machine.Send(next.header, std::move(next.payload)));
        }
    }
  }
  void Drain() { Take(RunHeld(machine)); }
  void Restart() {
    machine.holds = false;
    machine.Boot();
    machine.holds = true;
    asked_.clear();
    parts_.clear();
  }
  size_t unanswered() const { return asked_.size(); }

  Machine machine;

 private:
  static wire::Header Of(TestClient& client, Command command, uint32_t number) {
    wire::Header header = client.Read(command);
    header.cursor = number;
    return header;
  }
  uint32_t Newest() { return machine.lane->lane.Report().cut; }
  uint32_t Any() { return numbers_[random_() % numbers_.size()]; }
  void Send(const wire::Header& header, Message payload = {}) {
    asked_.insert({header.client_lo, header.request_id});
    Take(machine.Send(header, std::move(payload)));
  }
  void Save(TestClient& admin) {
    const wire::Header header = Of(admin, Command::kCheckpoint, Newest());
    saving_[header.request_id] = Newest();
    Send(header);
  }
  void Commit(TestClient& admin) {
    if (parts_.empty()) return;
    const auto& [number, part] = parts_.back();
    const Frame parts[] = {part};
    Send(Of(admin, Command::kCommitCheckpoint, number),
         {wire::EncodeBlocks(parts), wire::EncodeNamedBlocks({})});
  }
  void Background() {
    if (machine.held.empty()) return;
    const auto work = std::move(machine.held.front());
    machine.held.pop_front();
    work();
  }
  void Take(Replies replies) {
    for (const auto& [peer, reply] : OfAdmins(std::move(replies))) {
      const wire::Header& header = reply.header;
      const bool is_ok = wire::StatusOfReply(reply).ok();
      EXPECT_EQ(asked_.erase({header.client_lo, header.request_id}), 1U) << "answered twice";
      if (is_ok && header.command == Command::kCheckpoint) {
        parts_.emplace_back(saving_[header.request_id], reply.payload.at(0));
      }
    }
    const Result<CheckpointList> list = ListCheckpoints(machine.disk, kRoot);
    ASSERT_TRUE(list.ok());
    for (const auto& manifest : list->checkpoints) {
      if (std::ranges::find(numbers_, manifest.number) == numbers_.end()) {
        numbers_.push_back(manifest.number);
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<TestClient> admins_;
  std::vector<uint32_t> numbers_;  // of checkpoints that there were
  std::vector<std::pair<uint32_t, Frame>> parts_;
  std::set<std::pair<uint64_t, uint64_t>> asked_;
  std::map<uint64_t, uint32_t> saving_;  // the number, by request
  uint64_t cuts_ = 0;
};

// Two lanes of one server, which trim and restore each by itself.
struct TwoLanes {
  std::shared_ptr<SimDisk> disk = std::make_shared<SimDisk>();
  Machine lanes[2] = {Machine(disk, 2, 0), Machine(disk, 2, 1)};

  void Commit(uint32_t number) {
    std::vector<Frame> parts;
    for (Machine& lane : lanes) {
      wire::Header header = lane.Call(Command::kCheckpoint, number);
      header.flags |= wire::kFlagFull;
      const wire::Received part = lane.Ask(header);
      ASSERT_TRUE(wire::StatusOfReply(part).ok()) << wire::StatusOfReply(part).ToString();
      parts.push_back(part.payload.at(0));
    }
    const Status committed =
        wire::StatusOfReply(lanes[0].Ask(lanes[0].Call(Command::kCommitCheckpoint, number),
                                         {wire::EncodeBlocks(parts), wire::EncodeNamedBlocks({})}));
    ASSERT_TRUE(committed.ok()) << committed.ToString();
  }
  void Trim(size_t lane, uint32_t number, bool all_have = false) {
    wire::Header header = lanes[lane].Call(Command::kTrimLog, number);
    if (all_have) header.flags |= wire::kFlagFull;
    const Status trimmed = wire::StatusOfReply(lanes[lane].Ask(header));
    ASSERT_TRUE(trimmed.ok()) << trimmed.ToString();
    lanes[lane].Finish();
  }
  std::vector<uint32_t> There() const {
    std::vector<uint32_t> numbers;
    const Result<CheckpointList> list = ListCheckpoints(*disk, kRoot);
    for (const auto& manifest : list->checkpoints) numbers.push_back(manifest.number);
    return numbers;
  }
  void Restart() {
    for (Machine& lane : lanes) lane.Boot();
  }
};

// A taker stands still before it says that all lanes have trimmed; later ones reach lane 0 alone.
TEST(LaneRetire, WhatAnotherLanesLogBeginsAfterStaysWhoeverSaysThatAllHaveTrimmed) {
  for (const uint32_t said : {1U, 3U, UINT32_MAX}) {  // late, too early, never
    SCOPED_TRACE(testing::Message() << "all have trimmed to " << said);
    TwoLanes two;
    for (const uint32_t number : {1U, 2U, 3U}) {
      two.Commit(number);
      two.Trim(0, number);
      if (number == 1) two.Trim(1, number);
    }
    wire::Header header = two.lanes[0].Call(Command::kTrimLog, said);
    header.flags |= wire::kFlagFull;
    two.lanes[0].Ask(header);
    two.lanes[0].Finish();
    EXPECT_EQ(two.There(), (std::vector<uint32_t>{3, 2, 1}));
    two.Restart();
  }
}

TEST(LaneRetire, OnlyWhatLiesBelowTheNumberThatAllHaveTrimmedToGoes) {
  TwoLanes two;
  for (const uint32_t number : {1U, 2U, 3U, 4U}) {
    two.Commit(number);
    for (const size_t lane : {0, 1}) two.Trim(lane, number);
  }
  two.Trim(0, 2, true);
  EXPECT_EQ(two.There(), (std::vector<uint32_t>{4, 3, 2}));
  two.Trim(0, 4, true);
  EXPECT_EQ(two.There(), (std::vector<uint32_t>{4, 3}));
  two.Restart();
}

TEST(LaneRetire, WhatAnotherLaneAloneHasRestoredStaysUntilItsLogBeginsAfterThat) {
  TwoLanes two;
  two.Commit(1);
  for (const size_t lane : {0, 1}) two.Trim(lane, 1);
  ASSERT_TRUE(two.lanes[1].Restore(1).ok());
  for (const uint32_t number : {2U, 3U, 4U}) {
    two.Commit(number);
    two.Trim(0, number);
  }
  two.Trim(0, 4, true);
  two.Restart();
  two.Trim(1, 4);
  two.Trim(0, 4, true);
  EXPECT_EQ(two.There(), (std::vector<uint32_t>{4, 3}));
  two.Restart();
}

TEST(LaneRetire, ALaneThatComesBackWithoutItsStateNeedsNothing) {
  TwoLanes two;
  two.Commit(1);
  for (const size_t lane : {0, 1}) two.Trim(lane, 1);
  const std::string folder = two.lanes[1].Folder();
  const Result<std::vector<std::string>> names = two.disk->List(folder);
  for (const std::string& name : *names) {
    ASSERT_TRUE(two.disk->Remove(folder + "/" + name).ok());
  }
  two.Restart();
  for (const uint32_t number : {2U, 3U}) {
    two.Commit(number);
    two.Trim(0, number);
  }
  two.Trim(0, 3, true);
  EXPECT_EQ(two.There(), (std::vector<uint32_t>{3, 2}));
}

TEST(LaneInterleaving, InAnyOrderEachIsAnsweredOnceAndTheLogGivesTheLaneThatLived) {
  constexpr uint64_t kSeeds = kSanitized ? 40 : 150;
  for (uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Interleaver all(seed);
    for (int life = 0; life < 3 && !testing::Test::HasFailure(); ++life) {
      for (int step = 0; step < 80; ++step) all.Step();
      if (life == 1) {  // what was under way dies with the process
        all.Restart();
        continue;
      }
      all.Drain();
      EXPECT_EQ(all.unanswered(), 0U);
      all.machine.holds = false;
      const Rows64 lived = all.machine.Rows();
      all.Restart();
      all.machine.holds = false;
      EXPECT_EQ(all.machine.Rows(), lived);
      all.machine.holds = true;
    }
  }
}

}  // namespace
}  // namespace strata
