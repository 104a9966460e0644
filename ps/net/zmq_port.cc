#include "ps/net/zmq_port.h"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ps/net/address.h"
#include "ps/net/connection_watch.h"
#include "ps/net/zmq_socket.h"

namespace strata {
namespace {

constexpr int kOldestZmq = 40303;  // 4.3.3: CVE-2020-15166, CVE-2021-20234 to 20237 are fixed
constexpr int kSocketsMax = 16'384;

Status PollFailed() {
  return Failed(fmt::format("cannot wait for messages: {}", zmq_strerror(zmq_errno())));
}

Status BindFailed(const std::string& address, int error) {
  const char* remedy = "check the machine list and the server's flags";
  if (error == EADDRINUSE) {
    remedy = "another process listens there: stop it, or choose another port (0 picks a free one)";
  } else if (error == EACCES) {
    remedy = "ports below 1024 need privileges: choose another port";
  } else if (error == EADDRNOTAVAIL || error == ENODEV) {
    remedy = "the address belongs to no interface of this machine: check host and rank";
  }
  return Failed(fmt::format("cannot listen on {}: {}; {}", address, zmq_strerror(error), remedy));
}

// Messages after which a port that never waits looks at its connections.
constexpr unsigned kLookAfter = 256;

net::ConnectionLimits LimitsOf(const ZmqPortOptions& options) {
  net::ConnectionLimits limits;
  limits.connections = options.connections_max;
  limits.waiting_bytes = options.queue_bytes_max;
  limits.unfinished_bytes_of_all = std::max(2 * options.queue_bytes_max, limits.unfinished_bytes);
  return limits;
}

}  // namespace

Result<std::shared_ptr<ZmqContext>> ZmqContext::Create(int io_threads) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  zmq_version(&major, &minor, &patch);
  if (major * 10'000 + minor * 100 + patch < kOldestZmq) {
    return Refused(fmt::format(
        "libzmq {}.{}.{} has known remote holes; 4.3.3 or newer is needed: update the package",
        major, minor, patch));
  }
  void* handle = zmq_ctx_new();
  if (handle == nullptr) return Failed("cannot start ZeroMQ: out of memory or descriptors");
  zmq_ctx_set(handle, ZMQ_IO_THREADS, io_threads);
  zmq_ctx_set(handle, ZMQ_MAX_SOCKETS, kSocketsMax);
  return std::shared_ptr<ZmqContext>(new ZmqContext(handle));
}

ZmqContext::~ZmqContext() { zmq_ctx_term(handle_); }

struct ZmqRouterPort::Impl {
  std::unique_ptr<net::ZmqSocket> socket;
  std::unique_ptr<net::ConnectionWatch> connections;  // ends before the socket
  unsigned received = 0;  // messages since the connections were looked at
  net::WakeEvent wake;
  ZmqPortOptions options;
  std::string endpoint;
  uint16_t port = 0;
  // Peers that have bytes queued. Entries at zero are dropped when the map has grown.
  std::unordered_map<std::string, std::shared_ptr<net::QueuedBytes>> queued;

  std::shared_ptr<net::QueuedBytes>& QueuedOf(const std::string& peer) {
    constexpr size_t kSweepAt = 4096;
    if (queued.size() >= kSweepAt) {
      std::erase_if(queued, [](const auto& entry) { return entry.second->load() == 0; });
    }
    std::shared_ptr<net::QueuedBytes>& bytes = queued[peer];
    if (bytes == nullptr) bytes = std::make_shared<net::QueuedBytes>(0);
    return bytes;
  }

  Result<std::optional<Envelope>> TryReceive() {
    net::MessageSource source;
    STRATA_ASSIGN(std::optional<Envelope> envelope, socket->TryReceive(true, &source));
    if (envelope.has_value()) connections->NoteMessage(source.descriptor, source.bytes);
    if (envelope.has_value() && ++received < kLookAfter) return envelope;
    received = 0;
    connections->Look(options.clock->Now(), !envelope.has_value());
    return envelope;
  }
};

ZmqRouterPort::ZmqRouterPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZmqRouterPort::~ZmqRouterPort() = default;
uint16_t ZmqRouterPort::port() const { return impl_->port; }
const std::string& ZmqRouterPort::endpoint() const { return impl_->endpoint; }
void ZmqRouterPort::Wake() { impl_->wake.Raise(); }

