#include "ps/client/remote_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "ps/client/client_core.h"
#include "ps/net/address.h"
#include "ps/net/client_port.h"

namespace strata {
namespace {

// Messages taken in before the core's timers are looked at again.
constexpr int kMessagesPerRound = 64;
// Connecting that takes longer than this is told to the log.
constexpr TimeNs kSilentWait = 2 * kSecond;
constexpr TimeNs kWaitsEvery = kSecond;

ClientCoreOptions CoreOptions(const RemoteStoreOptions& options) {
  ClientCoreOptions core;
  core.servers = options.servers;
  core.absent = options.absent;
  core.cluster_id = options.cluster_id;
  core.client_hi = SystemRandom64();
  core.client_lo = SystemRandom64();
  core.client_name = options.client_name;
  core.request_timeout = options.request_timeout;
  core.server_lost_after = options.server_lost_after;
  core.waits_for_servers = options.waits_for_servers;
  core.request_timeout_name = options.request_timeout_name;
  core.server_lost_name = options.server_lost_name;
  core.lane_bytes_in_flight = options.lane_bytes_in_flight;
  return core;
}

// Servers of this process must be there: nothing but this program starts them.
Status CheckServers(const RemoteStoreOptions& options) {
  if (options.servers.empty()) return Invalid("a cluster needs at least one server, found none");
  for (size_t i = 0; i < options.servers.size(); ++i) {
    client::ServerLink server;
    server.address = options.servers[i];
    server.index = static_cast<uint16_t>(i);
    constexpr std::string_view kInproc = "inproc://";
    if (!server.InThisProcess() || server.address == kInproc) {
      STRATA_TRY(CheckHostPort(server.address).Prefixed(fmt::format("server {}", i)));
    } else if (!ClientPort::IsInThisProcess(server.MainEndpoint()) &&
               std::ranges::find(options.absent, server.index) == options.absent.end()) {
      return Lost(fmt::format(
          "{}: this process has no server of that name; start the server before its clients",
          server.Name()));
    }
  }
  return {};
}

Status FlushUntil(TableStore& store, TimeNs deadline) {
  Operation nothing;
  nothing.kind = OpKind::kFlush;
  nothing.deadline = deadline;
  return SubmitAndWait(store, std::move(nothing)).status;
}

// A name that does not resolve is tried again all the same: it may be that of a machine that
// starts.
Status WaitForServers(TableStore& store, const RemoteStoreOptions& options) {
  const TimeNs begin = RealClock().Now();
  const TimeNs end = begin + options.connect_timeout;
  Status status = FlushUntil(store, std::min(begin + kSilentWait, end));
  if (status.code() == StatusCode::kLost && RealClock().Now() < end) {
    Log(LogLevel::kInfo, "waiting up to {} s for the servers: {}",
        options.connect_timeout / kSecond, status.message());
    status = FlushUntil(store, end);
  }
  if (status.code() != StatusCode::kLost) return status;
  for (size_t server = 0; server < options.servers.size(); ++server) {
    if (options.servers[server].find("://") != std::string::npos) continue;
    const Status resolved = NumericEndpoint("tcp://" + options.servers[server]).status();
    if (!resolved.ok()) return resolved.Prefixed(fmt::format("server {}", server));
  }
  return status;
}

LaneCallDone Fulfil(std::promise<Result<std::vector<wire::Received>>>* outcome) {
  return [outcome](Status status, std::vector<wire::Received> replies) {
    if (status.ok()) {
      outcome->set_value(std::move(replies));
    } else {
      outcome->set_value(std::move(status));
    }
  };
}

}  // namespace

struct RemoteStore::Impl {
  using Action = std::function<void(ClientCore&, TimeNs)>;

  Impl(const RemoteStoreOptions& options, std::unique_ptr<ClientPort> connected_port,
       std::unique_ptr<WorkPool> pool)
      : on_waits(options.on_waits),
        port(std::move(connected_port)),
        threads(std::move(pool)),
        core(CoreOptionsOf(options)) {}

  ClientCoreOptions CoreOptionsOf(const RemoteStoreOptions& options) {
    ClientCoreOptions made = CoreOptions(options);
    made.threads = threads.get();
    made.on_greeting = [this, shared = options.shared_memory](const client::ServerLink& server) {
      ChooseRoute(server, shared);
    };
    return made;
  }

