#include "tests/support/free_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "strata/status.h"
#include "tests/support/abstract_address.h"

namespace strata {
namespace {

constexpr int kFirst = 10'000;  // below: services that a machine may well run
constexpr int kEnd = 65'536;

struct Range {
  int first = 0;
  int end = 0;  // exclusive
};

// The ports that the system never hands out by itself, the wider of the two parts beside those
// that it does; all of them where it hands out all.
Range QuietPorts() {
  int lowest = 32'768;  // as Linux has it where it does not tell
  int highest = 60'999;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> lowest >> highest;
  const Range below{kFirst, std::max(lowest, kFirst)};
  const Range above{std::max(highest + 1, kFirst), kEnd};
  const Range wider = below.end - below.first >= above.end - above.first ? below : above;
  return wider.end - wider.first >= 1'000 ? wider : Range{kFirst, kEnd};
}

// True if no other process has the number: a name of a Unix socket that lives as long as this
// process, so that what it starts can end and listen there again.
bool Reserve(int number) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STRATA_CHECK(fd >= 0);
  const test::AbstractAddress address(fmt::format("strata-test-port-{}", number));
  if (bind(fd, address.get(), address.size()) == 0) return true;
  close(fd);
  return false;
}

// A socket that listens on the port, or -1 if another one has it.
int Listen(int number) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STRATA_CHECK(fd >= 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(number));
  // Listening too: only then does a second socket with SO_REUSEADDR fail to bind.
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      listen(fd, 1) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

}  // namespace

FreePort::FreePort() {
  const Range range = QuietPorts();
  const int count = range.end - range.first;
  const int start = getpid() * 13 % count;  // processes that run at once rarely collide
  for (int i = 0; i < count && fd_ < 0; ++i) {
    const int number = range.first + (start + i) % count;
    if (!Reserve(number)) continue;
    fd_ = Listen(number);
    number_ = static_cast<uint16_t>(number);
  }
  STRATA_CHECK(fd_ >= 0);
}

uint16_t FreePort::Release() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  return number_;
}

}  // namespace strata
