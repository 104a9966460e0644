#include "cluster/names/resolve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "base/thread/mutex.h"

namespace strata {
namespace {

constexpr addrinfo kStreamHints = {.ai_flags = AI_ADDRCONFIG,
                                   .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_protocol = 0,
                                   .ai_addrlen = 0,
                                   .ai_addr = nullptr,
                                   .ai_canonname = nullptr,
                                   .ai_next = nullptr};

std::string NumericName(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST];
  if (getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return text;
}

std::vector<std::string> NumericNames(const addrinfo* first) {
  std::vector<std::string> names;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    std::string name = NumericName(at->ai_addr, at->ai_addrlen);
    if (!name.empty() && std::ranges::find(names, name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

// A lookup that somebody waits for, and perhaps gives up.
struct Question {
  Mutex mutex;
  CondVar answered;
  bool done STRATA_GUARDED_BY(mutex) = false;
  int error STRATA_GUARDED_BY(mutex) = 0;
  std::vector<std::string> names STRATA_GUARDED_BY(mutex);
};

void Look(const std::shared_ptr<Question>& question, const std::string& host) {
  addrinfo* answer = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &kStreamHints, &answer);
  const MutexLock lock(question->mutex);
  question->error = error;
  if (error == 0) {
    question->names = NumericNames(answer);
    freeaddrinfo(answer);
  }
  question->done = true;
  question->answered.NotifyAll();
}

}  // namespace

Result<std::vector<std::string>> ResolveHost(const std::string& host, TimeNs timeout) {
  addrinfo numeric = kStreamHints;
  numeric.ai_flags = AI_NUMERICHOST;
  addrinfo* answer = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &numeric, &answer) == 0) {
    std::vector<std::string> names = NumericNames(answer);
    freeaddrinfo(answer);
    return names;
  }
  // getaddrinfo cannot be cancelled: a lookup that is given up ends by itself, in a thread that
  // owns all it touches. getaddrinfo_a does the same with threads that sanitizers cannot follow.
  const auto question = std::make_shared<Question>();
  std::thread lookup([question, host] { Look(question, host); });
  MutexLock lock(question->mutex);
  const bool in_time = question->answered.WaitFor(question->mutex, timeout, [&] {
    question->mutex.AssumeHeld();
    return question->done;
  });
  lock.Unlock();
  if (!in_time) {
    lookup.detach();
    return DeadlineExceeded(fmt::format(
        "cannot resolve '{}': the resolver gave no answer in {} ms; check the name servers", host,
        timeout / kMillisecond));
  }
  lookup.join();
  lock.Lock();
  if (question->error != 0) {
    const std::string text =
        fmt::format("cannot resolve '{}': {}", host, gai_strerror(question->error));
    return question->error == EAI_NONAME ? Invalid(text) : Failed(text);
  }
  if (question->names.empty()) {
    return Failed(fmt::format("'{}' has no IPv4 or IPv6 address", host));
  }
  return question->names;
}

Result<std::vector<std::string>> LocalAddresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return Failed(fmt::format("cannot list this machine's addresses: {}", std::strerror(errno)));
  }
  std::vector<std::string> names;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::string name = NumericName(at->ifa_addr, size);
    if (!name.empty()) names.push_back(std::move(name));
  }
  freeifaddrs(first);
  return names;
}

bool IsLoopback(const std::string& address) {
  in_addr v4;
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return address == "::1";
}

}  // namespace strata
