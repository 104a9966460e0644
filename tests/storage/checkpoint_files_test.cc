#include "storage/checkpoint/checkpoint_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/checkpoint/checkpoint_marks.h"
#include "storage/checkpoint/part_writer.h"
#include "tests/storage/checkpoint_fixture.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<uint32_t> NumbersIn(Disk& disk, const std::string& root) {
  std::vector<uint32_t> numbers;
  const auto list = ListCheckpoints(disk, root);
  EXPECT_TRUE(list.ok());
  for (const auto& manifest : list->checkpoints) {
    numbers.push_back(manifest.number);
  }
  return numbers;
}

TEST(CheckpointFilesTest, ListsNewestFirstAndTellsWhatIsUnfinished) {
  SimDisk disk;
  EXPECT_THAT(NumbersIn(disk, "none"), IsEmpty());
  CheckpointedLanes lanes(disk, "c", 1);
  lanes.Write(5);
  for (const uint32_t number : {2U, 9U, 10U}) {
    ASSERT_TRUE(lanes.Take(number, false, {{"dense", "abc"}, {"reader", ""}}).ok());
  }
  ASSERT_TRUE(PartWriter::Create(disk, "c", {.number = 11}).ok());
  ASSERT_TRUE(disk.MakeFolder("c/not-one").ok());
  const auto list = ListCheckpoints(disk, "c");
  ASSERT_TRUE(list.ok());
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(10, 9, 2));
  EXPECT_THAT(list->unfinished, ElementsAre(11));
  const CheckpointInfo info = InfoOf(list->checkpoints[0]);
  EXPECT_EQ(info.parent, 9U);
  EXPECT_THAT(info.attachments, ElementsAre("dense", "reader"));
  EXPECT_EQ(*ReadCheckpointAttachment(disk, "c", list->checkpoints[0], "dense"), "abc");
  const auto none = ReadCheckpointAttachment(disk, "c", list->checkpoints[0], "x");
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("it has: dense, reader"));
}

TEST(CheckpointFilesTest, CommittingAgainIsFineWithTheSamePartsAndAttachmentsOnly) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  lanes.Write(5);
  ASSERT_TRUE(lanes.Take(1, true).ok());
  const auto manifest = ReadCheckpointManifest(disk, "c", 1);
  ASSERT_TRUE(manifest.ok());
  const auto again = CommitCheckpoint(disk, "c", *manifest, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *manifest);
  const Attachment more{"dense", "abc"};
  const Status other_job = CommitCheckpoint(disk, "c", *manifest, {&more, 1}).status();
  EXPECT_EQ(other_job.code(), StatusCode::kExists);
  EXPECT_THAT(other_job.message(), HasSubstr("with other attachments"));
  auto other = *manifest;
  other.parts[0].digest.low ^= 1;
  EXPECT_EQ(CommitCheckpoint(disk, "c", other, {}).status().code(), StatusCode::kExists);
  other.number = 2;
  other.parts.pop_back();
  EXPECT_THAT(CommitCheckpoint(disk, "c", other, {}).status().message(),
              HasSubstr("expected the parts of 3 lanes, found 2"));
  other = *manifest;
  other.number = 2;
  for (const std::string& name :
       std::vector<std::string>{"", "..", "a/b", "A", "manifest\n", std::string(65, 'a')}) {
    const Attachment attachment{name, ""};
    EXPECT_EQ(CommitCheckpoint(disk, "c", other, {&attachment, 1}).status().code(),
              StatusCode::kInvalid)
        << name;
  }
}

// A commit that was under way for long: 1 has been retired meanwhile, and the parts of 2, which was
// never committed, removed as leftovers.
TEST(CheckpointFilesTest, ACommitThatComesBehindANewerOneIsRefused) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  lanes.Write(5);
  ASSERT_TRUE(lanes.Take(1, true).ok());
  auto late = *ReadCheckpointManifest(disk, "c", 1);
  ASSERT_TRUE(lanes.Take(3, true).ok());
  ASSERT_THAT(*RetireCheckpoints(disk, "c", 1, {}), ElementsAre(1));
  for (const uint32_t number : {1U, 2U}) {
    late.number = number;
    const Status status = CommitCheckpoint(disk, "c", late, {}).status();
    EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("checkpoint 3 was committed before"));
  }
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(3));
}

TEST(CheckpointFilesTest, PartsThatBuildOnOneThatIsGoneAreNoCheckpoint) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U}) {
    lanes.Write(5);
    ASSERT_TRUE(lanes.Take(number, number == 1).ok());
  }
  auto late = *ReadCheckpointManifest(disk, "c", 2);
  late.number = 3;
  EXPECT_TRUE(CheckParentsExist(disk, "c", late).ok());
  ASSERT_TRUE(disk.Remove("c/0000000001/manifest").ok());
  const Status status = CheckParentsExist(disk, "c", late);
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("builds on checkpoint 1"));
}

