// TLS over a pair of sockets without any waiting of its own: random messages both ways at once,
// against what was sent.
#include "cluster/tls/tls_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/cluster/certificates.h"

namespace strata {
namespace {

// Two ends of one connection, a dialer and an acceptor.
class TlsStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_.data()), 0);
    auto context = TlsContext::Load(CertificateAuthority(folder_, "ca").Issue("member"));
    ASSERT_TRUE(context.ok()) << context.status().ToString();
    context_ = std::move(context).value();
  }

  void TearDown() override {
    for (const int fd : fds_) close(fd);
  }

  std::unique_ptr<TlsStream> End(size_t side, uint64_t records_per_key) {
    return std::make_unique<TlsStream>(*context_, side == 0 ? TlsSide::kDialer : TlsSide::kAcceptor,
                                       fds_[side], records_per_key);
  }

  void Await(size_t side, short event) {
    pollfd wait = {fds_[side], event, 0};
    ASSERT_EQ(poll(&wait, 1, 60'000), 1);
  }

  void ShakeHands(size_t side, TlsStream* stream) {
    short wait_for = 0;
    while (stream->Handshake(&wait_for) != 1) {
      ASSERT_EQ(errno, EAGAIN) << stream->fault().ToString();
      Await(side, wait_for);
    }
  }

  TempFolder folder_;
  std::shared_ptr<const TlsContext> context_;
  std::array<int, 2> fds_{};
};

std::vector<std::byte> Message(size_t side) {
  Random random(side);
  std::vector<std::byte> bytes(6'000'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

// The bytes in random parts, some of them empty.
std::vector<iovec> RandomParts(Random* random, std::span<std::byte> bytes) {
  std::vector<iovec> parts;
  const size_t most = random->Chance(0.5) ? 200 : 60'000;
  while (!bytes.empty()) {
    const size_t part = parts.size() == 15 ? bytes.size() : random->Below(most);
    parts.push_back({bytes.data(), std::min(part, bytes.size())});
    bytes = bytes.subspan(parts.back().iov_len);
  }
  return parts;
}

// With a new key every few records.
TEST_F(TlsStreamTest, MovesRandomPartsBothWaysAtOnce) {
  const auto work = [&](size_t side) {
    const auto stream = End(side, 5);
    ShakeHands(side, stream.get());
    Random random(7 + side);
    std::vector<std::byte> out = Message(side);
    std::vector<std::byte> in(out.size());
    std::span<std::byte> to_send = out;
    std::span<std::byte> to_receive = in;
    size_t sending = 0;  // bytes of what is sent next; what was not taken is sent again
    while (!to_send.empty() || !to_receive.empty()) {
      short send_event = 0;
      short receive_event = 0;
      if (!to_send.empty()) {
        if (sending == 0) sending = 1 + random.Below(std::min<size_t>(to_send.size(), 200'000));
        const ssize_t moved =
            stream->Send(RandomParts(&random, to_send.first(sending)), &send_event);
        if (moved < 0) {
          ASSERT_EQ(errno, EAGAIN) << stream->fault().ToString();
        } else {
          sending -= static_cast<size_t>(moved);
          to_send = to_send.subspan(static_cast<size_t>(moved));
          send_event = 0;
        }
      }
      if (!to_receive.empty()) {
        const size_t wanted = 1 + random.Below(std::min<size_t>(to_receive.size(), 200'000));
        const ssize_t moved =
            stream->Receive(RandomParts(&random, to_receive.first(wanted)), &receive_event);
        ASSERT_NE(moved, 0);
        if (moved < 0) {
          ASSERT_EQ(errno, EAGAIN) << stream->fault().ToString();
        } else {
          to_receive = to_receive.subspan(static_cast<size_t>(moved));
          receive_event = 0;
        }
      }
      const bool send_waits = to_send.empty() || send_event != 0;
      const bool receive_waits = to_receive.empty() || receive_event != 0;
      if (send_waits && receive_waits && (send_event | receive_event) != 0) {
        Await(side, static_cast<short>(send_event | receive_event));
      }
    }
    ASSERT_EQ(in, Message(1 - side));
  };
  std::jthread other(work, 1);
  work(0);
}

// Whoever looks at the first byte of the answer finds it, however early it came.
TEST_F(TlsStreamTest, HelloReadsNothing) {
  const auto dialer = End(0, 100);
  dialer->SayHello();
  const auto acceptor = End(1, 100);
  short wait_for = 0;
  ASSERT_EQ(acceptor->Handshake(&wait_for), -1);
  ASSERT_EQ(errno, EAGAIN);
  dialer->SayHello();
  char first = 0;
  EXPECT_EQ(recv(fds_[0], &first, 1, MSG_PEEK | MSG_DONTWAIT), 1);
  EXPECT_EQ(first, 22);
}

TEST_F(TlsStreamTest, WhatComesFromElsewhereIsCorruptAndStaysSo) {
  const auto dialer = End(0, 100);
  const auto acceptor = End(1, 100);
  std::jthread other([&] { ShakeHands(1, acceptor.get()); });
  ShakeHands(0, dialer.get());
  other.join();
  // A record that nobody with the key has made.
  const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  ASSERT_EQ(send(fds_[0], forged.data(), forged.size(), 0), 37);
  std::array<std::byte, 100> in;
  const iovec part = {in.data(), in.size()};
  short wait_for = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(acceptor->Receive({&part, 1}, &wait_for), -1);
    EXPECT_EQ(errno, EPROTO);
    EXPECT_EQ(acceptor->fault().code(), StatusCode::kCorrupt);
    EXPECT_THAT(acceptor->fault().message(), ::testing::HasSubstr("bad record mac"));
  }
  // Whose key it was, it seems, is told so.
  EXPECT_EQ(dialer->Receive({&part, 1}, &wait_for), -1);
  EXPECT_EQ(dialer->fault().code(), StatusCode::kCorrupt);
  EXPECT_THAT(dialer->fault().message(),
              ::testing::HasSubstr("TLS was ended by the other side: sslv3 alert bad record mac"));
}

TEST_F(TlsStreamTest, EndOfThePeerIsTheEndAndASendThenFails) {
  const auto dialer = End(0, 100);
  auto acceptor = End(1, 100);
  std::jthread other([&] { ShakeHands(1, acceptor.get()); });
  ShakeHands(0, dialer.get());
  other.join();
  std::array<std::byte, 4> bytes{};
  const iovec part = {bytes.data(), bytes.size()};
  short wait_for = 0;
  ASSERT_EQ(acceptor->Send({&part, 1}, &wait_for), 4);
  acceptor.reset();
  shutdown(fds_[1], SHUT_RDWR);
  EXPECT_EQ(dialer->Receive({&part, 1}, &wait_for), 4);
  EXPECT_EQ(dialer->Receive({&part, 1}, &wait_for), 0);
  EXPECT_EQ(dialer->Send({&part, 1}, &wait_for), -1);
  EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace strata
