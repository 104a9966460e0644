#include "base/file/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "tests/support/closed_folders.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Read(Disk& disk, const std::string& path) {
  const Result<std::string> content = ReadFile(disk, path, 1 << 20);
  return content.ok() ? *content : content.status().ToString();
}

// The file would take the link's place, and what it leads to stay as it was.
TEST(OutputFileTest, ALinkIsNoPlaceForAFile) {
  const TempFolder folder;
  ASSERT_TRUE(TryOutputFile(RealDisk(), folder.File("new")).ok());
  for (const char* leads_to : {"new", "/dev/null", "/nowhere/new", "link"}) {
    ASSERT_EQ(symlink(leads_to, folder.File("link").c_str()), 0);
    const Status status = TryOutputFile(RealDisk(), folder.File("link"));
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << leads_to;
    EXPECT_NE(status.message().find("is a link"), std::string::npos) << status.message();
    ASSERT_EQ(unlink(folder.File("link").c_str()), 0);
  }
}

TEST(OutputFileTest, AFileThatIsTriedLeavesNothing) {
  SimDisk disk;
  ASSERT_TRUE(disk.MakeFolder("f").ok());
  EXPECT_TRUE(TryOutputFile(disk, "f/m").ok());
  EXPECT_TRUE(TryOutputFolder(disk, "f/new").ok());
  EXPECT_THAT(*disk.List("f"), ElementsAre("new"));
  EXPECT_THAT(*disk.List("f/new"), ElementsAre());
}

TEST(OutputFileTest, AFolderThatCannotBeWrittenIsFoundBeforeTheWork) {
  ClosedFolders disk;
  ASSERT_TRUE(disk.MakeFolder("f").ok());
  disk.closed = {"f"};
  for (const Status& status : {TryOutputFile(disk, "f/m"), TryOutputFolder(disk, "f")}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr("Permission denied"));
  }
}

TEST(OutputFileTest, AFullDiskIsFoundBeforeTheWork) {
  SimDisk disk({.seed = 1, .bytes_max = 1000});
  ASSERT_TRUE(disk.MakeFolder("f").ok());
  EXPECT_EQ(TryOutputFile(disk, "f/m").code(), StatusCode::kDiskFull);
  EXPECT_EQ(TryOutputFolder(disk, "f").code(), StatusCode::kDiskFull);
  EXPECT_THAT(*disk.List("f"), ElementsAre());
}

TEST(OutputFileTest, StandardOutputIsTheOnlyDevice) {
  for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    EXPECT_TRUE(IsStandardOutput(name)) << name;
    EXPECT_TRUE(TryOutputFile(RealDisk(), name).ok()) << name;
    EXPECT_FALSE(TryOutputFolder(RealDisk(), name).ok()) << name;
  }
  for (const char* name : {"/dev/null", "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"}) {
    EXPECT_FALSE(IsStandardOutput(name)) << name;
    EXPECT_FALSE(TryOutputFile(RealDisk(), name).ok()) << name;
  }
}

TEST(OutputFileTest, ADeviceIsCalledOne) {
  for (const char* name : {"/dev/null", "/dev/stderr", "/proc/none"}) {
    EXPECT_THAT(TryOutputFile(RealDisk(), name).message(), HasSubstr("is a device")) << name;
  }
}

TEST(OutputFileTest, APipeInTheWayOfWritingIsNamed) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo(folder.File("m.tmp").c_str(), 0600), 0);
  EXPECT_THAT(
      TryOutputFile(RealDisk(), folder.File("m")).message(),
      HasSubstr("cannot create " + folder.File("m.tmp") + ": is a pipe or terminal; remove it"));
}

// The rights of a user who is not root, for as long as it is there.
class AsNobody {
 public:
  AsNobody() { EXPECT_EQ(seteuid(65534), 0); }
  ~AsNobody() { EXPECT_EQ(seteuid(0), 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

TEST(OutputFileTest, AFolderThatOnlyCannotBeReadTakesFiles) {
  if (geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0333), 0);
  const AsNobody nobody;
  EXPECT_TRUE(TryOutputFile(RealDisk(), folder.File("m")).ok());
  EXPECT_TRUE(WriteOutput(RealDisk(), folder.File("m"), "text").ok());
  EXPECT_EQ(Read(RealDisk(), folder.File("m")), "text");
}

TEST(OutputFileTest, AFolderThatCannotBeReadIsNoPlaceForAModel) {
  if (geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0333), 0);
  const AsNobody nobody;
  const Status status = TryOutputFolder(RealDisk(), folder.path());
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("expected a folder that can be read and written"));
}

