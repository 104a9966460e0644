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

// How long to wait after an answer that says "not now": doubles from the first to the second.
struct Backoff {
  TimeNs least, most;
};
constexpr Backoff kUnavailableBackoff = {100 * kMillisecond, kSecond};
constexpr Backoff kDiskFullBackoff = {250 * kMillisecond, 4 * kSecond};

}  // namespace

void ClientCore::GreetAll(TimeNs now) {
  const wire::HelloRequest hello{.client_name = options_.client_name};
  for (ServerLink& server : servers_) {
    if (server.greeted || !server.lost.ok() || now < server.next_greeting) continue;
    server.next_greeting = now + kGreetingEvery;
    SendToMain(server, Command::kHello, {EncodeHelloRequest(hello)}, wire::kFlagFull);
  }
}

void ClientCore::HandleGreeting(ServerLink& server, const wire::Received& reply, TimeNs now) {
  const wire::Header& header = reply.header;
  if (header.client_hi != options_.client_hi || header.client_lo != options_.client_lo) return;
  // Anything else is a late reply to what is finished.
  if (header.command != Command::kHello && header.command != Command::kShardMap) return;
  const Status status = wire::StatusOfReply(reply);
  // A full disk may have no room for the cut that a greeting tells of.
  const bool not_now = status.code() == StatusCode::kCorrupt ||
                       status.code() == StatusCode::kUnavailable ||
                       status.code() == StatusCode::kDiskFull;
  if (not_now) {
    server.last_error = status;  // the next greeting comes in its time
  } else if (!status.ok()) {
    RejectServer(server, status.Prefixed(server.Name()));
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
  if (!status.ok()) return RejectServer(server, status);
  server.hello = std::move(*hello);
  if (reply.payload.size() > 1) {
    auto endpoints = wire::DecodeLaneEndpoints(reply.payload[1], server.hello.lane_ports.size());
    if (!endpoints.ok()) return RejectServer(server, endpoints.status().Prefixed(server.Name()));
    server.hello.lane_endpoints = std::move(*endpoints);
  }
  SendToMain(server, Command::kShardMap, {});
}

void ClientCore::HandleMap(ServerLink& server, const wire::Received& reply, TimeNs now) {
  if (reply.header.incarnation != server.hello.incarnation) return;  // the next HELLO settles it
  Result<wire::ShardMap> map = wire::DecodeShardMap(reply.payload[0].bytes());
  const Status status =
      map.ok() ? server.CheckMap(*map, servers_.size()) : map.status().Prefixed(server.Name());
  if (!status.ok()) return RejectServer(server, status);
  server.map = std::move(*map);
  server.greeted = true;
  server.greeted_incarnation = reply.header.incarnation;
  server.boot_nonce = reply.header.boot_nonce;
  if (connected_) return Resume(server, now);
  const auto settled = [](const ServerLink& s) { return s.greeted || !s.lost.ok(); };
  if (std::ranges::all_of(servers_, settled)) FinishConnecting(now);
}

void ClientCore::RejectServer(ServerLink& server, const Status& status) {
  if (!connected_) return Abort(status);
  server.lost = status;
  CompleteLanesOf(server.index, status);
}

void ClientCore::LearnEndpoints(const ServerLink& server) {
  std::erase_if(server_of_endpoint_, [&](const auto& entry) {
    return entry.second == server.index && entry.first != server.MainEndpoint();
  });
  const auto lanes = static_cast<uint16_t>(server.hello.lane_ports.size());
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    server_of_endpoint_.emplace(server.LaneEndpoint(lane), server.index);
  }
  options_.on_greeting(server);
}

std::vector<std::string> ClientCore::LaneEndpoints() const {
  std::vector<std::string> endpoints;
  for (const wire::LaneName& lane : map_.lanes) {
    const ServerLink& server = servers_[lane.server];
    endpoints.push_back(server.greeted ? server.LaneEndpoint(lane.lane) : "");
  }
  return endpoints;
}

