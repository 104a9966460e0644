// What a lane's port and a client's port promise each other, over each transport: tcp, shared
// memory, and within the process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/wire/header.h"
#include "ps/net/client_port.h"
#include "ps/net/lane_port.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

enum class Transport { kTcp, kShared, kInproc };

Frame Bytes(size_t size, uint8_t seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7 + i / 251);
  return Frame::Own(std::move(bytes));
}

void ExpectSame(const Message& a, const Message& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size()) << "frame " << i;
    if (a[i].size() == 0) continue;
    EXPECT_EQ(memcmp(a[i].bytes().data(), b[i].bytes().data(), a[i].size()), 0) << "frame " << i;
  }
}

TimeNs Soon() { return RealClock().Now() + 20 * kSecond; }

class PortContract : public testing::TestWithParam<Transport> {
 protected:
  static constexpr char kName[] = "inproc://port-contract/0";

  void SetUp() override {
    context_ = ZmqContext::Create().value();
    client_ = NewClient();
    StartLane();
  }

  // A budget of 1 MiB waiting for one peer.
  std::unique_ptr<ClientPort> NewClient() {
    return ClientPort::Create(context_, {.queue_bytes_max = size_t{1} << 20}).value();
  }
  void StartLane(uint16_t port = 0) {
    LanePortOptions options;
    options.port = port;
    options.shared_memory = GetParam() == Transport::kShared;
    if (GetParam() == Transport::kInproc) options.inproc = kName;
    options.queue_bytes_max = size_t{1} << 20;
    // ZeroMQ lets go of a port a moment after its socket.
    ASSERT_TRUE(WaitUntil([&] {
      auto bound = LanePort::Bind(context_, options);
      if (bound.ok()) lane_ = std::move(*bound);
      return bound.ok();
    }));
    tcp_ = fmt::format("tcp://127.0.0.1:{}", lane_->port());
    peer_ = GetParam() == Transport::kInproc ? kName : tcp_;
    Share(*client_);
  }
  // Until messages to the lane go the way that is meant.
  void Share(ClientPort& client) {
    if (GetParam() != Transport::kShared) return;
    const std::vector<ClientPort::Lane> lanes = {{tcp_, lane_->shared_endpoint()}};
    client.ShareMemory("the server", lanes);
    EXPECT_TRUE(WaitUntil([&] {
      EXPECT_FALSE(lane_->Receive(RealClock().Now() + kMillisecond)->has_value());
      EXPECT_FALSE(client.Receive(RealClock().Now() + kMillisecond)->has_value());
      return client.RouteOf(tcp_) == lane_->shared_endpoint();
    }));
  }

  // The next message at `port`, while `other` gives on what waits there.
  static Envelope Take(MessagePort& port, MessagePort& other) {
    for (const TimeNs end = Soon(); RealClock().Now() < end;) {
      auto got = port.Receive(RealClock().Now() + kMillisecond);
      if (got.ok() && got->has_value()) return std::move(**got);
      EXPECT_FALSE(other.Receive(0)->has_value());
    }
    ADD_FAILURE() << "no message came";
    return {};
  }
  Envelope AtLane() { return Take(*lane_, *client_); }
  Envelope AtClient() { return Take(*client_, *lane_); }
  Status SendToLane(Message message) { return client_->Send({peer_, std::move(message)}); }
  // The lane's name for the client.
  std::string ClientsName() {
    EXPECT_TRUE(SendToLane({Bytes(3, 1)}).ok());
    return AtLane().peer;
  }

  std::shared_ptr<ZmqContext> context_;
  std::unique_ptr<LanePort> lane_;
  std::unique_ptr<ClientPort> client_;
  std::string tcp_;
  std::string peer_;  // the lane, as the client names it
};

