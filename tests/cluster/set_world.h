// A world of ranks that knows of a block only whose contributions it holds: the oracle of the
// schedules. It checks, too, that both ends of each exchange agree on it.
#pragma once

#include <gtest/gtest.h>

#include <bitset>
#include <functional>
#include <vector>

#include "cluster/schedule/algorithms.h"

namespace strata {

constexpr int kWorldMax = 300;

// A set of ranks.
class RankSet {
 public:
  static RankSet Of(int rank) {
    RankSet set;
    set.ranks_.set(static_cast<size_t>(rank));
    return set;
  }
  static RankSet Full(int world) {
    RankSet set;
    for (int r = 0; r < world; ++r) set.ranks_.set(static_cast<size_t>(r));
    return set;
  }
  bool empty() const { return ranks_.none(); }
  // False when a rank is in both.
  bool Join(const RankSet& other) {
    const bool disjoint = (ranks_ & other.ranks_).none();
    ranks_ |= other.ranks_;
    return disjoint;
  }
  bool operator==(const RankSet&) const = default;

 private:
  std::bitset<kWorldMax> ranks_;
};

// What the ranks of a collective hold: holds[rank][block].
using Holdings = std::vector<std::vector<RankSet>>;

inline std::vector<int> BlocksOf(const BlockSet& set, int blocks) {
  std::vector<int> list;
  VisitRuns(set, blocks, [&](int first, int count) {
    for (int i = 0; i < count; ++i) list.push_back(first + i);
  });
  return list;
}

// The schedules of all ranks, run in lockstep. `deliver` gets each message: the two ranks, and the
// two ends' steps. Fails the test when ends disagree or a message is not taken.
class LockStep {
 public:
  explicit LockStep(const std::function<Schedule(int rank)>& make, int world) {
    for (int r = 0; r < world; ++r) schedules_.push_back(make(r));
  }

  const std::vector<Schedule>& schedules() const { return schedules_; }

  using Deliver = std::function<void(int from, const Step& sent, int to, const Step& taken)>;
  // begin_round is called before the messages of a round are delivered: all of them leave before
  // any arrives.
  void Run(const std::function<void()>& begin_round, const Deliver& deliver) const {
    const auto world = static_cast<int>(schedules_.size());
    std::vector<size_t> next(schedules_.size());
    for (int round = 0; round < schedules_[0].rounds; ++round) {
      begin_round();
      std::vector<const Step*> steps(schedules_.size());
      for (size_t r = 0; r < schedules_.size(); ++r) {
        ASSERT_EQ(schedules_[r].rounds, schedules_[0].rounds);
        if (next[r] == schedules_[r].steps.size()) continue;
        const Step& step = schedules_[r].steps[next[r]];
        ASSERT_GE(step.round, round) << "rank " << r;
        if (step.round == round) steps[r] = &schedules_[r].steps[next[r]++];
      }
      int sent = 0;
      int taken = 0;
      for (int r = 0; r < world; ++r) {
        const Step* step = steps[static_cast<size_t>(r)];
        if (step == nullptr) continue;
        taken += step->from >= 0 ? 1 : 0;
        if (step->to < 0) continue;
        ++sent;
        ASSERT_NE(step->to, r);
        const Step* there = steps[static_cast<size_t>(step->to)];
        ASSERT_TRUE(there != nullptr && there->from == r)
            << "round " << round << ": rank " << step->to << " does not expect rank " << r;
        ASSERT_EQ(step->send.count, there->receive.count) << "round " << round << " rank " << r;
        ASSERT_NO_FATAL_FAILURE(deliver(r, *step, step->to, *there));
      }
      ASSERT_EQ(sent, taken) << "round " << round;
    }
    for (size_t r = 0; r < schedules_.size(); ++r) {
      ASSERT_EQ(next[r], schedules_[r].steps.size()) << "rank " << r << " has steps left";
    }
  }

 private:
  std::vector<Schedule> schedules_;
};

// Runs the schedules over *holds.
inline void RunSets(const LockStep& ranks, Holdings* holds) {
  const int blocks = ranks.schedules()[0].blocks;
  // What arrives in a round must not leave again in it. Only blocks that are overwritten before
  // they leave could go wrong, so the messages are kept back until the round is over.
  struct Mail {
    int to;
    int block;
    OnArrival on_arrival;
    RankSet set;
  };
  std::vector<Mail> mail;
  const auto arrive = [&] {
    bool disjoint = true;
    for (const Mail& m : mail) {
      RankSet& mine = (*holds)[static_cast<size_t>(m.to)][static_cast<size_t>(m.block)];
      if (m.on_arrival == OnArrival::kPlace) {
        mine = m.set;
      } else {
        disjoint &= mine.Join(m.set);
      }
    }
    ASSERT_TRUE(disjoint) << "a contribution is counted twice";
    mail.clear();
  };
  ranks.Run(arrive, [&](int from, const Step& sent, int to, const Step& taken) {
    const std::vector<int> out = BlocksOf(sent.send, blocks);
    const std::vector<int> in = BlocksOf(taken.receive, blocks);
    ASSERT_EQ(out, in) << "rank " << from << " to rank " << to;
    // An assertion for each of some billion blocks would be most of the work.
    bool there = true;
    for (const int block : out) {
      mail.push_back({to, block, taken.on_arrival,
                      (*holds)[static_cast<size_t>(from)][static_cast<size_t>(block)]});
      there &= !mail.back().set.empty();
    }
    ASSERT_TRUE(there) << "rank " << from << " sends what it does not have";
  });
  arrive();
}

}  // namespace strata
