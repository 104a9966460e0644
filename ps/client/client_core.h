// ClientCore: the client of a cluster of servers, as a state machine without sockets, threads or a
// clock of its own. Time and messages are handed in, messages are taken out; RemoteStore drives it
// over ZeroMQ, and tests/sim over a simulated network.
//
// What it does: greets every server (HELLO, SHARD_MAP) and learns their tables; cuts operations by
// lane and size; keeps a byte budget under way to each lane and the rest in its queue, in order;
// sends again what is not answered, writes under the same sequence, so that a push applies once;
// greets a server that restarted, and goes on there; pings servers that it waits for.
// docs/protocol.md holds the rules.
//
// Errors of an operation: what a server replied, but for UNAVAILABLE and DISK_FULL, which are tried
// again until the deadline; kDeadlineExceeded, or kDiskFull when that was the last answer (the
// message says when the outcome of a write is unknown); kSessionExpired, which ends all later
// writes to that lane; kLost when a server is silent for server_lost_after, or came back without
// what it had acknowledged, which fails everything sent to it from then on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "base/thread/work_pool.h"
#include "proto/wire/cut_limit.h"
#include "ps/client/hints.h"
#include "ps/client/lane_caller.h"
#include "ps/client/lane_exchange.h"
#include "ps/client/lane_queue.h"
#include "ps/client/request.h"
#include "ps/client/server_link.h"
#include "ps/client/server_wait.h"
#include "ps/client/split.h"
#include "ps/client/table_cache.h"
#include "storage/table.h"

namespace strata {

struct ClientCoreOptions {
  // "host:port", or "inproc://name", in the order of the machine list.
  std::vector<std::string> servers;
  // Those that are known to be down: nobody waits for them, and what goes to them is kLost.
  std::vector<uint16_t> absent = {};
  uint64_t cluster_id = 0;
  uint64_t client_hi = 0;  // 128 random bits, new for every core
  uint64_t client_lo = 0;
  std::string client_name;
  TimeNs request_timeout = 60 * kSecond;  // of an operation without a deadline of its own
  TimeNs attempt_timeout = kSecond;       // until the first resend; doubles, up to 8 times
  TimeNs server_lost_after = 5 * kSecond;
  // An operation without a deadline of its own does not end while a server is away that
  // server_lost_after still lets be away: silent, starting again, recovering, loading a checkpoint.
  bool waits_for_servers = false;
  // The settings that these two come from, which errors name; "": none.
  std::string request_timeout_name = {};
  std::string server_lost_name = {};
  // While a server owes answers: how soon its next boot is noticed.
  TimeNs ping_every = kSecond / 5;
  size_t lane_bytes_in_flight = size_t{32} << 20;
  size_t chunk_bytes = size_t{8} << 20;  // about the size at which a lane's part is cut
  client::KeyShare share = {};           // of the keys of its operations, what it carries
  WorkPool* threads = nullptr;           // they help to copy keys and rows, and outlive the core
  // A server has said who it is now, and where its lanes are.
  std::function<void(const client::ServerLink&)> on_greeting = [](const client::ServerLink&) {};
};

// Replies in the order of the map's lanes, or the one's; none when the status is not OK.
using LaneCallDone = std::function<void(Status, std::vector<wire::Received>)>;

// Not thread-safe. Completions run inside the member that finished them, after its own work; they
// may submit more.
class ClientCore {
 public:
  explicit ClientCore(ClientCoreOptions options);

  void Submit(Operation operation, Completion done, TimeNs now);
  void CreateTable(const TableSpec& spec, std::function<void(Status)> done, TimeNs now);
  void DropTable(const std::string& name, std::function<void(Status)> done, TimeNs now);
  void ListTables(std::function<void(Result<std::vector<TableSpec>>)> done, TimeNs now);

  // Another core of the same store has dropped it: what uses it next looks whether it is there.
  void ForgetTable(const std::string& name) { tables_.Forget(TableIdOf(name)); }

  // It waits for no earlier operation, and none waits for it.
  void CallLanes(LaneCall lane_call, LaneCallDone done, TimeNs now);
  // Replies in the order of the parts, whose lanes are in the map; none when the status is not OK.
  void Exchange(LaneMessages messages, LaneCallDone done, TimeNs now);
  // The servers that open operations wait for, and that do not serve now.
  std::vector<ServerWait> Waits() const;
  // None until it is connected.
  const wire::ShardMap& map() const { return map_; }
  // The newest checkpoint cut that any server has told of.
  uint32_t cut() const { return cut_; }
  // Of the lanes, in the order of the map; none until there is one.
  std::vector<std::string> LaneEndpoints() const;

  // A message that came from a peer, "tcp://host:port" or "inproc://name/lane".
  void Handle(Envelope envelope, TimeNs now);
  // Does what is due. Call it when NextTick has passed.
  void Tick(TimeNs now);
  TimeNs NextTick() const;
  std::vector<Envelope> TakeOutgoing();

  // Tells the lanes that it wrote to, and that owe it nothing, that it sends no more writes: they
  // need not remember it. What has not been taken out yet is dropped. Abort is to follow.
  void Leave();

  // Ends everything that is open, and all that comes later, with this status.
  void Abort(const Status& status);

