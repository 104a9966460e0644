// Ranks that find each other at one address.
#include "cluster/link/connect/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "cluster/collective/group.h"
#include "cluster/link/connect/query.h"
#include "cluster/link/links.h"
#include "tests/cluster/part_of_handshake.h"
#include "tests/cluster/with_tls.h"
#include "tests/support/free_port.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

class RendezvousTest : public WithAndWithoutTls {
 protected:
  RendezvousOptions Options(int rank, int world) const {
    return {.host = "127.0.0.1",
            .port = port_.number(),
            .rank = rank,
            .world = world,
            .cluster = "c",
            .job = "j",
            .secret = "s",
            .tls = Tls(),
            .timeout = 30 * kSecond};
  }
  std::future<Result<Meeting>> Begin(RendezvousOptions options) {
    port_.Release();
    return std::async(std::launch::async, [options] { return Meet(options); });
  }

  FreePort port_;
};
INSTANTIATE_TEST_SUITE_P(Security, RendezvousTest, testing::Bool(), TlsName);

LinkOptions LinksOf(const RendezvousOptions& options, std::vector<Machine> workers) {
  return {.workers = std::move(workers),
          .rank = options.rank,
          .cluster = options.cluster,
          .job = options.job,
          .secret = options.secret,
          .tls = options.tls,
          .connect_timeout = options.timeout};
}

TEST_P(RendezvousTest, AllMeetAndWorkTogether) {
  port_.Release();
  for (const int world : {1, 2, 5}) {
    InThreads(world, [&](int rank) {
      const RendezvousOptions options = Options(rank, world);
      auto meeting = Meet(options);
      ASSERT_TRUE(meeting.ok()) << meeting.status().ToString();
      ASSERT_EQ(meeting->workers.size(), static_cast<size_t>(world));
      EXPECT_EQ(meeting->workers[0].port, port_.number());
      const Machine& mine = meeting->workers[static_cast<size_t>(rank)];
      EXPECT_EQ(mine.port, meeting->listener.port);
      EXPECT_EQ(mine.rank, rank);
      auto links = Links::Listen(LinksOf(options, meeting->workers), std::move(meeting->listener));
      ASSERT_TRUE(links.ok()) << links.status().ToString();
      const Status connected = (*links)->Connect();
      ASSERT_TRUE(connected.ok()) << connected.ToString();
      Group group(**links);
      std::vector<int64_t> sum = {rank};
      ASSERT_TRUE(group.Allreduce(std::span<int64_t>(sum), ReduceOp::kSum).ok());
      EXPECT_EQ(sum[0], world * (world - 1) / 2);
      EXPECT_TRUE((*links)->Leave(20 * kSecond).ok());
    });
  }
}

TEST_P(RendezvousTest, SaysWhoHasNotCome) {
  RendezvousOptions host = Options(0, 4);
  host.timeout = 2 * kSecond;
  auto waiting = Begin(host);
  auto other = Begin(Options(2, 4));
  const Result<Meeting> meeting = waiting.get();
  EXPECT_EQ(meeting.status().code(), StatusCode::kLost);
  EXPECT_THAT(meeting.status().message(), HasSubstr("ranks 1, 3 did not come"));
  // Its host is gone: another may come until its own time is up.
  auto again = Begin(Options(0, 4));
  auto first = Begin(Options(1, 4));
  auto third = Begin(Options(3, 4));
  EXPECT_TRUE(again.get().ok());
  EXPECT_TRUE(other.get().ok());
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(third.get().ok());
}

TEST_P(RendezvousTest, WhoHasComeIsToldWhoHasNot) {
  RendezvousOptions host = Options(0, 3);
  host.timeout = 2 * kSecond;
  RendezvousOptions guest = Options(2, 3);
  guest.timeout = 2 * kSecond;
  auto waiting = Begin(host);
  auto other = Begin(guest);
  EXPECT_THAT(waiting.get().status().message(), HasSubstr("rank 1 did not come"));
  const Status status = other.get().status();
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 did not come"));
}

TEST_P(RendezvousTest, NobodyThere) {
  RendezvousOptions options = Options(1, 2);
  options.timeout = kSecond / 2;
  const Result<Meeting> meeting = Begin(options).get();
  EXPECT_EQ(meeting.status().code(), StatusCode::kLost);
  EXPECT_THAT(meeting.status().message(), HasSubstr("rank 0 at the meeting place 127.0.0.1 port"));
  EXPECT_THAT(meeting.status().message(), HasSubstr("refused"));
}

