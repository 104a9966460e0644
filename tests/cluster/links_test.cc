// Groups over real loopback connections: collectives, status, goodbye, and each way to fail.
#include "cluster/link/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <future>
#include <numeric>
#include <thread>

#include "base/hash.h"
#include "cluster/collective/group.h"
#include "cluster/link/connect/frame.h"
#include "cluster/link/connect/handshake.h"
#include "cluster/link/connect/query.h"
#include "cluster/topology/peers.h"
#include "tests/cluster/collective_contract.h"
#include "tests/cluster/raw_end.h"
#include "tests/cluster/with_tls.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string NameOf(const Loopback& net, int rank) {
  return "rank " + std::to_string(rank) + " (" + net.machines[static_cast<size_t>(rank)].Address() +
         ")";
}

// Waits until the group has failed; the bound is only there to end a broken test.
Status AwaitFailure(Links* links) {
  auto failed = std::make_shared<std::promise<Status>>();
  auto future = failed->get_future();
  links->OnFailure([failed](const Status& why) { failed->set_value(why); });
  if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
    return Internal("no failure within 30 s");
  }
  EXPECT_EQ(links->Failure().message(), future.get().message());
  return links->Failure();
}

// What carries the messages between two ranks.
enum class Carrier : uint8_t { kSockets, kMemory, kBoth, kTls, kTlsAndMemory };

bool UsesTls(Carrier carrier) {
  return carrier == Carrier::kTls || carrier == Carrier::kTlsAndMemory;
}

// kBoth, kTlsAndMemory: every third rank shares no memory, so exchanges go both ways at once.
bool SharesMemory(Carrier carrier, int rank) {
  const bool both = carrier == Carrier::kBoth || carrier == Carrier::kTlsAndMemory;
  return carrier == Carrier::kMemory || (both && rank % 3 != 2);
}

