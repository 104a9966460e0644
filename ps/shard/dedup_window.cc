#include "ps/shard/dedup_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace strata {

std::string ToString(const ClientId& client) {
  return fmt::format("{:016x}{:016x}", client.hi, client.lo);
}

std::optional<ClientId> ParseClientId(std::string_view text) {
  constexpr size_t kDigits = 16;  // of each half
  if (text.size() != 2 * kDigits) return std::nullopt;
  ClientId client;
  const auto read = [](std::string_view digits, uint64_t* number) {
    const char* const end = digits.data() + digits.size();
    return std::from_chars(digits.data(), end, *number, 16).ptr == end;
  };
  if (!read(text.substr(0, kDigits), &client.hi) || !read(text.substr(kDigits), &client.lo)) {
    return std::nullopt;
  }
  return client;
}

std::optional<ClientId> DedupWindow::InTheWay(const ClientId& id, TimeNs now) const {
  if (clients_.size() < limits_.clients_max || expired_.size() >= limits_.expired_max ||
      clients_.contains(id) || expired_.contains(id)) {
    return std::nullopt;
  }
  const auto oldest = std::ranges::min_element(clients_, {}, [](const auto& entry) {
    return entry.second.pending == 0 ? entry.second.last_seen : kNever;
  });
  if (oldest->second.pending != 0 || now - oldest->second.last_seen < limits_.idle_min) {
    return std::nullopt;
  }
  return oldest->first;
}

void DedupWindow::Hear(const ClientId& id, const std::string& peer, TimeNs now) {
  const auto client = clients_.find(id);
  if (client == clients_.end()) return;
  client->second.last_seen = now;
  if (client->second.peer != peer) client->second.peer = peer;
}

bool DedupWindow::HasPlaceFor(const ClientId& id) const {
  return clients_.size() < limits_.clients_max || clients_.contains(id) || expired_.contains(id);
}

std::vector<KnownClient> DedupWindow::Clients() const {
  std::vector<KnownClient> known;
  known.reserve(clients_.size());
  for (const auto& [id, client] : clients_) {
    known.push_back({id, client.peer, client.last_seen, client.pending, client.writes.size()});
  }
  return known;
}

bool DedupWindow::MayLeave(const ClientId& id) const {
  const auto client = clients_.find(id);
  return client != clients_.end() && client->second.pending == 0 &&
         expired_.size() < limits_.expired_max;
}

void DedupWindow::Expire(const ClientId& id) {
  clients_.erase(id);
  expired_.insert(id);
}

void DedupWindow::Settle(Client& client, uint64_t settled_below) {
  if (settled_below <= client.settled_below) return;
  client.settled_below = settled_below;
  const auto end = client.writes.lower_bound(settled_below);
  for (auto write = client.writes.begin(); write != end;) {
    write = write->second.state == State::kPending ? std::next(write) : client.writes.erase(write);
  }
}

Result<DedupWindow::Known> DedupWindow::Look(const ClientId& id, uint64_t sequence,
                                             uint64_t settled_below, TimeNs now) {
  if (sequence == 0) return Invalid("a write needs a sequence of 1 or more, found 0");
  if (settled_below > sequence) {
    return Invalid(fmt::format(
        "write {} of client {} says that the client has settled all below {}: expected at most {}",
        sequence, ToString(id), settled_below, sequence));
  }
  auto found = clients_.find(id);
  if (found == clients_.end()) {
    if (expired_.contains(id)) {
      return SessionExpired(
          fmt::format("client {} has left, or its session expired: it was idle for over {} s, its "
                      "connection had ended when others needed its place, or an operator evicted "
                      "it; which of its unanswered writes were applied is unknown: start a new "
                      "client",
                      ToString(id), limits_.idle_min / kSecond));
    }
    if (clients_.size() >= limits_.clients_max) {
      return Refused(
          fmt::format("{} clients write to this lane, the most that are kept; each is connected, "
                      "and none has been idle for {} s: try again later, or free a place "
                      "(strata-admin clients)",
                      clients_.size(), limits_.idle_min / kSecond));
    }
    found = clients_.emplace(id, Client{}).first;
  }
  Client& client = found->second;
  client.last_seen = now;
  Settle(client, settled_below);
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
  client.writes[sequence] = {.state = State::kPending, .answer = {}};
  ++client.pending;
}

void DedupWindow::Decide(const ClientId& id, uint64_t sequence, const Status& answer, Lsn lsn) {
  Client& client = clients_.at(id);
  Known& write = client.writes[sequence];
  if (write.state == State::kPending) --client.pending;
  write = {State::kDecided, answer, lsn};
  if (sequence < client.settled_below) client.writes.erase(sequence);
}

void DedupWindow::Restore(const ClientId& id, uint64_t sequence, uint64_t settled_below,
                          const Status& answer, Lsn lsn, TimeNs now) {
  Client& client = clients_[id];
  client.last_seen = now;
  Settle(client, settled_below);
  Decide(id, sequence, answer, lsn);
}

void DedupWindow::Forget(const ClientId& id, uint64_t sequence) {
  const auto client = clients_.find(id);
  if (client != clients_.end()) client->second.writes.erase(sequence);
}

void DedupWindow::Withdraw(const ClientId& id, uint64_t sequence) {
  Client& client = clients_.at(id);
  --client.pending;
  client.writes.erase(sequence);
}

void DedupWindow::SaveTo(format::LaneImage* image) const {
  for (const auto& [id, client] : clients_) {
    format::LaneImage::Client& saved = image->clients.emplace_back();
    saved.name = {id.hi, id.lo};
    saved.settled_below = client.settled_below;
    for (const auto& [sequence, known] : client.writes) {
      if (known.state != State::kDecided) continue;
      saved.writes.push_back(
          {sequence, static_cast<uint16_t>(known.answer.code()), known.answer.message()});
    }
  }
  for (const ClientId& id : expired_) image->expired.push_back({id.hi, id.lo});
}

void DedupWindow::LoadFrom(const format::LaneImage& image, TimeNs now) {
  clients_.clear();
  expired_.clear();
  for (const format::LaneImage::Client& saved : image.clients) {
    Client& client = clients_[{saved.name.hi, saved.name.lo}];
    client.settled_below = saved.settled_below;
    client.last_seen = now;
    for (const format::LaneImage::Write& write : saved.writes) {
      const auto code = static_cast<StatusCode>(write.code);
      const Status answer = code == StatusCode::kOk ? Status() : Status(code, write.text);
      client.writes[write.sequence] = {.state = State::kDecided, .answer = answer, .lsn = 0};
    }
  }
  for (const format::LaneImage::Name& name : image.expired) expired_.insert({name.hi, name.lo});
}

}  // namespace strata
