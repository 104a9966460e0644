// Memory that two processes share: what Attach takes, and which indexes of a peer can be.
#include "base/sealed_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBytes = 3 * 4096;

TEST(SealedMemory, IsTheSameForWhoAttaches) {
  const SealedMemory made = SealedMemory::Create("strata-test", kBytes).value();
  const OwnedFd descriptor(dup(made.descriptor()));
  const SealedMemory attached = SealedMemory::Attach(descriptor, kBytes).value();
  EXPECT_EQ(attached.bytes(), kBytes);
  EXPECT_EQ(attached.data()[kBytes - 1], std::byte{0});
  made.data()[kBytes - 1] = std::byte{7};
  EXPECT_EQ(attached.data()[kBytes - 1], std::byte{7});
}

TEST(SealedMemory, BelongsToItsUserAndKeepsItsSize) {
  SealedMemory made = SealedMemory::Create("strata-test", kBytes).value();
  struct stat info = {};
  ASSERT_EQ(fstat(made.descriptor(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_NE(ftruncate(made.descriptor(), 4096), 0);
  made.CloseDescriptor();
  EXPECT_EQ(made.descriptor(), -1);
  EXPECT_EQ(made.data()[0], std::byte{0});
}

TEST(SealedMemory, AttachTakesNothingElse) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const auto attach = [](size_t bytes, int seals) {
    const OwnedFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return SealedMemory::Attach(fd, kBytes).status();
  };
  EXPECT_TRUE(attach(kBytes, kSeals).ok());
  EXPECT_EQ(attach(kBytes, F_SEAL_GROW | F_SEAL_SEAL).code(), StatusCode::kCorrupt);
  EXPECT_THAT(attach(kBytes - 4096, kSeals).message(), HasSubstr("8192 bytes with seals"));
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const OwnedFd in(ends[0]);
  const OwnedFd out(ends[1]);
  EXPECT_EQ(SealedMemory::Attach(in, kBytes).status().code(), StatusCode::kCorrupt);
}

TEST(SealedMemory, AReaderIsBetweenWhatItHasReadAndWhatThereIs) {
  EXPECT_TRUE(CanHaveRead(10, 10, 20));
  EXPECT_TRUE(CanHaveRead(20, 10, 20));
  EXPECT_FALSE(CanHaveRead(9, 10, 20));
  EXPECT_FALSE(CanHaveRead(21, 10, 20));
  EXPECT_FALSE(CanHaveRead(UINT64_MAX, 10, 20));
}

TEST(SealedMemory, AWriterIsBetweenWhatItHasWrittenAndWhatThereIsRoomFor) {
  EXPECT_TRUE(CanHaveWritten(10, 10, 5, 8));
  EXPECT_TRUE(CanHaveWritten(13, 10, 5, 8));
  EXPECT_FALSE(CanHaveWritten(9, 10, 5, 8));
  EXPECT_FALSE(CanHaveWritten(14, 10, 5, 8));
  EXPECT_FALSE(CanHaveWritten(UINT64_MAX, 10, 5, 8));
}

}  // namespace
}  // namespace strata
