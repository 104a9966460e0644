#include "ps/net/lane_port.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "ps/net/inproc.h"
#include "ps/net/link_set.h"
#include "ps/net/shared_link.h"

namespace strata {
namespace {

// In front of the routing ids of ZeroMQ, which their owners may choose: none is a link's name.
constexpr char kTcpPrefix[] = "t";
// Clients of one lane through shared memory, each with two rings. Others are served over tcp.
constexpr size_t kSharedClientsMax = 32;

}  // namespace

struct LanePort::Impl {
  LanePortOptions options;
  std::unique_ptr<net::LinkSet> links;
  std::unique_ptr<ZmqRouterPort> sockets;
  std::unique_ptr<net::SharedListener> shared;
  std::shared_ptr<net::InprocListener> inproc;
  std::string shared_endpoint;
  size_t shared_clients = 0;
  uint64_t next_name = 0;

  Status Listen(std::shared_ptr<ZmqContext> context);
  void Accept();
  void Add(char kind, std::unique_ptr<net::Link> link);
};

LanePort::LanePort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanePort::~LanePort() { impl_->links->Linger(kSecond, *impl_->options.clock); }
uint16_t LanePort::port() const { return impl_->sockets->port(); }
const std::string& LanePort::shared_endpoint() const { return impl_->shared_endpoint; }
void LanePort::Wake() { impl_->links->Wake(*impl_->sockets); }

Result<std::unique_ptr<LanePort>> LanePort::Bind(std::shared_ptr<ZmqContext> context,
                                                 const LanePortOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  STRATA_TRY(impl->Listen(std::move(context)));
  return std::unique_ptr<LanePort>(new LanePort(std::move(impl)));
}

Status LanePort::Impl::Listen(std::shared_ptr<ZmqContext> context) {
  const auto ended = [this](const std::string& peer, const Status& why) {
    if (peer.front() == 's') --shared_clients;
    if (why.code() == StatusCode::kLost) return;
    Log(LogLevel::kWarning, "a client's shared memory was given up: {}", why.message());
  };
  STRATA_ASSIGN(links, net::LinkSet::Create({.knock = [this] { Accept(); }, .ended = ended}));
  STRATA_ASSIGN(sockets, ZmqRouterPort::Bind(std::move(context), options.host, options.port,
                                             {.queue_bytes_max = options.queue_bytes_max,
                                              .clock = options.clock,
                                              .watch = links->descriptor(),
                                              .connections_max = options.connections_max,
                                              .on_closed = options.on_closed}));
  if (!options.inproc.empty()) {
    STRATA_ASSIGN(
        inproc, net::InprocListener::Open(options.inproc, options.queue_bytes_max, links->bell()));
  }
  if (!options.shared_memory) return {};
  auto listener = net::SharedListener::Open();
  if (!listener.ok()) {
    Log(LogLevel::kInfo, "clients of this host are served over tcp: {}",
        listener.status().message());
    return {};
  }
  shared = std::move(*listener);
  shared_endpoint = shared->endpoint();
  return links->Watch(shared->descriptor());
}

void LanePort::Impl::Accept() {
  while (shared != nullptr) {
    OwnedFd client = shared->Accept();
    if (client.get() < 0) break;
    if (shared_clients >= kSharedClientsMax) continue;
    auto link = net::SharedLink::Serve(std::move(client), options.queue_bytes_max);
    if (link.ok()) {
      Add('s', std::move(*link));
    } else {
      Log(LogLevel::kInfo, "a client of this host gets no shared memory: {}",
          link.status().message());
    }
  }
  if (inproc == nullptr) return;
  for (auto& link : inproc->Accept()) Add('i', std::move(link));
}

void LanePort::Impl::Add(char kind, std::unique_ptr<net::Link> link) {
  const std::string name = fmt::format("{}{}", kind, next_name++);
  if (const Status added = links->Add(name, std::move(link)); !added.ok()) {
    Log(LogLevel::kWarning, "a client of this host cannot be served: {}", added.message());
    return;
  }
  if (kind == 's') ++shared_clients;
}

Status LanePort::Send(Envelope envelope) {
  if (envelope.peer.starts_with(kTcpPrefix)) {
    envelope.peer.erase(0, 1);
    return impl_->sockets->Send(std::move(envelope));
  }
  net::Link* const link = impl_->links->Find(envelope.peer);
  if (link == nullptr) return Lost("the peer's connection is gone");
  return link->Send(std::move(envelope.message));
}

Result<std::optional<Envelope>> LanePort::Receive(TimeNs deadline) {
  return impl_->links->Receive(*impl_->sockets, kTcpPrefix, deadline, *impl_->options.clock);
}

}  // namespace strata
