// The ZeroMQ ports over loopback: messages both ways, limits, and peers that speak no ZeroMQ.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "cluster/names/resolve.h"
#include "proto/wire/header.h"
#include "ps/net/address.h"
#include "ps/net/zmq_port.h"
#include "tests/ps/server/raw_peer.h"
#include "tests/support/free_port.h"

namespace strata {
namespace {

Frame Bytes(size_t size, uint8_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7);
  return Frame::Own(std::move(bytes));
}

bool Same(const Frame& a, const Frame& b) { return std::ranges::equal(a.bytes(), b.bytes()); }

struct Pair {
  std::shared_ptr<ZmqContext> context;
  std::unique_ptr<ZmqRouterPort> router;
  std::unique_ptr<ZmqDealerPort> dealer;

  explicit Pair(const ZmqPortOptions& options = {}) {
    context = ZmqContext::Create().value();
    router = ZmqRouterPort::Bind(context, "127.0.0.1", 0, options).value();
    dealer = ZmqDealerPort::Create(context, options).value();
  }
  static TimeNs Soon() { return RealClock().Now() + 20 * kSecond; }
  Envelope At(MessagePort& port) {
    Result<std::optional<Envelope>> got = port.Receive(Soon());
    if (!got.ok() || !got->has_value()) {
      ADD_FAILURE() << "no message: " << got.status().ToString();
      return {};
    }
    return std::move(**got);
  }
  // What the dealer sends goes out while it receives; nothing may come back meanwhile.
  Envelope AtRouter(MessagePort& port) {
    for (const TimeNs end = Soon(); RealClock().Now() < end;) {
      EXPECT_FALSE(dealer->Receive(RealClock().Now() + kMillisecond)->has_value());
      Result<std::optional<Envelope>> got = port.Receive(RealClock().Now() + kMillisecond);
      if (got.ok() && got->has_value()) return std::move(**got);
    }
    ADD_FAILURE() << "no message came";
    return {};
  }
};

TEST(ServerNet, MessagesOfAllSizesTravelBothWaysUnchanged) {
  Pair pair;
  std::vector<Message> messages;
  for (size_t size : {0UL, 1UL, 160UL, 512UL, 513UL, 65'536UL, 5'000'000UL}) {
    messages.push_back({Bytes(160, 1), Bytes(size, 2)});
  }
  messages.push_back({Bytes(7, 3)});
  messages.push_back(Message(wire::kFramesMax + 1, Bytes(1000, 9)));
  for (const Message& message : messages) {
    ASSERT_TRUE(pair.dealer->Send({pair.router->endpoint(), message}).ok());
    Envelope request = pair.AtRouter(*pair.router);
    ASSERT_EQ(request.message.size(), message.size());
    for (size_t i = 0; i < message.size(); ++i) EXPECT_TRUE(Same(request.message[i], message[i]));
    ASSERT_TRUE(pair.router->Send({request.peer, std::move(request.message)}).ok());
    const Envelope reply = pair.At(*pair.dealer);
    EXPECT_EQ(reply.peer, pair.router->endpoint());
    ASSERT_EQ(reply.message.size(), message.size());
    for (size_t i = 0; i < message.size(); ++i) EXPECT_TRUE(Same(reply.message[i], message[i]));
  }
}

TEST(ServerNet, OneDealerTalksToManyRouters) {
  Pair pair;
  std::vector<std::unique_ptr<ZmqRouterPort>> routers;
  for (int i = 0; i < 5; ++i) {
    routers.push_back(ZmqRouterPort::Bind(pair.context, "localhost", 0).value());
    const std::string endpoint = "tcp://localhost:" + std::to_string(routers.back()->port());
    ASSERT_TRUE(pair.dealer->Send({endpoint, {Bytes(10, static_cast<uint8_t>(i))}}).ok());
  }
  for (int i = 0; i < 5; ++i) {
    Envelope request = pair.AtRouter(*routers[static_cast<size_t>(i)]);
    EXPECT_TRUE(Same(request.message.at(0), Bytes(10, static_cast<uint8_t>(i))));
    ASSERT_TRUE(routers[static_cast<size_t>(i)]->Send(std::move(request)).ok());
    const Envelope reply = pair.At(*pair.dealer);
    EXPECT_EQ(reply.peer,
              "tcp://localhost:" + std::to_string(routers[static_cast<size_t>(i)]->port()));
  }
}

TEST(ServerNet, ReceiveEndsAtItsDeadlineAndByWake) {
  Pair pair;
  const TimeNs deadline = RealClock().Now() + 5 * kMillisecond;
  Result<std::optional<Envelope>> none = pair.router->Receive(deadline);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  EXPECT_GE(RealClock().Now(), deadline);
  for (MessagePort* port : {static_cast<MessagePort*>(pair.router.get()),
                            static_cast<MessagePort*>(pair.dealer.get())}) {
    std::thread waker([port] { port->Wake(); });
    Result<std::optional<Envelope>> woken = port->Receive(kNever);
    waker.join();
    ASSERT_TRUE(woken.ok());
    EXPECT_FALSE(woken->has_value());
  }
}

TEST(ServerNet, AnAddressHasAHostAndAPort) {
  EXPECT_TRUE(CheckHostPort("localhost:7600").ok());
  EXPECT_TRUE(CheckHostPort("[::1]:1").ok());
  for (const char* wrong : {"", "localhost", ":7600", "a:", "a:0", "a:65536", "a:76oo", "a:-1",
                            "tcp://a:1", "::1:7600", "a:1:2", "inproc://"}) {
    const Status status = CheckHostPort(wrong);
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << wrong;
    EXPECT_NE(status.message().find("expected host:port"), std::string::npos) << wrong;
  }
}

TEST(ServerNet, ErrorsNameAddressAndRemedy) {
  Pair pair;
  const auto taken = ZmqRouterPort::Bind(pair.context, "127.0.0.1", pair.router->port());
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), StatusCode::kFailed);
  EXPECT_NE(taken.status().message().find("127.0.0.1:" + std::to_string(pair.router->port())),
            std::string::npos);
  EXPECT_NE(taken.status().message().find("another port"), std::string::npos);
  const auto foreign = ZmqRouterPort::Bind(pair.context, "192.0.2.1", 0);
  EXPECT_NE(foreign.status().message().find("no interface"), std::string::npos)
      << foreign.status().ToString();
  const auto unknown = ZmqRouterPort::Bind(pair.context, "no-such-host.invalid", 0);
  EXPECT_NE(unknown.status().message().find("no-such-host.invalid"), std::string::npos);
  EXPECT_EQ(pair.dealer->Send({"10.0.0.1", {Bytes(1, 1)}}).code(), StatusCode::kInvalid);
}

