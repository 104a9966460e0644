// The machine dies at every step of taking a checkpoint, or a step fails: afterwards the old
// checkpoint is there and whole, or the new one too, and the next one can be taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_reader.h"
#include "storage/checkpoint/part_writer.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

// Passes calls on to another disk until the n-th that changes something; that one and all after it
// fail.
class StepDisk : public Disk {
 public:
  explicit StepDisk(Disk& disk) : disk_(disk) {}

  void StopAt(uint64_t step) {
    steps_ = 0;
    stop_at_ = step;
  }
  uint64_t steps() const { return steps_; }

  Result<std::unique_ptr<File>> OpenToRead(const std::string& path) override {
    return disk_.OpenToRead(path);
  }
  Result<std::unique_ptr<File>> OpenToRewrite(const std::string& path) override {
    STRATA_ASSIGN(auto file, disk_.OpenToRewrite(path));
    return std::unique_ptr<File>(std::make_unique<StepFile>(*this, std::move(file)));
  }
  Result<std::unique_ptr<File>> Create(const std::string& path) override {
    STRATA_TRY(Step());
    STRATA_ASSIGN(auto file, disk_.Create(path));
    return std::unique_ptr<File>(std::make_unique<StepFile>(*this, std::move(file)));
  }
  Status Rename(const std::string& from, const std::string& to) override {
    STRATA_TRY(Step());
    return disk_.Rename(from, to);
  }
  Status Remove(const std::string& path) override {
    STRATA_TRY(Step());
    return disk_.Remove(path);
  }
  Status GiveBackReserve(const std::string& path) override { return disk_.GiveBackReserve(path); }
  Status MakeFolder(const std::string& path) override {
    STRATA_TRY(Step());
    return disk_.MakeFolder(path);
  }
  Result<std::vector<std::string>> List(const std::string& folder) override {
    return disk_.List(folder);
  }
  Status SyncFolder(const std::string& folder) override {
    STRATA_TRY(Step());
    return disk_.SyncFolder(folder);
  }

 private:
  class StepFile : public File {
   public:
    StepFile(StepDisk& disk, std::unique_ptr<File> file) : disk_(disk), file_(std::move(file)) {}
    Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
      return file_->ReadAt(offset, out);
    }
    Status Append(std::span<const std::byte> bytes) override {
      STRATA_TRY(disk_.Step());
      return file_->Append(bytes);
    }
    Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) override {
      STRATA_TRY(disk_.Step());
      return file_->WriteAt(offset, bytes);
    }
    Status Preallocate(uint64_t bytes) override { return file_->Preallocate(bytes); }
    Status Sync() override {
      STRATA_TRY(disk_.Step());
      return file_->Sync();
    }
    Result<uint64_t> Size() const override { return file_->Size(); }

   private:
    StepDisk& disk_;
    std::unique_ptr<File> file_;
  };

  Status Step() {
    if (++steps_ >= stop_at_) return Failed("the machine stops here");
    return {};
  }

  Disk& disk_;
  uint64_t steps_ = 0;
  uint64_t stop_at_ = UINT64_MAX;
};

void ExpectWhole(Disk& disk, const CheckpointedLanes& lanes, uint32_t number) {
  TestTarget target(number);
  const auto manifest = LoadCheckpoint(disk, lanes.root(), number, target);
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  EXPECT_EQ(target.Bits(), lanes.truth(number)) << "checkpoint " << number;
  for (const auto& attachment : manifest->attachments) {
    const auto bytes = ReadCheckpointAttachment(disk, lanes.root(), *manifest, attachment.name);
    EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  }
}

// Takes checkpoint 2 with the given fault and looks at what is left. False once the fault came too
// late to hit.
bool RunWithFault(uint64_t seed, uint64_t stop_at, bool power_loss, uint64_t* committed) {
  SimDisk sim({.seed = seed});
  StepDisk disk(sim);
  CheckpointedLanes lanes(disk, "c", seed);
  lanes.Write(20);
  EXPECT_TRUE(lanes.Take(1, true, {{"dense", "old"}}).ok());
  lanes.Write(10);
  disk.StopAt(stop_at);
  const Status status = lanes.Take(2, false, {{"dense", "new"}});
  const bool hit = disk.steps() >= stop_at;
  EXPECT_EQ(status.ok(), !hit);
  disk.StopAt(UINT64_MAX);
  if (power_loss) sim.Crash();
  const auto list = ListCheckpoints(disk, "c");
  EXPECT_TRUE(list.ok());
  EXPECT_THAT(list->damaged, testing::IsEmpty());
  EXPECT_FALSE(list->checkpoints.empty());
  EXPECT_EQ(list->checkpoints.back().number, 1U);
  for (const auto& manifest : list->checkpoints) ExpectWhole(disk, lanes, manifest.number);
  if (status.ok()) {
    EXPECT_EQ(list->checkpoints.size(), 2U) << "committed, and gone";
  }
  *committed += list->checkpoints.size() - 1;
  // Life goes on, and what the broken one left is cleared away.
  lanes.Write(5);
  const Status next = lanes.Take(3, false);
  EXPECT_TRUE(next.ok()) << next.ToString();
  ExpectWhole(disk, lanes, 3);
  EXPECT_TRUE(RetireCheckpoints(disk, "c", 1, {}).ok());
  ExpectWhole(disk, lanes, 3);
  if (list->checkpoints.size() == 1) {
    const auto left = sim.List("c/0000000002");
    EXPECT_TRUE(!left.ok() || left->empty());
  }
  return hit;
}

