// Every schedule against a simulation with sets, for 1 to 300 ranks: no contribution is lost or
// counted twice, nothing is sent that is not there, both ends of each exchange agree; and rounds
// and blocks against the bounds that docs/collectives.md states.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "cluster/schedule/algorithms.h"
#include "cluster/schedule/all_to_all.h"
#include "cluster/topology/halving.h"
#include "tests/cluster/set_world.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

// What a rank holds of a block in the beginning or the end: nobody's, the block's own rank's, the
// root's, its own rank's, or everybody's contribution.
RankSet Begin(Collective operation, int rank, int block, int root) {
  const RankSet nothing;
  switch (operation) {
    case Collective::kAllreduce:
    case Collective::kReduce:
    case Collective::kReduceScatter:
      return RankSet::Of(rank);
    case Collective::kAllgather:
    case Collective::kGather:
      return rank == block ? RankSet::Of(block) : nothing;
    case Collective::kBroadcast:
      return rank == root ? RankSet::Of(root) : nothing;
    case Collective::kScatter:
      return rank == root ? RankSet::Of(block) : nothing;
    default:
      return nothing;
  }
}

// Whether the rank must hold the block in the end, and what then.
bool Ends(Collective operation, int rank, int block, int root) {
  switch (operation) {
    case Collective::kGather:
    case Collective::kReduce:
      return rank == root;
    case Collective::kScatter:
    case Collective::kReduceScatter:
      return rank == block;
    default:
      return true;
  }
}

RankSet End(Collective operation, int world, int block, int root) {
  switch (operation) {
    case Collective::kAllreduce:
    case Collective::kReduce:
    case Collective::kReduceScatter:
      return RankSet::Full(world);
    case Collective::kBroadcast:
      return RankSet::Of(root);
    default:
      return RankSet::Of(block);
  }
}

void Check(Collective operation, Algorithm algorithm, int world, int root, int pieces) {
  SCOPED_TRACE(testing::Message() << CollectiveName(operation) << " " << AlgorithmName(algorithm)
                                  << " n=" << world << " root=" << root << " pieces=" << pieces);
  const bool inputs = algorithm == Algorithm::kInputs;
  const Collective checked = inputs ? Collective::kAllgather : operation;
  const LockStep ranks(
      [&](int rank) {
        return MakeSchedule(operation, algorithm,
                            {.world = world, .rank = rank, .root = root, .pieces = pieces});
      },
      world);
  const int blocks = ranks.schedules()[0].blocks;
  Holdings holds(static_cast<size_t>(world));
  for (int r = 0; r < world; ++r) {
    for (int b = 0; b < blocks; ++b) {
      holds[static_cast<size_t>(r)].push_back(Begin(checked, r, b, root));
    }
  }
  ASSERT_NO_FATAL_FAILURE(RunSets(ranks, &holds));
  for (int r = 0; r < world; ++r) {
    for (int b = 0; b < blocks; ++b) {
      if (!Ends(checked, r, b, root)) continue;
      ASSERT_EQ(holds[static_cast<size_t>(r)][static_cast<size_t>(b)], End(checked, world, b, root))
          << "rank " << r << " block " << b;
    }
  }
}

class SetSimulation : public testing::TestWithParam<Collective> {};

