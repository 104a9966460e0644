// Ranks that are processes of their own and run to their end, each with an answer.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <type_traits>
#include <vector>

#include "tests/cluster/loopback.h"

namespace strata {

// Runs `body` once for each rank, each in a process of its own, and returns what it returns, in
// rank order. EXPECTs that all of them end within `patience`. Failures of checks in `body` are
// printed, and count. To be called by a process with one thread.
template <typename Answer>
std::vector<Answer> InProcesses(int world, const std::function<Answer(int rank)>& body,
                                TimeNs patience = 60 * kSecond) {
  static_assert(std::is_trivially_copyable_v<Answer>);
  const TimeNs deadline = RealClock().Now() + patience;
  std::vector<pid_t> pids;
  std::vector<OwnedFd> pipes;
  std::fflush(stdout);
  for (int rank = 0; rank < world; ++rank) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pids.push_back(fork());
    if (pids.back() == 0) {
      const Answer answer = body(rank);
      const bool written = write(ends[1], &answer, sizeof(answer)) == sizeof(answer);
      std::fflush(stdout);
      _exit(written && !testing::Test::HasFailure() ? 0 : 1);
    }
    close(ends[1]);
    pipes.emplace_back(ends[0]);
  }
  std::vector<Answer> answers(pids.size());
  for (size_t rank = 0; rank < pids.size(); ++rank) {
    const TimeNs left = std::max<TimeNs>(deadline - RealClock().Now(), 0);
    pollfd wait = {.fd = pipes[rank].get(), .events = POLLIN, .revents = 0};
    const bool answered =
        poll(&wait, 1, static_cast<int>(left / kMillisecond)) == 1 &&
        read(wait.fd, &answers[rank], sizeof(Answer)) == static_cast<ssize_t>(sizeof(Answer));
    EXPECT_TRUE(answered) << "of rank " << rank;
    if (!answered) kill(pids[rank], SIGKILL);
    int state = 0;
    waitpid(pids[rank], &state, 0);
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << "of rank " << rank;
  }
  return answers;
}

// The same for the ranks of `net`, whose processes have their own listening socket only.
template <typename Answer>
std::vector<Answer> InProcesses(Loopback* net, const std::function<Answer(int rank)>& body,
                                TimeNs patience = 60 * kSecond) {
  const auto answers = InProcesses<Answer>(
      static_cast<int>(net->machines.size()),
      [&](int rank) {
        for (size_t other = 0; other < net->listeners.size(); ++other) {
          if (other != static_cast<size_t>(rank)) net->listeners[other] = Listener();
        }
        return body(rank);
      },
      patience);
  net->listeners.clear();
  return answers;
}

}  // namespace strata
