// A file for which room is kept is replaced on a disk without a byte free, and stays old or new.
#include "base/file/replaceable_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

constexpr uint64_t kRoom = 4096;

std::string Content(Disk& disk) {
  const Result<std::string> content = ReadFile(disk, "f/base", kRoom);
  return content.ok() ? *content : content.status().ToString();
}

void Fill(SimDisk& disk) { disk.SetCapacity(disk.bytes_used()); }

TEST(ReplaceableFileTest, TheRoomThatIsKeptIsThereOnAFullDiskAgainAndAgain) {
  SimDisk disk;
  ASSERT_TRUE(MakeDurableFolder(disk, "f").ok());
  for (char c = 'a'; c < 'h'; ++c) {
    // A process after the other: each finds what the one before has kept.
    ReplaceableFile file(disk, "f/base");
    ASSERT_TRUE(file.KeepRoom(kRoom).ok());
    if (c == 'a') {
      ASSERT_TRUE(file.Replace("before").ok());
    }
    Fill(disk);
    for (const size_t bytes : {size_t{3}, size_t{kRoom}}) {
      const std::string content(bytes, c);
      const Status replaced = file.Replace(content);
      ASSERT_TRUE(replaced.ok()) << replaced.ToString();
      EXPECT_EQ(Content(disk), content);
    }
    disk.Crash();
    EXPECT_EQ(Content(disk), std::string(kRoom, c));
  }
}

TEST(ReplaceableFileTest, WithoutRoomTheOldContentStaysAndItIsSaid) {
  SimDisk disk;
  ASSERT_TRUE(MakeDurableFolder(disk, "f").ok());
  ReplaceableFile file(disk, "f/base");
  ASSERT_TRUE(file.Replace("before").ok());
  Fill(disk);
  EXPECT_EQ(file.KeepRoom(kRoom).code(), StatusCode::kDiskFull);
  EXPECT_EQ(file.Replace("after").code(), StatusCode::kDiskFull);
  EXPECT_EQ(Content(disk), "before");
  EXPECT_EQ(disk.List("f")->size(), 1u);
  // It is looked for again.
  disk.SetCapacity(UINT64_MAX);
  ASSERT_TRUE(file.Replace("after").ok());
  EXPECT_EQ(disk.List("f")->size(), 2u);
  Fill(disk);
  EXPECT_TRUE(file.Replace("later").ok());
  EXPECT_EQ(Content(disk), "later");
}

TEST(ReplaceableFileTest, FaultsAndCrashesLeaveTheOldContentOrTheNewOne) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SimDisk disk({.seed = seed});
    Random random(seed);
    ASSERT_TRUE(MakeDurableFolder(disk, "f").ok());
    ReplaceableFile file(disk, "f/base");
    ASSERT_TRUE(file.Replace("-").ok());
    ASSERT_TRUE(file.KeepRoom(kRoom).ok());
    std::set<std::string> possible = {"-"};
    for (int round = 0; round < 6; ++round) {
      const std::string next(1 + random.Below(kRoom), static_cast<char>('a' + round));
      if (random.Chance(0.3)) disk.FailAppend(1);
      if (random.Chance(0.3)) disk.FailSync(1 + random.Below(2));
      const bool replaced = file.Replace(next).ok();
      disk.FailAppend(0);
      disk.FailSync(0);
      if (replaced) possible.clear();
      possible.insert(next);
      ASSERT_TRUE(possible.contains(Content(disk))) << "seed " << seed;
    }
    disk.Crash();
    ASSERT_TRUE(possible.contains(Content(disk))) << "seed " << seed;
  }
}

// Somebody else knows the name, and a run that was killed has left its own.
TEST(ReplaceableFileTest, ALinkUnderTheTemporaryNameIsNotFollowed) {
  const TempFolder folder;
  const std::string path = folder.File("base");
  WriteWholeFile(folder.File("victim"), "precious");
  for (const bool keeps_room : {false, true}) {
    ASSERT_EQ(symlink("victim", (path + ".tmp").c_str()), 0);
    ReplaceableFile file(RealDisk(), path);
    if (keeps_room) {
      ASSERT_TRUE(file.KeepRoom(kRoom).ok());
    }
    const Status replaced = file.Replace("text");
    ASSERT_TRUE(replaced.ok()) << replaced.ToString();
    EXPECT_EQ(ReadWholeFile(path), "text");
    EXPECT_EQ(ReadWholeFile(folder.File("victim")), "precious");
  }
}

TEST(ReplaceableFileTest, WhatAKilledRunHasLeftIsNoHindrance) {
  const TempFolder folder;
  WriteWholeFile(folder.File("base.tmp"), "a part of something longer than the text");
  ASSERT_TRUE(WriteFileAtomically(RealDisk(), folder.File("base"), "text").ok());
  EXPECT_EQ(ReadWholeFile(folder.File("base")), "text");
}

}  // namespace
}  // namespace strata
