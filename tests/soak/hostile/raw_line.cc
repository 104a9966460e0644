#include "tests/soak/hostile/raw_line.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <string>

#include "tests/support/zmtp.h"

namespace strata::soak {
namespace {

constexpr timeval kPatience = {0, 200'000};

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

bool RawLine::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty() && fd_.get() >= 0) {
    const ssize_t now = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (now <= 0) break;
    sent_ += static_cast<uint64_t>(now);
    bytes = bytes.subspan(static_cast<size_t>(now));
  }
  return bytes.empty();
}

void RawLine::GreetAsDealer() {
  Write(test::ZmtpGreeting());
  Write(test::ZmtpReadyOfDealer());
}

void RawLine::Send(const Message& message, bool open) {
  for (size_t i = 0; i < message.size(); ++i) {
    Write(test::ZmtpLongHead(message[i].size(), open || i + 1 < message.size()));
    if (!Write(message[i].bytes())) break;
  }
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