void ClientCore::FinishConnecting(TimeNs now) {
  const ServerLink& first = *std::ranges::find_if(servers_, &ServerLink::greeted);
  for (const ServerLink& server : servers_) {
    if (!server.greeted || server.map == first.map) continue;
    return Abort(
        Invalid(fmt::format("{} and {} disagree about the shard map; all servers need the "
                            "same machine list and number of lanes",
                            first.Name(), server.Name())));
  }
  map_ = first.map;
  for (const ServerLink& server : servers_) {
    if (server.greeted) LearnEndpoints(server);
  }
  for (size_t lane = 0; lane < map_.lanes.size(); ++lane) {
    lanes_.emplace_back(options_.lane_bytes_in_flight);
  }
  sessions_.resize(map_.lanes.size());
  hints_.SetLanes(map_.lanes.size());
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
  Result<wire::Received> opened = wire::Open(std::move(envelope.message), envelope.is_checked);
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
  if (NoticeLife(*server, reply.header, now)) {
    LearnCut(reply.header.cut, now);
    const auto at = request_of_id_.find(reply.header.request_id);
    if (!server->greeted) {
      // Whether this boot holds what was acknowledged is known once it is greeted. Until then its
      // answers do not count: all that is open is sent again by then.
      HandleGreeting(*server, reply, now);
    } else if (at != request_of_id_.end()) {
      HandleReply(RequestPtr(at->second), reply, now);
    } else {
      hints_.NoteReply(reply.header);
    }
  }
  Pump(now);
  RunFinished();
}

// A client that knows of no cut yet takes the first that a server tells of. What a server says
// beyond the limit is not passed on to the others.
void ClientCore::LearnCut(uint32_t cut, TimeNs now) {
  const uint32_t own = cut_ == 0 ? wire::CutOrNone(cut) : cut_;
  if (cut > cut_ && cut_limit_.Take(own, cut, now).ok()) cut_ = cut;
}

bool ClientCore::NoticeLife(ServerLink& server, const wire::Header& reply, TimeNs now) {
  const uint64_t incarnation = reply.incarnation;
  const uint64_t known = server.incarnation;
  if (!server.lost.ok()) return false;
  if (known != 0 && connected_) {
    if (incarnation != known && client::LaterBoot(known, incarnation)) return false;  // too late
    const bool same_lineage = client::SameLineage(incarnation, known);
    const bool boot_is_new = incarnation != known;
    if (!same_lineage || (boot_is_new && server.unlogged_acknowledged > 0)) {
      server.lost = same_lineage ? server.AnotherBoot(map_) : server.AnotherLineage(map_);
      CompleteLanesOf(server.index, server.lost);
      return false;
    }
    const bool both_say = server.boot_nonce != 0 && reply.boot_nonce != 0;
    if (both_say && incarnation == server.greeted_incarnation &&
        reply.boot_nonce != server.boot_nonce) {
      server.lost = server.AnotherCopy(map_, reply.boot_nonce);
      CompleteLanesOf(server.index, server.lost);
      return false;
    }
  }
  server.incarnation = incarnation;
  if (server.greeted && incarnation != server.hello.incarnation) {
    server.greeted = false;
    server.next_greeting = now;
    GreetAll(now);
  }
  return true;
}

// Another process serves what the last one did: nothing that was under way can be there any more.
void ClientCore::Resume(ServerLink& server, TimeNs now) {
  if (!(server.map == map_)) {
    return RejectServer(server, Invalid(fmt::format("{} came back with another shard map; all "
                                                    "servers need the same machine list and number "
                                                    "of lanes",
                                                    server.Name())));
  }
  LearnEndpoints(server);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (map_.lanes[lane].server != server.index) continue;
    hints_.Forget(static_cast<uint16_t>(lane));
    for (const RequestPtr& request : lanes_[lane].open()) {
      request->attempt_timeout = options_.attempt_timeout;
      if (request->in_flight) SendAttempt(request, now);
    }
    lanes_to_pump_.push_back(static_cast<uint16_t>(lane));
  }
}

