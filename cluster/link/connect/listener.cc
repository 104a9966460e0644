#include "cluster/link/connect/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cluster/names/resolve.h"

namespace strata {
namespace {

constexpr int kBacklog = 256;

uint16_t BoundPort(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string Explain(const std::string& where, int error) {
  if (error == EADDRINUSE) {
    return fmt::format(
        "{} is in use by another process; stop it (ss -ltnp shows it), or give this "
        "one another port in the machine list",
        where);
  }
  if (error == EADDRNOTAVAIL) {
    return fmt::format("{} is no address of this machine; is --rank right, and the machine list?",
                       where);
  }
  return fmt::format("cannot listen on {}: {}", where, std::strerror(error));
}

Result<Listener> ListenOn(const addrinfo& at, const std::string& address, uint16_t port) {
  const std::string where = fmt::format("{} port {}", address, port);
  Listener listener;
  listener.socket = OwnedFd(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = listener.socket.get();
  // A port whose last connections are in TIME_WAIT may be used again at once.
  const int on = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, kBacklog) != 0) {
    return Failed(Explain(where, errno));
  }
  listener.address = address;
  listener.port = BoundPort(fd);
  return listener;
}

}  // namespace

Result<Listener> OpenListener(const std::string& host, uint16_t port, TimeNs resolve_timeout) {
  STRATA_ASSIGN(const auto addresses, ResolveHost(host, resolve_timeout));
  Status last = Failed(fmt::format("'{}' has no address", host));
  for (const std::string& address : addresses) {
    addrinfo hints = {};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) continue;
    auto listener = ListenOn(*found, address, port);
    freeaddrinfo(found);
    if (listener.ok()) return listener;
    last = listener.status();
  }
  return last;
}

Status CheckExposure(const Listener& listener, bool proof, bool insecure) {
  if (proof || insecure || IsLoopback(listener.address)) return {};
  return Refused(
      fmt::format("{} port {} is beyond loopback with neither secret nor TLS: anybody could join "
                  "the job; set cluster.secret_file, or tls.certificate, tls.key and tls.ca, or "
                  "--insecure on a network you trust",
                  listener.address, listener.port));
}

}  // namespace strata
