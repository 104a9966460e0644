// Faults that no single message shows: ranks that name different roots, and connections that break
// without a word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/collective/group.h"
#include "cluster/link/links.h"
#include "tests/cluster/with_tls.h"
#include "tests/soak/links/link_proxy.h"

namespace strata {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class LinksFaults : public WithAndWithoutTls {};
INSTANTIATE_TEST_SUITE_P(Security, LinksFaults, testing::Bool(), TlsName);

// The same operation from two roots: whether ranks meet in it, or all wait, or a message of it
// meets the next call.
TEST_P(LinksFaults, DifferentRootsAreNamed) {
  for (const Collective operation : kCollectives) {
    if (!HasRoot(operation)) continue;
    for (const int world : {2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << CollectiveName(operation) << " of " << world);
      Loopback net = Net(world);
      auto links = ConnectAll(
          &net, [](LinkOptions* options) { options->heartbeat_every = 50 * kMillisecond; });
      InThreads(world, [&](int r) {
        Group group(*links[static_cast<size_t>(r)], {.timeout = 20 * kSecond});
        const int root = r == world - 1 ? 1 : 0;
        std::vector<int64_t> all(static_cast<size_t>(world));
        const std::span<int64_t> one(all.data(), 1);
        const std::span<const int64_t> sent(all);
        Status status;
        switch (operation) {
          case Collective::kBroadcast:
            status = group.Broadcast(one, root);
            break;
          case Collective::kReduce:
            status = group.Reduce(one, ReduceOp::kSum, root);
            break;
          case Collective::kGather:
            status = group.Gather(sent.first(1), std::span(all), root);
            break;
          default:
            status = group.Scatter(sent, one, root);
        }
        if (status.ok()) status = group.Barrier();
        EXPECT_EQ(status.code(), StatusCode::kFailed) << status.ToString();
        EXPECT_THAT(status.message(),
                    AnyOf(HasSubstr("root 0) call 0"), HasSubstr("root 1) call 0")));
        EXPECT_THAT(status.message(), HasSubstr("all ranks must call the same collectives"));
      });
    }
  }
}

TEST_P(LinksFaults, UnevenBlocksCountedDifferentlyAreNamedOnAllRanks) {
  for (const Algorithm algorithm : {Algorithm::kBruck, Algorithm::kPairwise}) {
    Loopback net = Net(4);
    auto links = ConnectAll(&net);
    InThreads(4, [&](int r) {
      Group group(*links[static_cast<size_t>(r)], {.timeout = 20 * kSecond});
      const std::vector<size_t> in_counts = {r == 1 ? 9U : 10U, 10, 10, 10};
      const std::vector<size_t> out_counts = {10, 10, 10, 10};
      std::vector<int64_t> in(in_counts[0] + 30);
      std::vector<int64_t> out(40);
      Status status = group.AllToAll(std::span<const int64_t>(in), std::span(out), in_counts,
                                     out_counts, {.algorithm = algorithm});
      // Pairwise, ranks that have no part in it may be done before.
      if (status.ok() && algorithm == Algorithm::kPairwise) status = group.Barrier();
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(status.message(), AllOf(HasSubstr("72"), HasSubstr("80"))) << r;
    });
  }
}

// The data connection alone falls silent, or is read and goes nowhere; or the control connection.
TEST_P(LinksFaults, AConnectionThatGoesNowhereEndsTheGroupInTime) {
  using soak::LinkProxy;
  constexpr TimeNs kSilence = kSecond;
  for (const auto state : {LinkProxy::State::kStopped, LinkProxy::State::kSwallows}) {
    for (const uint32_t broken : {1U, 2U}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(state) << ' ' << broken);
      Loopback net = Net(3);
      LinkProxy proxy(net.machines[0].port);
      proxy.Start();
      auto links = ConnectAll(&net, [&](LinkOptions* options) {
        options->shared_memory = false;
        options->peer_lost_after = kSilence;
        options->heartbeat_every = kSilence / 10;
        if (options->rank == 2) options->workers[0].port = proxy.port();
      });
      TimeNs broken_at = 0;
      InThreads(3, [&](int r) {
        Group group(*links[static_cast<size_t>(r)], {.timeout = 60 * kSecond});
        std::vector<float> data(100'000);
        Status status;
        for (int call = 0; status.ok(); ++call) {
          if (call == 5 && r == 0) {
            broken_at = RealClock().Now();
            proxy.Break(state, broken);
          }
          status = group.Allreduce(std::span(data), ReduceOp::kSum);
        }
        EXPECT_EQ(status.code(), StatusCode::kLost) << status.ToString();
        EXPECT_THAT(status.message(), AnyOf(HasSubstr("rank 0 ("), HasSubstr("rank 2 (")));
        EXPECT_THAT(status.message(),
                    AnyOf(HasSubstr("silent for"), HasSubstr("over its data connection")));
      });
      EXPECT_LT(RealClock().Now() - broken_at, 5 * kSilence);  // what a busy machine takes
    }
  }
}

}  // namespace
}  // namespace strata
