// The tests' own support.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/free_port.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

const std::string kShell = "/bin/sh";

Process Shell(const std::string& script) { return Process(kShell, {.arguments = {"-c", script}}); }

// False for zombies too.
bool Alive(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return false;
  std::ifstream in(path);
  std::string stat((std::istreambuf_iterator<char>(in)), {});
  const size_t end = stat.rfind(") ");
  return end != std::string::npos && stat[end + 2] != 'Z';
}

TEST(ProcessTest, RunsWithArgumentsEnvironmentInputAndFolder) {
  const TempFolder folder;
  const ProcessResult result = RunProcess(
      kShell,
      {.arguments = {"-c", "echo \"$1 $STRATA_TEST\"; cat; pwd; echo bad >&2; exit 7", "sh", "one"},
       .environment = {{"STRATA_TEST", "two"}},
       .folder = folder.path(),
       .input = "three\n"});
  EXPECT_EQ(result.end, (ProcessEnd{7, 0}));
  EXPECT_EQ(result.output, "one two\nthree\n" + folder.path() + "\n");
  EXPECT_EQ(result.errors, "bad\n");
}

TEST(ProcessTest, AProgramThatIsMissingEndsWith127) {
  const ProcessResult result = RunProcess("/no/such/program", {});
  EXPECT_EQ(result.end, (ProcessEnd{127, 0}));
  EXPECT_EQ(result.errors, "cannot run /no/such/program: No such file or directory\n");
}

TEST(ProcessTest, WaitsForOutputAndSignals) {
  Process process =
      Shell("trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(process.WaitForOutput("ready\n"));
  EXPECT_TRUE(process.Running());
  EXPECT_EQ(process.Wait(0), std::nullopt);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), (ProcessEnd{3, 0}));
  EXPECT_EQ(process.Output(), "ready\ncaught\n");
  EXPECT_FALSE(process.Running());
  process.Signal(SIGTERM);  // nothing is there to get it
  EXPECT_FALSE(process.WaitForErrors("never"));
}

TEST(ProcessTest, KillIsSeenAsASignal) {
  Process process = Shell("exec sleep 1000");
  process.Signal(SIGSTOP);
  EXPECT_TRUE(process.Running());
  process.Signal(SIGKILL);
  EXPECT_EQ(process.Wait(), (ProcessEnd{-1, SIGKILL}));
}

TEST(ProcessTest, NothingOutlivesTheObject) {
  pid_t pid = 0;
  pid_t grandchild = 0;
  {
    Process process = Shell("sleep 1000 & echo $!; sleep 1000; true");
    pid = process.pid();
    ASSERT_TRUE(process.WaitForOutput("\n"));
    grandchild = static_cast<pid_t>(std::stol(process.Output()));
    EXPECT_EQ(kill(pid, 0), 0);
    EXPECT_EQ(kill(grandchild, 0), 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
  // Reaped by whoever adopts it, or a zombie where nobody does.
  EXPECT_TRUE(WaitUntil([&] { return !Alive(grandchild); }));
}

TEST(ProcessTest, RunProcessKillsWhatTakesTooLong) {
  EXPECT_EQ(RunProcess("/bin/sleep", {.arguments = {"1000"}}, kMillisecond).end,
            (ProcessEnd{-1, SIGKILL}));
}

TEST(ProcessTest, ProgramsAreInTheBuildsFolder) {
  EXPECT_THAT(ProgramPath("strata-server"), testing::EndsWith("/bin/strata-server"));
}

TEST(TempFolderTest, GoesWithAllThatIsInIt) {
  std::string path;
  {
    const TempFolder folder;
    path = folder.path();
    WriteWholeFile(folder.File("a"), "text");
    EXPECT_EQ(ReadWholeFile(folder.File("a")), "text");
    std::filesystem::create_directories(folder.File("b/c"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(FreePortTest, HeldPortsDiffer) {
  FreePort a;
  const FreePort b;
  EXPECT_NE(a.number(), 0);
  EXPECT_NE(a.number(), b.number());
  EXPECT_EQ(a.Release(), a.number());
}

TEST(FreePortTest, AReleasedPortIsNobodyElses) {
  std::set<uint16_t> numbers;
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(numbers.insert(FreePort().Release()).second);
  int lowest = 0;
  int highest = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> lowest >> highest;
  if (highest - lowest > 60'000) GTEST_SKIP() << "this system hands out all ports";
  for (const uint16_t number : numbers) {
    EXPECT_TRUE(number < lowest || number > highest) << number;
  }
}

TEST(WaitUntilTest, EndsEitherWay) {
  int asked = 0;
  EXPECT_TRUE(WaitUntil([&] { return ++asked == 3; }));
  EXPECT_FALSE(WaitUntil([] { return false; }, kMillisecond));
}

}  // namespace
}  // namespace strata
