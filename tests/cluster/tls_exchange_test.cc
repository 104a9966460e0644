// The data path over TLS: exchanges of many sizes, with a new key every few records, and messages
// that have arrived long before anybody asks for them.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/random.h"
#include "cluster/link/connect/listener.h"
#include "cluster/link/exchange/data_exchange.h"
#include "tests/cluster/certificates.h"

namespace strata {
namespace {

// Two ranks and the connection between them; rank 0 has dialled.
class TlsExchange : public ::testing::Test {
 protected:
  void Connect(uint64_t records_per_key) {
    std::array<int, 2> fds{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    for (size_t rank = 0; rank < 2; ++rank) {
      ends_[rank].socket = OwnedFd(fds[rank]);
      ends_[rank].tls =
          std::make_unique<TlsStream>(*TestTls(), rank == 0 ? TlsSide::kDialer : TlsSide::kAcceptor,
                                      fds[rank], records_per_key);
    }
    std::jthread other([this] { ShakeHands(1); });
    ShakeHands(0);
  }

  void ShakeHands(size_t rank) {
    short event = 0;
    while (ends_[rank].tls->Handshake(&event) != 1) {
      ASSERT_EQ(errno, EAGAIN);
      pollfd wait = {ends_[rank].socket.get(), event, 0};
      ASSERT_EQ(poll(&wait, 1, 60'000), 1);
    }
  }

  Status Exchange(size_t rank, uint32_t step, std::span<const std::span<const std::byte>> out,
                  std::span<const std::span<std::byte>> in) {
    End& mine = ends_[rank];
    const SocketEnds ends{.send_fd = mine.socket.get(),
                          .receive_fd = mine.socket.get(),
                          .send_tls = mine.tls.get(),
                          .receive_tls = mine.tls.get(),
                          .wake_fd = wake_.get(),
                          .send_peer = "the peer",
                          .receive_peer = "the peer",
                          .scratch = mine.scratch};
    SendPart send{.peer = out.empty() ? -1 : 1, .pieces = out};
    ReceivePart receive{.peer = in.empty() ? -1 : 1, .pieces = in};
    return ExchangeOverSockets(ends, {.step = step}, send, receive,
                               RealClock().Now() + 60 * kSecond);
  }

  struct End {
    OwnedFd socket;
    std::unique_ptr<TlsStream> tls;
    std::vector<std::byte> scratch = std::vector<std::byte>(kReduceScratchBytes);
  };
  std::array<End, 2> ends_;
  const OwnedFd wake_{eventfd(0, EFD_CLOEXEC)};
};

std::vector<std::byte> Message(size_t rank, uint32_t step) {
  Random random(step * 2 + rank);
  const std::array<size_t, 4> bounds = {50, 5'000, 70'000, 600'000};
  std::vector<std::byte> bytes(random.Below(bounds[random.Below(bounds.size())]));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

TEST_F(TlsExchange, ManySizesBothWaysAtOnceWithNewKeys) {
  Connect(7);
  const auto work = [this](size_t rank) {
    for (uint32_t step = 0; step < 300; ++step) {
      const std::vector<std::byte> mine = Message(rank, step);
      const std::vector<std::byte> expected = Message(1 - rank, step);
      std::vector<std::byte> got(expected.size());
      const std::span<const std::byte> all(mine);
      const size_t cut = mine.size() / 3;
      const std::array<std::span<const std::byte>, 2> out = {all.first(cut), all.subspan(cut)};
      const std::array<std::span<std::byte>, 1> in = {got};
      const Status status = Exchange(rank, step, out, in);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_EQ(got, expected) << "step " << step;
    }
  };
  std::jthread other(work, 1);
  work(0);
}

// They come out of the socket with the first one, which then is never readable again.
TEST_F(TlsExchange, MessagesThatWereReadAheadAreFound) {
  Connect(kTlsRecordsPerKey);
  constexpr uint32_t kSteps = 50;
  std::array<std::byte, 100> bytes{};
  const std::array<std::span<const std::byte>, 1> out = {bytes};
  const std::array<std::span<std::byte>, 1> in = {bytes};
  for (uint32_t step = 0; step < kSteps; ++step) {
    bytes.fill(static_cast<std::byte>(step));
    ASSERT_TRUE(Exchange(0, step, out, {}).ok());
  }
  for (uint32_t step = 0; step < kSteps; ++step) {
    const Status status = Exchange(1, step, {}, in);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(bytes[99], static_cast<std::byte>(step));
    pollfd wait = {ends_[1].socket.get(), POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, 0), 0) << "nothing was read ahead";
  }
}

TEST_F(TlsExchange, WhatWasChangedOnItsWayIsCorruptAndNamesThePeer) {
  Connect(kTlsRecordsPerKey);
  const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  ASSERT_EQ(send(ends_[0].socket.get(), forged.data(), forged.size(), 0), 37);
  std::array<std::byte, 100> bytes{};
  const std::array<std::span<std::byte>, 1> in = {bytes};
  const Status status = Exchange(1, 0, {}, in);
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_NE(status.message().find("the peer: TLS: "), std::string::npos) << status.message();
}

}  // namespace
}  // namespace strata
