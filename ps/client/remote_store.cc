#include "ps/client/remote_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/thread/mutex.h"
#include "ps/client/connection.h"
#include "ps/net/address.h"

namespace strata {
namespace {

// Connecting that takes longer than this is told to the log.
constexpr TimeNs kSilentWait = 2 * kSecond;

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

// The connections of a store each do a part of an operation; it is done when all of them are.
class JoinedOutcome {
 public:
  JoinedOutcome(size_t parts, Completion done) : left_(parts), done_(std::move(done)) {}

  void Add(Outcome part) {
    {
      const MutexLock lock(mutex_);
      if (joined_.status.ok()) joined_.status = std::move(part.status);
      for (LaneStatus& lane : part.lanes) {
        Status& known = lanes_[lane.lane];
        if (known.ok()) known = std::move(lane.status);
      }
      const bool counted = is_first_ || joined_.erased.has_value();
      if (counted && part.erased) {
        joined_.erased = joined_.erased.value_or(0) + *part.erased;
      } else {
        joined_.erased.reset();
      }
      is_first_ = false;
      if (--left_ > 0) return;
      for (auto& [lane, status] : lanes_) joined_.lanes.push_back({lane, std::move(status)});
    }
    done_(std::move(joined_));  // all parts have come: nobody else is here
  }

 private:
  Mutex mutex_;
  size_t left_;
  bool is_first_ = true;
  Outcome joined_;
  std::map<uint32_t, Status> lanes_;
  const Completion done_;
};

// What each connection waits for, as one list.
class JoinedWaits {
 public:
  JoinedWaits(size_t connections, std::function<void(std::vector<ServerWait>)> on_waits)
      : of_(connections), on_waits_(std::move(on_waits)) {}

  void Set(size_t connection, std::vector<ServerWait> waits) {
    const MutexLock lock(mutex_);
    of_[connection] = std::move(waits);
    std::map<uint16_t, ServerWait> longest;
    for (const std::vector<ServerWait>& some : of_) {
      for (const ServerWait& wait : some) {
        const auto [at, is_new] = longest.emplace(wait.server, wait);
        if (!is_new && wait.since < at->second.since) at->second = wait;
      }
    }
    std::vector<ServerWait> all;
    for (auto& [server, wait] : longest) all.push_back(std::move(wait));
    on_waits_(std::move(all));
  }

 private:
  Mutex mutex_;
  std::vector<std::vector<ServerWait>> of_ STRATA_GUARDED_BY(mutex_);
  const std::function<void(std::vector<ServerWait>)> on_waits_;
};

// Whether each connection does the part that has its keys; else the first one does it all.
bool IsDivided(OpKind kind) { return kind != OpKind::kScan && kind != OpKind::kStats; }

}  // namespace

struct RemoteStore::Impl {
  client::Connection& first() { return *connections.front(); }

  std::vector<std::unique_ptr<client::Connection>> connections;
};

RemoteStore::RemoteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RemoteStore::~RemoteStore() = default;

Result<std::unique_ptr<RemoteStore>> RemoteStore::Connect(const RemoteStoreOptions& options) {
  STRATA_TRY(CheckServers(options));
  const auto count = static_cast<uint32_t>(options.connections);
  STRATA_CHECK(count == 1 || count == 2 || count == kKeyQuarters);
  const auto waits =
      options.on_waits ? std::make_shared<JoinedWaits>(count, options.on_waits) : nullptr;
  auto impl = std::make_unique<Impl>();
  for (uint32_t i = 0; i < count; ++i) {
    std::function<void(std::vector<ServerWait>)> on_waits;
    if (waits)
      on_waits = [waits, i](std::vector<ServerWait> its) { waits->Set(i, std::move(its)); };
    const int threads = std::max(options.threads / static_cast<int>(count), 1);
    STRATA_ASSIGN(auto connection,
                  client::Connection::Start(options, {i, count}, threads, std::move(on_waits)));
    impl->connections.push_back(std::move(connection));
  }
  std::unique_ptr<RemoteStore> store(new RemoteStore(std::move(impl)));
  STRATA_TRY(WaitForServers(*store, options));
  return store;
}

std::vector<std::string> RemoteStore::ClientIds() const {
  std::vector<std::string> ids;
  for (const auto& connection : impl_->connections) ids.push_back(connection->client_id());
  return ids;
}

Status RemoteStore::CreateTable(const TableSpec& spec) {
  std::promise<Status> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs now) {
    core.CreateTable(
        spec, [&](const Status& status) { outcome.set_value(status); }, now);
  });
  return outcome.get_future().get();
}

Status RemoteStore::DropTable(const std::string& name) {
  // What the other connections have under way comes first, as it does on one.
  if (impl_->connections.size() > 1) (void)FlushUntil(*this, kNever);
  std::promise<Status> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs now) {
    core.DropTable(
        name, [&](const Status& status) { outcome.set_value(status); }, now);
  });
  Status dropped = outcome.get_future().get();
  for (const auto& connection : impl_->connections) {
    connection->Post([name](ClientCore& core, TimeNs) { core.ForgetTable(name); });
  }
  return dropped;
}

Result<std::vector<TableSpec>> RemoteStore::ListTables() {
  std::promise<Result<std::vector<TableSpec>>> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs now) {
    core.ListTables(
        [&](Result<std::vector<TableSpec>> tables) { outcome.set_value(std::move(tables)); }, now);
  });
  return outcome.get_future().get();
}

void RemoteStore::Submit(Operation operation, Completion done) {
  const size_t connections = IsDivided(operation.kind) ? impl_->connections.size() : 1;
  if (connections == 1) return impl_->first().Submit(std::move(operation), std::move(done));
  const auto joined = std::make_shared<JoinedOutcome>(connections, std::move(done));
  for (const auto& connection : impl_->connections) {
    connection->Submit(operation, [joined](Outcome part) { joined->Add(std::move(part)); });
  }
}

Result<std::vector<wire::Received>> RemoteStore::CallLanes(LaneCall call) {
  std::promise<Result<std::vector<wire::Received>>> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs now) {
    core.CallLanes(std::move(call), Fulfil(&outcome), now);
  });
  return outcome.get_future().get();
}

Result<std::vector<wire::Received>> RemoteStore::Exchange(LaneMessages messages) {
  std::promise<Result<std::vector<wire::Received>>> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs now) {
    core.Exchange(std::move(messages), Fulfil(&outcome), now);
  });
  return outcome.get_future().get();
}

wire::ShardMap RemoteStore::Map() {
  std::promise<wire::ShardMap> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs) { outcome.set_value(core.map()); });
  return outcome.get_future().get();
}

std::vector<std::string> RemoteStore::LaneEndpoints() {
  std::promise<std::vector<std::string>> outcome;
  impl_->first().Post([&](ClientCore& core, TimeNs) {
    std::vector<std::string> endpoints = core.LaneEndpoints();
    for (std::string& endpoint : endpoints) endpoint = impl_->first().RouteOf(endpoint);
    outcome.set_value(std::move(endpoints));
  });
  return outcome.get_future().get();
}

void RemoteStore::Abort(const Status& status) {
  for (const auto& connection : impl_->connections) {
    connection->Post([status](ClientCore& core, TimeNs) { core.Abort(status); });
  }
}

}  // namespace strata
