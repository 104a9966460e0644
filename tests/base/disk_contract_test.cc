// What every Disk promises, over the real one and the simulated one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "base/file/disk.h"
#include "base/random.h"
#include "tests/support/sim_disk.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class DiskContractTest : public testing::TestWithParam<bool> {
 protected:
  DiskContractTest() : disk_(GetParam() ? RealDisk() : sim_) {
    EXPECT_TRUE(disk_.MakeFolder(folder_.path()).ok());
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }

  void Write(const std::string& name, std::string_view content) {
    Result<std::unique_ptr<File>> file = disk_.Create(Path(name));
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    ASSERT_TRUE((*file)->Append(Bytes(content)).ok());
    ASSERT_TRUE((*file)->Sync().ok());
  }

  std::string Read(const std::string& name) {
    Result<std::string> content = ReadFile(disk_, Path(name), 1 << 20);
    return content.ok() ? *content : content.status().ToString();
  }

  TempFolder folder_;
  SimDisk sim_;
  Disk& disk_;
};

INSTANTIATE_TEST_SUITE_P(Disks, DiskContractTest, testing::Bool(), [](const auto& disk) {
  return std::string(disk.param ? "RealDisk" : "SimDisk");
});

TEST_P(DiskContractTest, AppendsAreRead) {
  Result<std::unique_ptr<File>> file = disk_.Create(Path("a"));
  ASSERT_TRUE(file.ok());
  std::string model;
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const std::string part(random.Below(3000), static_cast<char>('a' + i % 26));
    ASSERT_TRUE((*file)->Append(Bytes(part)).ok());
    model += part;
  }
  ASSERT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(*(*file)->Size(), model.size());
  Result<std::unique_ptr<File>> reader = disk_.OpenToRead(Path("a"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*(*reader)->Size(), model.size());
  for (int i = 0; i < 100; ++i) {
    const uint64_t offset = random.Below(model.size() + 100);
    std::string out(random.Below(5000), '?');
    Result<size_t> got = (*reader)->ReadAt(offset, std::as_writable_bytes(std::span(out)));
    ASSERT_TRUE(got.ok());
    const std::string expected =
        offset < model.size() ? model.substr(offset, out.size()) : std::string();
    EXPECT_EQ(out.substr(0, *got), expected);
  }
}