TEST(CheckpointFilesTest, TheNewestThatCanBeReadTellsTheOwner) {
  SimDisk disk;
  EXPECT_TRUE(CheckCheckpointOwner(disk, "c", 5).ok());
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U}) {
    lanes.Write(3);
    ASSERT_TRUE(lanes.Take(number, true).ok());
  }
  const uint64_t owner = ReadCheckpointManifest(disk, "c", 3)->cluster;
  EXPECT_TRUE(CheckCheckpointOwner(disk, "c", owner).ok());
  const Status other = CheckCheckpointOwner(disk, "c", owner + 1);
  EXPECT_EQ(other.code(), StatusCode::kRefused);
  EXPECT_THAT(other.message(), HasSubstr("checkpoint 3 under c"));
  for (const char* path : {"c/0000000003/manifest", "c/0000000001/manifest"}) {
    ASSERT_TRUE(WriteFileAtomically(disk, path, "strata-checkpoint 1 x").ok());
  }
  EXPECT_THAT(CheckCheckpointOwner(disk, "c", owner + 1).message(),
              HasSubstr("checkpoint 2 under c"));
  // Older ones are not looked at.
  ASSERT_TRUE(lanes.Take(4, true).ok());
  EXPECT_THAT(CheckCheckpointOwner(disk, "c", owner + 1).message(),
              HasSubstr("checkpoint 4 under c"));
}

// The first to commit dies between the manifest's name and its durability; the second is believed.
TEST(CheckpointFilesTest, WhatIsCommittedAgainOutlivesALossOfPower) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimDisk disk({.seed = seed});
    CheckpointedLanes lanes(disk, "c", 1);
    lanes.Write(5);
    ASSERT_TRUE(lanes.Take(1, true).ok());
    const auto manifest = ReadCheckpointManifest(disk, "c", 1);
    ASSERT_TRUE(manifest.ok());
    const std::string folder = CheckpointFolder("c", 1);
    ASSERT_TRUE(disk.Remove(folder + "/" + std::string(format::kCheckpointManifestName)).ok());
    ASSERT_TRUE(disk.SyncFolder(folder).ok());
    disk.FailSync(2);  // the first is the file's, the second the folder's
    ASSERT_FALSE(CommitCheckpoint(disk, "c", *manifest, {}).ok());
    ASSERT_TRUE(CommitCheckpoint(disk, "c", *manifest, {}).ok());
    disk.Crash();
    EXPECT_TRUE(ReadCheckpointManifest(disk, "c", 1).ok()) << "seed " << seed;
  }
}

// 1 full, 2 and 3 build on it, 4 full, 5 builds on 4, 6 full, 7 full.
TEST(CheckpointFilesTest, RetiringKeepsWhatOthersBuildOn) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    lanes.Write(3);
    ASSERT_TRUE(lanes.Take(number, number != 2 && number != 3 && number != 5).ok());
  }
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 7, {}), IsEmpty());
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 3, {2}), ElementsAre(3));
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(7, 6, 5, 4, 2, 1));
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {5}), ElementsAre(6, 2, 1));
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(7, 5, 4));
  disk.FailSync(1);  // what was retired before costs nothing again
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {5}), IsEmpty());
  disk.FailSync(0);
  // A manifest that cannot be read may be built on by nobody knows whom.
  ASSERT_TRUE(WriteFileAtomically(disk, "c/0000000005/manifest", "strata-checkpoint 1 x").ok());
  EXPECT_EQ(RetireCheckpoints(disk, "c", 1, {}).status().code(), StatusCode::kCorrupt);
  const auto list = ListCheckpoints(disk, "c");
  ASSERT_EQ(list->damaged.size(), 1U);
  EXPECT_EQ(list->damaged[0].number, 5U);
}

const wire::LaneName kLane{2, 3};

TEST(CheckpointFilesTest, RetiringKeepsWhatALaneHasMarkedAndWhatThatBuildsOn) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U, 4U}) {
    lanes.Write(3);
    ASSERT_TRUE(lanes.Take(number, number != 2).ok());
  }
  ASSERT_TRUE(MarkNeeded(disk, "c", 2, kLane).ok());
  EXPECT_EQ(MarkNeeded(disk, "c", 9, kLane).code(), StatusCode::kNotFound);
  const RetireLimits limits{.lanes = {{0, 0}, kLane}};
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}, limits), ElementsAre(3));
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(4, 2, 1));
  ASSERT_TRUE(UnmarkOthers(disk, "c", {4}, kLane).ok());
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}, limits), ElementsAre(2, 1));
}

TEST(CheckpointFilesTest, AMarkOfALaneThatIsNoMoreKeepsNothing) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U}) ASSERT_TRUE(lanes.Take(number, true).ok());
  ASSERT_TRUE(MarkNeeded(disk, "c", 1, kLane).ok());
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}, {.lanes = {{0, 0}}}), ElementsAre(1));
  EXPECT_THAT(*disk.List("c"), ElementsAre("0000000002"));
}

