#include "base/print.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/support/temp_folder.h"

namespace strata {
namespace {

// A little of it waits in the buffer, much of it does not: each says that it was not written.
TEST(WriteOut, AFullDiskIsSaidAndNothingThrows) {
  for (const size_t bytes : {1, 100'000}) {
    std::FILE* full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    EXPECT_FALSE(WriteOut(full, std::string(bytes, 'x'))) << bytes;
    EXPECT_EQ(errno, ENOSPC);
    std::fclose(full);
  }
}

TEST(WriteOut, IsThereWhenItReturns) {
  const TempFolder folder;
  std::FILE* file = std::fopen(folder.File("out").c_str(), "w");
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(WriteOut(file, "one\n"));
  EXPECT_EQ(ReadWholeFile(folder.File("out")), "one\n");
  std::fclose(file);
}

TEST(OpenMissingStreams, LeavesNoNumberOfAStreamToAFileThatIsOpenedLater) {
  const auto try_it = [] {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
    OpenMissingStreams();
    _exit(open("/dev/null", O_RDONLY) > STDERR_FILENO && IsStdoutUnread() ? 0 : 1);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace strata
