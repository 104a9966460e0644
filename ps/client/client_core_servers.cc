// ClientCore's dealings with servers: greeting them, sorting their messages, watching for signs of
// life.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ps/client/client_core.h"
#include "ps/client/request_builder.h"

namespace strata {

using client::ServerLink;
using wire::Command;

namespace {

constexpr TimeNs kGreetingEvery = kSecond / 2;
constexpr int kPingsUnansweredMin = 2;  // so that a pause of our own process blames no server

}  // namespace

void ClientCore::GreetAll(TimeNs now) {
  const wire::HelloRequest hello{.client_name = options_.client_name};
  for (ServerLink& server : servers_) {
    if (server.greeted || now < server.next_greeting) continue;
    server.next_greeting = now + kGreetingEvery;
    SendToMain(server, Command::kHello, {EncodeHelloRequest(hello)});
  }
}

void ClientCore::HandleGreeting(ServerLink& server, const wire::Received& reply, TimeNs now) {
  const wire::Header& header = reply.header;
  if (header.client_hi != options_.client_hi || header.client_lo != options_.client_lo) return;
  const Status status = wire::StatusOfReply(reply);
  if (!status.ok()) {
    if (status.code() != StatusCode::kCorrupt) Abort(status.Prefixed(server.Name()));
  } else if (header.command == Command::kHello) {
    HandleHello(server, reply);
  } else if (header.command == Command::kShardMap) {
    HandleMap(server, reply, now);
  }
}

void ClientCore::HandleHello(ServerLink& server, const wire::Received& reply) {
  Result<wire::HelloReply> hello = wire::DecodeHelloReply(reply.payload[0].bytes());
  const Status status = hello.ok() ? server.CheckHello(*hello, servers_.size())
                                   : hello.status().Prefixed(server.Name());
  if (!status.ok()) return Abort(status);
  server.hello = std::move(*hello);
  SendToMain(server, Command::kShardMap, {});
}

void ClientCore::HandleMap(ServerLink& server, const wire::Received& reply, TimeNs now) {
  if (reply.header.incarnation != server.hello.incarnation) return;  // the next HELLO settles it
  Result<wire::ShardMap> map = wire::DecodeShardMap(reply.payload[0].bytes());
  const Status status =
      map.ok() ? server.CheckMap(*map, servers_.size()) : map.status().Prefixed(server.Name());
  if (!status.ok()) return Abort(status);
  server.map = std::move(*map);
  server.greeted = true;
  if (std::all_of(servers_.begin(), servers_.end(), [](const auto& s) { return s.greeted; })) {
    FinishConnecting(now);
  }
}

void ClientCore::FinishConnecting(TimeNs now) {
  for (const ServerLink& server : servers_) {
    if (server.map == servers_[0].map) continue;
    return Abort(
        Invalid(fmt::format("{} and {} disagree about the shard map; all servers need the "
                            "same machine list and number of lanes",
                            servers_[0].Name(), server.Name())));
  }
  map_ = servers_[0].map;
  for (const wire::LaneName& lane : map_.lanes) {
    server_of_endpoint_.emplace(servers_[lane.server].LaneEndpoint(lane.lane), lane.server);
    lanes_.emplace_back(options_.lane_bytes_in_flight);
  }
  connected_ = true;
  StartListing(now);
}

ServerLink* ClientCore::FindServer(const std::string& peer) {
  const auto at = server_of_endpoint_.find(peer);
  return at == server_of_endpoint_.end() ? nullptr : &servers_[at->second];
}

void ClientCore::Handle(Envelope envelope, TimeNs now) {
  now_ = now;
  ServerLink* server = FindServer(envelope.peer);
  if (server == nullptr || !aborted_.ok()) return;
  Result<wire::Received> opened = wire::Open(std::move(envelope.message));
  if (!opened.ok()) {
    // Damaged replies are asked for again; one in another version will never be understood.
    if (opened.status().code() == StatusCode::kRefused) {
      Abort(opened.status().Prefixed(server->Name()));
    }
    return RunFinished();
  }
  const wire::Received& reply = *opened;
  if (!reply.header.is(wire::kFlagReply)) return;
  server->last_heard = now;
  server->pings_unanswered = 0;
  if (!server->greeted) {
    HandleGreeting(*server, reply, now);
  } else if (reply.header.incarnation != server->hello.incarnation) {
    HandleOtherLife(*server, now);
  } else if (auto at = request_of_id_.find(reply.header.request_id); at != request_of_id_.end()) {
    HandleReply(RequestPtr(at->second), reply);
  }
  Pump(now);
  RunFinished();
}

void ClientCore::HandleOtherLife(ServerLink& server, TimeNs now) {
  if (!connected_) {  // it has lost nothing of ours: greet it again
    server.greeted = false;
    server.next_greeting = now;
    return GreetAll(now);
  }
  if (server.lost.ok()) server.lost = server.Restarted(map_);
  CompleteLanesOf(server.index, server.lost);
}

void ClientCore::HandleReply(const RequestPtr& request, const wire::Received& reply) {
  if (reply.header.command != request->header.command) return;
  Status status = wire::StatusOfReply(reply);
  if (status.code() == StatusCode::kCorrupt) {
    request->last_error = status;  // damaged on its way: the next attempt will do
    return;
  }
  if (status.ok()) status = TakeReply(*request, reply, map_);
  if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kInvalid) {
    tables_.Forget(TableId{request->header.table});  // another client may have changed it
  }
  if (status.code() == StatusCode::kNotFound) {
    status = tables_.Missing(TableId{request->header.table});
  }
  Complete(request, status.Prefixed(LaneName(request->lane)));
}

std::string ClientCore::LaneName(uint16_t lane) const {
  const wire::LaneName name = map_.lanes[lane];
  return fmt::format("{}, lane {}", servers_[name.server].Name(), name.lane);
}

void ClientCore::WatchServer(ServerLink& server, TimeNs now) {
  if (server.requests_in_flight == 0) {
    server.next_ping = kNever;
    return;
  }
  const TimeNs silence = now - server.last_heard;
  if (silence >= options_.server_lost_after && server.pings_unanswered >= kPingsUnansweredMin) {
    return CompleteLanesOf(server.index, server.Silent(map_, silence));
  }
  if (now >= server.next_ping) {
    SendToMain(server, Command::kPing, {});
    ++server.pings_unanswered;
    server.next_ping = now + client::kPingEvery;
  }
}

Status ClientCore::ConnectStatus() const {
  std::string names;
  for (const ServerLink& server : servers_) {
    if (!server.greeted) names += (names.empty() ? "" : ", ") + server.Name();
  }
  return Lost(fmt::format("no answer from {}: see whether it runs and can be reached", names));
}

}  // namespace strata
