// The simulated costs of the schedules against closed forms, cases worked out by hand, and the
// lower bounds (docs/collectives.md).
#include "cluster/schedule/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace strata {
namespace {

using enum Algorithm;

constexpr int kWorlds[] = {2, 3, 4, 5, 8, 9, 17, 64};
constexpr int kPieces = 6;
// Of each block; the pieces of a broadcast are whole bytes, too.
constexpr uint64_t kBlock = 60;

const CostModel kAlpha = {.alpha_s = 1};
const CostModel kBeta = {.beta_s = 1};
const CostModel kGamma = {.gamma_s = 1};

Cost CostOf(const CostModel& model, Collective operation, Algorithm algorithm, int world) {
  const std::vector<uint64_t> blocks(static_cast<size_t>(world), kBlock);
  return SimulateCost(model, {.operation = operation,
                              .algorithm = algorithm,
                              .block_bytes = blocks,
                              .root = world / 3,
                              .pieces = kPieces});
}

bool Folds(int world) { return (world & (world - 1)) != 0; }

// Rounds of recursive doubling and halving.
int FoldedRounds(int world) { return FloorLog2(world) + (Folds(world) ? 2 : 0); }

// When the last node below v of a heap of n has everything, if v has it now and a message takes 1.
int HeapRounds(int v, int n) {
  int rounds = 0;
  for (int child = 1; child <= 2; ++child) {
    if (2 * v + child < n) rounds = std::max(rounds, child + HeapRounds(2 * v + child, n));
  }
  return rounds;
}

// Blocks on the critical path of recursive halving when the ranks of a world that is no power of
// two pair up, at either end: all but one block to the leader, rounds in which the larger half
// counts, one block back. Group sizes add up from the end where the pairs are.
int FoldedBlocks(int world) {
  const int p = 1 << FloorLog2(world);
  if (p == world) return world - 1;
  int blocks = world - 1 + 1;
  for (int d = p / 2; d > 0; d /= 2) blocks += std::min(2 * d, d + world - p);
  return blocks;
}

// In seconds: the rounds when alpha is 1, blocks when beta is 1, and when gamma is.
struct Form {
  Collective operation;
  Algorithm algorithm;
  std::function<int(int n)> rounds;
  std::function<int(int n)> blocks;
  std::function<int(int n)> reduced;
};

int None(int) { return 0; }
int AllButOne(int n) { return n - 1; }
int TwiceAllButOne(int n) { return 2 * (n - 1); }
int TwiceLog(int n) { return 2 * CeilLog2(n); }
int LogTimesAll(int n) { return CeilLog2(n) * n; }
int HalfOfAllEachRound(int n) {
  int blocks = 0;
  for (int j = 0; j < CeilLog2(n); ++j) {
    for (int d = 0; d < n; ++d) blocks += d >> j & 1;
  }
  return blocks;
}

std::vector<Form> Forms() {
  using enum Collective;
  const auto heap = [](int n) { return HeapRounds(0, n); };
  // Two a level, one on the deepest where only the root's first child has nodes there.
  const auto heap_levels = [](int n) {
    const int depth = FloorLog2(n);
    return 2 * depth - (2 * n < 3 << depth ? 1 : 0);
  };
  const auto heap_all = [](int n) { return n * HeapRounds(0, n); };
  const auto every_input = [](int n) { return n * (n - 1); };
  return {
      {kAllgather, kBruck, CeilLog2, AllButOne, None},
      {kAllgather, kDoubling, FoldedRounds, FoldedBlocks, None},
      {kAllgather, kRing, AllButOne, AllButOne, None},
      {kReduceScatter, kCirculant, CeilLog2, AllButOne, AllButOne},
      {kReduceScatter, kHalving, FoldedRounds, FoldedBlocks, FoldedBlocks},
      {kReduceScatter, kHalvingFolded, FoldedRounds, FoldedBlocks, FoldedBlocks},
      {kReduceScatter, kRing, AllButOne, AllButOne, AllButOne},
      {kBroadcast, kBinomial, CeilLog2, LogTimesAll, None},
      {kBroadcast, kBinaryTree, heap, heap_all, None},
      {kBroadcast, kScatterAllgather, TwiceLog, TwiceAllButOne, None},
      {kBroadcast, kPipelined, [](int n) { return n + kPieces - 2; },
       [](int n) { return n * (n + kPieces - 2) / kPieces; }, None},
      {kGather, kBinomial, CeilLog2, AllButOne, None},
      {kGather, kBinaryTree, heap_levels, AllButOne, None},
      {kScatter, kBinomial, CeilLog2, AllButOne, None},
      {kScatter, kBinaryTree, heap_levels, AllButOne, None},
      {kReduce, kBinaryTree, heap, heap_all, heap_all},
      {kReduce, kBinomial, CeilLog2, LogTimesAll, LogTimesAll},
      {kReduce, kRabenseifner, TwiceLog, TwiceAllButOne, AllButOne},
      {kAllreduce, kInputs, CeilLog2, every_input, every_input},
      {kAllreduce, kDoubling, FoldedRounds, [](int n) { return n * FoldedRounds(n); },
       [](int n) { return n * (FoldedRounds(n) - (Folds(n) ? 1 : 0)); }},
      {kAllreduce, kBinomial, TwiceLog, [](int n) { return 2 * LogTimesAll(n); }, LogTimesAll},
      {kAllreduce, kHalvingBruck, [](int n) { return FoldedRounds(n) + CeilLog2(n); },
       [](int n) { return FoldedBlocks(n) + n - 1; }, FoldedBlocks},
      {kAllreduce, kCirculant, TwiceLog, TwiceAllButOne, AllButOne},
      {kAllreduce, kRing, TwiceAllButOne, TwiceAllButOne, AllButOne},
      {kAllToAll, kBruck, CeilLog2, HalfOfAllEachRound, None},
      {kAllToAll, kPairwise, AllButOne, AllButOne, None},
      {kBarrier, kDissemination, CeilLog2, None, None},
  };
}

TEST(CostModel, EveryAlgorithmHasAClosedForm) {
  size_t algorithms = 0;
  for (const Collective operation : kCollectives) algorithms += AlgorithmsOf(operation).size();
  EXPECT_EQ(Forms().size(), algorithms);
}

TEST(CostModel, ClosedForms) {
  for (const Form& form : Forms()) {
    for (const int n : kWorlds) {
      SCOPED_TRACE(testing::Message() << CollectiveName(form.operation) << " "
                                      << AlgorithmName(form.algorithm) << " n=" << n);
      const Cost alpha = CostOf(kAlpha, form.operation, form.algorithm, n);
      EXPECT_EQ(alpha.rounds, form.rounds(n));
      EXPECT_EQ(alpha.seconds, form.rounds(n));
      const Cost beta = CostOf(kBeta, form.operation, form.algorithm, n);
      // A piece may be no whole number of blocks.
      const double bytes = form.algorithm == kPipelined
                               ? double(n * kBlock) / kPieces * (n + kPieces - 2)
                               : double(form.blocks(n) * int{kBlock});
      EXPECT_EQ(beta.seconds, bytes);
      EXPECT_EQ(double(beta.path_bytes), bytes);
      EXPECT_EQ(CostOf(kGamma, form.operation, form.algorithm, n).seconds,
                form.reduced(n) * int{kBlock});
    }
  }
}

// Bytes on the critical path of LightGBM's protocol as multiples of the vector: it sends all blocks
// to a leader, our schedule all but one.
TEST(CostModel, FoldedHalvingSavesABlockOverLightGbm) {
  const std::pair<int, double> published[] = {{3, 2.00}, {5, 2.20},  {6, 2.17}, {7, 2.00},
                                              {9, 2.22}, {10, 2.30}, {80, 2.39}};
  for (const auto& [n, theirs] : published) {
    const Cost cost = CostOf(kBeta, Collective::kReduceScatter, kHalving, n);
    EXPECT_NEAR(cost.seconds / double(n * int{kBlock}), theirs - 1.0 / n, 0.005) << n;
    // The block that a leader hands back is reduced by the other.
    EXPECT_EQ(cost.reduced_max, cost.path_bytes - kBlock);
  }
}

TEST(CostModel, BytesSentAndReduced) {
  const Cost ring = CostOf(kBeta, Collective::kAllreduce, kRing, 5);
  EXPECT_EQ(ring.sent_max, 2 * 4 * kBlock);
  EXPECT_EQ(ring.sent_all, 5 * 2 * 4 * kBlock);
  EXPECT_EQ(ring.reduced_max, 4 * kBlock);
  const Cost doubling = CostOf(kBeta, Collective::kAllreduce, kDoubling, 8);
  EXPECT_EQ(doubling.sent_all, 8 * 3 * 8 * kBlock);
  const Cost binomial = CostOf(kBeta, Collective::kBroadcast, kBinomial, 8);
  EXPECT_EQ(binomial.sent_max, 3 * 8 * kBlock);
  EXPECT_EQ(binomial.sent_all, 7 * 8 * kBlock);
  const Cost inputs = CostOf(kBeta, Collective::kAllreduce, kInputs, 5);
  EXPECT_EQ(inputs.sent_all, 5 * 4 * 5 * kBlock);
  EXPECT_EQ(inputs.reduced_max, 4 * 5 * kBlock);
}

// ceil(lg n) rounds, as what a rank knows of can only double, and the bytes that must reach a rank.
TEST(CostModel, NothingBeatsTheLowerBounds) {
  for (const Collective operation : kCollectives) {
    for (const Algorithm algorithm : AlgorithmsOf(operation)) {
      for (int n = 2; n <= 70; ++n) {
        SCOPED_TRACE(testing::Message()
                     << CollectiveName(operation) << " " << AlgorithmName(algorithm) << " n=" << n);
        EXPECT_GE(CostOf(kAlpha, operation, algorithm, n).seconds, CeilLog2(n));
        uint64_t blocks = static_cast<uint64_t>(n) - 1;
        if (operation == Collective::kAllreduce) blocks *= 2;
        if (operation == Collective::kBroadcast || operation == Collective::kReduce) ++blocks;
        if (operation == Collective::kBarrier) blocks = 0;
        EXPECT_GE(CostOf(kBeta, operation, algorithm, n).path_bytes, blocks * kBlock);
      }
    }
  }
}

TEST(CostModel, LargeWorlds) {
  // Its messages do not fit in memory at once.
  const Cost chain = SimulateCost({.alpha_s = 1}, {.operation = Collective::kBroadcast,
                                                   .algorithm = kPipelined,
                                                   .block_bytes = EvenBlocks(8 * 1024, 4096),
                                                   .root = 4095,
                                                   .pieces = 1024});
  EXPECT_EQ(chain.rounds, 4096 + 1024 - 2);
  EXPECT_EQ(chain.seconds, chain.rounds);
  EXPECT_EQ(chain.path_bytes, uint64_t{8} * (4096 + 1024 - 2));
  EXPECT_EQ(chain.sent_all, uint64_t{4095} * 8 * 1024);
  const Cost pair = CostOf(kBeta, Collective::kAllreduce, kCirculant, 4095);
  EXPECT_EQ(pair.rounds, 24);
  EXPECT_EQ(pair.seconds, 2 * 4094 * int{kBlock});
}

// By hand: blocks of 5, 0 and 1 bytes.
TEST(CostModel, UnevenBlocks) {
  const auto cost = [](Collective operation, Algorithm algorithm, const CostModel& model) {
    return SimulateCost(model,
                        {.operation = operation, .algorithm = algorithm, .block_bytes = {5, 0, 1}});
  };
  // With three ranks each gives its own block to both others, one after the other.
  const Cost bruck = cost(Collective::kAllgather, kBruck, kBeta);
  EXPECT_EQ(bruck.seconds, 10);
  EXPECT_EQ(bruck.sent_max, 10);
  EXPECT_EQ(bruck.sent_all, 2 * (5 + 0 + 1));
  // Block 0 goes from rank 0 to 1 to 2.
  EXPECT_EQ(cost(Collective::kAllgather, kRing, kBeta).seconds, 10);
  // Rank 0 reduces its block from both; rank 1 sends blocks 0 and 2.
  const Cost scatter = cost(Collective::kReduceScatter, kCirculant, kGamma);
  EXPECT_EQ(scatter.seconds, 10);
  EXPECT_EQ(scatter.sent_max, 6);
  EXPECT_EQ(scatter.reduced_max, 10);
  // Nobody's own block moves: with 5 bytes for oneself, 0 for the next and 1 for the last.
  const Cost pairwise = cost(Collective::kAllToAll, kPairwise, kBeta);
  EXPECT_EQ(pairwise.seconds, 1);
  EXPECT_EQ(pairwise.sent_all, 3);
  EXPECT_EQ(cost(Collective::kAllToAll, kBruck, kBeta).sent_all, 3);
}

// By hand: alpha is 1 second, rank 0 begins 10 seconds late.
TEST(CostModel, ALateRankHoldsUpWhomItsBlocksReach) {
  const CostModel late = {.alpha_s = 1, .stragglers = {{.rank = 0, .delay_s = 10}}};
  const std::vector<uint64_t> blocks = EvenBlocks(4, 4);
  const auto seconds = [&](Collective operation, Algorithm algorithm, int root) {
    return SimulateCost(late, {.operation = operation,
                               .algorithm = algorithm,
                               .block_bytes = blocks,
                               .root = root})
        .seconds;
  };
  // Rank 0 needs all its rounds still, whatever the others have done.
  EXPECT_EQ(seconds(Collective::kBarrier, kDissemination, 0), 12);
  EXPECT_EQ(seconds(Collective::kAllgather, kBruck, 0), 12);
  EXPECT_EQ(seconds(Collective::kAllgather, kRing, 0), 13);
  EXPECT_EQ(seconds(Collective::kBroadcast, kBinomial, 0), 12);
  // As the last leaf of rank 1's tree it only takes its message; the send is not held up.
  EXPECT_EQ(seconds(Collective::kBroadcast, kBinomial, 1), 11);
}

// By hand: rank 1 of two is three times as slow; each sends 4 bytes of 8 and reduces 4.
TEST(CostModel, ASlowRankSlowsItsMessagesAndItsReducing) {
  CostModel model = {.alpha_s = 7, .beta_s = 2, .gamma_s = 1};
  const CostCase scatter = {
      .operation = Collective::kReduceScatter, .algorithm = kCirculant, .block_bytes = {4, 4}};
  EXPECT_EQ(SimulateCost(model, scatter).seconds, 7 + 2 * 4 + 4);
  model.stragglers = {{.rank = 1, .slowdown = 3}};
  EXPECT_EQ(SimulateCost(model, scatter).seconds, 3 * (7 + 2 * 4 + 4));
}

// By hand: 4 ranks, blocks of one byte, beta 1; between rank 0 and rank 1 a byte takes 5.
TEST(CostModel, ASlowLinkCostsARingEachRoundAndBruckTheRoundThatUsesIt) {
  const CostModel model = {.beta_s = 1, .slow_links = {{.a = 1, .b = 0, .slowdown = 5}}};
  const auto seconds = [&](Algorithm algorithm) {
    return SimulateCost(model, {.operation = Collective::kAllgather,
                                .algorithm = algorithm,
                                .block_bytes = EvenBlocks(4, 4)})
        .seconds;
  };
  EXPECT_EQ(seconds(kRing), 3 * 5);
  EXPECT_EQ(seconds(kBruck), 5 + 2);     // 1 to 0 in the first round, 2 and 0 in the second
  EXPECT_EQ(seconds(kDoubling), 5 + 2);  // 0 and 1 exchange first
}

TEST(CostModel, OneRankNeedsNothing) {
  const Cost cost =
      CostOf({.alpha_s = 1, .beta_s = 1, .gamma_s = 1}, Collective::kAllreduce, kCirculant, 1);
  EXPECT_EQ(cost.rounds, 0);
  EXPECT_EQ(cost.seconds, 0);
  EXPECT_EQ(cost.sent_all, 0);
}

TEST(CostModel, PiecesOfAPipeline) {
  const CostModel model = {.alpha_s = 1e-6, .beta_s = 1e-9};
  EXPECT_EQ(BestPieces(model, 6, 1000000), 63);  // sqrt(4 * 1e-3 / 1e-6) = 63.2
  EXPECT_EQ(BestPieces(model, 2, 1000000), 1);
  EXPECT_EQ(BestPieces(model, 6, 0), 1);
  EXPECT_EQ(BestPieces({.beta_s = 1}, 6, 1000), 1024);
  EXPECT_EQ(BestPieces({}, 6, 1000), 1);
  // Neither more nor fewer are quicker.
  const auto seconds = [&](int pieces) {
    return SimulateCost(model, {.operation = Collective::kBroadcast,
                                .algorithm = kPipelined,
                                .block_bytes = EvenBlocks(1000000, 6),
                                .pieces = pieces})
        .seconds;
  };
  EXPECT_LT(seconds(63), seconds(60));
  EXPECT_LT(seconds(63), seconds(67));
}

TEST(CostModel, EvenBlocksDoNotOverflow) {
  EXPECT_EQ(EvenBlocks(10, 4), (std::vector<uint64_t>{2, 3, 2, 3}));
  EXPECT_EQ(EvenBlocks(0, 2), (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(EvenBlocks(uint64_t{1} << 63, 2),
            (std::vector<uint64_t>{uint64_t{1} << 62, uint64_t{1} << 62}));
}

}  // namespace
}  // namespace strata
