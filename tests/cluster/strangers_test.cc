// Whoever is not a rank of the job never takes a rank's place, and learns why when it speaks the
// protocol. After each of them the group still forms and works.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "cluster/collective/group.h"
#include "cluster/link/frame.h"
#include "cluster/link/handshake.h"
#include "cluster/link/query.h"
#include "tests/cluster/loopback.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// A plain connection to a port on loopback whose reads end after a generous time.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval bound = {.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(connect(fd_.get(), any, sizeof(address)), 0);
  }

  // The other side may have closed meanwhile.
  void Send(std::string_view bytes) {
    static_cast<void>(!send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  // Everything until the other side closes; EXPECTs that it does.
  std::string ReadToEnd() {
    std::string all;
    char buffer[4096];
    for (;;) {
      const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (got > 0) {
        all.append(buffer, static_cast<size_t>(got));
        continue;
      }
      EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "not closed";
      return all;
    }
  }

 private:
  OwnedFd fd_;
};

// Rank 0 of a job of two listens; in the end the true rank 1 comes and both work together.
class Strangers : public ::testing::Test {
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

  std::vector<std::unique_ptr<RawClient>> idle_;  // stay until the group has formed
  Loopback net_{2};
  std::unique_ptr<Links> links_;
  std::thread connecting_;
  Status connected_;
};

TEST_F(Strangers, RandomBytes) {
  for (size_t size = 13; size < 5000; size += 311) {
    RawClient client(port());
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(Mix64(size * 10'000 + i));
    client.Send(bytes);
    EXPECT_EQ(client.ReadToEnd(), "");  // the first one, shorter than a header, by the deadline
  }
}

TEST_F(Strangers, HttpAndNothing) {
  RawClient http(port());
  http.Send("GET /metrics HTTP/1.1\r\nHost: localhost:12345\r\nUser-Agent: curl/7.88.1\r\n\r\n");
  EXPECT_EQ(http.ReadToEnd(), "");
  RawClient scan(port());  // connects and is gone
  RawClient silent(port());
  EXPECT_EQ(silent.ReadToEnd(), "");  // by the accept deadline
}

TEST_F(Strangers, OlderProtocolIsToldSo) {
  RawClient client(port());
  const LinkHeaderBytes header = EncodeLinkHeader({.type = LinkFrameType::kHello}, 0);
  client.Send({reinterpret_cast<const char*>(header.data()), header.size()});
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("link protocol version 0 there, version 3 here"));
}

TEST_F(Strangers, OversizeFramesAllocateNothing) {
  for (uint64_t length : {kHandshakeBytesMax + 1, uint64_t{1} << 40, UINT64_MAX}) {
    RawClient client(port());
    const LinkHeaderBytes header =
        EncodeLinkHeader({.type = LinkFrameType::kHello, .length = length});
    client.Send({reinterpret_cast<const char*>(header.data()), header.size()});
    EXPECT_THAT(client.ReadToEnd(), HasSubstr("bytes; at most 1024 are taken here"));
  }
}

TEST_F(Strangers, HelloWithoutProofGetsNowhere) {
  LinkHello hello{.purpose = LinkPurpose::kControl, .world = 2, .from = 1, .process = 5};
  RawClient client(port());
  client.Send(MakeLinkFrame({.type = LinkFrameType::kHello}, EncodeHello(hello)));
  client.Send(MakeLinkFrame({.type = LinkFrameType::kProof}, std::string(32, 'p')));
  EXPECT_THAT(client.ReadToEnd(), HasSubstr("the secrets differ"));
  RawClient impatient(port());
  impatient.Send(MakeLinkFrame({.type = LinkFrameType::kHello}, EncodeHello(hello)));
  impatient.Send(MakeLinkFrame({.type = LinkFrameType::kConfirm}));
  EXPECT_EQ(impatient.ReadToEnd().size(), kLinkHeaderBytes + 32);  // the challenge, and the end
}

TEST_F(Strangers, ManyIdleConnectionsDoNotKeepTheRankOut) {
  for (int i = 0; i < 150; ++i) idle_.push_back(std::make_unique<RawClient>(port()));
}

TEST_F(Strangers, WrongSecretJobOrWorld) {
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
  EXPECT_THAT(status.message(), HasSubstr("has 3 workers in its machine list"));
}

// Room for one more is made by closing those that have proven nothing, however old the others are.
TEST(ManyStrangers, DoNotPushOutWhoBelongsThere) {
  Loopback net(2);
  auto links = ConnectAll(&net);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(std::make_unique<RawClient>(net.machines[0].port));
  EXPECT_EQ(idle.front()->ReadToEnd(), "");  // whoever is older has gone before
  InThreads(2, [&](int r) {
    Links& mine = *links[static_cast<size_t>(r)];
    const Status status = Group(mine).Barrier();
    EXPECT_TRUE(status.ok()) << status.ToString();
    const Status left = mine.Leave(20 * kSecond);
    EXPECT_TRUE(left.ok()) << left.ToString();
  });
}

TEST(TwoProcesses, OfOneRankTheSecondIsRefused) {
  Loopback net(2);
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

TEST(TwoProcesses, ListsInAnotherOrderAreNoticed) {
  Loopback net(3);
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
