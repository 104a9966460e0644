#include "tests/support/sim_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace strata {
namespace {

Envelope Numbered(const std::string& to, uint32_t number) {
  return {to, {Frame::Own(std::vector<uint32_t>{number})}};
}

uint32_t NumberOf(const Envelope& envelope) {
  uint32_t number = 0;
  EXPECT_EQ(MessageBytes(envelope.message), sizeof(number));
  std::ranges::copy(envelope.message.at(0).bytes(),
                    std::as_writable_bytes(std::span(&number, 1)).begin());
  return number;
}

std::optional<Envelope> ReceiveNow(MessagePort& port) {
  Result<std::optional<Envelope>> got = port.Receive(0);
  EXPECT_TRUE(got.ok());
  return *std::move(got);
}

// (time, number) of everything that arrives at one port.
using Trace = std::vector<std::pair<TimeNs, uint32_t>>;

Trace RunNumbers(const SimNetworkOptions& options, uint32_t count, SimNetworkStats* stats) {
  SimClock clock;
  SimNetwork network(&clock, options);
  const auto a = network.OpenPort("a");
  const auto b = network.OpenPort("b");
  Trace trace;
  for (uint32_t i = 0; i < count; ++i) EXPECT_TRUE(a->Send(Numbered("b", i)).ok());
  while (network.RunOne()) {
    while (std::optional<Envelope> envelope = ReceiveNow(*b)) {
      EXPECT_EQ(envelope->peer, "a");
      trace.emplace_back(clock.Now(), NumberOf(*envelope));
    }
  }
  *stats = network.stats();
  return trace;
}

TEST(SimNetworkTest, WithoutFaultsEverythingComesOnceInOrder) {
  SimNetworkStats stats;
  const Trace trace = RunNumbers({.seed = 3, .delay_min = 5, .delay_max = 5}, 100, &stats);
  ASSERT_EQ(trace.size(), 100u);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(trace[i], (std::pair<TimeNs, uint32_t>(5, i)));
  EXPECT_EQ(stats.delivered, 100u);
  EXPECT_EQ(stats.dropped, 0u);
}

TEST(SimNetworkTest, FaultsFollowTheirProbabilities) {
  constexpr uint32_t kCount = 10000;
  SimNetworkStats stats;
  const Trace trace = RunNumbers(
      {.seed = 4, .drop = 0.1, .repeat = 0.2, .delay_min = 10, .delay_max = 1000}, kCount, &stats);
  EXPECT_EQ(stats.sent, kCount);
  EXPECT_NEAR(static_cast<double>(stats.dropped), 1000, 150);
  EXPECT_NEAR(static_cast<double>(stats.repeated), 1800, 200);
  EXPECT_EQ(stats.sent + stats.repeated, stats.dropped + stats.delivered);
  EXPECT_EQ(trace.size(), stats.delivered);
  std::map<uint32_t, int> times;
  for (const auto& [time, number] : trace) {
    EXPECT_GE(time, 10);
    EXPECT_LE(time, 1000);
    ++times[number];
  }
  EXPECT_EQ(times.size(), kCount - stats.dropped);
  EXPECT_EQ(
      static_cast<uint64_t>(std::ranges::count_if(times, [](auto& t) { return t.second == 2; })),
      stats.repeated);
  EXPECT_TRUE(std::ranges::is_sorted(trace, {}, &Trace::value_type::first));
  EXPECT_FALSE(std::ranges::is_sorted(trace, {}, &Trace::value_type::second));  // reordered
}

TEST(SimNetworkTest, TheSeedDecidesEverything) {
  SimNetworkOptions options{.seed = 5, .drop = 0.3, .repeat = 0.3, .delay_min = 1, .delay_max = 99};
  SimNetworkStats stats;
  const Trace first = RunNumbers(options, 1000, &stats);
  EXPECT_EQ(first, RunNumbers(options, 1000, &stats));
  options.seed = 6;
  EXPECT_NE(first, RunNumbers(options, 1000, &stats));
}

TEST(SimNetworkTest, ReceiveGivesOnlyWhatIsDue) {
  SimClock clock(100);
  SimNetwork network(&clock, {.delay_min = 10, .delay_max = 10});
  const auto a = network.OpenPort("a");
  const auto b = network.OpenPort("b");
  EXPECT_EQ(network.NextDelivery(), kNever);
  EXPECT_FALSE(network.RunOne());
  ASSERT_TRUE(a->Send(Numbered("b", 7)).ok());
  EXPECT_EQ(network.NextDelivery(), 110);
  EXPECT_FALSE(ReceiveNow(*b).has_value());
  clock.Advance(9);
  EXPECT_FALSE(ReceiveNow(*b).has_value());
  clock.Advance(1);
  EXPECT_TRUE(ReceiveNow(*b).has_value());
  EXPECT_FALSE(ReceiveNow(*b).has_value());
}

TEST(SimNetworkTest, CutsLoseWhatIsSentOrArrives) {
  SimClock clock;
  SimNetwork network(&clock, {.delay_min = 10, .delay_max = 10});
  const auto a = network.OpenPort("a");
  const auto b = network.OpenPort("b");
  const auto c = network.OpenPort("c");
  ASSERT_TRUE(a->Send(Numbered("b", 1)).ok());  // under way when the cut comes
  network.Cut("b", "a");
  ASSERT_TRUE(a->Send(Numbered("b", 2)).ok());
  ASSERT_TRUE(b->Send(Numbered("a", 3)).ok());
  ASSERT_TRUE(a->Send(Numbered("c", 4)).ok());  // others are not concerned
  while (network.RunOne()) continue;
  EXPECT_FALSE(ReceiveNow(*b).has_value());
  EXPECT_FALSE(ReceiveNow(*a).has_value());
  EXPECT_EQ(NumberOf(*ReceiveNow(*c)), 4u);
  network.Heal("a", "b");
  ASSERT_TRUE(a->Send(Numbered("b", 5)).ok());
  while (network.RunOne()) continue;
  EXPECT_EQ(NumberOf(*ReceiveNow(*b)), 5u);
  EXPECT_EQ(network.stats().dropped, 3u);
}

TEST(SimNetworkTest, ANameIsResolvedOnArrival) {
  SimClock clock;
  SimNetwork network(&clock, {.delay_min = 10, .delay_max = 10});
  const auto a = network.OpenPort("a");
  auto b = network.OpenPort("b");
  ASSERT_TRUE(a->Send(Numbered("b", 1)).ok());
  ASSERT_TRUE(network.RunOne());
  ASSERT_TRUE(a->Send(Numbered("b", 2)).ok());
  b.reset();
  b = network.OpenPort("b");  // its predecessor took message 1 along
  ASSERT_TRUE(network.RunOne());
  EXPECT_EQ(NumberOf(*ReceiveNow(*b)), 2u);
  EXPECT_FALSE(ReceiveNow(*b).has_value());
  ASSERT_TRUE(a->Send(Numbered("nobody", 3)).ok());
  ASSERT_TRUE(network.RunOne());
  EXPECT_EQ(network.stats().dropped, 1u);
}

}  // namespace
}  // namespace strata