// An earlier version left the folders of what it retired, and a checkpoint that failed leaves
// parts.
TEST(CheckpointFilesTest, RetiringLeavesNoFolders) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  ASSERT_TRUE(disk.MakeFolder("c/0000000001").ok());
  ASSERT_TRUE(disk.MakeFolder("c/0000000002").ok());
  ASSERT_TRUE(disk.Create("c/0000000002/server-0-lane-0.part").ok());
  for (const uint32_t number : {3U, 4U}) ASSERT_TRUE(lanes.Take(number, true).ok());
  ASSERT_TRUE(disk.MakeFolder("c/0000000009").ok());
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}), ElementsAre(3));
  EXPECT_THAT(*disk.List("c"), ElementsAre("0000000004", "0000000009"))
      << "9 may be under way, and tells its number";
}

TEST(CheckpointFilesTest, RetiringRemovesOnlyWhatIsBelowItsLimit) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U, 4U}) ASSERT_TRUE(lanes.Take(number, true).ok());
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}, {.below = 3}), ElementsAre(2, 1));
}

TEST(CheckpointFilesTest, AManifestThatWasSetAsideIsNoneUntilItIsPutBack) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  ASSERT_TRUE(lanes.Take(1, true).ok());
  ASSERT_TRUE(disk.Rename("c/0000000001/manifest", "c/0000000001/manifest.retired").ok());
  EXPECT_EQ(MarkNeeded(disk, "c", 1, kLane).code(), StatusCode::kNotFound);
  EXPECT_TRUE(*PutManifestBack(disk, "c", 1));
  EXPECT_FALSE(*PutManifestBack(disk, "c", 1));
  EXPECT_TRUE(ReadCheckpointManifest(disk, "c", 1).ok());
}

// 2 builds on 1, and was set aside by a retirement that died.
TEST(CheckpointFilesTest, RetiringKnowsWhatIsBuiltOnByWhatWasSetAside) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U}) {
    lanes.Write(3);
    ASSERT_TRUE(lanes.Take(number, number != 2).ok());
  }
  ASSERT_TRUE(MarkNeeded(disk, "c", 2, kLane).ok());
  ASSERT_TRUE(disk.Rename("c/0000000002/manifest", "c/0000000002/manifest.retired").ok());
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}, {.lanes = {kLane}}), IsEmpty());
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(3, 2, 1));
}

// 1 and 2 are another job's than 3 to 6.
TEST(CheckpointFilesTest, RetiringKeepsTheNewestOfEachJob) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U, 4U, 5U, 6U}) {
    lanes.Write(3);
    ASSERT_TRUE(lanes.Take(number, true, {{"dense", "part"}}, number <= 2 ? "a" : "b").ok());
  }
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 2, {}), ElementsAre(4, 3));
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 1, {}), ElementsAre(5, 1));
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(6, 2));
}

// 2 is a job's and builds on 1; 3 to 6 were taken by hand, 6 building on 5.
TEST(CheckpointFilesTest, RetiringKeepsTheNewestOfAJobHoweverManyOthersCameSince) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  for (const uint32_t number : {1U, 2U, 3U, 4U, 5U, 6U}) {
    lanes.Write(3);
    std::vector<Attachment> attachments;
    if (number == 2) attachments.push_back({"dense", "part"});
    ASSERT_TRUE(lanes.Take(number, number != 2 && number != 6, attachments).ok());
  }
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 2, {}), ElementsAre(4, 3));
  EXPECT_THAT(NumbersIn(disk, "c"), ElementsAre(6, 5, 2, 1));
}

TEST(CheckpointFilesTest, RetiringForgetsAllButTheLastJobs) {
  SimDisk disk;
  CheckpointedLanes lanes(disk, "c", 1);
  const auto jobs = static_cast<uint32_t>(kJobsKept);
  for (uint32_t number = 1; number <= jobs + 2; ++number) {
    lanes.Write(1);
    ASSERT_TRUE(lanes.Take(number, true, {{"dense", "part"}}, fmt::format("job-{}", number)).ok());
  }
  EXPECT_THAT(*RetireCheckpoints(disk, "c", 3, {}), ElementsAre(2, 1));
}

TEST(CheckpointFilesTest, APartWithoutFinishLeavesNothing) {
  SimDisk disk;
  {
    auto writer = PartWriter::Create(disk, "c", {.number = 1});
    ASSERT_TRUE(writer.ok());
    TableSpec spec;
    spec.name = "t";
    ASSERT_TRUE((*writer)->AddTable(spec, 0).ok());
  }
  EXPECT_THAT(*disk.List("c/0000000001"), IsEmpty());
}

}  // namespace
}  // namespace strata
