#include "tests/support/sim_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace strata {
namespace {

using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::unique_ptr<File> MustCreate(SimDisk& disk, const std::string& path) {
  Result<std::unique_ptr<File>> file = disk.Create(path);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return *std::move(file);
}

// The file's content, or "-" when there is none.
std::string Content(SimDisk& disk, const std::string& path) {
  Result<std::string> content = ReadFile(disk, path, 1 << 20);
  return content.ok() ? *content : "-";
}

TEST(SimDiskTest, CrashKeepsWhatWasSyncedAndAnyPartOfTheRest) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk({.seed = seed});
    const std::unique_ptr<File> file = MustCreate(disk, "a");
    ASSERT_TRUE(file->Append(Bytes("SAFE")).ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(disk.SyncFolder(".").ok());
    ASSERT_TRUE(file->Append(Bytes("tail")).ok());
    disk.Crash();
    const std::string content = Content(disk, "a");
    ASSERT_TRUE(content.starts_with("SAFE")) << content;
    ASSERT_LE(content.size(), 8u);
    const std::string rest = content.substr(4);
    const size_t kept = std::min(rest.find('\0'), rest.size());
    EXPECT_EQ(rest.substr(0, kept), std::string("tail").substr(0, kept));
    EXPECT_EQ(rest.substr(kept), std::string(rest.size() - kept, '\0'));
    outcomes.insert(content);
  }
  EXPECT_TRUE(outcomes.contains("SAFE"));
  EXPECT_TRUE(outcomes.contains("SAFEtail"));
  EXPECT_TRUE(outcomes.contains("SAFEta"));
  EXPECT_TRUE(outcomes.contains(std::string("SAFEt\0\0\0", 8)));
}

TEST(SimDiskTest, CrashForgetsNamesThatWereNotSynced) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(WriteFileAtomically(disk, "m", "old").ok());
    const std::unique_ptr<File> file = MustCreate(disk, "n");
    ASSERT_TRUE(file->Append(Bytes("new")).ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(disk.Rename("n", "m").ok());
    EXPECT_EQ(Content(disk, "m"), "new");
    disk.Crash();
    outcomes.insert(Content(disk, "m") + " " + Content(disk, "n"));
  }
  EXPECT_THAT(outcomes, testing::ElementsAre("new -", "old -", "old new"));
}

TEST(SimDiskTest, AtomicWritesSurviveEveryCrashAndFault) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SimDisk disk({.seed = seed});
    Random random(seed);
    std::set<std::string> possible = {"-"};  // what a crash may leave
    for (int round = 0; round < 6; ++round) {
      const std::string next(1 + random.Below(50), static_cast<char>('a' + round));
      if (random.Chance(0.3)) disk.FailAppend(1);
      if (random.Chance(0.3)) disk.FailSync(1 + random.Below(2));
      const Status status = WriteFileAtomically(disk, "m", next);
      disk.FailAppend(0);
      disk.FailSync(0);
      if (status.ok()) possible.clear();
      possible.insert(next);
      if (random.Chance(0.5)) {
        disk.Crash();
        ASSERT_TRUE(possible.contains(Content(disk, "m"))) << "seed " << seed;
        possible = {Content(disk, "m")};
      }
      ASSERT_TRUE(possible.contains(Content(disk, "m"))) << "seed " << seed;
    }
  }
}

// The mistake that SimDisk exists to find: a rename without a sync before it.
TEST(SimDiskTest, RenameWithoutSyncIsCaught) {
  int broken = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(MustCreate(disk, "m.tmp")->Append(Bytes("content")).ok());
    ASSERT_TRUE(disk.Rename("m.tmp", "m").ok());
    ASSERT_TRUE(disk.SyncFolder(".").ok());
    disk.Crash();
    if (Content(disk, "m") != "content") ++broken;
  }
  EXPECT_GT(broken, 20);
}

TEST(SimDiskTest, OpenFilesDieWithTheCrash) {
  SimDisk disk;
  const std::unique_ptr<File> file = MustCreate(disk, "a");
  disk.Crash();
  std::byte out[1];
  EXPECT_EQ(file->Append(Bytes("x")).code(), StatusCode::kFailed);
  EXPECT_EQ(file->Sync().code(), StatusCode::kFailed);
  EXPECT_EQ(file->ReadAt(0, out).status().code(), StatusCode::kFailed);
  EXPECT_EQ(file->Size().status().code(), StatusCode::kFailed);
}

