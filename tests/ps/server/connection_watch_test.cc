// Which connections a listening port ends: those that send a message without an end, and those that
// are too many. Others are left alone.
#include "ps/net/connection_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ps/net/zmq_port.h"
#include "tests/ps/server/raw_peer.h"

namespace strata {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

struct Listener {
  std::shared_ptr<ZmqContext> context = ZmqContext::Create().value();
  size_t closed = 0;
  std::unique_ptr<ZmqRouterPort> router;

  explicit Listener(size_t connections_max = 4096, size_t queue_bytes_max = 256 * kMebibyte) {
    ZmqPortOptions options;
    options.queue_bytes_max = queue_bytes_max;
    options.connections_max = connections_max;
    options.on_closed = [this] { ++closed; };
    router = ZmqRouterPort::Bind(context, "127.0.0.1", 0, options).value();
  }

  // Receives until `done`; how many messages came. False when that takes too long.
  template <typename Done>
  bool ReceiveUntil(const Done& done, size_t* messages = nullptr) {
    const TimeNs end = RealClock().Now() + 60 * kSecond;
    while (!done()) {
      if (RealClock().Now() > end) return false;
      const auto got = router->Receive(RealClock().Now() + kMillisecond);
      EXPECT_TRUE(got.ok());
      if (got->has_value() && messages != nullptr) ++*messages;
    }
    return true;
  }
};

std::vector<uint8_t> LongFrame(size_t size, bool more) {
  const std::string head = test::ZmtpLongHead(size, more);
  std::vector<uint8_t> frame(head.begin(), head.end());
  frame.resize(head.size() + size);
  return frame;
}

// Sends all of it, or returns false when the other side has closed.
bool SendAll(const RawPeer& raw, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(raw.descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

bool IsClosed(const RawPeer& raw) {
  uint8_t buffer[4096];
  const ssize_t got = recv(raw.descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

TEST(ConnectionWatch, AMessageWithoutAnEndEndsItsConnection) {
  Listener listener;
  const RawPeer raw(listener.router->port());
  std::atomic<size_t> sent = 0;
  std::atomic<bool> over = false;
  std::jthread sender([&] {
    raw.GreetAsDealer();
    const std::vector<uint8_t> frame = LongFrame(4 * kMebibyte, true);
    while (sent < 2048 * kMebibyte && SendAll(raw, frame)) sent += frame.size();
    over = true;
    listener.router->Wake();
  });
  // Nothing else wakes the port meanwhile.
  while (!over) {
    EXPECT_FALSE(listener.router->Receive(RealClock().Now() + 60 * kSecond)->has_value());
  }
  EXPECT_LT(sent, 1024 * kMebibyte);
  EXPECT_EQ(listener.closed, 1U);
}

TEST(ConnectionWatch, ConnectionsThatTogetherHoldTooMuchAreEndedUntilTheyDoNot) {
  Listener listener(4096, 16 * kMebibyte);  // for all: 96 MiB
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::atomic<bool> over = false;
  std::jthread sender([&] {
    std::vector<uint8_t> begun = LongFrame(60 * kMebibyte, false);
    begun.resize(16 * kMebibyte);
    for (int i = 0; i < 12; ++i) {
      peers.push_back(std::make_unique<RawPeer>(listener.router->port()));
      peers.back()->GreetAsDealer();
      SendAll(*peers.back(), begun);
    }
    over = true;
  });
  EXPECT_TRUE(listener.ReceiveUntil([&] { return over.load() && listener.closed >= 6; }));
  EXPECT_LE(listener.closed, 7U);
  EXPECT_FALSE(IsClosed(*peers.back()));
}

TEST(ConnectionWatch, LegalMessagesHoweverLargeAndManyEndNoConnection) {
  Listener listener;
  const RawPeer raw(listener.router->port());
  std::jthread sender([&] {
    raw.GreetAsDealer();
    const std::vector<uint8_t> large = LongFrame(60 * kMebibyte, false);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(SendAll(raw, large));
    std::vector<uint8_t> small;
    for (int i = 0; i < 100'000; ++i) small.insert(small.end(), {1, 1, 0, 0, 1, 0});
    ASSERT_TRUE(SendAll(raw, small));
  });
  size_t messages = 0;
  EXPECT_TRUE(listener.ReceiveUntil([&] { return messages == 100'010; }, &messages));
  EXPECT_EQ(listener.closed, 0U);
}

TEST(ConnectionWatch, ANewConnectionTakesThePlaceOfTheOneThatSaidNothingForLongest) {
  Listener listener(8);  // four of them from one address
  const RawPeer talks(listener.router->port());
  talks.GreetAsDealer();
  ASSERT_TRUE(SendAll(talks, std::vector<uint8_t>{0, 1, 7}));
  size_t messages = 0;
  ASSERT_TRUE(listener.ReceiveUntil([&] { return messages == 1; }, &messages));
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 6; ++i) {
    silent.push_back(std::make_unique<RawPeer>(listener.router->port()));
  }
  EXPECT_TRUE(listener.ReceiveUntil([&] { return listener.closed == 3; }));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(listener.ReceiveUntil([&] { return IsClosed(*silent[i]); })) << i;
  }
  ASSERT_TRUE(SendAll(talks, std::vector<uint8_t>{0, 1, 7}));
  EXPECT_TRUE(listener.ReceiveUntil([&] { return messages == 2; }, &messages));
  EXPECT_FALSE(IsClosed(*silent.back()));
}

TEST(ConnectionWatch, ConnectionsThatEndMakeRoom) {
  Listener listener(8);
  for (int i = 0; i < 50; ++i) {
    const RawPeer raw(listener.router->port());
    raw.GreetAsDealer();
    ASSERT_TRUE(SendAll(raw, std::vector<uint8_t>{0, 1, 7}));
    size_t messages = 0;
    ASSERT_TRUE(listener.ReceiveUntil([&] { return messages == 1; }, &messages));
  }
  EXPECT_EQ(listener.closed, 0U);
}

}  // namespace
}  // namespace strata
