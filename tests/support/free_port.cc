#include "tests/support/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/status.h"

namespace strata {

FreePort::FreePort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  STRATA_CHECK(fd_ >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  STRATA_CHECK(bind(fd_, generic, size) == 0);
  // Listening too: only then does a second socket with SO_REUSEADDR fail to bind.
  STRATA_CHECK(listen(fd_, 1) == 0);
  STRATA_CHECK(getsockname(fd_, generic, &size) == 0);
  number_ = ntohs(address.sin_port);
}

uint16_t FreePort::Release() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  return number_;
}

}  // namespace strata