TEST(OutputFileTest, AFileOfAnotherUserInAStickyFolderIsFoundBeforeTheWork) {
  if (geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 01777), 0);
  WriteWholeFile(folder.File("m"), "text");
  const AsNobody nobody;
  const Status status = TryOutputFile(RealDisk(), folder.File("m"));
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("exists and cannot be replaced"));
  EXPECT_EQ(Read(RealDisk(), folder.File("m")), "text");
}

TEST(OutputFileTest, AnOutputTakesThePlaceOfNoInput) {
  const TempFolder folder;
  for (const char* name : {"data", "p.tmp"}) WriteWholeFile(folder.File(name), "text");
  const NamedFile data = {"data.train", folder.File("data")};
  const NamedFile temporary = {"data.test", folder.File("p.tmp")};
  const std::vector<NamedFile> inputs = {data, temporary, {"none", ""}};
  for (const char* path : {"/data", "/./data", "/p"}) {
    const NamedFile output = {"output", folder.path() + path};
    const Status status = CheckOutputFiles(RealDisk(), {{output}}, inputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << path;
    EXPECT_THAT(status.message(), HasSubstr("name another")) << path;
  }
  EXPECT_EQ(Read(RealDisk(), data.path), "text");
  EXPECT_EQ(Read(RealDisk(), temporary.path), "text");
  EXPECT_TRUE(CheckOutputFiles(RealDisk(), {{{"output", "-"}}}, inputs).ok());
}

TEST(OutputFileTest, TwoOutputsHaveTwoPlaces) {
  const TempFolder folder;
  const NamedFile first = {"first", folder.File("m")};
  for (const char* path : {"/m", "/./m", "/m.tmp"}) {
    const NamedFile second = {"second", folder.path() + path};
    for (const auto& both : {std::vector{first, second}, std::vector{second, first}}) {
      const Status status = CheckOutputFiles(RealDisk(), both, {});
      EXPECT_EQ(status.code(), StatusCode::kInvalid) << path;
      EXPECT_THAT(status.message(), HasSubstr("second")) << path;
    }
  }
}

TEST(OutputFileTest, AFailedTryToKeepLeavesNoFolder) {
  SimDisk disk;
  const Status status = WriteOrKeep(disk, "m", [&](const std::string& path) {
    EXPECT_TRUE(disk.MakeFolder(path).ok());
    return Failed("no");
  });
  EXPECT_EQ(status.code(), StatusCode::kFailed);
  EXPECT_THAT(*disk.List("."), ElementsAre("m"));
}

TEST(OutputFileTest, WhatFindsNoPlaceIsKeptInTheWorkingFolder) {
  SimDisk disk;
  for (const char* kept : {"./m.txt.kept", "./m.txt.kept-2"}) {
    const Status status = WriteOutput(disk, "gone/m.txt", kept);
    EXPECT_EQ(status.code(), StatusCode::kFailed) << "the process ends with exit code 1";
    EXPECT_THAT(status.message(), HasSubstr("cannot create gone/m.txt.tmp"));
    EXPECT_THAT(status.message(), HasSubstr(std::string("is in ") + kept + ":"));
  }
  EXPECT_EQ(Read(disk, "m.txt.kept"), "./m.txt.kept");
  EXPECT_EQ(Read(disk, "m.txt.kept-2"), "./m.txt.kept-2");
}

TEST(OutputFileTest, WhatFindsNoPlaceThereEitherIsKeptAmongTemporaryFiles) {
  const std::string temporary = std::filesystem::temp_directory_path();
  ClosedFolders disk;
  ASSERT_TRUE(disk.MakeFolder(temporary).ok());
  disk.closed = {"."};
  const Status status = WriteOutput(disk, "m.txt", "text");
  EXPECT_THAT(status.message(), HasSubstr("is in " + temporary + "/m.txt.kept:"));
  EXPECT_EQ(Read(disk, temporary + "/m.txt.kept"), "text");
}

TEST(OutputFileTest, WhatFindsNoPlaceAtAllIsSaidToBeLost) {
  SimDisk disk({.seed = 1, .bytes_max = 10});
  const Status status = WriteOutput(disk, "m.txt", "more than ten bytes");
  EXPECT_EQ(status.code(), StatusCode::kDiskFull);
  EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
  EXPECT_THAT(status.message(), HasSubstr("is lost"));
}

}  // namespace
}  // namespace strata