  void ChooseRoute(const client::ServerLink& server, bool shared_memory) {
    if (server.InThisProcess()) {
      return Log(LogLevel::kInfo, "{}: within this process", server.Name());
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
    port->ShareMemory(server.Name(), lanes);
  }

  // Runs `action` on the store's thread. False when that thread has ended.
  void Post(Action action) {
    {
      const MutexLock lock(mutex);
      actions.push_back(std::move(action));
    }
    port->Wake();
  }

  void Run() {
    while (RunActions()) {
      SendOutgoing();
      if (Status status = ReceiveSome(); !status.ok()) {
        core.Abort(status.Prefixed("the client's network"));
      }
      core.Tick(clock.Now());
      ReportWaits();
    }
    core.Leave();
    SendOutgoing();
    core.Abort(Cancelled("the store was closed"));
  }

  void ReportWaits() {
    const TimeNs now = clock.Now();
    if (!on_waits || now < next_waits) return;
    next_waits = now + kWaitsEvery;
    std::vector<ServerWait> waits = core.Waits();
    const bool any = !waits.empty();
    if (any || waited) on_waits(std::move(waits));
    waited = any;
  }

  // False once the store is to end.
  bool RunActions() {
    std::vector<Action> taken;
    bool go_on = true;
    {
      const MutexLock lock(mutex);
      taken.swap(actions);
      go_on = !stopping;
    }
    for (const Action& action : taken) action(core, clock.Now());
    return go_on;
  }

  void SendOutgoing() {
    for (Envelope& envelope : core.TakeOutgoing()) {
      const std::string peer = envelope.peer;
      // What cannot be sent now is sent again when its attempt times out.
      const Status status = port->Send(std::move(envelope));
      if (!status.ok()) Log(LogLevel::kDebug, "send to {}: {}", peer, status.ToString());
    }
  }

  Status ReceiveSome() {
    TimeNs deadline = core.NextTick();
    for (int i = 0; i < kMessagesPerRound; ++i) {
      STRATA_ASSIGN(std::optional<Envelope> envelope, port->Receive(deadline));
      if (!envelope) break;
      core.Handle(std::move(*envelope), clock.Now());
      SendOutgoing();
      deadline = 0;  // take what is there, wait no more
    }
    return {};
  }

  const std::function<void(std::vector<ServerWait>)> on_waits;
  TimeNs next_waits = 0;  // the store's thread only, as the next one
  bool waited = false;    // the last report had some
  const Clock& clock = RealClock();
  const std::unique_ptr<ClientPort> port;
  const std::unique_ptr<WorkPool> threads;
  ClientCore core;  // the store's thread only
  Mutex mutex;
  std::vector<Action> actions STRATA_GUARDED_BY(mutex);
  bool stopping STRATA_GUARDED_BY(mutex) = false;
  std::jthread thread;
};

RemoteStore::RemoteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RemoteStore::~RemoteStore() {
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->port->Wake();
  if (impl_->thread.joinable()) impl_->thread.join();
}

Result<std::unique_ptr<RemoteStore>> RemoteStore::Connect(const RemoteStoreOptions& options) {
  STRATA_TRY(CheckServers(options));
  STRATA_ASSIGN(std::shared_ptr<ZmqContext> context, ZmqContext::Create());
  STRATA_ASSIGN(auto port, ClientPort::Create(std::move(context), {}));
  STRATA_ASSIGN(auto pool, WorkPool::Start("copy rows", options.threads - 1));
  auto impl = std::make_unique<Impl>(options, std::move(port), std::move(pool));
  Impl* const running = impl.get();
  STRATA_ASSIGN(impl->thread, StartThread("strata-client", [running] { running->Run(); }));
  std::unique_ptr<RemoteStore> store(new RemoteStore(std::move(impl)));
  STRATA_TRY(WaitForServers(*store, options));
  return store;
}

Status RemoteStore::CreateTable(const TableSpec& spec) {
  std::promise<Status> outcome;
  impl_->Post([&](ClientCore& core, TimeNs now) {
    core.CreateTable(
        spec, [&](const Status& status) { outcome.set_value(status); }, now);
  });
  return outcome.get_future().get();
}

Status RemoteStore::DropTable(const std::string& name) {
  std::promise<Status> outcome;
  impl_->Post([&](ClientCore& core, TimeNs now) {
    core.DropTable(
        name, [&](const Status& status) { outcome.set_value(status); }, now);
  });
  return outcome.get_future().get();
}

Result<std::vector<TableSpec>> RemoteStore::ListTables() {
  std::promise<Result<std::vector<TableSpec>>> outcome;
  impl_->Post([&](ClientCore& core, TimeNs now) {
    core.ListTables(
        [&](Result<std::vector<TableSpec>> tables) { outcome.set_value(std::move(tables)); }, now);
  });
  return outcome.get_future().get();
}

void RemoteStore::Submit(Operation operation, Completion done) {
  // Actions are std::functions, which are copied; the operation is not.
  auto shared =
      std::make_shared<std::pair<Operation, Completion>>(std::move(operation), std::move(done));
  impl_->Post([shared](ClientCore& core, TimeNs now) {
    core.Submit(std::move(shared->first), std::move(shared->second), now);
  });
}

Result<std::vector<wire::Received>> RemoteStore::CallLanes(LaneCall call) {
  std::promise<Result<std::vector<wire::Received>>> outcome;
  impl_->Post([&](ClientCore& core, TimeNs now) {
    core.CallLanes(std::move(call), Fulfil(&outcome), now);
  });
  return outcome.get_future().get();
}

Result<std::vector<wire::Received>> RemoteStore::Exchange(LaneMessages messages) {
  std::promise<Result<std::vector<wire::Received>>> outcome;
  impl_->Post([&](ClientCore& core, TimeNs now) {
    core.Exchange(std::move(messages), Fulfil(&outcome), now);
  });
  return outcome.get_future().get();
}

wire::ShardMap RemoteStore::Map() {
  std::promise<wire::ShardMap> outcome;
  impl_->Post([&](ClientCore& core, TimeNs) { outcome.set_value(core.map()); });
  return outcome.get_future().get();
}

std::vector<std::string> RemoteStore::LaneEndpoints() {
  std::promise<std::vector<std::string>> outcome;
  impl_->Post([&](ClientCore& core, TimeNs) {
    std::vector<std::string> endpoints = core.LaneEndpoints();
    for (std::string& endpoint : endpoints) endpoint = impl_->port->RouteOf(endpoint);
    outcome.set_value(std::move(endpoints));
  });
  return outcome.get_future().get();
}

void RemoteStore::Abort(const Status& status) {
  impl_->Post([status](ClientCore& core, TimeNs) { core.Abort(status); });
}

}  // namespace strata
