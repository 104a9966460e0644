#include "ps/client/client_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/human_text.h"
#include "proto/wire/command_table.h"
#include "ps/client/request_builder.h"
#include "ps/client/split.h"
#include "ps/client/table_wire.h"

namespace strata {

using client::Call;
using client::Request;
using client::ServerLink;
using wire::Command;

namespace {

constexpr TimeNs kAttemptGrowthMax = 8;
constexpr size_t kNamedLanes = 8;
constexpr char kNotKnown[] = "; whether the write was applied is not known";

Outcome MakeOutcome(const Call& call, Status status) {
  Outcome outcome;
  outcome.status = std::move(status);
  for (const auto& [lane, lane_status] : call.lanes) outcome.lanes.push_back({lane, lane_status});
  if (outcome.status.ok()) outcome.erased = call.erased;
  return outcome;
}

bool WritesRows(const Request& request) {
  const wire::CommandInfo& info = wire::InfoOf(request.header.command);
  return info.has(wire::kWrites) && info.has(wire::kRouted);
}

// A table that some lanes had and others had not, after an earlier attempt that went half way, is
// dropped all the same.
Status DropStatus(const Call& call, const std::string& name, const Status& status) {
  const bool missing = status.code() == StatusCode::kNotFound;
  if (!missing) return status.Prefixed(fmt::format("table '{}'", name));
  for (const auto& [lane, lane_status] : call.lanes) {
    if (lane_status.ok()) return {};
  }
  return NotFound(fmt::format("there is no table '{}'", name));
}

}  // namespace

ClientCore::ClientCore(ClientCoreOptions options) : options_(std::move(options)) {
  for (const std::string& address : options_.servers) {
    ServerLink server;
    server.address = address;
    server.index = static_cast<uint16_t>(servers_.size());
    server_of_endpoint_.emplace(server.MainEndpoint(), server.index);
    servers_.push_back(std::move(server));
  }
  for (const uint16_t server : options_.absent) {
    servers_[server].lost = Lost(servers_[server].Name() + " is down");
  }
}

// ---- operations in

ClientCore::CallPtr ClientCore::Open(Operation operation, std::function<void(Call&, Status)> finish,
                                     TimeNs now) {
  auto call = std::make_shared<Call>();
  call->id = next_call_++;
  call->operation = std::move(operation);
  call->begin = now;
  call->deadline = call->operation.deadline;
  call->has_own_deadline = call->deadline != kNever;
  if (call->deadline == kNever && options_.request_timeout != kNever) {
    call->deadline = now + options_.request_timeout;
  }
  call->finish = std::move(finish);
  calls_.emplace(call->id, call);
  return call;
}

void ClientCore::Submit(Operation operation, Completion done, TimeNs now) {
  const Status valid = ValidateOperation(operation);
  auto finish = [done = std::move(done)](Call& call, Status status) {
    done(MakeOutcome(call, std::move(status)));
  };
  const CallPtr call = Open(std::move(operation), std::move(finish), now);
  Begin(
      call, valid, [this, call](TimeNs t) { DispatchOperation(call, t); }, now);
}

void ClientCore::CreateTable(const TableSpec& spec, std::function<void(Status)> done, TimeNs now) {
  auto finish = [this, done = std::move(done), spec](Call&, const Status& status) {
    if (status.ok()) tables_.Learn(spec);
    done(status);
  };
  const CallPtr call = Open({}, std::move(finish), now);
  const auto dispatch = [this, call, spec](TimeNs t) {
    std::vector<RequestPtr> requests;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      requests.push_back(
          TableRequest(call, Command::kCreateTable, static_cast<uint64_t>(spec.id()), lane));
      requests.back()->definition = ToWire(spec);
    }
    Dispatch(call, requests, t);
  };
  Begin(call, ValidateTableSpec(spec), dispatch, now);
}

void ClientCore::DropTable(const std::string& name, std::function<void(Status)> done, TimeNs now) {
  auto finish = [this, done = std::move(done), name](Call& call, const Status& status) {
    tables_.Forget(TableIdOf(name));
    done(DropStatus(call, name, status));
  };
  const CallPtr call = Open({}, std::move(finish), now);
  const auto dispatch = [this, call, name](TimeNs t) {
    std::vector<RequestPtr> requests;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      requests.push_back(
          TableRequest(call, Command::kDropTable, static_cast<uint64_t>(TableIdOf(name)), lane));
    }
    Dispatch(call, requests, t);
  };
  Begin(call, {}, dispatch, now);
}

