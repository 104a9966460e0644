#include "tests/soak/hostile/raw_line.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <string>

#include "proto/wire/bytes.h"

namespace strata::soak {
namespace {

using namespace std::string_view_literals;

constexpr timeval kPatience = {0, 200'000};
constexpr auto kMore = std::byte{1};
constexpr auto kLong = std::byte{2};

}  // namespace

RawLine::RawLine(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd_ = OwnedFd();
  }
}

uint64_t RawLine::Write(std::span<const std::byte> bytes) {
  uint64_t sent = 0;
  while (sent < bytes.size() && fd_.get() >= 0) {
    const ssize_t now = send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) break;
    sent += static_cast<uint64_t>(now);
  }
  return sent;
}

uint64_t RawLine::GreetAsDealer() {
  std::array<std::byte, 64> greeting{};
  greeting[0] = std::byte{0xff};
  greeting[9] = std::byte{0x7f};
  greeting[10] = std::byte{3};
  for (size_t i = 0; i < 4; ++i) greeting[12 + i] = static_cast<std::byte>("NULL"[i]);
  const uint64_t sent = Write(greeting);
  // A command of 28 bytes: its name, and a property with its value.
  return sent + Write(
                    "\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06"
                    "DEALER"sv);
}

uint64_t RawLine::Send(const Message& message, bool open) {
  uint64_t sent = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    const bool more = open || i + 1 < message.size();
    std::array<std::byte, 9> head{};
    head[0] = kLong | (more ? kMore : std::byte{0});
    for (size_t b = 0; b < 8; ++b) {
      head[1 + b] = static_cast<std::byte>(message[i].size() >> (8 * (7 - b)));
    }
    sent += Write(head);
    const uint64_t body = Write(message[i].bytes());
    sent += body;
    if (body < message[i].size()) break;
  }
  return sent;
}

std::string RawLine::ReadAll(TimeNs patience) {
  const timeval limit = {patience / kSecond, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = recv(fd_.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace strata::soak
