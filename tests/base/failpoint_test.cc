#include "base/failpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/file/disk.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

using testing::HasSubstr;

class FailpointTest : public testing::Test {
 protected:
  ~FailpointTest() override { EXPECT_TRUE(ArmFailpoints("").ok()); }
  SimDisk disk_;
  Status Write() { return WriteFileAtomically(disk_, "file", "text"); }
};

TEST_F(FailpointTest, ListsThatMakeNoSenseAreRefusedAndNameWhatThereIs) {
  for (const char* list : {"log.wrote=kill", "log.write", "log.write=die", "log.write=kill@0",
                           "log.write=kill@1/0", "log.write=kill@", "log.write=kill@2x",
                           "log.write=kill@1/x", "log.write=kill,,", "seed=x", "="}) {
    const Status status = ArmFailpoints(list);
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << list;
    EXPECT_THAT(status.message(), HasSubstr("STRATA_FAILPOINTS"));
    EXPECT_THAT(status.message(),
                HasSubstr(kFailpointsCompiledIn ? "file.write, file.sync" : "has no failpoints"));
  }
  EXPECT_TRUE(Write().ok());
}

TEST_F(FailpointTest, AnErrorComesAtItsHitOnly) {
  if (!kFailpointsCompiledIn) GTEST_SKIP() << "this build has no failpoints";
  ASSERT_TRUE(ArmFailpoints("file.sync=error@3").ok());
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Write().ok(), i != 3);
  EXPECT_EQ(FailpointHits("file.sync"), 5u);
  EXPECT_EQ(FailpointHits("file.rename"), 4u);
  ASSERT_TRUE(ArmFailpoints("file.rename=error").ok());
  EXPECT_EQ(Write().message(), "failpoint file.rename at hit 1");
  EXPECT_TRUE(Write().ok());
}

TEST_F(FailpointTest, ChanceFollowsTheSeed) {
  if (!kFailpointsCompiledIn) GTEST_SKIP() << "this build has no failpoints";
  std::set<std::string> seen;
  for (int seed = 1; seed <= 6; ++seed) {
    std::string first;
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(ArmFailpoints(fmt::format("seed={},file.write=error@1/4", seed)).ok());
      std::string outcomes;
      for (int i = 0; i < 200; ++i) outcomes += Write().ok() ? '.' : 'x';
      const auto errors = std::ranges::count(outcomes, 'x');
      EXPECT_GT(errors, 25);
      EXPECT_LT(errors, 80);
      if (run == 0) first = outcomes;
      EXPECT_EQ(outcomes, first);
    }
    seen.insert(first);
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST_F(FailpointTest, KillEndsTheProcessAtOnce) {
  if (!kFailpointsCompiledIn) GTEST_SKIP() << "this build has no failpoints";
  const auto die = [&] {
    STRATA_CHECK(ArmFailpoints("file.write=error@1,file.rename=kill@2").ok());
    STRATA_CHECK(!Write().ok());
    STRATA_CHECK(Write().ok());
    static_cast<void>(Write());
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGKILL), "failpoint file.rename: kill at hit 2");
}

TEST_F(FailpointTest, TheEnvironmentArms) {
  setenv("STRATA_FAILPOINTS", "file.write=error", 1);
  EXPECT_EQ(ArmFailpointsFromEnvironment().ok(), kFailpointsCompiledIn);
  EXPECT_EQ(Write().ok(), !kFailpointsCompiledIn);
  unsetenv("STRATA_FAILPOINTS");
  EXPECT_TRUE(ArmFailpointsFromEnvironment().ok());
}

// That each use has a known name is checked when it is compiled.
TEST(FailpointListTest, EachKnownFailpointIsUsed) {
  std::set<std::string> used;
  const std::regex use("STRATA_FAILPOINT\\(\"([^\"]*)\"\\)");
  for (const char* folder : {"base", "storage", "cluster", "ps", "worker"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(STRATA_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cc") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const std::string code = text.str();
      for (std::sregex_iterator it(code.begin(), code.end(), use), end; it != end; ++it) {
        used.insert((*it)[1]);
      }
    }
  }
  const auto known = KnownFailpoints();
  EXPECT_EQ(used, std::set<std::string>(known.begin(), known.end()));
}

}  // namespace
}  // namespace strata