void ClientCore::ListTables(std::function<void(Result<std::vector<TableSpec>>)> done, TimeNs now) {
  auto finish = [done = std::move(done)](Call& call, Status status) {
    if (status.ok()) {
      done(std::move(call.tables));
    } else {
      done(std::move(status));
    }
  };
  const CallPtr call = Open({}, std::move(finish), now);
  Begin(
      call, {}, [this, call](TimeNs t) { Dispatch(call, ListRequests(call), t); }, now);
}

void ClientCore::CallLanes(LaneCall lane_call, LaneCallDone done, TimeNs now) {
  Operation operation;
  operation.deadline = lane_call.deadline;
  auto finish = [done = std::move(done)](Call& call, Status status) {
    if (!status.ok()) call.replies.clear();
    std::erase_if(call.replies,
                  [](const wire::Received& reply) { return reply.header.flags == 0; });
    done(std::move(status), std::move(call.replies));
  };
  const CallPtr call = Open(std::move(operation), std::move(finish), now);
  const auto dispatch = [this, call, lane_call = std::move(lane_call)](TimeNs t) {
    cut_ = std::max(cut_, lane_call.cut);
    call->replies.resize(lanes_.size());
    std::vector<RequestPtr> requests;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lane_call.lane.value_or(lane) != lane) continue;
      requests.push_back(TableRequest(call, lane_call.command, 0, lane));
      Request& request = *requests.back();
      request.header.flags = lane_call.flags;
      request.header.cursor = lane_call.number;
      if (lane_call.command == Command::kCut) request.header.sequence = call->id;
      request.steady = lane_call.command == Command::kCheckpoint && lane == 0;
      request.payload = lane_call.payload;
      request.bytes += MessageBytes(lane_call.payload);
      request.direct = true;
      request.reply_at = lane;
    }
    Dispatch(call, requests, t);
  };
  Begin(call, {}, dispatch, now);
}

void ClientCore::Exchange(LaneMessages messages, LaneCallDone done, TimeNs now) {
  Operation operation;
  operation.deadline = messages.deadline;
  auto finish = [done = std::move(done)](Call& call, Status status) {
    if (!status.ok()) call.replies.clear();
    done(std::move(status), std::move(call.replies));
  };
  const CallPtr call = Open(std::move(operation), std::move(finish), now);
  const auto dispatch = [this, call, messages = std::move(messages)](TimeNs t) {
    call->replies.resize(messages.parts.size());
    std::vector<RequestPtr> requests;
    for (size_t i = 0; i < messages.parts.size(); ++i) {
      const LaneMessages::Part& part = messages.parts[i];
      requests.push_back(TableRequest(call, messages.command, messages.collection, part.lane));
      Request& request = *requests.back();
      request.header.flags |= part.flags;
      request.header.ack = messages.ack;
      request.header.count = part.count;
      request.header.cursor = part.cursor;
      request.payload = part.payload;
      request.bytes += MessageBytes(part.payload) + part.reply_bytes;
      request.reply_at = i;
    }
    Dispatch(call, requests, t);
  };
  Begin(call, {}, dispatch, now);
}

std::vector<ClientCore::RequestPtr> ClientCore::ListRequests(const CallPtr& call) {
  std::vector<RequestPtr> requests;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (map_.lanes[lane].lane != 0) continue;  // each lane of a server knows all of its tables
    if (std::ranges::count(options_.absent, map_.lanes[lane].server) != 0) continue;
    requests.push_back(TableRequest(call, Command::kListTables, 0, lane));
  }
  return requests;
}

void ClientCore::StartListing(TimeNs now) {
  listing_ = true;
  auto finish = [this](Call& call, const Status& status) {
    listing_ = false;
    was_listed_ = true;
    listing_status_ = status;
    for (const TableSpec& spec : call.tables) tables_.Learn(spec);
    RunHeld(now_);
  };
  const CallPtr call = Open({}, std::move(finish), now);
  Dispatch(call, ListRequests(call), now);
}

