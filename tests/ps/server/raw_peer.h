// A TCP peer on loopback that writes what it likes: bytes that are no ZeroMQ, or ZeroMQ by hand.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tests/support/zmtp.h"

namespace strata {

// A TCP connection that writes what it likes.
struct RawPeer {
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  explicit RawPeer(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval limit{20, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~RawPeer() { close(descriptor); }
  void Write(std::span<const uint8_t> bytes) const {
    send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void Write(std::string_view text) const {
    Write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  // ZeroMQ's greeting, both ways.
  void Greet() const {
    Write(test::ZmtpGreeting());
    uint8_t buffer[64];
    EXPECT_EQ(recv(descriptor, buffer, sizeof buffer, MSG_WAITALL), 64);
  }
  void GreetAsDealer() const {
    Greet();
    Write(test::ZmtpReadyOfDealer());
  }
  // Reads until the other side closes; false when it does not within the limit.
  bool ClosedByPeer() const {
    uint8_t buffer[4096];
    while (true) {
      const ssize_t got = recv(descriptor, buffer, sizeof buffer, 0);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      if (got < 0) return false;
    }
  }
};

// One HTTP request and all of its answer.
inline std::string HttpGet(uint16_t port, const std::string& path) {
  const RawPeer peer(port);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  peer.Write(request);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = recv(peer.descriptor, buffer, sizeof buffer, 0)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace strata
