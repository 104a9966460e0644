#include "base/output_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

// The file would take the link's place, and what it leads to stay as it was.
TEST(OutputFolderTest, ALinkIsNoPlaceForAFile) {
  const TempFolder folder;
  ASSERT_TRUE(CheckFolderOf(RealDisk(), folder.File("new")).ok());
  for (const char* leads_to : {"new", "/dev/null", "/nowhere/new", "link"}) {
    ASSERT_EQ(symlink(leads_to, folder.File("link").c_str()), 0);
    const Status status = CheckFolderOf(RealDisk(), folder.File("link"));
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << leads_to;
    EXPECT_NE(status.message().find("is a link"), std::string::npos) << status.message();
    ASSERT_EQ(unlink(folder.File("link").c_str()), 0);
  }
}

}  // namespace
}  // namespace strata
