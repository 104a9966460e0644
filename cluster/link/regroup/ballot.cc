#include "cluster/link/regroup/ballot.h"

#include <algorithm>

namespace strata::link_internal {
namespace {

constexpr int kRankBits = 16;

}  // namespace

uint64_t NextBallot(uint64_t seen, int rank) {
  return ((seen >> kRankBits) + 1) << kRankBits | static_cast<uint64_t>(rank);
}

bool IsQuorum(std::span<const int> ranks, int world) {
  const auto twice = static_cast<int>(2 * ranks.size());
  return twice > world || (twice == world && std::ranges::find(ranks, 0) != ranks.end());
}

bool Acceptor::Promise(uint64_t ballot) {
  if (ballot < promised_) return false;
  promised_ = ballot;
  return true;
}

bool Acceptor::Accept(const Proposal& proposal) {
  if (!Promise(proposal.ballot)) return false;
  accepted_ = proposal;
  return true;
}

void Promises::Add(int rank, const Proposal& accepted) {
  ranks_.push_back(rank);
  if (accepted.ballot > highest_.ballot) highest_ = accepted;
}

}  // namespace strata::link_internal