TEST(ServerNet, SendRefusesWhatNoPeerWouldTake) {
  Pair pair;
  const std::string& peer = pair.router->endpoint();
  EXPECT_EQ(pair.dealer->Send({peer, {}}).code(), StatusCode::kInvalid);
  const Message many(wire::kFramesMax + 2, Bytes(1, 1));
  EXPECT_EQ(pair.dealer->Send({peer, many}).code(), StatusCode::kInvalid);
  const Message large = {Bytes(160, 1), Bytes(wire::kMessageBytesMax, 1)};
  EXPECT_EQ(pair.dealer->Send({peer, large}).code(), StatusCode::kInvalid);
  EXPECT_EQ(pair.router->Send({"nobody", {Bytes(1, 1)}}).code(), StatusCode::kLost);
}

TEST(ServerNet, AByteBudgetBoundsWhatWaits) {
  Pair pair({.queue_bytes_max = 1 << 20});
  // Nobody listens at this port, so everything waits.
  const uint16_t port = FreePort().Release();
  const std::string peer = "tcp://127.0.0.1:" + std::to_string(port);
  int taken = 0;
  Status status;
  while (status.ok() && taken < 100) {
    status = pair.dealer->Send({peer, {Bytes(100'000, 1)}});
    taken += status.ok();
  }
  EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
  EXPECT_EQ(taken, 10);
}

TEST(ServerNet, WaitingMessagesGoOutWhenTheServerComes) {
  Pair pair;
  const uint16_t port = FreePort().Release();
  const std::string peer = "tcp://127.0.0.1:" + std::to_string(port);
  for (uint8_t i = 0; i < 3; ++i) ASSERT_TRUE(pair.dealer->Send({peer, {Bytes(600, i)}}).ok());
  auto late = ZmqRouterPort::Bind(pair.context, "127.0.0.1", port);
  ASSERT_TRUE(late.ok()) << late.status().ToString();
  for (uint8_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(Same(pair.AtRouter(**late).message.at(0), Bytes(600, i)));
  }
}

TEST(ServerNet, AMessageOfTooManyFramesIsCutWhereOpenRefusesIt) {
  Pair pair;
  const RawPeer raw(pair.router->port());
  raw.GreetAsDealer();
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 40; ++i) {
    bytes.push_back(i < 39 ? 1 : 0);
    bytes.push_back(1);
    bytes.push_back(static_cast<uint8_t>(i));
  }
  raw.Write(bytes);
  EXPECT_EQ(pair.At(*pair.router).message.size(), wire::kFramesMax + 2);
}

TEST(ServerNet, PeersThatSpeakNoZeroMqAreDroppedAndOthersServed) {
  Pair pair;
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    const RawPeer raw(pair.router->port());
    std::vector<uint8_t> bytes(1 + random() % 2000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    raw.Write(bytes);
  }
  // A greeting, then a frame that claims 8 GiB: nothing of that size may be reserved.
  const RawPeer raw(pair.router->port());
  raw.Greet();
  raw.Write(std::vector<uint8_t>{2, 0, 0, 0, 2, 0, 0, 0, 0});
  EXPECT_TRUE(raw.ClosedByPeer());
  ASSERT_TRUE(pair.dealer->Send({pair.router->endpoint(), {Bytes(9, 1)}}).ok());
  // Random bytes can be frames of ZMTP 1.0; they come through as messages that wire::Open refuses.
  Envelope got = pair.AtRouter(*pair.router);
  for (int i = 0; i < 100'000 && !Same(got.message.at(0), Bytes(9, 1)); ++i) {
    EXPECT_FALSE(wire::Open(std::move(got.message)).ok());
    got = pair.AtRouter(*pair.router);
  }
  EXPECT_TRUE(Same(got.message.at(0), Bytes(9, 1)));
}

TEST(ServerNet, LoopbackIsToldFromTheRest) {
  EXPECT_TRUE(IsLoopback("127.0.0.1"));
  EXPECT_TRUE(IsLoopback("127.9.9.9"));
  EXPECT_TRUE(IsLoopback("::1"));
  for (const char* other : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", "localhost", ""}) {
    EXPECT_FALSE(IsLoopback(other)) << other;
  }
  EXPECT_EQ(NumericAddress("localhost").value(), "127.0.0.1");
  EXPECT_EQ(HostPort("::1", 7), "[::1]:7");
}

}  // namespace
}  // namespace strata