void ClientCore::RunHeld(TimeNs now) {
  // A call that asks for the tables once more puts itself in front of those that are still held.
  while (connected() && !held_.empty()) {
    const auto action = std::move(held_.front());
    held_.pop_front();
    action(now);
  }
}

void ClientCore::Begin(const CallPtr& call, const Status& valid,
                       std::function<void(TimeNs)> dispatch, TimeNs now) {
  now_ = now;
  if (!aborted_.ok()) {
    Finish(call, aborted_);
  } else if (!valid.ok()) {
    Finish(call, valid);
  } else if (call->deadline <= now) {
    Finish(call, DeadlineExceeded("the deadline had passed before the operation was submitted"));
  } else if (connected() && held_.empty()) {
    dispatch(now);
  } else {
    held_.push_back(std::move(dispatch));
    if (!connected_) GreetAll(now);
  }
  RunFinished();
}

ClientCore::RequestPtr ClientCore::TableRequest(const CallPtr& call, Command command,
                                                uint64_t name_hash, size_t lane) {
  auto request = std::make_shared<Request>();
  request->call = call;
  request->lane = static_cast<uint16_t>(lane);
  request->header.command = command;
  request->header.epoch = map_.epoch;
  request->header.SetName(name_hash);
  request->header.ack = wire::kAckDefault;
  request->writes = wire::InfoOf(command).has(wire::kWrites);
  request->bytes = 2 * wire::kHeaderBytes;
  return request;
}

void ClientCore::DispatchOperation(const CallPtr& call, TimeNs now) {
  if (!calls_.contains(call->id)) return;  // ended before the cluster was there
  if (call->operation.kind == OpKind::kPrefetch) {
    SendHints(call->operation, now);
    return Finish(call, {});  // nobody waits for a hint
  }
  if (call->operation.kind == OpKind::kFlush) {
    call->requests_left = 1;  // FinishFlushes takes it off once it is the oldest
    return FinishFlushes();
  }
  if (const Status status = tables_.Check(call->operation); !status.ok()) {
    const bool unknown = status.code() == StatusCode::kNotFound;
    if (!unknown || call->listed) {
      return Finish(call, unknown && !listing_status_.ok() ? listing_status_ : status);
    }
    call->listed = true;
    held_.push_front([this, call](TimeNs t) { DispatchOperation(call, t); });
    return StartListing(now);
  }
  if (call->operation.kind == OpKind::kErase) call->erased = 0;
  auto requests = client::BuildRequests(call, map_, options_.share, ChunkBytes(), options_.threads);
  if (!requests.ok()) return Finish(call, requests.status());
  Dispatch(call, *requests, now);
}

// Beside the lanes' queues: a hint waits for nothing, and nothing waits for it.
void ClientCore::SendHints(const Operation& operation, TimeNs now) {
  for (const TablePart& part : operation.parts) {
    const uint32_t table = wire::ShortId(static_cast<uint64_t>(part.table));
    if (!hints_.OfUse(table)) continue;
    const auto split = client::SplitKeys(part, part.keys, map_, options_.share, options_.threads);
    const auto lanes = static_cast<uint16_t>(split.size());
    for (uint16_t lane = 0; lane < lanes; ++lane) {
      const ServerLink& server = servers_[map_.lanes[lane].server];
      const bool there = server.greeted && server.lost.ok() && !split[lane].empty();
      if (!there || !hints_.MaySend(lane, table, now)) continue;
      const size_t count = std::min(split[lane].size(), client::Hints::kKeysMax);
      const std::span<const uint32_t> positions = std::span(split[lane]).first(count);
      wire::Header header;
      header.command = Command::kPrefetch;
      header.epoch = map_.epoch;
      header.SetName(static_cast<uint64_t>(part.table));
      header.count = static_cast<uint32_t>(count);
      header.timeout_ms = client::Hints::kTimeoutMs;
      header.incarnation = server.hello.incarnation;
      header = Addressed(header, server);
      hints_.NoteSent(lane, header.request_id, now);
      outgoing_.push_back(
          {server.LaneEndpoint(map_.lanes[lane].lane),
           wire::Seal(header, {client::RowsAt(positions, part.keys, 1, operation.owner,
                                              options_.threads)})});
    }
  }
}

