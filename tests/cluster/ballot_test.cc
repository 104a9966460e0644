// What at most one list of members can be chosen by: quorums, acceptors, and ranks that all lead at
// once while messages are lost, late and out of order.
#include "cluster/link/regroup/ballot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"

namespace strata::link_internal {
namespace {

TEST(Quorum, AnyTwoHaveARankInCommon) {
  for (int world = 1; world <= 10; ++world) {
    std::vector<unsigned> quorums;
    for (unsigned set = 0; set < 1U << world; ++set) {
      std::vector<int> ranks;
      for (int rank = 0; rank < world; ++rank) {
        if ((set >> rank & 1) != 0) ranks.push_back(rank);
      }
      if (!IsQuorum(ranks, world)) continue;
      for (const unsigned other : quorums) ASSERT_NE(set & other, 0U) << world;
      quorums.push_back(set);
    }
    EXPECT_EQ(quorums.size(), 1U << (world - 1)) << world;  // of a set and the rest, one of the two
  }
  EXPECT_TRUE(IsQuorum(std::vector{0}, 2));
  EXPECT_FALSE(IsQuorum(std::vector{1}, 2));
}

TEST(Ballots, GrowAndBelongToOneRank) {
  std::set<uint64_t> all;
  uint64_t seen = 0;
  for (int round = 0; round < 100; ++round) {
    for (int rank = 0; rank < 5; ++rank) {
      const uint64_t next = NextBallot(seen, rank);
      EXPECT_GT(next, seen);
      EXPECT_TRUE(all.insert(next).second);
      if (round % 3 == rank % 3) seen = next;
    }
  }
}

TEST(Acceptor, KeepsItsPromises) {
  Acceptor acceptor;
  EXPECT_TRUE(acceptor.Promise(5));
  EXPECT_FALSE(acceptor.Promise(4));
  EXPECT_FALSE(acceptor.Accept({.ballot = 4, .members = {}}));
  EXPECT_EQ(acceptor.accepted().ballot, 0U);
  EXPECT_TRUE(acceptor.Accept({.ballot = 5, .members = std::vector<Member>(3)}));
  EXPECT_EQ(acceptor.accepted().members.size(), 3U);
  EXPECT_TRUE(acceptor.Promise(7));
  EXPECT_FALSE(acceptor.Accept({.ballot = 6, .members = {}}));
  EXPECT_EQ(acceptor.promised(), 7U);
  EXPECT_EQ(acceptor.accepted().ballot, 5U);
}

// A list that says by whom and in which ballot it was thought of.
std::vector<Member> Idea(uint64_t ballot) { return {{.machine = {}, .process = ballot}}; }

// Ranks that all lead. Each question to each rank is answered, or it or its answer is lost.
class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed),
        size_(2 + static_cast<int>(random_.Below(6))),
        acceptors_(static_cast<size_t>(size_)),
        leaders_(static_cast<size_t>(size_)) {}

  // Every list that a quorum has accepted in one ballot.
  std::set<uint64_t> Run() {
    for (int step = 0; step < 400; ++step) {
      const auto leader = static_cast<int>(random_.Below(static_cast<uint64_t>(size_)));
      const auto asked = static_cast<int>(random_.Below(static_cast<uint64_t>(size_)));
      if (random_.Chance(0.05)) Begin(leader);
      if (random_.Chance(0.01)) stopped_.insert(asked);
      if (!stopped_.contains(asked)) Ask(leader, asked);
    }
    return chosen_;
  }

 private:
  struct Leading {
    uint64_t ballot = 0;
    std::optional<Promises> promises;
    std::optional<Proposal> proposal;
  };

  void Begin(int rank) {
    seen_ = random_.Chance(0.8) ? seen_ : acceptors_[static_cast<size_t>(rank)].promised();
    Leading& mine = leaders_[static_cast<size_t>(rank)];
    const uint64_t ballot = NextBallot(std::max(seen_, mine.ballot), rank);
    mine.ballot = ballot;
    mine.promises.emplace(size_);
    mine.proposal.reset();
    seen_ = ballot;
  }

  void Ask(int rank, int asked) {
    Leading& leader = leaders_[static_cast<size_t>(rank)];
    Acceptor& acceptor = acceptors_[static_cast<size_t>(asked)];
    if (leader.ballot == 0) return;
    if (leader.proposal.has_value()) {
      if (!acceptor.Accept(*leader.proposal)) return;
      auto& accepted = accepted_[leader.ballot];
      accepted.insert(asked);
      const std::vector<int> ranks(accepted.begin(), accepted.end());
      if (IsQuorum(ranks, size_)) chosen_.insert(leader.proposal->members[0].process);
      return;
    }
    if (!acceptor.Promise(leader.ballot) || random_.Chance(0.2)) return;
    Promises& promises = *leader.promises;
    if (std::ranges::find(promises.ranks(), asked) != promises.ranks().end()) return;
    promises.Add(asked, acceptor.accepted());
    if (!promises.IsEnough()) return;
    leader.proposal =
        Proposal{.ballot = leader.ballot,
                 .members = promises.bound().empty() ? Idea(leader.ballot) : promises.bound()};
  }

  Random random_;
  const int size_;
  std::vector<Acceptor> acceptors_;
  std::vector<Leading> leaders_;
  std::set<int> stopped_;
  uint64_t seen_ = 0;
  std::map<uint64_t, std::set<int>> accepted_;  // by ballot
  std::set<uint64_t> chosen_;
};

TEST(Ballots, ChooseOneListHoweverManyLead) {
  int decided = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::set<uint64_t> chosen = World(seed).Run();
    ASSERT_LE(chosen.size(), 1U) << "seed " << seed;
    decided += chosen.empty() ? 0 : 1;
  }
  EXPECT_GT(decided, 2500);
}

}  // namespace
}  // namespace strata::link_internal
