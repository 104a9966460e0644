// 64 ranks as processes of one machine: they link up with their circulant peers only, run one of
// every collective, and leave.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "cluster/collective/group.h"
#include "cluster/topology/peers.h"
#include "tests/cluster/collective_contract.h"
#include "tests/cluster/forked_ranks.h"

namespace strata {
namespace {

constexpr int kWorld = 64;
constexpr size_t kCount = 10'000;
constexpr TimeNs kBound = 60 * kSecond;

struct Answer {
  int linked = 0;   // links that were open once the group had formed
  int in_use = 0;   // and after one of every collective
  TimeNs times[4];  // when the process began, was linked, had done its work, had left
};

Answer WorkAsRank(Loopback* net, int rank) {
  Answer answer;
  answer.times[0] = RealClock().Now();
  const auto links = net->Listen(net->Options(rank));
  const Status connected = links->Connect();
  EXPECT_TRUE(connected.ok()) << connected.ToString();
  if (!connected.ok()) return answer;
  answer.times[1] = RealClock().Now();
  answer.linked = links->open_links();
  Group group(*links, {.timeout = kBound});
  CollectiveContract(&group).CheckOneOfEach(kCount);
  answer.in_use = links->open_links();
  answer.times[2] = RealClock().Now();
  const Status left = links->Leave(kBound);
  EXPECT_TRUE(left.ok()) << left.ToString();
  answer.times[3] = RealClock().Now();
  return answer;
}

TEST(ManyProcesses, SixtyFourRanksRunOneOfEachOverTheirCirculantPeers) {
  const TimeNs began = RealClock().Now();
  Loopback net(kWorld);
  const std::vector<Answer> answers = InProcesses<Answer>(
      &net, [&net](int rank) { return WorkAsRank(&net, rank); }, kBound);
  std::string table = "rank  circulant peers  links at first  links in the end\n";
  for (int rank = 0; rank < kWorld; ++rank) {
    const Answer& answer = answers[static_cast<size_t>(rank)];
    const auto peers = static_cast<int>(CirculantPeers(kWorld, rank).size());
    table +=
        fmt::format("{:>4}  {:>15}  {:>14}  {:>16}\n", rank, peers, answer.linked, answer.in_use);
    EXPECT_EQ(answer.linked, peers) << rank;
    EXPECT_EQ(answer.in_use, peers) << rank;
  }
  const auto latest = [&](size_t i) {
    const auto last = std::ranges::max_element(
        answers, {}, [i](const Answer& answer) { return answer.times[i]; });
    return static_cast<double>(last->times[i] - began) / kSecond;
  };
  fmt::print(
      "{}all started after {:.2f} s, linked after {:.2f} s, done after {:.2f} s, left after "
      "{:.2f} s\n",
      table, latest(0), latest(1), latest(2), latest(3));
  EXPECT_LT(RealClock().Now() - began, kBound);
}

}  // namespace
}  // namespace strata