// A request within its lane's window, so that two go on at a time where the window allows.
size_t ClientCore::ChunkBytes() const {
  size_t window = 2 * options_.chunk_bytes;
  for (const client::LaneQueue& lane : lanes_) window = std::min(window, lane.window());
  return std::min(options_.chunk_bytes, std::max<size_t>(window / 2, wire::kCreditMin));
}

void ClientCore::Dispatch(const CallPtr& call, const std::vector<RequestPtr>& requests,
                          TimeNs now) {
  if (!calls_.contains(call->id)) return;
  call->requests_left = requests.size();
  if (requests.empty()) return Finish(call, {});
  for (const RequestPtr& request : requests) {
    const Status& lost = servers_[map_.lanes[request->lane].server].lost;
    const Status& session = sessions_[request->lane];
    if (lost.ok() && (session.ok() || !request->writes)) {
      lanes_[request->lane].Add(request);
      lanes_to_pump_.push_back(request->lane);
    } else {
      Complete(request, lost.ok() ? session : lost);
    }
  }
  Pump(now);
}

// ---- requests out

void ClientCore::Pump(TimeNs now) {
  while (!lanes_to_pump_.empty()) {
    const uint16_t lane = lanes_to_pump_.back();
    lanes_to_pump_.pop_back();
    ServerLink& server = servers_[map_.lanes[lane].server];
    if (!server.greeted) continue;  // Resume comes back to it
    const std::vector<RequestPtr> started = lanes_[lane].Start();
    if (server.requests_in_flight == 0 && !started.empty()) {
      server.last_heard = now;
      server.next_ping = now + options_.ping_every;
      server.pings_unanswered = 0;
    }
    server.requests_in_flight += started.size();
    for (const RequestPtr& request : started) {
      request->payload = client::BuildPayload(*request, options_.threads);
      request->attempt_timeout = options_.attempt_timeout;
      SendAttempt(request, now);
    }
  }
}

wire::Header ClientCore::Addressed(wire::Header header, const ServerLink& server) {
  header.version = server.version();
  header.request_id = next_request_id_++;
  header.cluster_id = options_.cluster_id;
  header.client_hi = options_.client_hi;
  header.client_lo = options_.client_lo;
  header.cut = cut_;
  return header;
}

void ClientCore::SendAttempt(const RequestPtr& request, TimeNs now) {
  const wire::LaneName lane = map_.lanes[request->lane];
  const ServerLink& server = servers_[lane.server];
  wire::Header header = Addressed(request->header, server);
  header.incarnation = server.hello.incarnation;
  if (request->writes) header.settled_below = lanes_[request->lane].settled_below();
  if (request->call->deadline != kNever) {
    const TimeNs left_ms = (request->call->deadline - now) / kMillisecond;
    header.timeout_ms = static_cast<uint32_t>(std::clamp<TimeNs>(left_ms, 1, UINT32_MAX));
  }
  request_of_id_.emplace(header.request_id, request);
  request->request_ids.push_back(header.request_id);
  request->next_attempt = now + request->attempt_timeout;
  if (!request->steady) {
    request->attempt_timeout =
        std::min(2 * request->attempt_timeout, kAttemptGrowthMax * options_.attempt_timeout);
  }
  outgoing_.push_back({server.LaneEndpoint(lane.lane), wire::Seal(header, request->payload)});
}

void ClientCore::SendToMain(const ServerLink& server, Command command, Message payload,
                            uint32_t flags) {
  wire::Header header;
  header.command = command;
  header.flags = flags;
  header.incarnation = command == Command::kShardMap ? server.greeted_incarnation : 0;
  header.boot_nonce = command == Command::kShardMap ? server.boot_nonce : 0;
  header = Addressed(header, server);
  // Which versions the next boot speaks is not known before it is greeted.
  if (command == Command::kHello || (command == Command::kPing && !server.greeted)) {
    header.version = wire::kVersionMin;
  }
  outgoing_.push_back({server.MainEndpoint(), wire::Seal(header, std::move(payload))});
}

std::vector<Envelope> ClientCore::TakeOutgoing() { return std::exchange(outgoing_, {}); }

// ---- outcomes