std::vector<int> WorldsOver(Carrier carrier) {
  // Sanitizers take minutes for more, and see nothing new.
  if (kSanitized && carrier != Carrier::kSockets) return {2, 3, 5, 8};
  if (carrier != Carrier::kSockets || kSanitized) return {1, 2, 3, 4, 5, 6, 7, 8, 13};
  std::vector<int> all(17);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

class LinksOver : public testing::TestWithParam<Carrier> {};

TEST_P(LinksOver, EveryAlgorithm) {
  for (const int world : WorldsOver(GetParam())) {
    SCOPED_TRACE(world);
    Loopback net(world, "127.0.0.1", UsesTls(GetParam()) ? TestTls() : nullptr);
    std::vector<std::vector<uint64_t>> hashes(static_cast<size_t>(world));
    InThreads(world, [&](int r) {
      LinkOptions options = net.Options(r);
      options.shared_memory = SharesMemory(GetParam(), r);
      const auto links = net.Listen(std::move(options));
      const Status connected = links->Connect();
      ASSERT_TRUE(connected.ok()) << connected.ToString();
      Group group(*links, {.timeout = 20 * kSecond});
      CollectiveContract contract(&group);
      for (const size_t count : ContractSizes(world, world <= 5)) contract.Check(count);
      hashes[static_cast<size_t>(r)] = contract.float_hashes();
      const std::vector<std::byte> mine(static_cast<size_t>(r) * 10'000, std::byte(r));
      std::vector<std::vector<std::byte>> all;
      ASSERT_TRUE(group.Allgather(mine, &all).ok());
      for (int other = 0; other < world; ++other) {
        ASSERT_EQ(all[static_cast<size_t>(other)],
                  std::vector<std::byte>(static_cast<size_t>(other) * 10'000, std::byte(other)));
      }
      const Status left = links->Leave(20 * kSecond);
      EXPECT_TRUE(left.ok()) << left.ToString();
    });
    for (const auto& mine : hashes) ASSERT_EQ(mine, hashes[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Carriers, LinksOver,
                         testing::Values(Carrier::kSockets, Carrier::kMemory, Carrier::kBoth,
                                         Carrier::kTls, Carrier::kTlsAndMemory),
                         [](const auto& carrier) -> std::string {
                           switch (carrier.param) {
                             case Carrier::kSockets:
                               return "Sockets";
                             case Carrier::kMemory:
                               return "Memory";
                             case Carrier::kBoth:
                               return "Both";
                             case Carrier::kTls:
                               return "Tls";
                             case Carrier::kTlsAndMemory:
                               return "TlsAndMemory";
                           }
                           return "";
                         });

class LinksTest : public WithAndWithoutTls {};
INSTANTIATE_TEST_SUITE_P(Security, LinksTest, testing::Bool(), TlsName);

TEST_P(LinksTest, OnlyWhatIsNeededIsOpened) {
  constexpr int kWorld = 9;
  Loopback net = Net(kWorld);
  InThreads(kWorld, [&](int r) {
    const auto links = net.Listen(net.Options(r));
    ASSERT_TRUE(links->Connect().ok());
    EXPECT_EQ(links->open_links(), static_cast<int>(CirculantPeers(kWorld, r).size()));
    Group group(*links, {.timeout = 20 * kSecond});
    std::vector<int64_t> data(1000, 1);
    ASSERT_TRUE(group.Allreduce(std::span(data), ReduceOp::kSum).ok());
    EXPECT_EQ(links->open_links(), static_cast<int>(CirculantPeers(kWorld, r).size()));
    ASSERT_TRUE(group.Barrier().ok());
    // A pair that is not among them is linked when it is needed.
    std::vector<int64_t> out(kWorld);
    ASSERT_TRUE(group
                    .AllToAll(std::span<const int64_t>(out), std::span(out), {}, {},
                              {.algorithm = Algorithm::kPairwise})
                    .ok());
    EXPECT_EQ(links->open_links(), kWorld - 1);
    EXPECT_TRUE(links->Leave(20 * kSecond).ok());
  });
}

// One call of three ranks that are all on `host`.
void ExpectWorkOn(const std::string& host) {
  Loopback net(3, host);
  InThreads(3, [&](int r) {
    LinkOptions options = net.Options(r);
    options.shared_memory = false;
    const auto links = net.Listen(std::move(options));
    const Status connected = links->Connect();
    ASSERT_TRUE(connected.ok()) << connected.ToString();
    std::vector<int64_t> data(1000, r);
    ASSERT_TRUE(Group(*links).Allreduce(std::span(data), ReduceOp::kSum).ok());
    EXPECT_EQ(data[999], 3);
    EXPECT_TRUE(links->Leave(20 * kSecond).ok());
  });
}

TEST(Links, Ipv6) {
  if (!OpenListener("::1", 0, kSecond).ok()) GTEST_SKIP() << "no IPv6 loopback here";
  ExpectWorkOn("::1");
}

TEST(Links, HostNames) { ExpectWorkOn("localhost"); }

TEST_P(LinksTest, GoodbyeOfOneRankIsNoFailureForTheOthers) {
  Loopback net = Net(3);
  auto links = ConnectAll(&net);
  std::thread first([&] {
    EXPECT_TRUE(links[0]->Leave(20 * kSecond).ok());
    links[0].reset();
  });
  InThreads(
      2, [&](int r) { EXPECT_TRUE(links[static_cast<size_t>(r) + 1]->Leave(20 * kSecond).ok()); });
  first.join();
}

// All wait for a message that nobody sends: only heartbeats can tell.
TEST_P(LinksTest, RanksThatWaitForEachOtherInDifferentCallsAreTold) {
  Loopback net = Net(3);
  auto links =
      ConnectAll(&net, [](LinkOptions* options) { options->heartbeat_every = 50 * kMillisecond; });
  InThreads(3, [&](int r) {
    Group group(*links[static_cast<size_t>(r)]);
    std::vector<int64_t> data(3);
    const Status status =
        r == 1 ? group.Scatter(std::span<const int64_t>(), std::span(data).first(1), 0)
               : group.Broadcast(std::span(data), 1, {.algorithm = Algorithm::kBinomial});
    EXPECT_EQ(status.code(), StatusCode::kFailed);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("scatter (binomial, root 0) call 0"),
                                        HasSubstr("broadcast (binomial, root 1) call 0")));
    EXPECT_THAT(status.message(), AnyOf(HasSubstr(NameOf(net, 1)), HasSubstr("rank 1 says: "),
                                        HasSubstr("this rank in scatter")));
  });
}

// Reads a frame, whose header and body are this long together.
std::string ReadLinkFrame(RawEnd* from, size_t body_bytes, LinkFrameType expected) {
  const std::string bytes = from->Read(kLinkHeaderBytes + body_bytes);
  LinkHeaderBytes header{};
  std::ranges::copy(std::as_bytes(std::span(bytes)).first(std::min(bytes.size(), header.size())),
                    header.begin());
  const auto decoded = DecodeLinkHeader(header);
  EXPECT_TRUE(decoded.ok() && decoded->type == expected) << decoded.status().ToString();
  return bytes.substr(std::min(bytes.size(), kLinkHeaderBytes));
}

// A rank 0 whose first words as a peer arrive with the verdict, before the dialer counts the link.
TEST_P(LinksTest, WordsThatComeWithTheVerdictAreHeard) {
  Loopback net = Net(2);
  const auto links = net.Listen(net.Options(1));
  std::jthread connecting([&] {
    const Status status = links->Connect();
    EXPECT_TRUE(status.ok()) << status.ToString();
  });
  std::array<std::unique_ptr<RawEnd>, 2> ends;  // control, data
  std::array<std::string, 2> hellos;
  for (int i = 0; i < 2; ++i) {
    auto end = std::make_unique<RawEnd>(net.listeners[0], Tls().get());
    std::string body = ReadLinkFrame(end.get(), EncodeHello({}).size(), LinkFrameType::kHello);
    const auto hello = DecodeHello(body);
    ASSERT_TRUE(hello.ok()) << hello.status().ToString();
    const size_t place = hello->purpose == LinkPurpose::kControl ? 0 : 1;
    ends[place] = std::move(end);
    hellos[place] = std::move(body);
  }
  for (const size_t place : {1, 0}) {
    RawEnd* const end = ends[place].get();
    ASSERT_NE(end, nullptr);
    const std::string challenge(32, 'c');
    end->Send(MakeLinkFrame({.type = LinkFrameType::kChallenge}, challenge));
    ReadLinkFrame(end, 32, LinkFrameType::kProof);
    const LinkMac proof = AcceptorProof(MakeLinkKey("a secret"), hellos[place], challenge);
    std::string words = MakeLinkFrame({.type = LinkFrameType::kVerdict}, AsText(proof));
    if (place == 0) words += MakeLinkFrame({.type = LinkFrameType::kOffer});  // of no memory
    end->Send(words);
    ReadLinkFrame(end, 0, LinkFrameType::kConfirm);
  }
  connecting.join();
  links->Cancel(Cancelled("the end"));
}

TEST_P(LinksTest, CollectiveWithARankThatHasLeftIsAnError) {
  Loopback net = Net(2);
  auto links = ConnectAll(&net);
  std::thread leaver([&] { static_cast<void>(links[1]->Leave(20 * kSecond)); });
  Group group(*links[0]);
  std::vector<float> data(10);
  const Status status = group.Allreduce(std::span<float>(data), ReduceOp::kSum);
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(NameOf(net, 1)), HasSubstr("has finished its job"),
                                      HasSubstr("allreduce")));
  leaver.join();
}

// A rank that ends without a goodbye: all others name it, those it has no link with too.
TEST_P(LinksTest, LostRankIsNamedOnEverySurvivor) {
  constexpr int kWorld = 6;
  Loopback net = Net(kWorld);
  auto links = ConnectAll(&net);
  const int lost = 3;  // rank 0 has no link with it
  const TimeNs before = RealClock().Now();
  std::vector<std::thread> survivors;
  for (int r = 0; r < kWorld; ++r) {
    if (r == lost) continue;
    survivors.emplace_back([&, r] {
      Group group(*links[static_cast<size_t>(r)]);
      std::vector<float> data(100'000);
      Status status;
      while (status.ok()) status = group.Allreduce(std::span<float>(data), ReduceOp::kSum);
      EXPECT_EQ(status.code(), StatusCode::kLost);
      EXPECT_THAT(status.message(), HasSubstr(NameOf(net, lost) + " is lost"));
    });
  }
  links[lost].reset();
  for (std::thread& thread : survivors) thread.join();
  EXPECT_LT(RealClock().Now() - before,
            10 * kSecond);  // 2 s promised; the rest is for slow machines
}

TEST_P(LinksTest, LostRankIsSeenByRanksThatAreBusyElsewhere) {
  Loopback net = Net(8);  // rank 0 has no link with ranks 3 and 5
  auto links = ConnectAll(&net);
  links[3].reset();
  for (int r : {0, 1, 2, 4, 5, 6, 7}) {
    const Status status = AwaitFailure(links[static_cast<size_t>(r)].get());
    EXPECT_EQ(status.code(), StatusCode::kLost);
    EXPECT_THAT(status.message(), HasSubstr(NameOf(net, 3) + " is lost"));
  }
}

TEST_P(LinksTest, CancelEndsTheJobEverywhere) {
  Loopback net = Net(3);
  auto links = ConnectAll(&net);
  links[2]->Cancel(Invalid("train.csv:7: no label"));
  EXPECT_EQ(links[2]->Failure().code(), StatusCode::kInvalid);
  for (size_t r : {0, 1}) {
    const Status status = AwaitFailure(links[r].get());
    EXPECT_EQ(status.code(), StatusCode::kLost);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(NameOf(net, 2) + " has ended the job"), HasSubstr("no label")));
  }
}

TEST_P(LinksTest, DifferentSizesAreNamedOnBothSides) {
  Loopback net = Net(2);
  auto links = ConnectAll(&net);
  InThreads(2, [&](int r) {
    Group group(*links[static_cast<size_t>(r)]);
    std::vector<float> data(r == 0 ? 10 : 12);
    const Status status = group.Allreduce(std::span<float>(data), ReduceOp::kSum);
    EXPECT_EQ(status.code(), StatusCode::kFailed);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("bytes in allreduce"), HasSubstr("call 0")));
  });
}