  // All servers are greeted, and their tables known.
  bool connected() const { return connected_ && !listing_; }

 private:
  using CallPtr = std::shared_ptr<client::Call>;
  using RequestPtr = std::shared_ptr<client::Request>;

  CallPtr Open(Operation operation, std::function<void(client::Call&, Status)> finish, TimeNs now);
  void Dispatch(const CallPtr& call, const std::vector<RequestPtr>& requests, TimeNs now);
  void DispatchOperation(const CallPtr& call, TimeNs now);
  size_t ChunkBytes() const;
  void SendHints(const Operation& operation, TimeNs now);
  // One request without keys; `name_hash` of what it names, or 0.
  RequestPtr TableRequest(const CallPtr& call, wire::Command command, uint64_t name_hash,
                          size_t lane);
  // Ends the call when it is not valid, dispatches it when there is a cluster, or else later, in
  // the order of submission.
  void Begin(const CallPtr& call, const Status& valid, std::function<void(TimeNs)> dispatch,
             TimeNs now);

  void RunHeld(TimeNs now);
  void StartListing(TimeNs now);
  std::vector<RequestPtr> ListRequests(const CallPtr& call);

  void GreetAll(TimeNs now);
  void HandleGreeting(client::ServerLink& server, const wire::Received& reply, TimeNs now);
  void HandleHello(client::ServerLink& server, const wire::Received& reply);
  void HandleMap(client::ServerLink& server, const wire::Received& reply, TimeNs now);
  void RejectServer(client::ServerLink& server, const Status& status);
  void FinishConnecting(TimeNs now);
  void LearnEndpoints(const client::ServerLink& server);
  void LearnCut(uint32_t cut, TimeNs now);
  // False when the message is not to be looked at.
  bool NoticeLife(client::ServerLink& server, const wire::Header& reply, TimeNs now);
  void Resume(client::ServerLink& server, TimeNs now);
  void HandleReply(const RequestPtr& request, const wire::Received& reply, TimeNs now);
  // An answer that says "not now".
  void Postpone(const RequestPtr& request, const Status& status, TimeNs now);
  AckLevel LevelOf(const client::Request& request) const;
  void ExpireSession(uint16_t lane, const Status& status);

  void Pump(TimeNs now);
  // With what belongs to an attempt, for a server that has been greeted.
  wire::Header Addressed(wire::Header header, const client::ServerLink& server);
  void SendAttempt(const RequestPtr& request, TimeNs now);
  void SendToMain(const client::ServerLink& server, wire::Command command, Message payload,
                  uint32_t flags = 0);
  void Complete(const RequestPtr& request, const Status& status);
  // The steady request, when it is all that is left.
  void CompleteAnswered(const client::Call& call);
  void CompleteLanesOf(uint16_t server, const Status& status);
  void Finish(const CallPtr& call, const Status& status);
  void FinishFlushes();
  void ExpireCalls(TimeNs now);
  void RetryAttempts(TimeNs now);
  void WatchServer(client::ServerLink& server, TimeNs now);
  void NoteAway(client::ServerLink& server, TimeNs now);
  void WaitLonger(TimeNs until);
  // It answers, and has not served for longer than it may.
  bool IsGivenUp(const client::ServerLink& server, TimeNs now) const;
  Status GaveUp(const client::ServerLink& server, TimeNs now) const;
  static std::string Allowed(const std::string& setting);
  // " (timeouts.request = 30.0 s)", of what ended the call.
  std::string DeadlineName(const client::Call& call) const;
  Status DeadlineStatus(const client::Request& request) const;
  Status FirstError(const client::Call& call) const;
  // Who is in the way of the first connection.
  Status ConnectStatus() const;
  bool IsAsked(const client::ServerLink& server) const;  // and has not answered
  std::vector<std::string> ServersAsked() const;
  client::ServerLink* FindServer(const std::string& peer);
  std::string LaneName(uint16_t lane) const;
  void RunFinished();

  const ClientCoreOptions options_;
  std::vector<client::ServerLink> servers_;
  std::unordered_map<std::string, uint16_t> server_of_endpoint_;
  wire::ShardMap map_;
  bool connected_ = false;
  Status aborted_;

  std::vector<client::LaneQueue> lanes_;
  client::Hints hints_;
  std::vector<Status> sessions_;                  // of each lane: an error once it has expired us
  std::vector<uint16_t> lanes_to_pump_;           // whose queues changed since the last Pump
  std::map<uint64_t, CallPtr> calls_;             // open ones, by id
  std::deque<std::function<void(TimeNs)>> held_;  // until connected, or until tables are listed
  client::TableCache tables_;
  bool listing_ = false;
  bool was_listed_ = false;
  Status listing_status_;  // of the last listing
  TimeNs now_ = 0;         // of the last call from outside
  uint32_t cut_ = 0;
  wire::CutLimit cut_limit_{wire::kCutMax};  // who was idle for long has much to learn
  std::unordered_map<uint64_t, RequestPtr> request_of_id_;
  uint64_t next_call_ = 1;
  uint64_t next_request_id_ = 1;

  std::vector<Envelope> outgoing_;
  std::deque<std::function<void()>> finished_;
  bool running_finished_ = false;
};

}  // namespace strata