Result<std::unique_ptr<ZmqRouterPort>> ZmqRouterPort::Bind(std::shared_ptr<ZmqContext> context,
                                                           const std::string& host, uint16_t port,
                                                           const ZmqPortOptions& options) {
  STRATA_ASSIGN(const std::string numeric, NumericAddress(host));
  auto impl = std::make_unique<Impl>();
  STRATA_TRY(impl->wake.status());
  impl->options = options;
  STRATA_ASSIGN(impl->socket,
                net::ZmqSocket::Open(std::move(context), net::SocketKind::kRouter, options));
  STRATA_ASSIGN(impl->connections,
                net::ConnectionWatch::Open(impl->socket->context(), impl->socket->handle(),
                                           LimitsOf(options), options.on_closed));
  const std::string wanted = port == 0 ? "*" : std::to_string(port);
  const bool v6 = numeric.find(':') != std::string::npos;
  const std::string address = v6 ? fmt::format("tcp://[{}]:{}", numeric, wanted)
                                 : fmt::format("tcp://{}:{}", numeric, wanted);
  if (zmq_bind(impl->socket->handle(), address.c_str()) != 0) {
    return BindFailed(address, zmq_errno());
  }
  char bound[256];
  size_t length = sizeof bound;
  if (zmq_getsockopt(impl->socket->handle(), ZMQ_LAST_ENDPOINT, bound, &length) != 0) {
    return BindFailed(address, zmq_errno());
  }
  impl->endpoint = bound;
  impl->port =
      static_cast<uint16_t>(std::stoi(impl->endpoint.substr(impl->endpoint.rfind(':') + 1)));
  return std::unique_ptr<ZmqRouterPort>(new ZmqRouterPort(std::move(impl)));
}

Status ZmqRouterPort::Send(Envelope envelope) {
  STRATA_TRY(net::CheckSendable(envelope.message));
  std::shared_ptr<net::QueuedBytes>& queued = impl_->QueuedOf(envelope.peer);
  const size_t bytes = MessageBytes(envelope.message);
  const size_t waiting = queued->load(std::memory_order_relaxed);
  // One message is always taken, so that a small budget cannot make a peer unreachable.
  if (waiting != 0 && waiting + bytes > impl_->options.queue_bytes_max) {
    return net::QueueFull(waiting, bytes, impl_->options.queue_bytes_max);
  }
  return impl_->socket->Send(&envelope.peer, envelope.message, queued);
}

Result<std::optional<Envelope>> ZmqRouterPort::Receive(TimeNs deadline) {
  while (true) {
    STRATA_ASSIGN(std::optional<Envelope> envelope, impl_->TryReceive());
    if (envelope.has_value()) return envelope;
    long timeout_ms = net::PollMilliseconds(*impl_->options.clock, deadline);
    if (timeout_ms == 0) return std::optional<Envelope>();
    // What grows without an end wakes nobody.
    constexpr long kLookMs = net::ConnectionWatch::kLookEvery / kMillisecond;
    if (impl_->connections->watches() && (timeout_ms < 0 || timeout_ms > kLookMs)) {
      timeout_ms = kLookMs;
    }
    zmq_pollitem_t items[4] = {{impl_->socket->handle(), 0, ZMQ_POLLIN, 0},
                               {impl_->connections->events(), 0, ZMQ_POLLIN, 0},
                               {nullptr, impl_->wake.descriptor(), ZMQ_POLLIN, 0},
                               {nullptr, impl_->options.watch, ZMQ_POLLIN, 0}};
    const int ready = zmq_poll(items, impl_->options.watch < 0 ? 3 : 4, timeout_ms);
    if (ready < 0 && zmq_errno() != EINTR) return PollFailed();
    if (items[2].revents != 0) impl_->wake.Clear();
    if (items[2].revents != 0 || items[3].revents != 0) return std::optional<Envelope>();
  }
}

struct ZmqDealerPort::Impl {
  struct Peer {
    std::string endpoint;
    std::unique_ptr<net::ZmqSocket> socket;
    std::shared_ptr<net::QueuedBytes> queued = std::make_shared<net::QueuedBytes>(0);
    std::deque<Message> waiting;  // for a connection, or for room in ZeroMQ's queue
    size_t waiting_bytes = 0;
  };

  std::shared_ptr<ZmqContext> context;
  ZmqPortOptions options;
  net::WakeEvent wake;
  std::vector<std::unique_ptr<Peer>> peers;
  std::map<std::string, Peer*> by_endpoint;
  size_t next = 0;  // the peer to look at first, so that a busy one cannot starve the others

