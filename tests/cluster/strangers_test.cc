// Whoever is not a rank of the job never takes a rank's place, and learns why when it speaks the
// protocol. After each of them the group still forms and works. Within TLS strangers have a
// certificate of the cluster.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "cluster/collective/group.h"
#include "cluster/link/connect/frame.h"
#include "cluster/link/connect/handshake.h"
#include "cluster/link/connect/query.h"
#include "tests/cluster/part_of_handshake.h"
#include "tests/cluster/with_tls.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// Rank 0 of a job of two listens; in the end the true rank 1 comes and both work together.
class Strangers : public WithAndWithoutTls {
 protected:
  void SetUp() override {
    LinkOptions options = net_.Options(0);
    options.accept_timeout = kSecond;
    links_ = net_.Listen(options);
    connecting_ = std::thread([this] { connected_ = links_->Connect(); });
  }

  void TearDown() override {
    const auto other = net_.Listen(net_.Options(1));
    const Status status = other->Connect();
    connecting_.join();
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_TRUE(connected_.ok()) << connected_.ToString();
    InThreads(2, [&](int r) {
      Links& mine = r == 0 ? *links_ : *other;
      Group group(mine);
      std::vector<int64_t> data = {r + 1};
      ASSERT_TRUE(group.Allreduce(std::span<int64_t>(data), ReduceOp::kSum).ok());
      EXPECT_EQ(data[0], 3);
      EXPECT_TRUE(mine.Leave(20 * kSecond).ok());
    });
  }

  uint16_t port() const { return net_.machines[0].port; }

  // Another process that says it is rank 1, with a listening port of its own.
  Status ConnectAs(const std::function<void(LinkOptions*)>& change) {
    auto listener = OpenListener("127.0.0.1", 0, kSecond);
    LinkOptions options = net_.Options(1);
    options.workers[1].port = listener->port;
    change(&options);
    auto links = Links::Listen(options, std::move(listener).value());
    EXPECT_TRUE(links.ok());
    return (*links)->Connect();
  }

  std::vector<std::unique_ptr<RawEnd>> idle_;  // stay until the group has formed
  Loopback net_ = Net(2);
  std::unique_ptr<Links> links_;
  std::thread connecting_;
  Status connected_;
};

INSTANTIATE_TEST_SUITE_P(Security, Strangers, testing::Bool(), TlsName);

TEST_P(Strangers, RandomBytes) {
  for (size_t size = 13; size < 5000; size += 311) {
    RawEnd client(port(), Tls().get());
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(Mix64(size * 10'000 + i));
    client.Send(bytes);
    EXPECT_EQ(client.ReadToEnd(), "");  // the first one, shorter than a header, by the deadline
  }
}

TEST_P(Strangers, HttpAndNothing) {
  RawEnd http(port(), Tls().get());
  http.Send("GET /metrics HTTP/1.1\r\nHost: localhost:12345\r\nUser-Agent: curl/7.88.1\r\n\r\n");
  EXPECT_EQ(http.ReadToEnd(), "");
  RawEnd scan(port(), Tls().get());  // connects and is gone
  RawEnd silent(port(), Tls().get());
  EXPECT_EQ(silent.ReadToEnd(), "");  // by the accept deadline
}

TEST_P(Strangers, OlderProtocolIsToldSo) {
  RawEnd client(port(), Tls().get());
  const LinkHeaderBytes header = EncodeLinkHeader({.type = LinkFrameType::kHello}, 0);
  client.Send({reinterpret_cast<const char*>(header.data()), header.size()});
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("link protocol version 0 there, version 3 here"));
}

TEST_P(Strangers, OversizeFramesAllocateNothing) {
  for (uint64_t length : {kHandshakeBytesMax + 1, uint64_t{1} << 40, UINT64_MAX}) {
    RawEnd client(port(), Tls().get());
    const LinkHeaderBytes header =
        EncodeLinkHeader({.type = LinkFrameType::kHello, .length = length});
    client.Send({reinterpret_cast<const char*>(header.data()), header.size()});
    EXPECT_THAT(client.ReadToEnd(), HasSubstr("bytes; at most 1024 are taken here"));
  }
}

TEST_P(Strangers, HelloWithoutProofGetsNowhere) {
  LinkHello hello{.purpose = LinkPurpose::kControl, .world = 2, .from = 1, .process = 5};
  RawEnd client(port(), Tls().get());
  client.Send(MakeLinkFrame({.type = LinkFrameType::kHello}, EncodeHello(hello)));
  client.Send(MakeLinkFrame({.type = LinkFrameType::kProof}, std::string(32, 'p')));
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("the secrets differ"));
  RawEnd impatient(port(), Tls().get());
  impatient.Send(MakeLinkFrame({.type = LinkFrameType::kHello}, EncodeHello(hello)));
  impatient.Send(MakeLinkFrame({.type = LinkFrameType::kConfirm}));
  EXPECT_EQ(impatient.ReadToEnd().size(), kLinkHeaderBytes + 32);  // the challenge, and the end
}

