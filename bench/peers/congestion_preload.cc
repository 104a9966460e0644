// LD_PRELOAD for all contenders alike: TCP sockets take the congestion control that the environment
// names in STRATA_BENCH_CONGESTION. Accepted sockets have that of the one that listens.
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

extern "C" int socket(int domain, int type, int protocol) noexcept {
  using Socket = int (*)(int, int, int);
  static const auto real = reinterpret_cast<Socket>(dlsym(RTLD_NEXT, "socket"));
  const int fd = real(domain, type, protocol);
  const char* const wanted = std::getenv("STRATA_BENCH_CONGESTION");
  const bool internet = domain == AF_INET || domain == AF_INET6;
  if (fd >= 0 && wanted != nullptr && internet && (type & 0xF) == SOCK_STREAM) {
    // strata-bench has tried before that the kernel grants it.
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, wanted,
               static_cast<socklen_t>(std::strlen(wanted)));
  }
  return fd;
}