TEST_P(LinksTest, DifferentCollectivesAreNamedOnBothSides) {
  Loopback net = Net(2);
  auto links = ConnectAll(&net);
  InThreads(2, [&](int r) {
    Group group(*links[static_cast<size_t>(r)]);
    std::vector<int64_t> data(1);
    std::vector<std::vector<std::byte>> all;
    const Status status = r == 0 ? group.Allreduce(std::span<int64_t>(data), ReduceOp::kSum)
                                 : group.Allgather(std::as_bytes(std::span(data)), &all);
    EXPECT_EQ(status.code(), StatusCode::kFailed);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("allreduce"), HasSubstr("allgather")));
  });
}

TEST_P(LinksTest, LiveRankThatDoesNotTakePartMeetsTheDeadline) {
  Loopback net = Net(2);
  auto links = ConnectAll(&net);
  Group group(*links[0]);
  std::vector<float> data(10);
  const Status status =
      group.Allreduce(std::span<float>(data), ReduceOp::kSum, {.timeout = kSecond / 2});
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr(NameOf(net, 1) + " is alive but sent 0 of 40 bytes"));
}

// A peer that holds its connections open and says nothing, as one stopped by SIGSTOP does.
TEST_P(LinksTest, SilentRankIsLost) {
  Loopback net = Net(3);
  auto links = ConnectAll(&net, [](LinkOptions* options) {
    options->heartbeat_every = options->rank == 1 ? 3600 * kSecond : kSecond / 10;
    options->peer_lost_after = options->rank == 1 ? 3600 * kSecond : kSecond;
  });
  for (size_t r : {0, 2}) {
    const Status status = AwaitFailure(links[r].get());
    EXPECT_EQ(status.code(), StatusCode::kLost);
    EXPECT_THAT(status.message(), HasSubstr(NameOf(net, 1) + " is lost: it has been silent"));
  }
}

