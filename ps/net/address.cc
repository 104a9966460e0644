#include "ps/net/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

namespace strata {

Result<std::string> NumericAddress(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    const std::string text =
        fmt::format("host '{}' does not resolve: {}. Check the name, or write an address", host,
                    gai_strerror(error));
    return error == EAI_NONAME ? Invalid(text) : Failed(text);
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  // IPv4 where there is a choice, on both sides: "localhost" must mean one address.
  const addrinfo* chosen = list;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family == AF_INET) {
      chosen = entry;
      break;
    }
  }
  char text[NI_MAXHOST];
  const int failed = getnameinfo(chosen->ai_addr, chosen->ai_addrlen, text, sizeof text, nullptr, 0,
                                 NI_NUMERICHOST);
  if (failed != 0) {
    return Failed(fmt::format("host '{}' has no numeric address: {}", host, gai_strerror(failed)));
  }
  return std::string(text);
}

Result<std::string> NumericEndpoint(const std::string& endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  const size_t colon = endpoint.rfind(':');
  if (!endpoint.starts_with(kScheme) || colon <= kScheme.size()) {
    return Invalid(fmt::format("'{}' is no endpoint; expected tcp://host:port", endpoint));
  }
  std::string host = endpoint.substr(kScheme.size(), colon - kScheme.size());
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  STRATA_ASSIGN(const std::string numeric, NumericAddress(host));
  const bool v6 = numeric.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(v6 ? "tcp://[{}]{}" : "tcp://{}{}"), numeric,
                     endpoint.substr(colon));
}

Status CheckHostPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string_view host =
      std::string_view(address).substr(0, std::min(colon, address.size()));
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  const bool is_host =
      !host.empty() && (in_brackets || host.find_first_of(":/") == std::string_view::npos);
  int port = 0;
  if (colon != std::string::npos && is_host) {
    const char* const end = address.data() + address.size();
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (error == std::errc() && stop == end && port >= 1 && port <= 65535) return {};
  }
  return Invalid(fmt::format("'{}' is no address: expected host:port, as 127.0.0.1:7600", address));
}

std::string HostPort(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace strata