void ClientCore::Complete(const RequestPtr& request, const Status& status) {
  const uint16_t server = map_.lanes[request->lane].server;
  if (request->in_flight) --servers_[server].requests_in_flight;
  lanes_[request->lane].Remove(*request, status.ok());
  lanes_to_pump_.push_back(request->lane);
  for (const uint64_t id : request->request_ids) request_of_id_.erase(id);
  Call& call = *request->call;
  Status& lane_status = call.lanes[request->lane];
  if (lane_status.ok()) lane_status = status;
  if (status.ok() && WritesRows(*request)) {
    auto& applied = call.servers_applied;
    if (std::find(applied.begin(), applied.end(), server) == applied.end()) {
      applied.push_back(server);
      ++servers_[server].writes_acknowledged;
    }
  }
  if (--call.requests_left == 1) return CompleteAnswered(call);
  if (call.requests_left > 0) return;
  Finish(request->call, FirstError(call));
}

// A deadline passes for all lanes at once: they are named.
Status ClientCore::FirstError(const Call& call) const {
  Status first;
  std::vector<std::string> others;
  for (const auto& [lane, error] : call.lanes) {
    if (first.ok()) {
      first = error;
    } else if (error.code() == StatusCode::kDeadlineExceeded) {
      others.push_back(LaneName(static_cast<uint16_t>(lane)));
    }
  }
  if (others.empty() || first.code() != StatusCode::kDeadlineExceeded) return first;
  const size_t named = std::min(others.size(), kNamedLanes);
  return DeadlineExceeded(fmt::format(
      "{}; the deadline also passed for {}{}", first.message(),
      fmt::join(std::span(others).first(named), "; "),
      named < others.size() ? fmt::format("; and {} more", others.size() - named) : ""));
}

void ClientCore::CompleteAnswered(const Call& call) {
  const auto open = lanes_[0].open();  // a copy: Complete takes from it
  for (const RequestPtr& request : open) {
    if (request->call.get() == &call && request->answered) return Complete(request, {});
  }
}

void ClientCore::CompleteLanesOf(uint16_t server, const Status& status) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (map_.lanes[lane].server != server) continue;
    const auto open = lanes_[lane].open();  // a copy: Complete takes from it
    for (const RequestPtr& request : open) {
      const Status unknown(status.code(), status.message() + kNotKnown);
      Complete(request, request->unknown() ? unknown : status);
    }
  }
}

void ClientCore::Finish(const CallPtr& call, const Status& status) {
  if (calls_.erase(call->id) == 0) return;
  finished_.push_back([call, status] { call->finish(*call, status); });
  FinishFlushes();
}

void ClientCore::FinishFlushes() {
  while (!calls_.empty()) {
    const CallPtr oldest = calls_.begin()->second;
    if (oldest->operation.kind != OpKind::kFlush || oldest->requests_left == 0) return;
    calls_.erase(calls_.begin());
    finished_.push_back([oldest] { oldest->finish(*oldest, {}); });
  }
}

void ClientCore::RunFinished() {
  if (running_finished_) return;
  running_finished_ = true;
  while (!finished_.empty()) {
    const auto action = std::move(finished_.front());
    finished_.pop_front();
    action();
  }
  running_finished_ = false;
}

void ClientCore::Leave() {
  outgoing_.clear();
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const wire::LaneName name = map_.lanes[lane];
    const ServerLink& server = servers_[name.server];
    const bool reachable = server.greeted && server.lost.ok() && sessions_[lane].ok();
    if (!reachable || !lanes_[lane].MayLeave()) continue;
    wire::Header header;
    header.command = Command::kLeave;
    header.incarnation = server.hello.incarnation;
    outgoing_.push_back(
        {server.LaneEndpoint(name.lane), wire::Seal(Addressed(header, server), {})});
  }
}

void ClientCore::Abort(const Status& status) {
  if (!aborted_.ok() || status.ok()) return;
  aborted_ = status;
  held_.clear();
  while (!calls_.empty()) {
    const CallPtr call = calls_.begin()->second;
    calls_.erase(calls_.begin());
    finished_.push_back([call, status] { call->finish(*call, status); });
  }
  lanes_.clear();
  lanes_to_pump_.clear();
  request_of_id_.clear();
  outgoing_.clear();
  RunFinished();
}

