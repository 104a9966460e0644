// Ranks that are processes of their own, killed and stopped in the middle of collectives: every
// survivor ends in time with exit code 3 and the name of the rank to blame.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cluster/collective/group.h"
#include "tests/cluster/with_tls.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int kWorld = 6;
constexpr size_t kLinkedMarkBytes = 1;

// What a rank does: link up, say so with one byte, work until the group fails, say why.
[[noreturn]] void WorkAsRank(Loopback* net, int rank, int report_fd) {
  LinkOptions options = net->Options(rank);
  options.peer_lost_after = 3 * kSecond;
  Status status;
  {
    const auto links = net->Listen(options);
    for (int r = 0; r < kWorld; ++r) {
      if (r != rank) net->listeners[static_cast<size_t>(r)] = Listener();
    }
    status = links->Connect();
    if (write(report_fd, status.ok() ? "+" : "-", kLinkedMarkBytes) != 1) _exit(70);
    Group group(*links);
    std::vector<float> data(20'000);
    while (status.ok()) status = group.Allreduce(std::span<float>(data), ReduceOp::kSum);
  }
  const std::string& why = status.message();
  _exit(write(report_fd, why.data(), why.size()) > 0 ? ExitCode(status) : 70);
}

class RankProcesses {
 public:
  explicit RankProcesses(Loopback net) : net_(std::move(net)) {
    for (int r = 0; r < kWorld; ++r) {
      int ends[2];
      EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
      const pid_t pid = fork();
      if (pid == 0) WorkAsRank(&net_, r, ends[1]);
      close(ends[1]);
      reports_.emplace_back(ends[0]);
      pids_.push_back(pid);
    }
    net_.listeners.clear();
    for (int r = 0; r < kWorld; ++r) EXPECT_EQ(Read(r, kLinkedMarkBytes), "+");
  }

  ~RankProcesses() {
    for (pid_t pid : pids_) {
      if (pid <= 0) continue;  // has ended, or was never born
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  void Signal(int rank, int signal) { kill(pids_[static_cast<size_t>(rank)], signal); }

  // Every rank but `victim` ends with code 3 and a message that names it, before `bound` is over.
  void ExpectAllBlame(int victim, TimeNs bound) {
    const TimeNs start = RealClock().Now();
    const std::string name = "rank " + std::to_string(victim) + " (" +
                             net_.machines[static_cast<size_t>(victim)].Address();
    for (int r = 0; r < kWorld; ++r) {
      if (r == victim) continue;
      EXPECT_THAT(Read(r, 4096), HasSubstr(name + ") is lost")) << "on rank " << r;
      int state = 0;
      pid_t& pid = pids_[static_cast<size_t>(r)];
      EXPECT_EQ(waitpid(pid, &state, 0), pid);
      pid = 0;
      EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 3) << state;
    }
    EXPECT_LT(RealClock().Now() - start, bound);
  }

 private:
  // At most `size` bytes of a rank's report; "" when none comes for 60 s.
  std::string Read(int rank, size_t size) {
    const int fd = reports_[static_cast<size_t>(rank)].get();
    pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 60'000) != 1) return "";
    std::string text(size, '\0');
    const ssize_t got = read(fd, text.data(), size);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

  Loopback net_;
  std::vector<pid_t> pids_;
  std::vector<OwnedFd> reports_;
};

class RankProcessesTest : public WithAndWithoutTls {};
INSTANTIATE_TEST_SUITE_P(Security, RankProcessesTest, testing::Bool(), TlsName);

TEST_P(RankProcessesTest, KilledRankIsNamedWithinTwoSeconds) {
  RankProcesses ranks(Net(kWorld));
  ranks.Signal(3, SIGKILL);  // ranks 0 and 3 have no link
  ranks.ExpectAllBlame(3, 2 * kSecond);
}

TEST_P(RankProcessesTest, StoppedRankIsNamedOnceItHasBeenSilentForTooLong) {
  RankProcesses ranks(Net(kWorld));
  ranks.Signal(2, SIGSTOP);
  ranks.ExpectAllBlame(2, 5 * kSecond);  // silent for 3 s, and time to end
}

}  // namespace
}  // namespace strata
