// A process that writes a log and is killed, at random moments and, where failpoints are compiled
// in, at each of them: what it had written before it said so is there.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "tests/storage/log_fixture.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using log_test::AppendRecord;
using log_test::RecordOf;

// In the child: goes on with the log and tells each LSN that is safe. Does not return.
[[noreturn]] void WriteUntilKilled(const LogOptions& options, const std::string& failpoints,
                                   int told) {
  if (!ArmFailpoints(failpoints).ok()) _exit(3);
  const log_test::Replayed replayed = log_test::ReplayAll(options);
  if (!replayed.summary.ok()) _exit(4);
  const Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, replayed.summary->last);
  if (!log.ok()) _exit(5);
  for (int i = 0; i < 2000; ++i) {
    const Result<Lsn> lsn = AppendRecord(**log, RecordOf((*log)->appended() + 1, 6, 700));
    if (!lsn.ok()) _exit(6);
    if (*lsn % 3 != 0) continue;
    if (!(*log)->Write().ok() || (*lsn % 30 == 0 && !(*log)->Sync().ok())) _exit(6);
    if (*lsn % 90 == 0 && !(*log)->Trim(1).ok()) _exit(6);
    if (write(told, &*lsn, sizeof(Lsn)) != sizeof(Lsn)) _exit(7);
  }
  _exit(0);
}

class LogKillTest : public testing::Test {
 protected:
  // Runs a process until it dies, or has told `told_max` LSNs and is killed. Returns the last one.
  Lsn RunAndKill(const std::string& failpoints, uint64_t told_max) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WriteUntilKilled(options_, failpoints, ends[1]);
    }
    close(ends[1]);
    Lsn last = 0;
    for (uint64_t told = 0; told < told_max; ++told) {
      if (read(ends[0], &last, sizeof(Lsn)) != sizeof(Lsn)) break;
    }
    if (failpoints.empty()) kill(child, SIGKILL);
    Lsn later = 0;
    while (read(ends[0], &later, sizeof(Lsn)) == sizeof(Lsn)) last = later;
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    fired_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_TRUE(fired_ || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    return last;
  }

  // What is there after the process had told `told`.
  Lsn Check(Lsn told) {
    const log_test::Replayed replayed = log_test::ReplayAll(options_);
    EXPECT_TRUE(replayed.summary.ok()) << replayed.summary.status().ToString();
    if (!replayed.summary.ok()) return 0;
    EXPECT_GE(replayed.summary->last, told);
    for (size_t i = 0; i < replayed.records.size(); ++i) {
      EXPECT_EQ(replayed.records[i], RecordOf(i + 1, 6, 700)) << "LSN " << i + 1;
    }
    return replayed.summary->last;
  }

  TempFolder folder_;
  LogOptions options_ = {.disk = &RealDisk(),
                         .folder = folder_.File("lane"),
                         .boot_id = "boot",
                         .segment_bytes = 64 << 10};
  bool fired_ = false;
};

TEST_F(LogKillTest, AtRandomMoments) {
  Random random(1);
  Lsn last = 0;
  for (int life = 0; life < 12 && !HasFailure(); ++life) {
    const Lsn before = last;
    const Lsn told = RunAndKill("", 1 + random.Below(40));
    EXPECT_GT(told, before);
    last = Check(std::max(told, before));
  }
}

TEST_F(LogKillTest, AtEachFailpoint) {
  if (!kFailpointsCompiledIn) GTEST_SKIP() << "this build has no failpoints";
  Random random(2);
  int fired = 0;
  for (const std::string_view name : KnownFailpoints()) {
    if (!name.starts_with("log.") || name == "log.remove") continue;
    bool any = false;
    Lsn last = Check(0);
    for (const uint64_t hit : {uint64_t{1}, uint64_t{2}, 1 + random.Below(30)}) {
      SCOPED_TRACE(fmt::format("{} at hit {}", name, hit));
      if (last == 0) last = Check(RunAndKill("", 1));  // a process has left something
      const Lsn told = RunAndKill(fmt::format("{}=kill@{}", name, hit), 10'000);
      last = Check(std::max(told, last));
      any = any || fired_;
      fired += fired_ ? 1 : 0;
      if (HasFailure()) return;
      // Each life begins with a log that is short.
      if (last > 3000) {
        for (const SegmentFile& segment : log_test::Segments(options_)) {
          ASSERT_TRUE(RealDisk().Remove(segment.path).ok());
        }
        last = 0;
      }
    }
    EXPECT_TRUE(any) << name << " was never reached";
  }
  EXPECT_GT(fired, 20);
}

}  // namespace
}  // namespace strata
