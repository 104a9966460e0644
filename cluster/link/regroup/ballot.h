// Ballots: how the ranks of a group that has failed agree on the one that follows it. This is
// Lamport's single-decree Paxos ("Paxos made simple", 2001) with the old ranks as acceptors and the
// new members as the value, and the quorum of dynamic linear voting (Jajodia and Mutchler 1990):
// whatever is lost, delayed or stopped on the way, at most one list of members is ever chosen. Pure
// state, no socket, no clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/topology/machine_list.h"

namespace strata::link_internal {

// A rank of a group: where it listens, and which process it is.
struct Member {
  Machine machine;
  uint64_t process = 0;
};

struct Proposal {
  uint64_t ballot = 0;  // 0: none
  std::vector<Member> members;
};

// Numbers of ballots: no two ranks use one, and each can go above any that it has seen.
uint64_t NextBallot(uint64_t seen, int rank);

// Whether these ranks of a group of `world`, each named once, may decide for it: more than half of
// them, or exactly half with rank 0 among them. Any two such sets have a rank in common.
bool IsQuorum(std::span<const int> ranks, int world);

// What one rank of the old group has promised and accepted. What it forgets it must not have been
// asked: a process that ends takes its vote with it.
class Acceptor {
 public:
  // From now on nothing below `ballot` is accepted. False when it has promised a higher one.
  bool Promise(uint64_t ballot);
  // False when a higher ballot has been promised.
  bool Accept(const Proposal& proposal);

  uint64_t promised() const { return promised_; }
  const Proposal& accepted() const { return accepted_; }

 private:
  uint64_t promised_ = 0;
  Proposal accepted_;
};

// What a leader has been promised in one ballot.
class Promises {
 public:
  explicit Promises(int world) : world_(world) {}
  // A rank's, once each, and what it has accepted before.
  void Add(int rank, const Proposal& accepted);

  const std::vector<int>& ranks() const { return ranks_; }
  bool IsEnough() const { return IsQuorum(ranks_, world_); }
  // What has to be proposed, since it may have been chosen already; empty: anything may be.
  const std::vector<Member>& bound() const { return highest_.members; }

 private:
  const int world_;
  std::vector<int> ranks_;
  Proposal highest_;
};

}  // namespace strata::link_internal
