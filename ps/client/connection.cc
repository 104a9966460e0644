#include "ps/client/connection.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/thread/thread.h"

namespace strata::client {
namespace {

// Messages taken in before the core's timers are looked at again.
constexpr int kMessagesPerRound = 64;
constexpr TimeNs kWaitsEvery = kSecond;

// Only one of a store's connections tells people how servers are reached.
LogLevel RoutesLevel(KeyShare share) {
  return share.index == 0 ? LogLevel::kInfo : LogLevel::kDebug;
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::Start(
    const RemoteStoreOptions& options, KeyShare share, int threads,
    std::function<void(std::vector<ServerWait>)> on_waits) {
  STRATA_ASSIGN(std::shared_ptr<ZmqContext> context, ZmqContext::Create());
  STRATA_ASSIGN(auto port, ClientPort::Create(std::move(context), {.routes = RoutesLevel(share)}));
  STRATA_ASSIGN(auto pool, WorkPool::Start("copy rows", threads - 1));
  std::unique_ptr<Connection> made(
      new Connection(options, share, std::move(port), std::move(pool), std::move(on_waits)));
  Connection* const running = made.get();
  STRATA_ASSIGN(made->thread_, StartThread("strata-client", [running] { running->Run(); }));
  return made;
}

Connection::Connection(const RemoteStoreOptions& options, KeyShare share,
                       std::unique_ptr<ClientPort> port, std::unique_ptr<WorkPool> pool,
                       std::function<void(std::vector<ServerWait>)> on_waits)
    : on_waits_(std::move(on_waits)),
      port_(std::move(port)),
      threads_(std::move(pool)),
      core_(CoreOptions(options, share)) {}

Connection::~Connection() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  port_->Wake();
  if (thread_.joinable()) thread_.join();
}

ClientCoreOptions Connection::CoreOptions(const RemoteStoreOptions& options, KeyShare share) {
  ClientCoreOptions core;
  core.servers = options.servers;
  core.absent = options.absent;
  core.cluster_id = options.cluster_id;
  core.client_hi = SystemRandom64();
  core.client_lo = SystemRandom64();
  client_id_ = fmt::format("{:016x}{:016x}", core.client_hi, core.client_lo);
  core.client_name = options.client_name;
  if (share.count > 1) {
    core.client_name += fmt::format(", connection {} of {}", share.index + 1, share.count);
  }
  core.request_timeout = options.request_timeout;
  core.server_lost_after = options.server_lost_after;
  core.waits_for_servers = options.waits_for_servers;
  core.request_timeout_name = options.request_timeout_name;
  core.server_lost_name = options.server_lost_name;
  core.lane_bytes_in_flight = options.lane_bytes_in_flight;
  core.share = share;
  core.threads = threads_.get();
  core.on_greeting = [this, share, shared = options.shared_memory](const ServerLink& server) {
    ChooseRoute(server, share, shared);
  };
  return core;
}

void Connection::ChooseRoute(const ServerLink& server, KeyShare share, bool shared_memory) {
  if (server.InThisProcess()) {
    return Log(RoutesLevel(share), "{}: within this process", server.Name());
  }
  if (!shared_memory) {
    return Log(LogLevel::kDebug, "{}: over tcp: shared memory is off here", server.Name());
  }
  std::vector<ClientPort::Lane> lanes(server.hello.lane_ports.size());
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    lanes[lane].tcp = server.LaneEndpoint(static_cast<uint16_t>(lane));
    if (server.hello.lane_endpoints.empty()) continue;
    lanes[lane].shared = server.hello.lane_endpoints[lane];
  }
  port_->ShareMemory(server.Name(), lanes);
}

void Connection::Post(Action action) {
  {
    const MutexLock lock(mutex_);
    actions_.push_back(std::move(action));
  }
  port_->Wake();
}

void Connection::Submit(Operation operation, Completion done) {
  // Actions are std::functions, which are copied; the operation is not.
  auto shared =
      std::make_shared<std::pair<Operation, Completion>>(std::move(operation), std::move(done));
  Post([shared](ClientCore& core, TimeNs now) {
    core.Submit(std::move(shared->first), std::move(shared->second), now);
  });
}

void Connection::Run() {
  while (RunActions()) {
    SendOutgoing();
    if (Status status = ReceiveSome(); !status.ok()) {
      core_.Abort(status.Prefixed("the client's network"));
    }
    core_.Tick(clock_.Now());
    ReportWaits();
  }
  core_.Leave();
  SendOutgoing();
  core_.Abort(Cancelled("the store was closed"));
}

void Connection::ReportWaits() {
  const TimeNs now = clock_.Now();
  if (!on_waits_ || now < next_waits_) return;
  next_waits_ = now + kWaitsEvery;
  std::vector<ServerWait> waits = core_.Waits();
  const bool any = !waits.empty();
  if (any || waited_) on_waits_(std::move(waits));
  waited_ = any;
}

bool Connection::RunActions() {
  std::vector<Action> taken;
  bool go_on = true;
  {
    const MutexLock lock(mutex_);
    taken.swap(actions_);
    go_on = !stopping_;
  }
  for (const Action& action : taken) action(core_, clock_.Now());
  return go_on;
}

void Connection::SendOutgoing() {
  for (Envelope& envelope : core_.TakeOutgoing()) {
    const std::string peer = envelope.peer;
    // What cannot be sent now is sent again when its attempt times out.
    const Status status = port_->Send(std::move(envelope));
    if (!status.ok()) Log(LogLevel::kDebug, "send to {}: {}", peer, status.ToString());
  }
}

Status Connection::ReceiveSome() {
  TimeNs deadline = core_.NextTick();
  for (int i = 0; i < kMessagesPerRound; ++i) {
    STRATA_ASSIGN(std::optional<Envelope> envelope, port_->Receive(deadline));
    if (!envelope) break;
    core_.Handle(std::move(*envelope), clock_.Now());
    SendOutgoing();
    deadline = 0;  // take what is there, wait no more
  }
  return {};
}

}  // namespace strata::client