TEST_P(DiskContractTest, AppendsThatWereBegunAreReadOnceFinished) {
  Result<std::unique_ptr<File>> file = disk_.Create(Path("a"));
  ASSERT_TRUE(file.ok());
  std::string model;
  for (const size_t bytes : {size_t{1} << 20, size_t{3} << 20, size_t{5}, size_t{1} << 20}) {
    const std::string part(bytes, static_cast<char>('a' + model.size() % 26));
    ASSERT_TRUE((*file)->BeginAppend(Bytes(part)).ok());
    ASSERT_TRUE((*file)->FinishAppend().ok());
    model += part;
  }
  ASSERT_TRUE((*file)->FinishAppend().ok());  // nothing was begun
  ASSERT_TRUE((*file)->Append(Bytes("end")).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  Result<std::unique_ptr<File>> reader = disk_.OpenToRead(Path("a"));
  ASSERT_TRUE(reader.ok());
  (*reader)->WillRead(100, uint64_t{64} << 20);  // beyond its end, too
  EXPECT_EQ(*ReadFile(disk_, Path("a"), 16 << 20), model + "end");
}

TEST(RealDiskTest, AFileThatTakesAnothersPlaceHasAnotherId) {
  const TempFolder folder;
  const std::string path = folder.File("a");
  EXPECT_EQ(RealDisk().IdOf(path).status().code(), StatusCode::kNotFound);
  WriteWholeFile(path, "text");
  const Result<FileId> id = RealDisk().IdOf(path);
  ASSERT_TRUE(id.ok()) << id.status().ToString();
  WriteWholeFile(path, "other text");
  EXPECT_EQ(*RealDisk().IdOf(path), *id);
  WriteWholeFile(folder.File("b"), "text");
  ASSERT_TRUE(RealDisk().Rename(folder.File("b"), path).ok());
  EXPECT_FALSE(*RealDisk().IdOf(path) == *id);
}

TEST_P(DiskContractTest, CreateEmptiesAnOldFile) {
  Write("a", "a long old text");
  Write("a", "new");
  EXPECT_EQ(Read("a"), "new");
}

TEST_P(DiskContractTest, MissingFilesAreNotFoundByName) {
  const std::string missing = Path("no/such");
  for (const Status& status :
       {disk_.OpenToRead(missing).status(), disk_.OpenToRewrite(missing).status(),
        disk_.Create(missing).status(), disk_.Remove(missing), disk_.Rename(missing, Path("x")),
        disk_.SyncFolder(missing), disk_.List(missing).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(missing));
    EXPECT_THAT(status.message(), HasSubstr("No such file or directory"));
  }
}

TEST_P(DiskContractTest, FilesAndFoldersAreNotConfused) {
  Write("file", "x");
  ASSERT_TRUE(disk_.MakeFolder(Path("folder")).ok());
  for (const Status& status :
       {disk_.Create(Path("folder")).status(), disk_.Remove(folder_.path()),
        disk_.MakeFolder(Path("file")), disk_.MakeFolder(Path("file/below")),
        disk_.List(Path("file")).status(), disk_.Rename(Path("file"), Path("folder"))}) {
    EXPECT_EQ(status.code(), StatusCode::kFailed) << status.ToString();
  }
  for (const Status& status :
       {disk_.OpenToRead(Path("folder")).status(), ReadFile(disk_, Path("folder"), 1).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_EQ(status.message(), "cannot open " + Path("folder") + ": is a folder; expected a file");
  }
}

TEST_P(DiskContractTest, AFileTakesThePlaceOfItselfAlone) {
  Write("a", "x");
  Write("b", "x");
  EXPECT_TRUE(disk_.Replaces(Path("a"), Path("a")));
  EXPECT_FALSE(disk_.Replaces(Path("a"), Path("b")));
  EXPECT_FALSE(disk_.Replaces(Path("none"), Path("a")));
  EXPECT_FALSE(disk_.Replaces(Path("a"), Path("none")));
}

TEST_P(DiskContractTest, AFolderCannotBeReplacedByAFile) {
  Write("a", "x");
  EXPECT_TRUE(disk_.TryReplace(Path("a")).ok());
  EXPECT_TRUE(disk_.TryReplace(Path("none")).ok());
  EXPECT_TRUE(disk_.MakeFolder(Path("empty")).ok());
  EXPECT_EQ(disk_.TryReplace(Path("empty")).code(), StatusCode::kInvalid);
  EXPECT_TRUE(disk_.List(Path("empty")).ok());
  EXPECT_TRUE(disk_.OpenToRead(Path("a")).ok());
}

TEST_P(DiskContractTest, AFileThatIsNotThereYetHasItsPlace) {
  EXPECT_TRUE(disk_.Replaces(Path("none"), Path("none")));
  EXPECT_FALSE(disk_.Replaces(Path("none"), Path("other")));
}

TEST(RealDiskTest, AFileTakesThePlaceOfWhatALinkNames) {
  const TempFolder folder;
  WriteWholeFile(folder.File("file"), "x");
  ASSERT_EQ(symlink("file", folder.File("link").c_str()), 0);
  EXPECT_TRUE(RealDisk().Replaces(folder.path() + "/./file", folder.File("file")));
  EXPECT_TRUE(RealDisk().Replaces(folder.File("file"), folder.File("link")));
  EXPECT_TRUE(RealDisk().Replaces(folder.File("link"), folder.File("link")));
  EXPECT_FALSE(RealDisk().Replaces(folder.File("link"), folder.File("file")));  // which stays
}

TEST(RealDiskTest, ALinkIsReplacedWhereAFileIsCreatedAndWhatItLeadsToStays) {
  const TempFolder folder;
  WriteWholeFile(folder.File("victim"), "precious");
  for (const char* leads_to : {"victim", "nothing"}) {
    ASSERT_EQ(symlink(leads_to, folder.File("a").c_str()), 0);
    const Result<std::unique_ptr<File>> file = RealDisk().Create(folder.File("a"));
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    ASSERT_TRUE((*file)->Append(Bytes("text")).ok());
    EXPECT_EQ(ReadWholeFile(folder.File("a")), "text");
    EXPECT_EQ(ReadWholeFile(folder.File("victim")), "precious");
    EXPECT_EQ(RealDisk().OpenToRead(folder.File("nothing")).status().code(), StatusCode::kNotFound);
    ASSERT_TRUE(RealDisk().Remove(folder.File("a")).ok());
  }
}

TEST(RealDiskTest, AFileOfTwoNamesStaysUnderTheOtherOneWhereAFileIsCreated) {
  const TempFolder folder;
  WriteWholeFile(folder.File("victim"), "precious");
  ASSERT_EQ(link(folder.File("victim").c_str(), folder.File("a").c_str()), 0);
  const Result<std::unique_ptr<File>> file = RealDisk().Create(folder.File("a"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(ReadWholeFile(folder.File("a")), "");
  EXPECT_EQ(ReadWholeFile(folder.File("victim")), "precious");
}

TEST(RealDiskTest, APipeIsNoFile) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  const Status status = ReadFile(RealDisk(), path, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("cannot open " + path + ": is a pipe"));
  close(ends[0]);
  close(ends[1]);
}

// Nobody has the other end: waiting for one would not end.
TEST(RealDiskTest, APipeThatNobodyWritesToIsNoFile) {
  const TempFolder folder;
  ASSERT_TRUE(RealDisk().MakeFolder(folder.path()).ok());
  const std::string path = folder.File("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const Status& status :
       {RealDisk().OpenToRead(path).status(), RealDisk().OpenToRewrite(path).status(),
        RealDisk().Create(path).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr(path + ": is a pipe"));
  }
}

TEST(RealDiskTest, APipeIsNotReplaced) {
  const TempFolder folder;
  ASSERT_TRUE(RealDisk().MakeFolder(folder.path()).ok());
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(RealDisk().Create(folder.File("file")).ok());
  const Status status = RealDisk().Rename(folder.File("file"), folder.File("pipe"));
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("is a device or pipe"));
}

TEST_P(DiskContractTest, AFileOpenedToReadTakesNoBytes) {
  Write("a", "x");
  Result<std::unique_ptr<File>> file = disk_.OpenToRead(Path("a"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Append(Bytes("y")).code(), StatusCode::kFailed);
  EXPECT_EQ(Read("a"), "x");
}

TEST_P(DiskContractTest, BytesAreWrittenOverWhereTheyLie) {
  Write("a", "a long text");
  Result<std::unique_ptr<File>> file = disk_.OpenToRewrite(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_TRUE((*file)->WriteAt(2, Bytes("tall")).ok());
  ASSERT_TRUE((*file)->WriteAt(11, {}).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(Read("a"), "a tall text");
  for (const uint64_t offset : {uint64_t{8}, uint64_t{12}, UINT64_MAX}) {
    const Status behind = (*file)->WriteAt(offset, Bytes("text"));
    EXPECT_EQ(behind.code(), StatusCode::kFailed) << behind.ToString();
    EXPECT_THAT(behind.message(), HasSubstr("cannot write behind the end of " + Path("a")));
  }
  EXPECT_EQ((*file)->Append(Bytes("y")).code(), StatusCode::kFailed);
  EXPECT_EQ(Read("a"), "a tall text");
  // Who reads, or appends, does not write over anything.
  file = disk_.OpenToRead(Path("a"));
  EXPECT_EQ((*file)->WriteAt(0, Bytes("x")).code(), StatusCode::kFailed);
  EXPECT_EQ(Read("a"), "a tall text");
  file = disk_.Create(Path("b"));
  ASSERT_TRUE((*file)->Append(Bytes("text")).ok());
  EXPECT_EQ((*file)->WriteAt(0, Bytes("x")).code(), StatusCode::kFailed);
  EXPECT_EQ(Read("b"), "text");
}

TEST_P(DiskContractTest, RenameReplacesAndRemoveRemoves) {
  Write("a", "from");
  Write("b", "to");
  ASSERT_TRUE(disk_.Rename(Path("a"), Path("b")).ok());
  EXPECT_EQ(Read("b"), "from");
  EXPECT_FALSE(disk_.OpenToRead(Path("a")).ok());
  ASSERT_TRUE(disk_.Rename(Path("b"), Path("b")).ok());
  ASSERT_TRUE(disk_.Remove(Path("b")).ok());
  EXPECT_FALSE(disk_.OpenToRead(Path("b")).ok());
}

TEST_P(DiskContractTest, ReservedRoomChangesNoSizeAndCanBeGivenBack) {
  Result<std::unique_ptr<File>> file = disk_.Create(Path("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(Bytes("text")).ok());
  for (const uint64_t bytes : {100'000, 0, 3, 200'000}) {
    ASSERT_TRUE((*file)->Preallocate(bytes).ok());
    EXPECT_EQ(*(*file)->Size(), 4u);
  }
  EXPECT_EQ(Read("a"), "text");
  ASSERT_TRUE((*file)->Append(Bytes(" and more")).ok());
  ASSERT_TRUE(disk_.GiveBackReserve(Path("a")).ok());
  EXPECT_EQ(Read("a"), "text and more");
  ASSERT_TRUE((*file)->Append(Bytes(", still")).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  EXPECT_EQ(Read("a"), "text and more, still");
  EXPECT_EQ(disk_.GiveBackReserve(Path("b")).code(), StatusCode::kNotFound);
  Result<std::unique_ptr<File>> reader = disk_.OpenToRead(Path("a"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->Preallocate(100).code(), StatusCode::kFailed);
}

TEST(RealDiskTest, AnEmptyFileThatIsCreatedAgainKeepsWhatItHasReserved) {
  const TempFolder folder;
  const std::string path = folder.File("a");
  const auto reserved = [&] {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_blocks;
  };
  ASSERT_TRUE((*RealDisk().Create(path))->Preallocate(100'000).ok());
  const auto before = reserved();
  if (before == 0) GTEST_SKIP() << "this file system reserves nothing";
  const Result<std::unique_ptr<File>> file = RealDisk().Create(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(reserved(), before);
  ASSERT_TRUE((*file)->Append(Bytes("text")).ok());
  ASSERT_TRUE(RealDisk().Create(path).ok());
  EXPECT_EQ(reserved(), 0);
}

TEST(RealDiskTest, WithoutRoomForMoreWhatIsReservedStays) {
  const TempFolder folder;
  const SmallDisk disk(folder.File("disk"), "size=2m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const Result<std::unique_ptr<File>> file = RealDisk().Create(folder.File("disk/a"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  constexpr size_t kReserved = 256 << 10;
  ASSERT_TRUE((*file)->Preallocate(kReserved).ok());
  EXPECT_EQ((*file)->Preallocate(16 * kReserved).code(), StatusCode::kDiskFull);
  FillUp(folder.File("disk/filler"));
  const std::string text(kReserved, 'x');
  const Status appended = (*file)->Append(Bytes(text));
  EXPECT_TRUE(appended.ok()) << appended.ToString();
}

TEST_P(DiskContractTest, AnOpenFileOutlivesItsName) {
  Write("a", "text");
  Result<std::unique_ptr<File>> file = disk_.OpenToRead(Path("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(disk_.Remove(Path("a")).ok());
  std::string out(4, '?');
  EXPECT_EQ(*(*file)->ReadAt(0, std::as_writable_bytes(std::span(out))), 4u);
  EXPECT_EQ(out, "text");
}

TEST_P(DiskContractTest, ListIsSortedAndOneLevelDeep) {
  ASSERT_TRUE(disk_.MakeFolder(Path("d/e/f")).ok());
  ASSERT_TRUE(disk_.MakeFolder(Path("d/e/f")).ok());
  Write("z", "");
  Write("a", "");
  Write("d/inside", "");
  EXPECT_THAT(*disk_.List(folder_.path()), ElementsAre("a", "d", "z"));
  EXPECT_THAT(*disk_.List(Path("d/")), ElementsAre("e", "inside"));
  EXPECT_THAT(*disk_.List(Path("d/./e/f/../f")), ElementsAre());
}

TEST_P(DiskContractTest, AFolderIsRemovedWhenNothingIsInIt) {
  ASSERT_TRUE(disk_.MakeFolder(Path("d/e")).ok());
  Write("d/e/file", "text");
  for (const char* full : {"d", "d/e"}) EXPECT_FALSE(disk_.Remove(Path(full)).ok()) << full;
  EXPECT_EQ(Read("d/e/file"), "text");
  ASSERT_TRUE(disk_.Remove(Path("d/e/file")).ok());
  ASSERT_TRUE(disk_.Remove(Path("d/e")).ok());
  EXPECT_EQ(disk_.Remove(Path("d/e")).code(), StatusCode::kNotFound);
  ASSERT_TRUE(disk_.Remove(Path("d/")).ok());
  EXPECT_THAT(*disk_.List(folder_.path()), ElementsAre());
  EXPECT_FALSE(disk_.Create(Path("d/file")).ok());
}

TEST_P(DiskContractTest, ReadFileHasALimit) {
  Write("a", std::string(1000, 'x'));
  EXPECT_EQ(ReadFile(disk_, Path("a"), 1000)->size(), 1000u);
  const Status status = ReadFile(disk_, Path("a"), 999).status();
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("1000 bytes; at most 999"));
  Write("empty", "");
  EXPECT_EQ(*ReadFile(disk_, Path("empty"), 0), "");
  const std::string large(3'500'000, 'y');  // several chunks
  Write("large", large);
  EXPECT_EQ(*ReadFile(disk_, Path("large"), 4'000'000), large);
}

TEST_P(DiskContractTest, WriteFileAtomicallyLeavesNoTemporary) {
  ASSERT_TRUE(WriteFileAtomically(disk_, Path("m"), "one").ok());
  ASSERT_TRUE(WriteFileAtomically(disk_, Path("m"), "two").ok());
  EXPECT_EQ(Read("m"), "two");
  EXPECT_THAT(*disk_.List(folder_.path()), ElementsAre("m"));
  const Status status = WriteFileAtomically(disk_, Path("no/m"), "x");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(Path("no/m")));
}

TEST(RealDiskTest, FilesThatSayTheyAreEmptyAreRead) {
  Result<std::string> text = ReadFile(RealDisk(), "/proc/self/status", 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("Name:"));
  EXPECT_EQ(ReadFile(RealDisk(), "/proc/self/status", 5).status().code(), StatusCode::kRefused);
}

TEST(RealDiskTest, AFullDiskIsAFinalError) {
  Result<std::unique_ptr<File>> file = RealDisk().Create("/dev/full");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const Status first = (*file)->Append(Bytes("x"));
  EXPECT_EQ(first.message(), "cannot write /dev/full: No space left on device");
  EXPECT_EQ(first.code(), StatusCode::kDiskFull);
  EXPECT_EQ((*file)->Sync().message(), first.message());
}

TEST(RealDiskTest, TheBootIdStaysTheSame) {
  const Result<std::string> id = BootId();
  ASSERT_TRUE(id.ok()) << id.status().ToString();
  EXPECT_EQ(id->size(), 36u);
  EXPECT_EQ(*BootId(), *id);
}

}  // namespace
}  // namespace strata