TEST_P(LinksTest, MissingRanksAreNamed) {
  Loopback net = Net(3);
  net.listeners[0] = Listener();  // nobody listens there
  LinkOptions options = net.Options(1);
  options.connect_timeout = kSecond / 2;
  const auto links = net.Listen(options);
  const Status status = links->Connect();
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(NameOf(net, 0) + ": Connection refused"),
                                      HasSubstr(NameOf(net, 2) + ": has not connected")));
}

TEST(Links, UnknownHostIsNamed) {
  Loopback net(2);
  LinkOptions options = net.Options(1);
  options.workers[0].host = "no-such-host.invalid";
  options.connect_timeout = kSecond;
  const auto links = net.Listen(options);
  const Status status = links->Connect();
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(), HasSubstr("no-such-host.invalid"));
}

TEST(Links, PortInUseSaysWhatToDo) {
  Loopback net(1);
  const auto links = Links::Listen(net.Options(0));
  ASSERT_FALSE(links.ok());
  EXPECT_EQ(links.status().code(), StatusCode::kFailed);
  EXPECT_THAT(links.status().message(),
              AllOf(HasSubstr("worker rank 0 (127.0.0.1:"), HasSubstr("is in use"),
                    HasSubstr("another port in the machine list")));
}

TEST(Links, AddressOfAnotherMachine) {
  Loopback net(1);
  LinkOptions options = net.Options(0);
  options.workers[0].host = "192.0.2.1";  // RFC 5737: nobody's
  const auto links = Links::Listen(options);
  ASSERT_FALSE(links.ok());
  EXPECT_THAT(links.status().message(), HasSubstr("192.0.2.1 port"));
  EXPECT_THAT(links.status().message(), HasSubstr("is no address of this machine"));
}