// ---- time

void ClientCore::Tick(TimeNs now) {
  now_ = now;
  if (!aborted_.ok()) return;
  ExpireCalls(now);
  if (connected_) {
    for (ServerLink& server : servers_) WatchServer(server, now);
    RetryAttempts(now);
    Pump(now);
  }
  GreetAll(now);
  RunFinished();
}

void ClientCore::ExpireCalls(TimeNs now) {
  std::vector<CallPtr> expired;
  for (const auto& [id, call] : calls_) {
    if (call->deadline <= now) expired.push_back(call);
  }
  for (const CallPtr& call : expired) {
    if (!connected_ || call->operation.kind == OpKind::kFlush) {
      Finish(call, was_listed_ ? DeadlineExceeded(fmt::format("what was submitted before the flush "
                                                              "is not done: no answer from {}",
                                                              fmt::join(ServersAsked(), ", ")))
                               : ConnectStatus());
      continue;
    }
    for (client::LaneQueue& lane : lanes_) {
      const auto open = lane.open();
      for (const RequestPtr& request : open) {
        if (request->call != call) continue;
        Complete(request, request->answered ? Status() : DeadlineStatus(*request));
      }
    }
    // Nothing if it is finished by now.
    Finish(call, DeadlineExceeded("the deadline passed while the servers listed their tables"));
  }
}

std::vector<std::string> ClientCore::ServersAsked() const {
  std::vector<std::string> names;
  for (const ServerLink& server : servers_) {
    if (IsAsked(server)) names.push_back(server.Name());
  }
  return names;
}

bool ClientCore::IsAsked(const ServerLink& server) const {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (map_.lanes[lane].server == server.index && !lanes_[lane].open().empty()) return true;
  }
  return false;
}

Status ClientCore::DeadlineStatus(const Request& request) const {
  const auto seconds = [](TimeNs time) { return static_cast<double>(time) / kSecond; };
  const double waited = seconds(now_ - request.call->begin);
  const TimeNs silence = now_ - servers_[map_.lanes[request.lane].server].last_heard;
  const std::string silent =
      silence < 2 * options_.ping_every
          ? ""
          : fmt::format("; nothing has come from the server for {:.1f} s", seconds(silence));
  std::string text = LaneName(request.lane) + ": ";
  if (!request.in_flight) {
    text += fmt::format("the request could not be sent in {:.1f} s{}{}", waited,
                        DeadlineName(*request.call), silent);
  } else if (request.refusals == request.request_ids.size()) {
    text += fmt::format("refused {} until the deadline{}", Counted(request.refusals, "time"),
                        DeadlineName(*request.call));
  } else {
    text += fmt::format("no answer to {} of {} in {:.1f} s{}{}",
                        request.request_ids.size() - request.refusals,
                        Counted(request.request_ids.size(), "attempt"), waited,
                        DeadlineName(*request.call), silent);
    if (request.unknown()) text += kNotKnown;
  }
  if (!request.last_error.ok()) text += "; the last answer: " + request.last_error.ToString();
  const bool disk_full = request.last_error.code() == StatusCode::kDiskFull;
  return disk_full ? DiskFull(text) : DeadlineExceeded(text);
}

void ClientCore::RetryAttempts(TimeNs now) {
  for (const client::LaneQueue& lane : lanes_) {
    for (const RequestPtr& request : lane.open()) {
      const bool due = request->in_flight && request->next_attempt <= now;
      if (due && servers_[map_.lanes[request->lane].server].greeted) SendAttempt(request, now);
    }
  }
}

TimeNs ClientCore::NextTick() const {
  TimeNs next = kNever;
  if (!aborted_.ok()) return next;
  for (const auto& [id, call] : calls_) next = std::min(next, call->deadline);
  for (const ServerLink& server : servers_) {
    if (connected_) next = std::min(next, server.next_ping);
    if (!server.greeted && server.lost.ok()) next = std::min(next, server.next_greeting);
  }
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!servers_[map_.lanes[lane].server].greeted) continue;
    for (const RequestPtr& request : lanes_[lane].open()) {
      if (request->in_flight) next = std::min(next, request->next_attempt);
    }
  }
  return next;
}

}  // namespace strata