TEST_P(PortContract, MessagesOfAllSizesTravelBothWaysUnchanged) {
  std::vector<Message> messages;
  for (size_t size : {0UL, 1UL, 160UL, 512UL, 513UL, 65'536UL, 2'097'152UL, 5'000'001UL}) {
    messages.push_back({Bytes(160, 1), Bytes(size, 2)});
  }
  messages.push_back({Bytes(7, 3)});
  messages.push_back({Bytes(160, 3), Frame(), Bytes(9, 4), Frame()});
  messages.push_back(Message(wire::kFramesMax + 1, Bytes(1000, 9)));
  for (const Message& message : messages) {
    ASSERT_TRUE(SendToLane(message).ok());
    Envelope request = AtLane();
    ExpectSame(request.message, message);
    ASSERT_TRUE(lane_->Send({request.peer, std::move(request.message)}).ok());
    const Envelope reply = AtClient();
    EXPECT_EQ(reply.peer, peer_);
    ExpectSame(reply.message, message);
  }
}

TEST_P(PortContract, MessagesKeepTheirOrder) {
  constexpr uint32_t kMessages = 3000;
  uint32_t sent = 0;
  uint32_t taken = 0;
  while (taken < kMessages) {
    // As many as are taken; some of them many times as large as others.
    while (sent < kMessages) {
      const size_t size = 4 + (sent % 50 == 0 ? 200'000 : sent % 300);
      std::vector<uint32_t> words(size / 4, sent);
      if (!SendToLane({Frame::Own(std::move(words))}).ok()) break;
      ++sent;
    }
    const Envelope got = AtLane();
    ASSERT_EQ(got.message.size(), 1U);
    uint32_t number = 0;
    memcpy(&number, got.message[0].bytes().data(), sizeof number);
    ASSERT_EQ(number, taken++);
  }
}

TEST_P(PortContract, AByteBudgetBoundsWhatWaitsForALaneThatDoesNotRead) {
  ClientsName();
  Status status;
  size_t taken = 0;
  while (status.ok() && taken < 1000) {
    status = SendToLane({Bytes(100'000, 1)});
    taken += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
  for (size_t i = 0; i < taken; ++i) ExpectSame(AtLane().message, {Bytes(100'000, 1)});
  EXPECT_TRUE(SendToLane({Bytes(100'000, 2)}).ok());
  ExpectSame(AtLane().message, {Bytes(100'000, 2)});
}

TEST_P(PortContract, AByteBudgetBoundsWhatWaitsForAClientThatDoesNotRead) {
  const std::string client = ClientsName();
  Status status;
  size_t taken = 0;
  while (status.ok() && taken < 1000) {
    status = lane_->Send({client, {Bytes(100'000, 1)}});
    taken += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(status.code(), StatusCode::kRefused) << status.ToString();
  // Another client is served meanwhile.
  const std::unique_ptr<ClientPort> other = NewClient();
  Share(*other);
  ASSERT_TRUE(other->Send({peer_, {Bytes(5, 5)}}).ok());
  Envelope request = Take(*lane_, *other);
  ASSERT_TRUE(lane_->Send(std::move(request)).ok());
  ExpectSame(Take(*other, *lane_).message, {Bytes(5, 5)});
  for (size_t i = 0; i < taken; ++i) ExpectSame(AtClient().message, {Bytes(100'000, 1)});
}

TEST_P(PortContract, SendRefusesWhatNoPeerWouldTake) {
  const std::string client = ClientsName();
  const Message many(wire::kFramesMax + 2, Bytes(1, 1));
  const Message large = {Bytes(160, 1), Bytes(wire::kMessageBytesMax, 1)};
  for (const Message& message : {Message{}, many, large}) {
    EXPECT_EQ(SendToLane(message).code(), StatusCode::kInvalid);
    EXPECT_EQ(lane_->Send({client, message}).code(), StatusCode::kInvalid);
  }
  EXPECT_EQ(lane_->Send({"nobody", {Bytes(1, 1)}}).code(), StatusCode::kLost);
}

TEST_P(PortContract, ReceiveEndsAtItsDeadlineAndByWake) {
  ClientsName();
  const TimeNs deadline = RealClock().Now() + 5 * kMillisecond;
  EXPECT_FALSE(lane_->Receive(deadline)->has_value());
  EXPECT_GE(RealClock().Now(), deadline);
  for (MessagePort* port :
       {static_cast<MessagePort*>(lane_.get()), static_cast<MessagePort*>(client_.get())}) {
    const std::jthread waker([port] { port->Wake(); });
    const auto woken = port->Receive(kNever);
    ASSERT_TRUE(woken.ok());
    EXPECT_FALSE(woken->has_value());
  }
}

// Both sides sleep without an end, and each message wakes the other.
TEST_P(PortContract, AMessageWakesWhoSleeps) {
  constexpr int kRounds = 2000;
  const std::jthread lane([&] {
    for (int round = 0; round < kRounds; ++round) {
      auto got = lane_->Receive(kNever);
      ASSERT_TRUE(got.ok() && got->has_value());
      ASSERT_TRUE(lane_->Send(std::move(**got)).ok());
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(SendToLane({Bytes(static_cast<size_t>(round), 1)}).ok());
    const auto got = client_->Receive(kNever);
    ASSERT_TRUE(got.ok() && got->has_value());
    ASSERT_EQ((**got).message[0].size(), static_cast<size_t>(round));
  }
}

// Messages that are larger than what lies between the two: each side has to be woken for room too.
TEST_P(PortContract, LargeMessagesGoThroughWhileBothSidesSleep) {
  constexpr int kRounds = 5;
  constexpr size_t kSize = 9'000'000;
  const Frame large = Bytes(kSize, 3);
  const std::jthread lane([&] {
    for (int round = 0; round < kRounds; ++round) {
      auto got = lane_->Receive(kNever);
      ASSERT_TRUE(got.ok() && got->has_value());
      ASSERT_TRUE(lane_->Send(std::move(**got)).ok());
      if (round + 1 < kRounds) continue;
      // What waits for room goes out while the port receives.
      EXPECT_FALSE(lane_->Receive(kNever)->has_value());
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(SendToLane({large}).ok());
    const auto got = client_->Receive(kNever);
    ASSERT_TRUE(got.ok() && got->has_value());
    ExpectSame((**got).message, {large});
  }
  lane_->Wake();
}

TEST_P(PortContract, TheLaneForgetsAClientThatIsGone) {
  const std::string client = ClientsName();
  ASSERT_TRUE(SendToLane({Bytes(6, 6)}).ok());
  client_.reset();
  // What it sent before it went is still there.
  EXPECT_TRUE(WaitUntil([&] {
    auto got = lane_->Receive(RealClock().Now() + kMillisecond);
    return got.ok() && got->has_value();
  }));
  EXPECT_TRUE(WaitUntil([&] {
    EXPECT_FALSE(lane_->Receive(RealClock().Now() + kMillisecond)->has_value());
    return lane_->Send({client, {Bytes(1, 1)}}).code() == StatusCode::kLost;
  }));
}

TEST_P(PortContract, AClientGoesOnWithALaneThatCameBack) {
  ClientsName();
  const uint16_t port = lane_->port();
  lane_.reset();
  StartLane(port);
  EXPECT_TRUE(WaitUntil([&] {
    // What was sent to the lane that is gone may be lost.
    [[maybe_unused]] const Status sent = SendToLane({Bytes(8, 8)});
    EXPECT_FALSE(client_->Receive(RealClock().Now() + kMillisecond)->has_value());
    auto got = lane_->Receive(RealClock().Now() + kMillisecond);
    return got.ok() && got->has_value() && (**got).message[0].size() == 8;
  }));
}

std::string TransportName(const testing::TestParamInfo<Transport>& at) {
  constexpr std::array<const char*, 3> kNames = {"Tcp", "SharedMemory", "Inproc"};
  return kNames[static_cast<size_t>(at.param)];
}

INSTANTIATE_TEST_SUITE_P(Over, PortContract,
                         testing::Values(Transport::kTcp, Transport::kShared, Transport::kInproc),
                         TransportName);

}  // namespace
}  // namespace strata