void ClientCore::HandleReply(const RequestPtr& request, const wire::Received& reply, TimeNs now) {
  if (reply.header.command != request->header.command) return;
  // A boot that speaks other versions could not read it: it is sent again once that is greeted.
  if (reply.header.version != servers_[map_.lanes[request->lane].server].version()) return;
  if (lanes_[request->lane].Grant(reply.header.credit)) lanes_to_pump_.push_back(request->lane);
  Status status = wire::StatusOfReply(reply);
  // Of a checkpoint that finds no room its caller hears at once, and decides: it may be what fills
  // the disk. Anything else, a pull behind a cut too, goes on when there is room again.
  const bool wait = status.code() == StatusCode::kDiskFull && !request->direct;
  if (status.code() == StatusCode::kUnavailable || wait) {
    request_of_id_.erase(reply.header.request_id);
    return Postpone(request, status, now);
  }
  if (status.code() == StatusCode::kCorrupt) {
    request->last_error = status;  // damaged on its way: the next attempt will do
    return;
  }
  if (status.code() == StatusCode::kSessionExpired && request->writes) {
    return ExpireSession(request->lane, status.Prefixed(LaneName(request->lane)));
  }
  if (status.ok() && request->writes && LevelOf(*request) == AckLevel::kApplied) {
    ++servers_[map_.lanes[request->lane].server].unlogged_acknowledged;
  }
  if (status.ok()) status = TakeReply(*request, reply, map_, options_.threads);
  if (status.ok() && request->steady && request->call->requests_left > 1) {
    request->answered = true;
    return;
  }
  if (request->reply_at) return Complete(request, status.Prefixed(LaneName(request->lane)));
  if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kInvalid) {
    tables_.Forget(TableId{request->header.name_hash()});  // another client may have changed it
  }
  if (status.code() == StatusCode::kNotFound) {
    status = tables_.Missing(TableId{request->header.name_hash()});
  }
  Complete(request, status.Prefixed(LaneName(request->lane)));
}

void ClientCore::Postpone(const RequestPtr& request, const Status& status, TimeNs now) {
  const Backoff& backoff =
      status.code() == StatusCode::kDiskFull ? kDiskFullBackoff : kUnavailableBackoff;
  request->retry_delay = std::clamp(2 * request->retry_delay, backoff.least, backoff.most);
  request->next_attempt = now + request->retry_delay;
  request->attempt_timeout = options_.attempt_timeout;
  request->last_error = status;
  if (++request->refusals == 1) request->refused_since = now;
  if (!request->direct && status.code() == StatusCode::kUnavailable) {
    WaitLonger(request->refused_since + options_.server_lost_after);
  }
}

void ClientCore::ExpireSession(uint16_t lane, const Status& status) {
  sessions_[lane] = status;
  const auto open = lanes_[lane].open();
  for (const RequestPtr& request : open) {
    if (request->writes) Complete(request, status);
  }
}

// A server that comes back as another boot of its lineage has a log: without a level of its own, a
// write is acknowledged at least as logged.
AckLevel ClientCore::LevelOf(const client::Request& request) const {
  if (request.header.ack != wire::kAckDefault) return static_cast<AckLevel>(request.header.ack);
  if (request.definition) return static_cast<AckLevel>(request.definition->ack);
  return tables_.AckOf(TableId{request.header.name_hash()});
}

std::string ClientCore::LaneName(uint16_t lane) const {
  const wire::LaneName name = map_.lanes[lane];
  return fmt::format("{}, lane {}", servers_[name.server].Name(), name.lane);
}

void ClientCore::WatchServer(ServerLink& server, TimeNs now) {
  if (!server.lost.ok() || (server.requests_in_flight == 0 && server.greeted)) {
    server.next_ping = kNever;
    server.away_since = kNever;
    return;
  }
  NoteAway(server, now);
  const TimeNs silence = now - server.last_heard;
  if (silence >= options_.server_lost_after &&
      server.pings_unanswered >= client::kPingsUnansweredMin) {
    return CompleteLanesOf(server.index,
                           server.Silent(map_, silence, Allowed(options_.server_lost_name)));
  }
  if (IsGivenUp(server, now)) return CompleteLanesOf(server.index, GaveUp(server, now));
  if (server.next_ping == kNever || now >= server.next_ping) {
    SendToMain(server, Command::kPing, {});
    ++server.pings_unanswered;
    server.next_ping = now + options_.ping_every;
  }
}

Status ClientCore::ConnectStatus() const {
  std::string silent, not_now;
  for (const ServerLink& server : servers_) {
    if (server.greeted && !IsAsked(server)) continue;
    std::string& names = server.last_error.ok() ? silent : not_now;
    names += (names.empty() ? "" : ", ") + server.Name();
    if (!server.last_error.ok()) names += " (" + server.last_error.message() + ")";
  }
  if (silent.empty()) return Lost(fmt::format("{} cannot serve yet: try again later", not_now));
  return Lost(fmt::format("no answer from {}: see whether it runs and can be reached{}", silent,
                          not_now.empty() ? "" : "; and " + not_now + " cannot serve yet"));
}

}  // namespace strata