  Result<Peer*> Open(const std::string& endpoint) {
    auto found = by_endpoint.find(endpoint);
    if (found != by_endpoint.end()) return found->second;
    auto peer = std::make_unique<Peer>();
    peer->endpoint = endpoint;
    STRATA_ASSIGN(const std::string numeric, NumericEndpoint(endpoint));
    STRATA_ASSIGN(peer->socket, net::ZmqSocket::Open(context, net::SocketKind::kDealer, options));
    if (zmq_connect(peer->socket->handle(), numeric.c_str()) != 0) {
      return Invalid(fmt::format("cannot connect to '{}': {}; expected tcp://host:port", endpoint,
                                 zmq_strerror(zmq_errno())));
    }
    Peer* opened = peer.get();
    by_endpoint.emplace(endpoint, opened);
    peers.push_back(std::move(peer));
    return opened;
  }

  // Gives ZeroMQ what waits, as far as it takes it.
  Status Flush(Peer& peer) {
    while (!peer.waiting.empty()) {
      Status sent = peer.socket->Send(nullptr, peer.waiting.front(), peer.queued);
      if (sent.code() == StatusCode::kRefused) return {};
      STRATA_TRY(sent);
      peer.waiting_bytes -= MessageBytes(peer.waiting.front());
      peer.waiting.pop_front();
    }
    return {};
  }

  Result<std::optional<Envelope>> TryReceive() {
    for (size_t i = 0; i < peers.size(); ++i) {
      Peer& peer = *peers[(next + i) % peers.size()];
      STRATA_TRY(Flush(peer));
      STRATA_ASSIGN(std::optional<Envelope> envelope, peer.socket->TryReceive(false));
      if (!envelope.has_value()) continue;
      envelope->peer = peer.endpoint;
      next = (next + i + 1) % peers.size();
      return envelope;
    }
    return std::optional<Envelope>();
  }
};

ZmqDealerPort::ZmqDealerPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZmqDealerPort::~ZmqDealerPort() = default;
void ZmqDealerPort::Wake() { impl_->wake.Raise(); }

Result<std::unique_ptr<ZmqDealerPort>> ZmqDealerPort::Create(std::shared_ptr<ZmqContext> context,
                                                             const ZmqPortOptions& options) {
  auto impl = std::make_unique<Impl>();
  STRATA_TRY(impl->wake.status());
  impl->context = std::move(context);
  impl->options = options;
  return std::unique_ptr<ZmqDealerPort>(new ZmqDealerPort(std::move(impl)));
}

Status ZmqDealerPort::Send(Envelope envelope) {
  STRATA_TRY(net::CheckSendable(envelope.message));
  STRATA_ASSIGN(Impl::Peer * peer, impl_->Open(envelope.peer));
  const size_t bytes = MessageBytes(envelope.message);
  const size_t waiting = peer->waiting_bytes + peer->queued->load(std::memory_order_relaxed);
  if (waiting != 0 && waiting + bytes > impl_->options.queue_bytes_max) {
    return net::QueueFull(waiting, bytes, impl_->options.queue_bytes_max);
  }
  peer->waiting.push_back(std::move(envelope.message));
  peer->waiting_bytes += bytes;
  return impl_->Flush(*peer);
}

Result<std::optional<Envelope>> ZmqDealerPort::Receive(TimeNs deadline) {
  while (true) {
    STRATA_ASSIGN(std::optional<Envelope> envelope, impl_->TryReceive());
    if (envelope.has_value()) return envelope;
    const long timeout_ms = net::PollMilliseconds(*impl_->options.clock, deadline);
    if (timeout_ms == 0) return std::optional<Envelope>();
    std::vector<zmq_pollitem_t> items;
    items.reserve(impl_->peers.size() + 2);
    items.push_back({nullptr, impl_->wake.descriptor(), ZMQ_POLLIN, 0});
    if (impl_->options.watch >= 0) items.push_back({nullptr, impl_->options.watch, ZMQ_POLLIN, 0});
    const size_t events_end = items.size();
    for (const auto& peer : impl_->peers) {
      const short events =
          static_cast<short>(ZMQ_POLLIN | (peer->waiting.empty() ? 0 : ZMQ_POLLOUT));
      items.push_back({peer->socket->handle(), 0, events, 0});
    }
    const int ready = zmq_poll(items.data(), static_cast<int>(items.size()), timeout_ms);
    if (ready < 0 && zmq_errno() != EINTR) return PollFailed();
    if (items[0].revents != 0) impl_->wake.Clear();
    for (size_t i = 0; i < events_end; ++i) {
      if (items[i].revents != 0) return std::optional<Envelope>();
    }
  }
}

}  // namespace strata
