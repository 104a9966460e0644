#include "tests/soak/links/link_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "strata/status.h"
#include "tests/soak/links/raw_socket.h"

namespace strata::soak {
namespace {

void Reset(OwnedFd* fd) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd->get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  *fd = OwnedFd();
}

}  // namespace

LinkProxy::LinkProxy(uint16_t port) : target_(port), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  auto listener = OpenListener("127.0.0.1", 0, kSecond);
  STRATA_CHECK_MSG(listener.ok(), listener.status().ToString());
  listener_ = std::move(*listener);
}

LinkProxy::~LinkProxy() {
  over_ = true;
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void LinkProxy::Start() {
  thread_ = std::thread([this] { Run(); });
}

void LinkProxy::Break(State state, uint32_t which) {
  which_ = which;
  state_ = state;
  eventfd_write(wake_.get(), 1);
}

void LinkProxy::Run() {
  std::vector<pollfd> waits;
  while (!over_) {
    const State state = state_;
    size_t number = 0;
    waits = {{listener_.socket.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    for (Connection& connection : connections_) {
      const bool broken = state != State::kForwards && IsBroken(number++);
      if (broken && state == State::kReset) {
        for (OwnedFd& side : connection.sides) Reset(&side);
      }
      for (int i = 0; i < 2; ++i) {
        const Way& in = connection.ways[i];
        const Way& out = connection.ways[1 - i];
        int events = 0;
        if (!in.closed && in.begin == in.end) events |= POLLIN;
        if (!broken && out.begin < out.end) events |= POLLOUT;
        const bool watched = events != 0 && !(broken && state == State::kStopped);
        waits.push_back(
            {watched ? connection.sides[i].get() : -1, static_cast<int16_t>(events), 0});
      }
    }
    poll(waits.data(), waits.size(), -1);
    eventfd_t count = 0;
    eventfd_read(wake_.get(), &count);
    if (state_ != state) continue;  // from this moment on nothing passes
    number = 0;
    for (Connection& connection : connections_) {
      if (state != State::kForwards && IsBroken(number++)) {
        if (state == State::kSwallows) Swallow(&connection);
        continue;
      }
      for (int from = 0; from < 2; ++from) Forward(&connection, from);
    }
    if (waits[0].revents != 0) Accept();
  }
}

void LinkProxy::Accept() {
  OwnedFd dialler(accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (dialler.get() < 0) return;
  OwnedFd target = DialLoopback(target_, false);
  const int on = 1;
  for (const OwnedFd* side : {&dialler, &target}) {
    setsockopt(side->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  if (target.get() < 0) return;  // the dialler sees it close
  Connection& connection = connections_.emplace_back();
  connection.sides[0] = std::move(dialler);
  connection.sides[1] = std::move(target);
}

void LinkProxy::Forward(Connection* connection, int from) {
  Way& way = connection->ways[from];
  const int in = connection->sides[from].get();
  const int out = connection->sides[1 - from].get();
  if (!way.closed && way.begin == way.end) {
    const ssize_t got = recv(in, way.bytes.data(), way.bytes.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
      way.closed = true;
      shutdown(out, SHUT_WR);
      if (got < 0) shutdown(in, SHUT_RDWR);
    }
    way.begin = 0;
    way.end = got > 0 ? static_cast<size_t>(got) : 0;
  }
  if (way.begin == way.end) return;
  const ssize_t sent =
      send(out, way.bytes.data() + way.begin, way.end - way.begin, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) {
    way.begin += static_cast<size_t>(sent);
  } else if (errno != EAGAIN) {
    way.begin = way.end;
    way.closed = true;
    shutdown(in, SHUT_RDWR);
  }
}

void LinkProxy::Swallow(Connection* connection) {
  for (int from = 0; from < 2; ++from) {
    Way& way = connection->ways[from];
    way.begin = way.end = 0;
    const ssize_t got =
        recv(connection->sides[from].get(), way.bytes.data(), way.bytes.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) way.closed = true;
  }
}

}  // namespace strata::soak
