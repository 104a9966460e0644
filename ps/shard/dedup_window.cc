#include "ps/shard/dedup_window.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

std::string ToString(const ClientId& client) {
  return fmt::format("{:016x}{:016x}", client.hi, client.lo);
}

Result<DedupWindow::Known> DedupWindow::Look(const ClientId& id, uint64_t sequence,
                                             uint64_t settled_below, TimeNs now) {
  if (sequence == 0) return Invalid("a write needs a sequence of 1 or more, found 0");
  auto found = clients_.find(id);
  if (found == clients_.end()) {
    if (expired_.contains(id)) {
      return Lost(
          fmt::format("client {} was idle for over {} s and its session expired; which of "
                      "its unanswered writes were applied is unknown: start a new client",
                      ToString(id), limits_.idle_min / kSecond));
    }
    STRATA_TRY(MakeRoom(now));
    found = clients_.emplace(id, Client{}).first;
  }
  Client& client = found->second;
  client.last_seen = now;
  if (settled_below > client.settled_below) {
    client.settled_below = settled_below;
    const auto end = client.writes.lower_bound(settled_below);
    for (auto write = client.writes.begin(); write != end;) {
      write =
          write->second.state == State::kPending ? std::next(write) : client.writes.erase(write);
    }
  }
  const auto write = client.writes.find(sequence);
  if (write != client.writes.end()) return write->second;
  if (sequence < client.settled_below) {
    return Invalid(
        fmt::format("write {} of client {} came late: the client has settled all below "
                    "{}; it was not applied again",
                    sequence, ToString(id), client.settled_below));
  }
  if (client.writes.size() >= limits_.sequences_max) {
    return Refused(
        fmt::format("client {} has {} unsettled writes here, the most that are kept; "
                    "raise settled_below before sending more",
                    ToString(id), client.writes.size()));
  }
  return Known{};
}

void DedupWindow::Park(const ClientId& id, uint64_t sequence) {
  Client& client = clients_.at(id);
  client.writes[sequence] = {State::kPending, {}};
  ++client.pending;
}

void DedupWindow::Decide(const ClientId& id, uint64_t sequence, const Status& answer) {
  Client& client = clients_.at(id);
  Known& write = client.writes[sequence];
  if (write.state == State::kPending) --client.pending;
  write = {State::kDecided, answer};
  if (sequence < client.settled_below) client.writes.erase(sequence);
}

void DedupWindow::Withdraw(const ClientId& id, uint64_t sequence) {
  Client& client = clients_.at(id);
  --client.pending;
  client.writes.erase(sequence);
}

Status DedupWindow::MakeRoom(TimeNs now) {
  if (clients_.size() < limits_.clients_max) return {};
  const auto oldest = std::ranges::min_element(clients_, {}, [](const auto& entry) {
    return entry.second.pending == 0 ? entry.second.last_seen : kNever;
  });
  const bool idle =
      oldest->second.pending == 0 && now - oldest->second.last_seen >= limits_.idle_min;
  if (!idle || expired_.size() >= limits_.expired_max) {
    return Refused(
        fmt::format("{} clients write to this lane, the most that are kept, and none has "
                    "been idle for {} s; try again later",
                    clients_.size(), limits_.idle_min / kSecond));
  }
  expired_.insert(oldest->first);
  clients_.erase(oldest);
  return {};
}

}  // namespace strata