TEST_P(Strangers, ManyIdleConnectionsDoNotKeepTheRankOut) {
  for (int i = 0; i < 150; ++i) idle_.push_back(std::make_unique<RawEnd>(port(), Tls().get()));
}

TEST_P(Strangers, WrongSecretJobOrWorld) {
  Status status = ConnectAs([](LinkOptions* options) { options->secret = "guess"; });
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("the secrets differ"));
  status = ConnectAs([](LinkOptions* options) { options->secret = ""; });
  EXPECT_THAT(status.message(), HasSubstr("the secrets differ"));
  status = ConnectAs([](LinkOptions* options) { options->job = "another"; });
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("another job"));
  status = ConnectAs([](LinkOptions* options) { options->cluster = "another"; });
  EXPECT_THAT(status.message(), HasSubstr("another job"));
  status = ConnectAs([](LinkOptions* options) { options->workers.push_back(options->workers[1]); });
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("was started as one of 3 workers"));
}

TEST_P(Strangers, AConnectionThatIsCutAtAnyStepLeavesTheRankFree) {
  const LinkOptions options = net_.Options(1);
  LinkHello hello{.job = MakeJobId(options.cluster, options.job), .world = 2, .from = 1};
  hello.process = 100;
  for (const LinkPurpose purpose : {LinkPurpose::kControl, LinkPurpose::kData}) {
    hello.purpose = purpose;
    for (int steps = 0; steps <= 4; ++steps) {
      for (int i = 0; i < 20; ++i) {  // some end between the verdict and its way out
        ++hello.process;
        PartOfHandshake part(port(), Tls().get(), options.secret, hello);
        part.Go(steps);
        if (i % 4 != 0) part.end().Reset();
      }
    }
  }
  // Whoever holds the place ends as soon as its connection does.
  EXPECT_TRUE(WaitUntil([&] {
    ++hello.process;
    PartOfHandshake next(port(), Tls().get(), options.secret, hello);
    next.Go(4);
    next.end().EndSending();
    next.end().ReadToEnd();
    return next.accepted();
  }));
}

class ManyStrangers : public WithAndWithoutTls {};
INSTANTIATE_TEST_SUITE_P(Security, ManyStrangers, testing::Bool(), TlsName);

// Room for one more is made by closing those that have proven nothing, however old the others are.
TEST_P(ManyStrangers, DoNotPushOutWhoBelongsThere) {
  Loopback net = Net(2);
  auto links = ConnectAll(&net);
  std::vector<std::unique_ptr<RawEnd>> idle;
  for (int i = 0; i < 200; ++i)
    idle.push_back(std::make_unique<RawEnd>(net.machines[0].port, Tls().get()));
  EXPECT_EQ(idle.front()->ReadToEnd(), "");  // whoever is older has gone before
  InThreads(2, [&](int r) {
    Links& mine = *links[static_cast<size_t>(r)];
    const Status status = Group(mine).Barrier();
    EXPECT_TRUE(status.ok()) << status.ToString();
    const Status left = mine.Leave(20 * kSecond);
    EXPECT_TRUE(left.ok()) << left.ToString();
  });
}

class TwoProcesses : public WithAndWithoutTls {};
INSTANTIATE_TEST_SUITE_P(Security, TwoProcesses, testing::Bool(), TlsName);

TEST_P(TwoProcesses, OfOneRankTheSecondIsRefused) {
  Loopback net = Net(2);
  auto links = ConnectAll(&net);
  auto listener = OpenListener("127.0.0.1", 0, kSecond);
  LinkOptions options = net.Options(1);
  options.workers[1].port = listener->port;
  auto second = Links::Listen(options, std::move(listener).value());
  const Status status = (*second)->Connect();
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 is already taken by a process at 127.0.0.1:"));
  InThreads(2, [&](int r) {
    const Status left = links[static_cast<size_t>(r)]->Leave(20 * kSecond);
    EXPECT_TRUE(left.ok()) << left.ToString();
  });
}

TEST_P(TwoProcesses, ListsInAnotherOrderAreNoticed) {
  Loopback net = Net(3);
  const auto first = net.Listen(net.Options(0));
  LinkOptions options = net.Options(2);
  std::swap(options.workers[0], options.workers[1]);
  const auto second = net.Listen(net.Options(1));
  const auto third = net.Listen(options);
  const Status status = third->Connect();
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("use the same list on all machines"));
}

}  // namespace
}  // namespace strata
