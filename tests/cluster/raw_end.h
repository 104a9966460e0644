// One end of a connection that says whatever it is told to, within TLS when it is given one. What
// it waits for ends after a generous time.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/link/connect/listener.h"
#include "cluster/tls/tls_stream.h"

namespace strata {

class RawEnd {
 public:
  // Dials a port on loopback. `tls` lives as long; null: without.
  explicit RawEnd(uint16_t port, const TlsContext* tls = nullptr)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(connect(fd_.get(), any, sizeof(address)), 0);
    if (tls != nullptr) ShakeHands(*tls, TlsSide::kDialer);
  }
  // Accepts a connection.
  RawEnd(const Listener& listener, const TlsContext* tls) {
    if (Await(listener.socket.get(), POLLIN)) {
      fd_ = OwnedFd(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    EXPECT_GE(fd_.get(), 0);
    if (tls != nullptr) ShakeHands(*tls, TlsSide::kAcceptor);
  }

  // At once. The other side may have closed meanwhile.
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      short event = POLLOUT;
      const iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
      const ssize_t sent = stream_ != nullptr
                               ? stream_->Send({&part, 1}, &event)
                               : send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      if (sent < 0 && (errno != EAGAIN || !Await(fd_.get(), event))) return;
    }
  }

  // `size` bytes, or fewer when the other side closes before; EXPECTs one of the two.
  std::string Read(size_t size) {
    std::string all(size, '\0');
    size_t done = 0;
    while (done < size) {
      short event = POLLIN;
      const iovec part = {all.data() + done, size - done};
      const ssize_t got = stream_ != nullptr
                              ? stream_->Receive({&part, 1}, &event)
                              : recv(fd_.get(), part.iov_base, part.iov_len, MSG_DONTWAIT);
      if (got > 0) {
        done += static_cast<size_t>(got);
        continue;
      }
      if (got == 0 || errno == ECONNRESET || errno == EPROTO) break;
      if (errno == EAGAIN && Await(fd_.get(), event)) continue;
      ADD_FAILURE() << "neither closed nor enough: " << errno;
      break;
    }
    all.resize(done);
    return all;
  }
  // Everything until the other side closes; EXPECTs that it does.
  std::string ReadToEnd() {
    std::string all;
    for (std::string byte = Read(1); !byte.empty(); byte = Read(1)) all += byte;
    return all;
  }

  // It says no more; what comes is still read.
  void EndSending() { shutdown(fd_.get(), SHUT_WR); }
  // Closes the connection so that the other side's next write fails.
  void Reset() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_ = OwnedFd();
  }

 private:
  void ShakeHands(const TlsContext& tls, TlsSide side) {
    stream_ = std::make_unique<TlsStream>(tls, side, fd_.get());
    short event = 0;
    while (stream_->Handshake(&event) != 1 && errno == EAGAIN && Await(fd_.get(), event)) {
    }
  }

  static bool Await(int fd, short event) {
    pollfd wait = {fd, event, 0};
    return poll(&wait, 1, 30'000) == 1;
  }

  OwnedFd fd_;
  std::unique_ptr<TlsStream> stream_;
};

}  // namespace strata
