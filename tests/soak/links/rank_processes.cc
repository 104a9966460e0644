#include "tests/soak/links/rank_processes.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "tests/soak/links/rank_process.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr TimeNs kConnectTimeout = 30 * kSecond;

}  // namespace

RankProcesses::RankProcesses(int world, RankBoard* board) : board_(board) {
  for (int rank = 0; rank < world; ++rank) {
    auto listener = OpenListener("127.0.0.1", 0, kSecond);
    STRATA_CHECK_MSG(listener.ok(), listener.status().ToString());
    Machine machine;
    machine.host = "127.0.0.1";
    machine.port = listener->port;
    machine.rank = rank;
    machines_.push_back(machine);
    listeners_.push_back(std::move(*listener));
  }
}

RankProcesses::~RankProcesses() {
  for (const pid_t pid : pids_) {
    if (pid <= 0) continue;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

LinkOptions RankProcesses::Options(int rank) const {
  LinkOptions options;
  options.workers = machines_;
  options.rank = rank;
  options.cluster = "soak";
  options.job = "links";
  options.secret = "of this soak";
  options.connect_timeout = kConnectTimeout;
  return options;
}

void RankProcesses::Start(uint64_t seed,
                          const std::function<void(int rank, LinkOptions*)>& adjust) {
  for (int rank = 0; rank < world(); ++rank) {
    LinkOptions options = Options(rank);
    adjust(rank, &options);
    const pid_t pid = fork();
    if (pid == 0) {
      Listener mine = std::move(listeners_[static_cast<size_t>(rank)]);
      listeners_.clear();  // of a rank that dies nobody else listens at its port
      RunRankProcess(std::move(options), std::move(mine), seed, board_);
    }
    STRATA_CHECK(pid > 0);
    pids_.push_back(pid);
    ends_.push_back(0);
  }
  listeners_.clear();
}

void RankProcesses::Signal(int rank, int signal) {
  if (const pid_t pid = pids_[static_cast<size_t>(rank)]; pid > 0) kill(pid, signal);
}

bool RankProcesses::HasEnded(size_t rank) {
  pid_t& pid = pids_[rank];
  if (pid > 0 && waitpid(pid, &ends_[rank], WNOHANG) == pid) pid = 0;
  return pid == 0;
}

bool RankProcesses::AwaitAllAtWork(TimeNs patience) {
  bool ended = false;
  const auto at_work = [&](size_t rank) {
    ended = ended || HasEnded(rank);
    return board_->ranks[rank].calls > 0;
  };
  WaitUntil(
      [&] {
        int working = 0;
        for (size_t rank = 0; rank < pids_.size(); ++rank) working += at_work(rank) ? 1 : 0;
        return ended || working == world();
      },
      patience);
  return !ended && std::all_of(board_->ranks.begin(), board_->ranks.begin() + world(),
                               [](const RankWords& words) { return words.calls > 0; });
}

bool RankProcesses::AwaitAllRebuilt(int except, TimeNs patience) {
  return WaitUntil(
      [&] {
        bool all = true;
        for (size_t rank = 0; rank < pids_.size(); ++rank) {
          if (static_cast<int>(rank) == except) continue;
          if (HasEnded(rank)) return true;
          all = all && board_->ranks[rank].calls_rebuilt > 0;
        }
        return all;
      },
      patience);
}

bool RankProcesses::AwaitEnd(TimeNs patience) {
  return WaitUntil(
      [&] {
        bool all = true;
        for (size_t rank = 0; rank < pids_.size(); ++rank) all = HasEnded(rank) && all;
        return all;
      },
      patience);
}

bool RankProcesses::AwaitEndOf(int rank, TimeNs patience) {
  return WaitUntil([&] { return HasEnded(static_cast<size_t>(rank)); }, patience);
}

std::string RankProcesses::Crash(int rank) const {
  const int end = ends_[static_cast<size_t>(rank)];
  if (pids_[static_cast<size_t>(rank)] != 0) return "it has not ended";
  if (WIFSIGNALED(end)) return fmt::format("signal {}", WTERMSIG(end));
  if (WEXITSTATUS(end) != 0) return fmt::format("exit code {}", WEXITSTATUS(end));
  return "";
}

}  // namespace strata::soak
