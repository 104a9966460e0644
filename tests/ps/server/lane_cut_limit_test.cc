// Numbers of cuts and steps that others say: how far one message may raise them.
#include <algorithm>

#include "proto/wire/cut_limit.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "tests/ps/server/lane_machine.h"

namespace strata {
namespace {

using wire::Command;
using wire::kCutMax;
using wire::kCutsPerSecond;

Status Ping(Machine& machine, uint32_t cut) {
  wire::Header header = machine.admin.Read(Command::kPing);
  header.cut = cut;
  return wire::StatusOfReply(machine.Ask(header));
}

uint32_t CutOf(Machine& machine) { return machine.lane->lane.Report().cut; }

TEST(CutLimit, ANumberRisesByWhatASecondAllowsAndNeverPastTheHighest) {
  wire::CutLimit limit;
  EXPECT_TRUE(limit.Take(7, 7 + kCutsPerSecond, kSecond).ok());
  EXPECT_EQ(limit.Take(7, 8, kSecond + 1).code(), StatusCode::kInvalid);
  EXPECT_TRUE(limit.Take(7, 7, kSecond + 1).ok()) << "it is known";
  EXPECT_TRUE(limit.Take(7, 7 + kCutsPerSecond, 2 * kSecond).ok());
  EXPECT_EQ(limit.Take(7, 8 + kCutsPerSecond, 1000 * kSecond).code(), StatusCode::kInvalid);
  EXPECT_EQ(limit.Take(kCutMax, kCutMax + 1, 2000 * kSecond).code(), StatusCode::kInvalid);
  wire::CutLimit patient(kCutMax);
  EXPECT_TRUE(patient.Take(7, 7, kSecond).ok());
  EXPECT_TRUE(patient.Take(7, 7 + 5 * kCutsPerSecond, 5 * kSecond).ok()) << "nothing was used up";
}

// Each message that tells a lane of a cut.
TEST(LaneCutLimit, WhateverNumberComesCheckpointsGoOn) {
  for (const uint32_t number : {kCutsPerSecond + 1, uint32_t{1'000'000}, kCutMax, kCutMax + 1,
                                UINT32_MAX - 1, UINT32_MAX}) {
    SCOPED_TRACE(testing::Message() << number);
    Machine machine(1, 30);
    const Status ping = Ping(machine, number);
    EXPECT_EQ(ping.code(), StatusCode::kInvalid);
    EXPECT_NE(ping.message().find("server 0 lane 0"), std::string::npos) << ping.ToString();
    for (const Command command :
         {Command::kCut, Command::kCheckpoint, Command::kTrimLog, Command::kRestore}) {
      wire::Header header = machine.Call(command, number);
      header.sequence = std::max<uint64_t>(header.sequence, 1);
      EXPECT_FALSE(wire::StatusOfReply(machine.Ask(header)).ok());
    }
    EXPECT_EQ(CutOf(machine), 0U);
    machine.Checkpoint(1, true);
    machine.Boot();
    machine.Checkpoint(2, false);
  }
}

TEST(LaneCutLimit, ACommitOfANumberThatWasNeverCutIsInvalid) {
  Machine machine(1, 30);
  const wire::Received part = machine.Ask(machine.Call(Command::kCheckpoint, 1));
  EXPECT_EQ(machine.Commit(2, part.payload.at(0)).code(), StatusCode::kInvalid);
  EXPECT_EQ(machine.Commit(UINT32_MAX, part.payload.at(0)).code(), StatusCode::kInvalid);
  EXPECT_TRUE(machine.Commit(1, part.payload.at(0)).ok());
}

// A lane that comes back without its state, or only now learns how far the others are.
TEST(LaneCutLimit, WhatTheFolderOfCheckpointsHasIsBelieved) {
  Machine machine(1, 30);
  ASSERT_TRUE(machine.disk.MakeFolder(CheckpointFolder(kRoot, 50'000)).ok());
  ASSERT_TRUE(machine.disk.MakeFolder(CheckpointFolder(kRoot, UINT32_MAX)).ok());
  EXPECT_EQ(Ping(machine, 50'000 + kCutsPerSecond + 1).code(), StatusCode::kInvalid);
  EXPECT_TRUE(Ping(machine, 50'001).ok());
  EXPECT_EQ(CutOf(machine), 50'001U);
}

// As an older version left them: a cut in the log, and a checkpoint with the log's base at it.
TEST(LaneCutLimit, ALogWithACutThatIsNoneComesBackWithoutIt) {
  Machine machine(1, 30);
  machine.Checkpoint(1, true);
  const std::vector<std::byte> bytes = EncodeCut(UINT32_MAX);
  const std::span<const std::byte> pieces[] = {bytes};
  ASSERT_TRUE(machine.lane->lane.log()->Append(RecordKind::kCut, pieces).ok());
  machine.Play(30);
  const Rows64 rows = machine.Rows();
  machine.Boot();
  EXPECT_EQ(CutOf(machine), 1U);
  EXPECT_EQ(machine.Rows(), rows);
  machine.Checkpoint(2, false);
  machine.Boot();
  EXPECT_EQ(machine.Rows(), rows);
}

// Rows expire after ten steps.
class ExpiringTable : public MapTable {
 public:
  using MapTable::MapTable;
  Status CheckStep(uint64_t step, uint64_t skipped) const override {
    return newest_ != 0 && step > newest_ + 10 + skipped ? Invalid("too far ahead") : Status();
  }
  void CommitUpdate(uint64_t step) override {
    newest_ = std::max(newest_, step);
    MapTable::CommitUpdate(step);
  }

 private:
  uint64_t newest_ = 0;
};

struct Expiring {
  TestLane lane{Config()};
  TestClient client;
  TableSpec spec = TestSpec();

  Expiring() { CreateTable(lane, client, spec); }
  static LaneConfig Config() {
    LaneConfig config = TestLaneConfig();
    config.make_table = [](const TableSpec& of) { return std::make_unique<ExpiringTable>(of); };
    return config;
  }
  StatusCode Push(uint64_t step) {
    wire::Header header = client.Write(Command::kPush, IdOf(spec), 1, 2);
    header.step = step;
    return lane.AskStatus(header, {Keys({7}), Rows({1, 1})}).code();
  }
};

TEST(LaneSteps, NoPushIsFarAheadOfTheOthersUnlessTimeHasPassed) {
  Expiring table;
  EXPECT_EQ(table.Push(14), StatusCode::kOk);
  for (const uint64_t step : {uint64_t{25}, uint64_t{5000}, UINT64_MAX}) {
    EXPECT_EQ(table.Push(step), StatusCode::kInvalid) << step;
  }
  EXPECT_EQ(table.Push(24), StatusCode::kOk);
  table.lane.now += kSecond;  // a job may have gone on without this table
  EXPECT_EQ(table.Push(24 + 10 + 1024 + 1), StatusCode::kInvalid);
  EXPECT_EQ(table.Push(24 + 10 + 1024), StatusCode::kOk);
  EXPECT_EQ(table.Push(24 + 10 + 1024 + 11), StatusCode::kInvalid);
}

TEST(LaneSteps, AStepThatNoJobReachesIsRefusedWhateverTheTable) {
  TestLane lane;
  TestClient client;
  CreateTable(lane, client, TestSpec());
  for (const uint64_t step : {uint64_t{0}, (uint64_t{1} << 48) + 1, UINT64_MAX}) {
    wire::Header header = client.Write(Command::kPush, IdOf(TestSpec()), 1, 2);
    header.step = step;
    const Status status = lane.AskStatus(header, {Keys({7}), Rows({1, 1})});
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_NE(status.message().find("table 't'"), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace strata
