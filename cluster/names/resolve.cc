#include "cluster/names/resolve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

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

// A question to the resolver's own threads. They hold pointers into it until it is answered.
struct Question {
  std::string host;
  addrinfo hints = kStreamHints;
  gaicb request = {};
};

Status WaitForAnswer(Question* question, TimeNs timeout) {
  gaicb* list[] = {&question->request};
  if (const int error = getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr); error != 0) {
    return Failed(fmt::format("cannot resolve '{}': {}", question->host, gai_strerror(error)));
  }
  const TimeNs deadline = RealClock().Now() + timeout;
  while (gai_error(&question->request) == EAI_INPROGRESS) {
    const TimeNs left = deadline - RealClock().Now();
    if (left <= 0) {
      return DeadlineExceeded(fmt::format(
          "cannot resolve '{}': the resolver gave no answer in {} ms; check the name servers",
          question->host, timeout / kMillisecond));
    }
    const timespec wait = {.tv_sec = left / kSecond, .tv_nsec = left % kSecond};
    const gaicb* waiting[] = {&question->request};
    gai_suspend(waiting, 1, &wait);
  }
  if (const int error = gai_error(&question->request); error != 0) {
    return Failed(fmt::format("cannot resolve '{}': {}", question->host, gai_strerror(error)));
  }
  return {};
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
  auto question = std::make_unique<Question>();
  question->host = host;
  question->request.ar_name = question->host.c_str();
  question->request.ar_request = &question->hints;
  if (Status status = WaitForAnswer(question.get(), timeout); !status.ok()) {
    // A question that cannot be taken back stays for the resolver's thread to write into.
    if (status.code() == StatusCode::kDeadlineExceeded &&
        gai_cancel(&question->request) == EAI_NOTCANCELED) {
      static_cast<void>(question.release());
    }
    return status;
  }
  std::vector<std::string> names = NumericNames(question->request.ar_result);
  freeaddrinfo(question->request.ar_result);
  if (names.empty()) return Failed(fmt::format("'{}' has no IPv4 or IPv6 address", host));
  return names;
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
