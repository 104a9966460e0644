// The ranks of a cycle: processes on loopback, of which each can be killed, stopped and asked how
// it has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/link/connect/listener.h"
#include "cluster/link/links.h"
#include "tests/soak/links/rank_board.h"

namespace strata::soak {

// To be used by a process with one thread: it forks.
class RankProcesses {
 public:
  // Opens the ports of `world` ranks. `board` outlives this.
  RankProcesses(int world, RankBoard* board);
  ~RankProcesses();  // kills those that are still there
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  int world() const { return static_cast<int>(machines_.size()); }
  uint16_t port(int rank) const { return machines_[static_cast<size_t>(rank)].port; }
  // What the options of a rank have in common with all others.
  LinkOptions Options(int rank) const;

  // Starts them all. `adjust` changes what a rank's own options say.
  void Start(uint64_t seed, const std::function<void(int rank, LinkOptions*)>& adjust);

  void Signal(int rank, int signal);
  // False when one of them has ended before.
  bool AwaitAllAtWork(TimeNs patience);
  // Until all but `except` work in a group that follows the first, or one of them has ended. False
  // when neither comes.
  bool AwaitAllRebuilt(int except, TimeNs patience);
  // False when one of them, or that one, has not ended.
  bool AwaitEnd(TimeNs patience);
  bool AwaitEndOf(int rank, TimeNs patience);
  // Empty, or how a rank's process has ended that should have ended by itself.
  std::string Crash(int rank) const;

 private:
  bool HasEnded(size_t rank);

  RankBoard* const board_;
  std::vector<Machine> machines_;
  std::vector<Listener> listeners_;
  std::vector<pid_t> pids_;  // 0: has ended, and was waited for
  std::vector<int> ends_;    // what waitpid said
};

}  // namespace strata::soak
