#include "ps/net/client_port.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/human_text.h"
#include "ps/net/inproc.h"
#include "ps/net/link_set.h"
#include "ps/net/shared_link.h"

namespace strata {
namespace {

constexpr char kInproc[] = "inproc://";

// How the lanes of one server turned out.
struct Attempt {
  std::string server;
  LogLevel level = LogLevel::kInfo;
  size_t lanes = 0;
  size_t shared = 0;
  size_t refused = 0;
  Status why = {};  // of the first that was refused

  void Tell() const {
    if (shared + refused < lanes) return;
    if (refused == 0) {
      Log(level, "{}: {} through shared memory", server, Counted(lanes, "lane"));
    } else {
      Log(level, "{}: {} of {} over tcp: {}", server, refused, Counted(lanes, "lane"),
          why.message());
    }
  }
};

// Of one lane.
struct SharedRoute {
  std::string endpoint;
  bool ready = false;
  std::shared_ptr<Attempt> attempt;
};

}  // namespace

struct ClientPort::Impl {
  Options options;
  std::unique_ptr<net::LinkSet> links;
  std::unique_ptr<ZmqDealerPort> sockets;
  std::map<std::string, SharedRoute> routes;  // by tcp endpoint

  void ShareLane(const Lane& lane, const std::shared_ptr<Attempt>& attempt);
  void Refuse(const std::shared_ptr<Attempt>& attempt, const Status& why);
  void LoseRoute(const std::string& peer, const Status& why);
  Status SendInproc(Envelope envelope);
};

ClientPort::ClientPort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientPort::~ClientPort() { impl_->links->Linger(kSecond, *impl_->options.clock); }
void ClientPort::Wake() { impl_->links->Wake(*impl_->sockets); }

Result<std::unique_ptr<ClientPort>> ClientPort::Create(std::shared_ptr<ZmqContext> context,
                                                       const Options& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  const auto ended = [at = impl.get()](const std::string& peer, const Status& why) {
    at->LoseRoute(peer, why);
  };
  STRATA_ASSIGN(impl->links, net::LinkSet::Create({.ended = ended}));
  STRATA_ASSIGN(impl->sockets, ZmqDealerPort::Create(std::move(context),
                                                     {.queue_bytes_max = options.queue_bytes_max,
                                                      .clock = options.clock,
                                                      .watch = impl->links->descriptor()}));
  return std::unique_ptr<ClientPort>(new ClientPort(std::move(impl)));
}

bool ClientPort::IsInThisProcess(const std::string& endpoint) { return net::IsListening(endpoint); }

void ClientPort::ShareMemory(const std::string& server, std::span<const Lane> lanes) {
  auto attempt = std::make_shared<Attempt>();
  attempt->server = server;
  attempt->level = impl_->options.routes;
  attempt->lanes = lanes.size();
  for (const Lane& lane : lanes) {
    impl_->routes.erase(lane.tcp);
    impl_->links->Remove(lane.tcp);
    impl_->ShareLane(lane, attempt);
  }
}

void ClientPort::Impl::ShareLane(const Lane& lane, const std::shared_ptr<Attempt>& attempt) {
  if (lane.shared.empty()) {
    return Refuse(attempt, Refused("the server offers no shared memory"));
  }
  const auto on_ready = [this, tcp = lane.tcp] {
    SharedRoute& route = routes.at(tcp);
    route.ready = true;
    ++route.attempt->shared;
    route.attempt->Tell();
  };
  auto link = net::SharedLink::Dial(lane.shared, options.queue_bytes_max, on_ready);
  Status status = link.status();
  if (link.ok()) status = links->Add(lane.tcp, std::move(*link));
  if (!status.ok()) return Refuse(attempt, status);
  routes[lane.tcp] = {.endpoint = lane.shared, .ready = false, .attempt = attempt};
}

void ClientPort::Impl::Refuse(const std::shared_ptr<Attempt>& attempt, const Status& why) {
  if (attempt->refused++ == 0) attempt->why = why;
  attempt->Tell();
}

void ClientPort::Impl::LoseRoute(const std::string& peer, const Status& why) {
  const auto at = routes.find(peer);
  if (at == routes.end()) return;
  if (at->second.ready) {
    Log(options.routes, "{}: {} has no shared memory any more, and tcp is tried: {}",
        at->second.attempt->server, peer, why.message());
  } else {
    Refuse(at->second.attempt, why);
  }
  routes.erase(at);
}

std::string ClientPort::RouteOf(const std::string& peer) const {
  const auto at = impl_->routes.find(peer);
  return at != impl_->routes.end() && at->second.ready ? at->second.endpoint : peer;
}

Status ClientPort::Impl::SendInproc(Envelope envelope) {
  net::Link* link = links->Find(envelope.peer);
  if (link == nullptr || !link->ended().ok()) {
    STRATA_ASSIGN(std::unique_ptr<net::Link> dialled,
                  net::DialInproc(envelope.peer, options.queue_bytes_max, links->bell()));
    link = dialled.get();
    STRATA_TRY(links->Add(envelope.peer, std::move(dialled)));
  }
  return link->Send(std::move(envelope.message));
}

Status ClientPort::Send(Envelope envelope) {
  if (envelope.peer.starts_with(kInproc)) return impl_->SendInproc(std::move(envelope));
  const auto at = impl_->routes.find(envelope.peer);
  if (at != impl_->routes.end() && at->second.ready) {
    net::Link* const link = impl_->links->Find(envelope.peer);
    if (link->ended().ok()) return link->Send(std::move(envelope.message));
  }
  return impl_->sockets->Send(std::move(envelope));
}

Result<std::optional<Envelope>> ClientPort::Receive(TimeNs deadline) {
  return impl_->links->Receive(*impl_->sockets, "", deadline, *impl_->options.clock);
}

}  // namespace strata