TEST(SimDiskTest, FailedAppendsWriteAPartAndAreFinal) {
  std::set<size_t> sizes;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk({.seed = seed});
    const std::unique_ptr<File> file = MustCreate(disk, "a");
    disk.FailAppend(2);
    ASSERT_TRUE(file->Append(Bytes("12")).ok());
    const Status status = file->Append(Bytes("34"));
    EXPECT_THAT(status.message(), HasSubstr("cannot write a: Input/output error"));
    EXPECT_EQ(file->Append(Bytes("56")).message(), status.message());
    EXPECT_EQ(file->Sync().message(), status.message());
    sizes.insert(Content(disk, "a").size());
    ASSERT_TRUE(MustCreate(disk, "a")->Append(Bytes("fresh")).ok());
  }
  EXPECT_EQ(sizes, (std::set<size_t>{2, 3, 4}));
}

TEST(SimDiskTest, FailedSyncsMakeNothingDurable) {
  SimDisk disk;
  const std::unique_ptr<File> file = MustCreate(disk, "a");
  disk.FailSync(1);
  EXPECT_EQ(file->Sync().code(), StatusCode::kFailed);
  EXPECT_EQ(file->Sync().code(), StatusCode::kFailed);
  disk.FailSync(1);
  EXPECT_EQ(disk.SyncFolder(".").code(), StatusCode::kFailed);
  EXPECT_TRUE(disk.SyncFolder(".").ok());
}

TEST(SimDiskTest, ACrashLosesSectorsInTheMiddle) {
  const std::string text(4 * 512, 'x');
  std::set<std::string> outcomes;  // a letter for each sector
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SimDisk disk({.seed = seed});
    const std::unique_ptr<File> file = MustCreate(disk, "a");
    ASSERT_TRUE(file->Append(Bytes("SAFE")).ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(disk.SyncFolder(".").ok());
    ASSERT_TRUE(file->Append(Bytes(text)).ok());
    disk.Crash();
    const std::string content = Content(disk, "a");
    ASSERT_TRUE(content.starts_with("SAFE"));
    if (content.size() != 4 + text.size()) continue;
    std::string sectors;
    for (size_t i = 4; i < content.size(); i += 512) sectors += content[i] == 'x' ? 'x' : '.';
    outcomes.insert(sectors);
  }
  for (const char* sectors : {"....", "xxxx", ".xxx", "x.xx", "x..x"}) {
    EXPECT_TRUE(outcomes.contains(sectors)) << sectors;
  }
}

// What a kernel does after a failed fsync: the bytes are read as if nothing had happened.
TEST(SimDiskTest, WhatAFailedSyncDroppedNoLaterSyncBringsBack) {
  SimDisk disk;
  const std::unique_ptr<File> file = MustCreate(disk, "a");
  ASSERT_TRUE(file->Append(Bytes("12")).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append(Bytes("34")).ok());
  disk.FailSync(1);
  ASSERT_FALSE(file->Sync().ok());
  Result<std::unique_ptr<File>> again = disk.OpenToRead("a");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->Sync().ok());
  ASSERT_TRUE(disk.SyncFolder(".").ok());
  EXPECT_EQ(Content(disk, "a"), "1234");
  disk.Crash();
  EXPECT_EQ(Content(disk, "a"), std::string("12\0\0", 4));
}

TEST(SimDiskTest, WhatIsWrittenOverIsOldOrNewInEachSector) {
  std::set<std::string> outcomes;  // a letter for each sector
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(WriteFileAtomically(disk, "a", std::string(3 * 512, 'o')).ok());
    const Result<std::unique_ptr<File>> file = disk.OpenToRewrite("a");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->WriteAt(512, Bytes(std::string(1024, 'n'))).ok());
    disk.Crash();
    const std::string content = Content(disk, "a");
    std::string sectors;
    for (size_t i = 0; i < content.size(); i += 512) {
      sectors += content[i];
      EXPECT_EQ(content.substr(i, 512), std::string(512, content[i]));
    }
    outcomes.insert(sectors);
  }
  EXPECT_THAT(outcomes, testing::ElementsAre("onn", "ono", "oon", "ooo"));
}

TEST(SimDiskTest, WritingOverWhatAFailedSyncDroppedBringsItBack) {
  SimDisk disk;
  const std::unique_ptr<File> file = MustCreate(disk, "a");
  ASSERT_TRUE(file->Append(Bytes("1234")).ok());
  ASSERT_TRUE(disk.SyncFolder(".").ok());
  disk.FailSync(1);
  ASSERT_FALSE(file->Sync().ok());
  const Result<std::unique_ptr<File>> again = disk.OpenToRewrite("a");
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE((*again)->WriteAt(1, Bytes("23")).ok());
  ASSERT_TRUE((*again)->Sync().ok());
  disk.Crash();
  EXPECT_EQ(Content(disk, "a"), std::string("\00023\0", 4));
}

