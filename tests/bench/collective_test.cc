// Suite "collective": a tiny run over real rank processes, beside whatever peers are installed; a
// wrong result is told; measured times become a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <limits>
#include <thread>

#include "bench/harness/figure.h"
#include "bench/suites/collective/collective_measure.h"
#include "bench/suites/collective/collective_tune.h"
#include "bench/suites/collective/rank_set.h"

namespace strata::bench {
namespace {

using ::testing::HasSubstr;

constexpr int kWorld = 3;

BenchOptions Tiny() {
  BenchOptions options;
  options.rounds = 1;
  options.round = kMillisecond;
  options.congestion = "";
  return options;
}

// Of what is ours. Open MPI and gloo are other people's to test: gloo's reduce-scatter of three
// ranks hangs now and then.
TEST(CollectiveBench, OurContendersYieldWhatIsExpected) {
  std::vector<RankProgram> programs = PeerRanks(Transport::kSockets);
  std::erase_if(programs,
                [](const RankProgram& program) { return program.name != "LightGBM's pattern"; });
  ASSERT_EQ(programs.size(), 1U);
  programs.push_back(OurRanks(Transport::kSockets));
  programs.push_back(OurRanks(Transport::kMemory));
  for (const RankProgram& program : programs) {
    SCOPED_TRACE(program.name);
    const auto set = RankSet::Start(program, kWorld, "");
    ASSERT_TRUE(set.ok()) << set.status().ToString();
    for (const Collective operation :
         {Collective::kAllreduce, Collective::kReduceScatter, Collective::kAllgather,
          Collective::kBroadcast, Collective::kReduce, Collective::kAllToAll}) {
      for (const uint64_t bytes : {8U, 100'000U}) {
        SCOPED_TRACE(CollectiveName(operation));
        const auto answer =
            (*set)->Do({.operation = operation, .variant = 0, .bytes = bytes, .calls = 2});
        ASSERT_TRUE(answer.ok()) << answer.status().ToString();
        if (answer->outcome == RankOutcome::kNoVariant && program.name != "ours") continue;
        EXPECT_EQ(answer->outcome, RankOutcome::kDone) << answer->text;
        EXPECT_GT(answer->p50_us, 0);
        EXPECT_LE(answer->p50_us, answer->p99_us);
      }
    }
  }
}

TEST(CollectiveBench, ACaseHasAFigureForEachPeerAndTheSummaryCountsIt) {
  for (const Case& one : CollectiveSuite().cases(false)) {
    const bool sockets = one.name == "sockets allreduce n=2 bytes=4096";
    const bool memory = one.name == "memory allreduce n=2 bytes=4096";
    if (!sockets && !memory && one.name != "summary") continue;
    SCOPED_TRACE(one.name);
    const auto figures = one.run(Tiny());
    ASSERT_TRUE(figures.ok()) << figures.status().ToString();
    const size_t over_sockets = PeerRanks(Transport::kSockets).size();
    const size_t over_memory = PeerRanks(Transport::kMemory).size();
    const size_t rows = sockets  ? std::max<size_t>(over_sockets, 1)
                        : memory ? std::max<size_t>(over_memory, 1)
                                 : over_sockets + over_memory;
    EXPECT_EQ(figures->size(), 2 * rows);
    for (const Figure& figure : *figures) {
      EXPECT_TRUE(figure.unit != "us" || figure.ours > 0) << figure.name;
    }
  }
}

// Answers as one rank of a world of two whose sums lack the other rank.
class WithoutTheOther final : public RankCollectives {
 public:
  uint32_t variants(Collective) const override { return 1; }
  Status Prepare(const RankOrder&, std::span<float> data) override {
    data_ = data;
    return {};
  }
  Status Call() override { return {}; }
  std::span<const float> Result() const override { return data_; }

 private:
  std::span<float> data_;
};

TEST(CollectiveBench, AWrongResultIsNotTimed) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const OwnedFd mine(ends[0]);
  {
    std::thread rank([end = ends[1]] {
      WithoutTheOther collectives;
      const RankMaster master(end);
      EXPECT_TRUE(master.Serve(1, 2, collectives).ok());
    });
    const RankOrder order = {
        .operation = Collective::kAllreduce, .variant = 0, .bytes = 40, .calls = 1};
    EXPECT_EQ(send(mine.get(), &order, sizeof order, 0), static_cast<ssize_t>(sizeof order));
    RankAnswer answer;
    EXPECT_EQ(recv(mine.get(), &answer, sizeof answer, MSG_WAITALL),
              static_cast<ssize_t>(sizeof answer));
    EXPECT_EQ(answer.outcome, RankOutcome::kWrong);
    EXPECT_THAT(answer.text, HasSubstr("element 1 of 10 has to be 3, found 2"));
    EXPECT_EQ(answer.p50_us, 0);
    shutdown(mine.get(), SHUT_WR);
    rank.join();
  }
}

TEST(CollectiveBench, RulesPartSizesWhereTheWinnerChanges) {
  // In the order of AlgorithmsOf(kAllgather): bruck, doubling and ring, or as it may be.
  const auto algorithms = AlgorithmsOf(Collective::kAllgather);
  ASSERT_GE(algorithms.size(), 3U);
  const auto times = [&](std::vector<std::vector<double>> us) {
    CollectiveTimes of{.operation = Collective::kAllgather, .world = 2, .sizes = {}};
    uint64_t bytes = 16;
    for (auto& one : us) {
      one.resize(algorithms.size(), 1000);
      of.sizes.push_back({.bytes = bytes, .us = one});
      bytes *= 4;
    }
    return of;
  };
  CollectiveTimes two = times({{5, 6, 7}, {5, 4.9, 7}, {9, 8, 0}});
  CollectiveTimes four = times({{9, 8, 1}});
  four.world = 4;
  constexpr int kAnyRanks = std::numeric_limits<int>::max();
  constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(RulesOf({two, four}),
            (std::vector<ChoiceRule>{
                {Collective::kAllgather, 2, 128, algorithms[0]},  // 2 % is no reason to change
                {Collective::kAllgather, 2, kAnyBytes, algorithms[1]},
                {Collective::kAllgather, kAnyRanks, kAnyBytes, algorithms[2]}}));
}

TEST(CollectiveBench, ATunedTableReadsBack) {
  TuneOptions options;
  options.worlds = {2};
  options.sizes = {8, 4096};
  options.rounds = 1;
  options.round = kMillisecond;
  int lines = 0;
  const auto table = TuneCollectives(options, [&](const std::string&) { ++lines; });
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(lines, 12);  // six collectives, two sizes
  const auto parsed = ChoiceTable::Parse(*table, "tuned");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_GE(parsed->rules().size(), 6U);
}

TEST(CollectiveBench, ACongestionControlThatDoesNotExistIsRefused) {
  EXPECT_THAT(CheckCongestion("no-such").message(), HasSubstr("--congestion=no-such"));
  EXPECT_TRUE(CheckCongestion("").ok());
}

}  // namespace
}  // namespace strata::bench