TEST_P(SetSimulation, EveryAlgorithmFrom1To300Ranks) {
  const Collective operation = GetParam();
  for (const Algorithm algorithm : AlgorithmsOf(operation)) {
    for (int world = 1; world <= kWorldMax; ++world) {
      // Pure functions of one thread: sanitizers see what there is in the small worlds.
      if (kSanitized && world > 40 && world % 16 > 1) continue;
      std::set<int> roots = {0};
      if (HasRoot(operation)) roots.insert({world / 3, world - 1});
      for (const int root : roots) {
        const int pieces = algorithm == Algorithm::kPipelined ? 1 + world % 7 : 1;
        ASSERT_NO_FATAL_FAILURE(Check(operation, algorithm, world, root, pieces));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedule, SetSimulation,
                         testing::Values(Collective::kAllreduce, Collective::kAllgather,
                                         Collective::kBroadcast, Collective::kGather,
                                         Collective::kScatter, Collective::kReduce,
                                         Collective::kReduceScatter),
                         [](const auto& operation) {
                           std::string name(CollectiveName(operation.param));
                           std::erase(name, '-');
                           return name;
                         });

// Every root of a small world.
TEST(Schedule, EveryRoot) {
  for (const Collective operation : kCollectives) {
    if (!HasRoot(operation)) continue;
    for (const Algorithm algorithm : AlgorithmsOf(operation)) {
      for (int world = 1; world <= 17; ++world) {
        for (int root = 0; root < world; ++root) {
          ASSERT_NO_FATAL_FAILURE(Check(operation, algorithm, world, root, 3));
        }
      }
    }
  }
}

// (source, destination) of what lies in each block.
using Letters = std::vector<std::vector<std::pair<int, int>>>;

TEST(Schedule, PairwiseAllToAllDeliversEachBlock) {
  for (int world = 1; world <= kWorldMax; ++world) {
    const LockStep ranks([&](int rank) { return PairwiseAllToAll(world, rank); }, world);
    std::vector<bool> delivered(static_cast<size_t>(world) * static_cast<size_t>(world));
    int letters = 0;
    ranks.Run([] {},
              [&](int from, const Step& sent, int to, const Step& taken) {
                ASSERT_EQ(sent.send, (BlockSet{to, 1}));
                ASSERT_EQ(taken.receive, (BlockSet{from, 1}));
                ASSERT_FALSE(delivered[static_cast<size_t>(from * world + to)]);
                delivered[static_cast<size_t>(from * world + to)] = true;
                ++letters;
              });
    ASSERT_EQ(letters, world * (world - 1));
  }
}

TEST(Schedule, BruckAllToAllDeliversEachBlock) {
  for (int world = 1; world <= kWorldMax; ++world) {
    SCOPED_TRACE(world);
    const LockStep ranks([&](int rank) { return BruckAllToAll(world, rank); }, world);
    Letters slots(static_cast<size_t>(world));
    for (int r = 0; r < world; ++r) {
      for (int d = 0; d < world; ++d) {
        slots[static_cast<size_t>(r)].emplace_back(r, Cyclic(r + d, world));
      }
    }
    Letters before;
    ranks.Run([&] { before = slots; },
              [&](int from, const Step& sent, int to, const Step& taken) {
                ASSERT_EQ(sent.send, taken.receive);
                for (const int slot : BlocksOf(sent.send, world)) {
                  slots[static_cast<size_t>(to)][static_cast<size_t>(slot)] =
                      before[static_cast<size_t>(from)][static_cast<size_t>(slot)];
                }
              });
    for (int r = 0; r < world; ++r) {
      for (int d = 0; d < world; ++d) {
        ASSERT_EQ(slots[static_cast<size_t>(r)][static_cast<size_t>(d)],
                  (std::pair{Cyclic(r - d, world), r}));
      }
    }
  }
}

TEST(Schedule, BarrierHearsOfEveryRank) {
  for (int world = 1; world <= kWorldMax; ++world) {
    const LockStep ranks([&](int rank) { return DisseminationBarrier(world, rank); }, world);
    std::vector<RankSet> heard;
    for (int r = 0; r < world; ++r) heard.push_back(RankSet::Of(r));
    std::vector<RankSet> before;
    ranks.Run([&] { before = heard; },
              [&](int from, const Step&, int to, const Step&) {
                heard[static_cast<size_t>(to)].Join(before[static_cast<size_t>(from)]);
              });
    for (const RankSet& set : heard) ASSERT_EQ(set, RankSet::Full(world));
    ASSERT_EQ(ranks.schedules()[0].rounds, CeilLog2(world));
  }
}

struct Cost {
  int rounds = 0;
  int sent_max = 0;     // blocks, of the rank that sends most
  int reduced_max = 0;  // blocks
};

Cost CostOf(Collective operation, Algorithm algorithm, int world) {
  Cost cost;
  for (int rank = 0; rank < world; ++rank) {
    const Schedule schedule =
        MakeSchedule(operation, algorithm, {.world = world, .rank = rank, .pieces = 1});
    cost.rounds = schedule.rounds;
    int sent = 0;
    int reduced = 0;
    for (const Step& step : schedule.steps) {
      sent += step.send.count;
      if (step.on_arrival == OnArrival::kReduce) reduced += step.receive.count;
    }
    cost.sent_max = std::max(cost.sent_max, sent);
    cost.reduced_max = std::max(cost.reduced_max, reduced);
  }
  return cost;
}

// The lower bounds in rounds and bytes, reached for any number of ranks (docs/collectives.md).
TEST(Schedule, CirculantPairReachesTheLowerBounds) {
  for (int world = 2; world <= kWorldMax; ++world) {
    SCOPED_TRACE(world);
    const Cost scatter = CostOf(Collective::kReduceScatter, Algorithm::kCirculant, world);
    EXPECT_EQ(scatter.rounds, CeilLog2(world));
    EXPECT_EQ(scatter.sent_max, world - 1);
    EXPECT_EQ(scatter.reduced_max, world - 1);
    const Cost gather = CostOf(Collective::kAllgather, Algorithm::kBruck, world);
    EXPECT_EQ(gather.rounds, CeilLog2(world));
    EXPECT_EQ(gather.sent_max, world - 1);
    const Cost both = CostOf(Collective::kAllreduce, Algorithm::kCirculant, world);
    EXPECT_EQ(both.rounds, 2 * CeilLog2(world));
    EXPECT_EQ(both.sent_max, 2 * (world - 1));
  }
}

TEST(Schedule, FoldsCostTwoRoundsOnlyWhereTheyMust) {
  for (int world = 1; world <= kWorldMax; ++world) {
    const bool power_of_two = (world & (world - 1)) == 0;
    const int rounds = FloorLog2(world) + (power_of_two ? 0 : 2);
    for (const Algorithm algorithm : {Algorithm::kHalving, Algorithm::kHalvingFolded}) {
      ASSERT_EQ(CostOf(Collective::kReduceScatter, algorithm, world).rounds, rounds);
    }
    ASSERT_EQ(CostOf(Collective::kAllgather, Algorithm::kDoubling, world).rounds, rounds);
    ASSERT_EQ(CostOf(Collective::kAllreduce, Algorithm::kDoubling, world).rounds, rounds);
  }
}

// The halving schedule is the map of cluster/topology/halving.h with the pairs' exchanges around
// it.
TEST(Schedule, HalvingFollowsItsMap) {
  for (int world = 1; world <= 64; ++world) {
    for (int rank = 0; rank < world; ++rank) {
      const HalvingMap map = MakeHalvingMap(world, rank, HalvingForm::kPairLast);
      const Schedule schedule = MakeSchedule(Collective::kReduceScatter, Algorithm::kHalving,
                                             {.world = world, .rank = rank});
      const size_t skip = map.type == NodeType::kLeader ? 1 : 0;
      for (size_t i = 0; i < map.rounds.size(); ++i) {
        const Step& step = schedule.steps[skip + i];
        const HalvingRound& round = map.rounds[i];
        ASSERT_EQ(step.to, round.peer);
        ASSERT_EQ(step.from, round.peer);
        ASSERT_EQ(step.send, (BlockSet{round.send.start, round.send.count}));
        ASSERT_EQ(step.receive, (BlockSet{round.recv.start, round.recv.count}));
        ASSERT_EQ(step.on_arrival, OnArrival::kReduce);
      }
    }
  }
}

// "One eager circulant peer set serves the library": which algorithms leave it.
TEST(Schedule, CirculantPeersServeAllButTheseAlgorithms) {
  const std::set<Algorithm> leave = {Algorithm::kPairwise, Algorithm::kBinaryTree,
                                     Algorithm::kHalving,  Algorithm::kHalvingFolded,
                                     Algorithm::kDoubling, Algorithm::kHalvingBruck};
  for (const Collective operation : kCollectives) {
    for (const Algorithm algorithm : AlgorithmsOf(operation)) {
      if (leave.contains(algorithm)) continue;
      for (int world = 2; world <= 100; ++world) {
        for (int rank = 0; rank < world; ++rank) {
          const Schedule schedule = MakeSchedule(
              operation, algorithm, {.world = world, .rank = rank, .root = world / 2, .pieces = 4});
          for (const Step& step : schedule.steps) {
            for (const int peer : {step.to, step.from}) {
              if (peer < 0) continue;
              const auto distance = static_cast<unsigned>(Cyclic(peer - rank, world));
              ASSERT_TRUE(std::has_single_bit(distance) ||
                          std::has_single_bit(static_cast<unsigned>(world) - distance))
                  << AlgorithmName(algorithm) << " n=" << world << " " << rank << "->" << peer;
            }
          }
        }
      }
    }
  }
}

TEST(Algorithms, NamesReadBack) {
  for (const Collective operation : kCollectives) {
    EXPECT_EQ(CollectiveNamed(CollectiveName(operation)), operation);
    EXPECT_FALSE(AlgorithmsOf(operation).empty());
    for (const Algorithm algorithm : AlgorithmsOf(operation)) {
      EXPECT_EQ(AlgorithmNamed(AlgorithmName(algorithm)), algorithm);
      EXPECT_TRUE(Has(operation, algorithm));
    }
  }
  EXPECT_EQ(CollectiveNamed("allsum"), std::nullopt);
  EXPECT_EQ(AlgorithmNamed(""), std::nullopt);
  EXPECT_FALSE(Has(Collective::kBarrier, Algorithm::kRing));
}

}  // namespace
}  // namespace strata
