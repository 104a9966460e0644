#include "tests/soak/links/raw_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace strata::soak {

OwnedFd DialLoopback(uint16_t port, bool at_once) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (at_once ? SOCK_NONBLOCK : 0), 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  if (connect(fd.get(), any, sizeof(address)) != 0 && !(at_once && errno == EINPROGRESS))
    return OwnedFd();
  return fd;
}

}  // namespace strata::soak