TEST_P(RendezvousTest, WhoDoesNotBelongIsTurnedDownAndTheOthersMeet) {
  auto host = Begin(Options(0, 3));
  auto second = Begin(Options(2, 3));
  RendezvousOptions stranger = Options(1, 3);
  stranger.secret = "other";
  EXPECT_EQ(Meet(stranger).status().code(), StatusCode::kRefused);
  stranger = Options(1, 4);
  EXPECT_THAT(Meet(stranger).status().message(),
              HasSubstr("rank 1 was started as one of 4 workers"));
  stranger = Options(1, 3);
  stranger.job = "other";
  EXPECT_THAT(Meet(stranger).status().message(), HasSubstr("another job"));
  // With a machine list.
  std::vector<Machine> list(3);
  for (Machine& machine : list) machine = {.host = "127.0.0.1", .port = port_.number()};
  auto listener = OpenListener("127.0.0.1", 0, kSecond);
  list[1].port = listener->port;
  auto links = Links::Listen(LinksOf(Options(1, 3), list), std::move(*listener));
  EXPECT_THAT((*links)->Connect().message(), HasSubstr("have a meeting place"));
  // The admin tool, too, hears whom they wait for.
  const auto status = QueryStatus("127.0.0.1", port_.number(), "s", 20 * kSecond, Tls());
  EXPECT_EQ(status.status().code(), StatusCode::kRefused);
  EXPECT_THAT(status.status().message(), HasSubstr("waiting for rank"));
  auto first = Begin(Options(1, 3));
  EXPECT_TRUE(host.get().ok());
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
}

TEST_P(RendezvousTest, OneRankTwiceAndTooLate) {
  auto host = Begin(Options(0, 3));
  auto first = Begin(Options(1, 3));
  auto twin = Begin(Options(1, 3));
  // Whichever came second is turned down, at once.
  const auto ready = [](std::future<Result<Meeting>>& future) {
    return future.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  };
  while (!ready(first) && !ready(twin)) {
  }
  const Result<Meeting> second = ready(first) ? first.get() : twin.get();
  EXPECT_THAT(second.status().message(), HasSubstr("rank 1 is already taken"));
  auto last = Begin(Options(2, 3));
  auto met = host.get();
  ASSERT_TRUE(met.ok());
  EXPECT_TRUE(last.get().ok());
  EXPECT_TRUE((first.valid() ? first : twin).get().ok());
  auto links = Links::Listen(LinksOf(Options(0, 3), met->workers), std::move(met->listener));
  EXPECT_THAT(Meet(Options(2, 3)).status().message(), HasSubstr("have met"));
}

TEST_P(RendezvousTest, ManyThatSayNothingHoldNobodyUp) {
  auto host = Begin(Options(0, 2));
  const auto deadline = RealClock().Now() + 20 * kSecond;
  std::vector<OwnedFd> silent;
  while (silent.size() < 300 && RealClock().Now() < deadline) {
    OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_.number());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    if (connect(fd.get(), any, sizeof(address)) == 0) silent.push_back(std::move(fd));
  }
  ASSERT_EQ(silent.size(), 300U);
  EXPECT_TRUE(Meet(Options(1, 2)).ok());
  EXPECT_TRUE(host.get().ok());
}

TEST_P(RendezvousTest, AConnectionThatIsCutAtAnyStepLeavesTheRankFree) {
  auto host = Begin(Options(0, 3));
  auto second = Begin(Options(2, 3));
  ASSERT_TRUE(WaitUntil([&] {  // until there is somebody to ask
    return QueryStatus("127.0.0.1", port_.number(), "s", kSecond, Tls()).status().code() ==
           StatusCode::kRefused;
  }));
  LinkHello hello{.purpose = LinkPurpose::kRendezvous,
                  .job = MakeJobId("c", "j"),
                  .world = 3,
                  .from = 1,
                  .process = 100};
  for (int steps = 0; steps <= 4; ++steps) {
    for (int i = 0; i < 20; ++i) {  // some end between the verdict and its way out
      ++hello.process;
      PartOfHandshake part(port_.number(), Tls().get(), "s", hello);
      part.Go(steps);
      if (i % 4 != 0) part.end().Reset();
    }
  }
  EXPECT_TRUE(WaitUntil([&] {
    ++hello.process;
    PartOfHandshake next(port_.number(), Tls().get(), "s", hello);
    next.Go(4);
    next.end().EndSending();
    next.end().ReadToEnd();
    return next.accepted();
  }));
  EXPECT_TRUE(Meet(Options(1, 3)).ok());
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(host.get().ok());
}

TEST_P(RendezvousTest, RankMustBeWithinTheWorld) {
  EXPECT_EQ(Meet(Options(2, 2)).status().code(), StatusCode::kInvalid);
}

TEST_P(RendezvousTest, BeyondLoopbackItNeedsASecretOrTls) {
  RendezvousOptions options = Options(0, 1);
  options.host = "0.0.0.0";
  options.secret = "";
  const Result<Meeting> meeting = Begin(options).get();
  EXPECT_EQ(meeting.status().code(), GetParam() ? StatusCode::kOk : StatusCode::kRefused);
}

}  // namespace
}  // namespace strata
