#include "ps/net/connection_watch.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"

namespace strata::net {
namespace {

constexpr TimeNs kReadEvery = kMillisecond;
constexpr TimeNs kLineEvery = 10 * kSecond;  // in the log
// What a connection brings besides messages: greeting, and signs of life in each second.
constexpr uint64_t kGreetingBytes = 1024;
constexpr uint64_t kBytesEachSecond = 128;
// Of a connection that is ended for what all of them hold.
constexpr uint64_t kUnfinishedLeast = uint64_t{1} << 20;

// Address and port of the peer, and what of it counts as one address.
struct PeerEnd {
  std::string end;
  std::string address;
};

std::optional<PeerEnd> PeerOf(int descriptor) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  PeerEnd peer;
  peer.end.assign(reinterpret_cast<const char*>(&storage), size);
  if (storage.ss_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    peer.address.assign(reinterpret_cast<const char*>(&v4->sin_addr), 4);
  } else if (storage.ss_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
    const char* const bytes = reinterpret_cast<const char*>(&v6->sin6_addr);
    peer.address = mapped ? std::string(bytes + 12, 4) : std::string(bytes, 8);
  } else {
    return {};
  }
  return peer;
}

// What TCP has received of it since it began; nothing when the system does not say.
std::optional<uint64_t> BytesReceived(int descriptor) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return {};
  return info.tcpi_bytes_received;
}

struct Event {
  uint16_t kind = 0;
  int descriptor = -1;
};

// The next event of a monitor, if there is one: a frame of kind and value, and one of an address.
std::optional<Event> NextEvent(void* events) {
  std::array<std::byte, 6> bytes = {};
  if (zmq_recv(events, bytes.data(), bytes.size(), ZMQ_DONTWAIT) < 0) return {};
  Event event;
  int32_t value = 0;
  std::memcpy(&event.kind, bytes.data(), sizeof event.kind);
  std::memcpy(&value, bytes.data() + sizeof event.kind, sizeof value);
  event.descriptor = value;
  std::array<std::byte, 1> rest = {};
  int more = 1;
  size_t size = sizeof more;
  while (zmq_getsockopt(events, ZMQ_RCVMORE, &more, &size) == 0 && more != 0) {
    zmq_recv(events, rest.data(), rest.size(), 0);
  }
  return event;
}

}  // namespace

Result<std::unique_ptr<ConnectionWatch>> ConnectionWatch::Open(void* context, void* socket,
                                                               const ConnectionLimits& limits,
                                                               std::function<void()> on_closed) {
  static std::atomic<uint64_t> next_name{0};
  const std::string name = fmt::format("inproc://connection-watch-{}", next_name.fetch_add(1));
  constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED;
  void* const events = zmq_socket(context, ZMQ_PAIR);
  std::unique_ptr<ConnectionWatch> watch(
      new ConnectionWatch(socket, events, limits, std::move(on_closed)));
  // ZeroMQ's thread would block when the socket had no room for an event.
  constexpr int kNoLimit = 0;
  if (events == nullptr || zmq_setsockopt(events, ZMQ_RCVHWM, &kNoLimit, sizeof kNoLimit) != 0 ||
      zmq_socket_monitor(socket, name.c_str(), kEvents) != 0 ||
      zmq_connect(events, name.c_str()) != 0) {
    return Failed(
        fmt::format("cannot watch the connections of a socket: {}. Raise the limit of "
                    "open files (ulimit -n)",
                    zmq_strerror(zmq_errno())));
  }
  return watch;
}

ConnectionWatch::~ConnectionWatch() {
  zmq_socket_monitor(socket_, nullptr, 0);
  if (events_ != nullptr) zmq_close(events_);
}

void ConnectionWatch::ReadEvents() {
  while (const std::optional<Event> event = NextEvent(events_)) {
    const auto known = connections_.find(event->descriptor);
    if (known != connections_.end()) {
      if (--of_address_[known->second.address] == 0) of_address_.erase(known->second.address);
      connections_.erase(known);
    }
    if (event->kind == ZMQ_EVENT_ACCEPTED) Accepted(event->descriptor);
  }
}