TEST(Links, BeyondLoopbackNeedsASecret) {
  Loopback net(1, "0.0.0.0");
  LinkOptions options = net.Options(0);
  options.secret = "";
  const auto links = Links::Listen(options, std::move(net.listeners[0]));
  ASSERT_FALSE(links.ok());
  EXPECT_EQ(links.status().code(), StatusCode::kRefused);
  EXPECT_THAT(links.status().message(), HasSubstr("beyond loopback"));
}

TEST(Links, RankOutOfRange) {
  Loopback net(2);
  for (int rank : {-1, 2}) {
    LinkOptions options = net.Options(0);
    options.rank = rank;
    const auto links = Links::Listen(options);
    ASSERT_FALSE(links.ok());
    EXPECT_EQ(links.status().code(), StatusCode::kInvalid);
  }
}

TEST_P(LinksTest, StatusAndControlWhileRanksAreMissing) {
  Loopback net = Net(3);
  const auto links = net.Listen(net.Options(0));  // never connects
  const uint16_t port = net.machines[0].port;
  auto answer = QueryStatus("127.0.0.1", port, "a secret", 20 * kSecond, Tls());
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), StatusCode::kRefused);
  links->SetStatusProvider([] { return std::string(1'000'000, 's'); });
  links->SetControlHandler([](std::string_view request) { return "did " + std::string(request); });
  answer = QueryStatus("127.0.0.1", port, "a secret", 20 * kSecond, Tls());
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, std::string(1'000'000, 's'));
  answer = SendControl("127.0.0.1", port, "a secret", "shutdown", 20 * kSecond, Tls());
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, "did shutdown");
}

TEST_P(LinksTest, TellsWhereAllWorkersListen) {
  Loopback net = Net(3);
  const auto links = net.Listen(net.Options(1));
  const auto workers =
      QueryWorkers("127.0.0.1", net.machines[1].port, "a secret", 20 * kSecond, Tls());
  ASSERT_TRUE(workers.ok()) << workers.status().ToString();
  ASSERT_EQ(workers->size(), 3U);
  for (size_t rank = 0; rank < 3; ++rank) {
    const Machine& worker = (*workers)[rank];
    EXPECT_EQ(worker.Address(), net.machines[rank].Address());
    EXPECT_EQ(worker.role, Role::kWorker);
    EXPECT_EQ(worker.rank, static_cast<int>(rank));
  }
}

TEST_P(LinksTest, FailuresOfQueries) {
  Loopback net = Net(2);
  const auto links = net.Listen(net.Options(0));
  links->SetStatusProvider([] { return std::string("fine"); });
  auto answer = QueryStatus("127.0.0.1", net.machines[0].port, "another", 20 * kSecond, Tls());
  EXPECT_EQ(answer.status().code(), StatusCode::kRefused);
  EXPECT_THAT(answer.status().message(), HasSubstr("the secrets differ"));

  // A socket that listens but never answers, then nobody at all.
  answer = QueryStatus("127.0.0.1", net.machines[1].port, "a secret", kSecond / 5, Tls());
  EXPECT_EQ(answer.status().code(), StatusCode::kDeadlineExceeded);
  net.listeners[1] = Listener();
  answer = QueryStatus("127.0.0.1", net.machines[1].port, "a secret", 20 * kSecond, Tls());
  EXPECT_EQ(answer.status().code(), StatusCode::kLost);
  EXPECT_THAT(answer.status().message(), HasSubstr("is the worker running?"));
}

TEST_P(LinksTest, FailureCallbackComesOnceAndAlsoLate) {
  Loopback net = Net(1);
  const auto links = net.Listen(net.Options(0));
  ASSERT_TRUE(links->Connect().ok());
  links->Cancel(Cancelled("interrupted"));
  links->Cancel(Cancelled("again"));
  EXPECT_EQ(AwaitFailure(links.get()).message(), "interrupted");
}

}  // namespace
}  // namespace strata