TEST(CheckpointCrashTest, AtEveryStepTheOldOrTheNewOneIsWhole) {
  constexpr uint64_t kPowerLosses = kSanitized ? 4 : 12;
  for (const bool power_loss : {false, true}) {
    uint64_t committed = 0;
    uint64_t steps = 0;
    for (uint64_t seed = 1; seed <= (power_loss ? kPowerLosses : 2U); ++seed) {
      for (uint64_t step = 1; !testing::Test::HasFailure(); ++step) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
        if (!RunWithFault(seed, step, power_loss, &committed)) break;
        ++steps;
      }
    }
    EXPECT_GT(steps, 20U);
    EXPECT_GT(committed, 1U) << "some stop behind the manifest's rename";
  }
}

// A lane answers that its part is durable before anybody writes the manifest.
TEST(CheckpointCrashTest, AFinishedPartSurvives) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SimDisk disk({.seed = seed});
    const format::PartName name{.number = 2, .parent = 0, .server = 1, .lane = 0, .cluster = 7};
    const auto writer = PartWriter::Create(disk, "c", name);
    ASSERT_TRUE(writer.ok());
    const std::vector<std::byte> image(10'000, std::byte{3});
    ASSERT_TRUE((*writer)->AddLaneImage(image).ok());
    const auto part = (*writer)->Finish();
    ASSERT_TRUE(part.ok());
    disk.Crash();
    const auto described = DescribePart(disk, "c", name);
    ASSERT_TRUE(described.ok()) << described.status().ToString();
    EXPECT_EQ(*described, *part);
  }
}

// A lane that was restarted answers for a part whose writer died before its name was durable.
TEST(CheckpointCrashTest, ADescribedPartSurvives) {
  const format::PartName name{.number = 2, .parent = 0, .server = 1, .lane = 0, .cluster = 7};
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SimDisk disk({.seed = seed});
    const auto writer = PartWriter::Create(disk, "c", name);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->AddLaneImage(std::vector<std::byte>(100, std::byte{3})).ok());
    disk.FailSync(2);  // the first is the file's, the second the folder's
    ASSERT_FALSE((*writer)->Finish().ok());
    const auto told = DescribePart(disk, "c", name);
    ASSERT_TRUE(told.ok()) << told.status().ToString();
    disk.Crash();
    const auto described = DescribePart(disk, "c", name);
    ASSERT_TRUE(described.ok()) << described.status().ToString();
    EXPECT_EQ(*described, *told);
  }
}

// The first to retire dies between the removal of the manifest and its durability.
TEST(CheckpointCrashTest, ARetiredOneIsWholeOrNotThere) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SimDisk disk({.seed = seed});
    CheckpointedLanes lanes(disk, "c", 1);
    lanes.Write(5);
    ASSERT_TRUE(lanes.Take(1, true).ok());
    ASSERT_TRUE(lanes.Take(2, true).ok());
    disk.FailSync(1);
    ASSERT_FALSE(RetireCheckpoints(disk, "c", 1, {}).ok());
    disk.FailSync(1);
    ASSERT_FALSE(RetireCheckpoints(disk, "c", 1, {}).ok());
    EXPECT_GT(disk.List("c/0000000001")->size(), 1U)
        << "parts go once the manifest's removal stays";
    disk.Crash();
    if (ReadCheckpointManifest(disk, "c", 1).ok()) ExpectWhole(disk, lanes, 1);
  }
}

TEST(CheckpointCrashTest, AFullDiskLeavesTheOldOne) {
  for (uint64_t room = 0; room < 6000; room += 250) {
    SimDisk disk;
    CheckpointedLanes lanes(disk, "c", 5);
    lanes.Write(20);
    ASSERT_TRUE(lanes.Take(1, true).ok());
    lanes.Write(10);
    const uint64_t used = disk.bytes_used();
    disk.SetCapacity(used + room);
    const Status status = lanes.Take(2, true, {{"dense", std::string(500, 'x')}});
    disk.SetCapacity(UINT64_MAX);
    ExpectWhole(disk, lanes, 1);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::kDiskFull) << status.ToString();
    }
    lanes.Write(3);
    ASSERT_TRUE(lanes.Take(3, false).ok());
    ExpectWhole(disk, lanes, 3);
  }
}

TEST(CheckpointCrashTest, RetiringIsSafeAtEveryStep) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    for (uint64_t step = 1; !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
      SimDisk sim({.seed = seed});
      StepDisk disk(sim);
      CheckpointedLanes lanes(disk, "c", seed);
      for (const uint32_t number : {1U, 2U, 3U, 4U}) {
        lanes.Write(5);
        ASSERT_TRUE(lanes.Take(number, number % 2 == 1, {{"dense", "x"}}).ok());
      }
      disk.StopAt(step);
      const bool done = RetireCheckpoints(disk, "c", 1, {}).ok();
      disk.StopAt(UINT64_MAX);
      sim.Crash();
      const auto list = ListCheckpoints(disk, "c");
      ASSERT_TRUE(list.ok());
      ASSERT_THAT(list->damaged, testing::IsEmpty());
      ASSERT_GE(list->checkpoints.size(), 2U);
      for (const auto& manifest : list->checkpoints) ExpectWhole(disk, lanes, manifest.number);
      ASSERT_TRUE(RetireCheckpoints(disk, "c", 1, {}).ok());
      EXPECT_EQ(ListCheckpoints(disk, "c")->checkpoints.size(), 2U);
      EXPECT_THAT(*sim.List("c"), testing::ElementsAre("0000000003", "0000000004"));
      if (done) break;
    }
  }
}

}  // namespace
}  // namespace strata
