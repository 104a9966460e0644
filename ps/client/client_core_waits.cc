// ClientCore's patience: which servers do not serve now, and how long operations wait for them.
#include <fmt/format.h>

#include <algorithm>

#include "ps/client/client_core.h"

namespace strata {

using client::Call;
using client::Request;
using client::ServerLink;

namespace {

constexpr TimeNs kAwaySilence = kSecond;

double Seconds(TimeNs time) { return static_cast<double>(time) / kSecond; }

}  // namespace

void ClientCore::NoteAway(ServerLink& server, TimeNs now) {
  const TimeNs silence = now - server.last_heard;
  const bool silent =
      silence >= kAwaySilence && server.pings_unanswered >= client::kPingsUnansweredMin;
  if (server.greeted && !silent) {
    server.away_since = kNever;
    return;
  }
  if (server.away_since == kNever) server.away_since = silent ? server.last_heard : now;
  // When it is back there is as much time left as for a new request.
  if (options_.request_timeout == kNever) return;
  WaitLonger(server.away_since + options_.server_lost_after + options_.request_timeout);
}

// A step needs all servers: what waits for another one waits for this one, too.
void ClientCore::WaitLonger(TimeNs until) {
  if (!options_.waits_for_servers) return;
  for (const auto& [id, call] : calls_) {
    if (!call->has_own_deadline) call->deadline = std::max(call->deadline, until);
  }
}

bool ClientCore::IsGivenUp(const ServerLink& server, TimeNs now) const {
  const bool answers = now - server.last_heard < kAwaySilence;
  return options_.waits_for_servers && !server.greeted && answers && server.away_since != kNever &&
         now - server.away_since >= options_.server_lost_after;
}

Status ClientCore::GaveUp(const ServerLink& server, TimeNs now) const {
  return Lost(
      fmt::format("{} has not served for {:.1f} s{}: {}", server.Name(),
                  Seconds(now - server.away_since), Allowed(options_.server_lost_name),
                  server.last_error.ok() ? "it does not say why" : server.last_error.ToString()));
}

std::string ClientCore::Allowed(const std::string& setting) {
  return setting.empty() ? "" : fmt::format(", longer than {} allows", setting);
}

std::string ClientCore::DeadlineName(const Call& call) const {
  if (call.has_own_deadline) return "";
  const bool waited = call.deadline > call.begin + options_.request_timeout;
  const std::string& name = waited ? options_.server_lost_name : options_.request_timeout_name;
  if (name.empty()) return "";
  return fmt::format(" ({} = {:.1f} s)", name,
                     Seconds(waited ? options_.server_lost_after : options_.request_timeout));
}

std::vector<ServerWait> ClientCore::Waits() const {
  std::vector<ServerWait> waits;
  for (const ServerLink& server : servers_) {
    if (!connected_ || !server.lost.ok() || !IsAsked(server)) continue;
    ServerWait wait{.server = server.index, .name = server.Name(), .since = kNever, .why = ""};
    if (server.away_since != kNever) {
      const bool starts = !server.greeted && !server.last_error.ok();
      wait.since = server.away_since;
      wait.why = starts ? server.last_error.ToString() : "it is silent";
    }
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (map_.lanes[lane].server != server.index) continue;
      for (const RequestPtr& request : lanes_[lane].open()) {
        if (request->refused_since >= wait.since) continue;
        wait.since = request->refused_since;
        wait.why = request->last_error.ToString();
      }
    }
    if (wait.since != kNever) waits.push_back(std::move(wait));
  }
  return waits;
}

}  // namespace strata