TEST(SimDiskTest, ReservedRoomIsThereWhenTheDiskIsFull) {
  SimDisk disk({.bytes_max = 10});
  const std::unique_ptr<File> a = MustCreate(disk, "a");
  ASSERT_TRUE(a->Append(Bytes("12")).ok());
  EXPECT_EQ(a->Preallocate(11).code(), StatusCode::kDiskFull);
  EXPECT_EQ(disk.bytes_used(), 2u);
  ASSERT_TRUE(a->Preallocate(7).ok());
  EXPECT_EQ(disk.bytes_used(), 7u);
  const std::unique_ptr<File> b = MustCreate(disk, "b");
  ASSERT_TRUE(b->Append(Bytes("123")).ok());
  EXPECT_EQ(b->Append(Bytes("4")).code(), StatusCode::kDiskFull);
  ASSERT_TRUE(a->Append(Bytes("345")).ok());
  EXPECT_EQ(disk.bytes_used(), 10u);
  ASSERT_TRUE(disk.Remove("b").ok());
  ASSERT_TRUE(MustCreate(disk, "b")->Preallocate(3).ok());
  const std::unique_ptr<File> again = MustCreate(disk, "b");
  EXPECT_EQ(disk.bytes_used(), 10u);
  ASSERT_TRUE(again->Append(Bytes("123")).ok());
  ASSERT_TRUE(disk.GiveBackReserve("a").ok());
  EXPECT_EQ(disk.bytes_used(), 8u);
}

TEST(SimDiskTest, AFolderIsLostWithWhatIsInItUntilTheOneAboveIsSynced) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(disk.MakeFolder("d/e").ok());
    MustCreate(disk, "d/e/a");
    ASSERT_TRUE(disk.SyncFolder("d/e").ok());
    ASSERT_TRUE(disk.SyncFolder("d").ok());
    disk.Crash();
    const bool is_there = disk.OpenToRead("d/e/a").ok();
    EXPECT_EQ(disk.List("d").ok(), is_there);
    lost += is_there ? 0 : 1;
  }
  EXPECT_GT(lost, 0);
}

TEST(SimDiskTest, ADurableFolderIsKept) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(MakeDurableFolder(disk, "d/e/f").ok());
    ASSERT_TRUE(MakeDurableFolder(disk, "d/e/f").ok());
    disk.Crash();
    EXPECT_TRUE(disk.List("d/e/f").ok());
  }
}

TEST(SimDiskTest, AFileThatACrashBringsBackHasItsFolder) {
  int back = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SimDisk disk({.seed = seed});
    ASSERT_TRUE(MakeDurableFolder(disk, "d/e").ok());
    MustCreate(disk, "d/e/a");
    ASSERT_TRUE(disk.SyncFolder("d/e").ok());
    for (const char* path : {"d/e/a", "d/e", "d"}) ASSERT_TRUE(disk.Remove(path).ok());
    disk.Crash();
    if (!disk.OpenToRead("d/e/a").ok()) continue;
    ++back;
    EXPECT_EQ(*disk.List("d/e"), std::vector<std::string>{"a"});
    EXPECT_EQ(*disk.List("d"), std::vector<std::string>{"e"});
  }
  EXPECT_GT(back, 0);
}

TEST(SimDiskTest, AFullDiskTakesWhatFits) {
  SimDisk disk({.bytes_max = 10});
  const std::unique_ptr<File> a = MustCreate(disk, "a");
  ASSERT_TRUE(a->Append(Bytes("1234567")).ok());
  const std::unique_ptr<File> b = MustCreate(disk, "b");
  EXPECT_EQ(b->Append(Bytes("12345")).message(), "cannot write b: No space left on device");
  EXPECT_EQ(disk.bytes_used(), 10u);
  ASSERT_TRUE(disk.Remove("a").ok());
  EXPECT_EQ(disk.bytes_used(), 3u);
  ASSERT_TRUE(MustCreate(disk, "b")->Append(Bytes("12345")).ok());
}

TEST(SimDiskTest, ReadsFlipOneBitWithTheirProbability) {
  SimDisk disk({.seed = 2});
  const std::string text(64, '\0');
  ASSERT_TRUE(MustCreate(disk, "a")->Append(Bytes(text)).ok());
  disk.SetReadFlip(0.25);
  Result<std::unique_ptr<File>> file = disk.OpenToRead("a");
  ASSERT_TRUE(file.ok());
  int flipped = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::byte> out(64);
    ASSERT_EQ(*(*file)->ReadAt(0, out), 64u);
    int bits = 0;
    for (std::byte b : out) bits += std::popcount(static_cast<unsigned>(b));
    ASSERT_LE(bits, 1);
    flipped += bits;
  }
  EXPECT_NEAR(flipped, 250, 60);
}

}  // namespace
}  // namespace strata