void ConnectionWatch::Accepted(int descriptor) {
  std::optional<PeerEnd> peer = PeerOf(descriptor);
  if (!peer) return;  // it has ended already
  const std::string address = peer->address;
  connections_[descriptor] = {.end = std::move(peer->end),
                              .address = std::move(peer->address),
                              .since = now_,
                              .used = ++uses_};
  ++of_address_[address];
  KeepToCount(address);
}

void ConnectionWatch::KeepToCount(const std::string& address) {
  if (of_address_[address] > limits_.connections / 2) {
    CloseLongestIdle([&](const Connection& one) { return one.address == address; },
                     "its address has as many as it may have");
  } else if (connections_.size() > limits_.connections) {
    CloseLongestIdle([](const Connection&) { return true; }, "there are as many as there may be");
  }
}

void ConnectionWatch::CloseLongestIdle(const std::function<bool(const Connection&)>& among,
                                       const char* why) {
  const auto rank = [](const Connection& one) { return std::pair(one.received != 0, one.used); };
  auto worst = connections_.end();
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (at->second.closing || !among(at->second)) continue;
    if (worst == connections_.end() || rank(at->second) < rank(worst->second)) worst = at;
  }
  if (worst != connections_.end()) Close(worst->first, why);
}

// ZeroMQ sees its end, and lets go of it and of what it held.
void ConnectionWatch::Close(int descriptor, const std::string& why) {
  Connection& connection = connections_.at(descriptor);
  connection.closing = true;
  const std::optional<PeerEnd> peer = PeerOf(descriptor);
  if (!peer || peer->end != connection.end) return;  // the number is another connection's by now
  shutdown(descriptor, SHUT_RDWR);
  on_closed_();
  if (now_ < next_line_) return;
  next_line_ = now_ + kLineEvery;
  Log(LogLevel::kWarning, "a client's connection was closed, as {}", why);
}

void ConnectionWatch::NoteMessage(int descriptor, size_t bytes) {
  auto known = connections_.find(descriptor);
  if (known == connections_.end()) {
    ReadEvents();
    known = connections_.find(descriptor);
    if (known == connections_.end()) return;
  }
  known->second.received += bytes;
  known->second.used = ++uses_;
}

void ConnectionWatch::Look(TimeNs now, bool drained) {
  now_ = now;
  if (now < next_events_) return;
  next_events_ = now + kReadEvery;
  ReadEvents();
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  LookAtBytes(drained);
}

void ConnectionWatch::LookAtBytes(bool drained) {
  const uint64_t limit = limits_.unfinished_bytes + (drained ? 0 : limits_.waiting_bytes);
  uint64_t of_all = 0;
  for (auto& [descriptor, connection] : connections_) {
    connection.unfinished = 0;
    const std::optional<uint64_t> came = BytesReceived(descriptor);
    if (connection.closing || !came) continue;
    const auto seconds = static_cast<uint64_t>((now_ - connection.since) / kSecond);
    const uint64_t known = connection.received + kGreetingBytes + kBytesEachSecond * seconds;
    // A whole message may have come since it was seen that none waits. So what counts is what had
    // come by the last look; what is too much now is looked at again at once.
    const uint64_t before = std::exchange(connection.came, *came);
    connection.unfinished = before > known ? before - known : 0;
    if (*came > known + limit) next_look_ = now_;
    if (connection.unfinished > limit) {
      Close(descriptor,
            fmt::format("it has sent {} bytes of a message without an end", connection.unfinished));
    } else {
      of_all += connection.unfinished;
    }
  }
  if (!drained) return;
  while (of_all > limits_.unfinished_bytes_of_all) {
    const uint64_t before = of_all;
    CloseLongestIdle([&](const Connection& one) { return one.unfinished >= kUnfinishedLeast; },
                     "the connections have sent too many bytes of messages without an end");
    of_all = 0;
    for (const auto& [descriptor, connection] : connections_) {
      if (!connection.closing) of_all += connection.unfinished;
    }
    if (of_all == before) return;
  }
}

}  // namespace strata::net
