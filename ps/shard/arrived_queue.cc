#include "ps/shard/arrived_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/wire/command_table.h"

namespace strata {
namespace {

// An urgent message is short, and a peer has few of them: more wait with the others.
constexpr size_t kUrgentBytesMax = 4096;
constexpr size_t kUrgentOfPeerMax = 16;
// Urgent messages one after the other while others wait: a flood of them does not stop these.
constexpr size_t kUrgentRunMax = 16;

// Rows that the request asks for. Of a PUSH_PULL they are those of the last frame's keys.
size_t ReplyBytes(const wire::Header& header, const Message& message) {
  uint64_t keys = 0;
  if (header.command == wire::Command::kPull) keys = header.count;
  if (header.command == wire::Command::kPushPull) keys = message.back().size() / sizeof(uint64_t);
  constexpr uint64_t kMost = wire::kMessageBytesMax;  // before they could overflow
  const uint64_t bytes =
      std::min(keys, kMost) * std::min<uint64_t>(header.width, kMost) * sizeof(float);
  return static_cast<size_t>(std::min(bytes, kMost));
}

// LaneQueue starts these whatever the lane granted.
bool IsHeldByCredit(const wire::Header& header) {
  const bool pushes =
      header.command == wire::Command::kPush || header.command == wire::Command::kPushPull;
  return !(pushes && header.is(wire::kFlagSync));
}

}  // namespace

Status ArrivedQueue::CheckRoom(const Peer& peer, const Waiting& message) const {
  if (message.is_credited && peer.cost != 0 && peer.cost + message.cost > kPeerCostMax) {
    return Refused(fmt::format(
        "requests of this client that ask for {} bytes wait on this lane already; one more of {} "
        "bytes is above the limit of {}: wait for answers, and heed the credit in them",
        peer.cost, message.cost, kPeerCostMax));
  }
  if (bytes_ + message.bytes <= bytes_max_ || (peer.bytes == 0 && bytes_ <= bytes_max_)) return {};
  const size_t share = bytes_max_ / (turns_.size() + 1);
  if (peer.bytes + message.bytes <= share && bytes_ + message.bytes <= 2 * bytes_max_) return {};
  return Unavailable(
      fmt::format("{} bytes of requests wait on this lane, {} of them of this client; one more of "
                  "{} bytes finds no room (server.queue_memory): send it again later",
                  bytes_, peer.bytes, message.bytes));
}

Status ArrivedQueue::Add(Envelope* envelope, TimeNs now) {
  if (peers_.size() >= sweep_at_) ForgetIdlePeers();
  Peer& peer = peers_[envelope->peer];
  Waiting message;
  const size_t size = MessageBytes(envelope->message);
  message.bytes = size + kLeastCost;
  message.cost = message.bytes;
  bool is_urgent = false;
  const std::span<const std::byte> first =
      envelope->message.empty() ? std::span<const std::byte>() : envelope->message[0].bytes();
  if (const Result<wire::Header> header = wire::DecodeHeader(first); header.ok()) {
    const wire::CommandInfo& info = wire::InfoOf(header->command);
    message.cost += ReplyBytes(*header, envelope->message);
    message.is_credited = IsHeldByCredit(*header);
    message.is_for_busy_lane = info.has(wire::kAnsweredWhileBusy);
    message.cut = header->cut;
    is_urgent =
        info.has(wire::kUrgent) && size <= kUrgentBytesMax && peer.urgent.size() < kUrgentOfPeerMax;
  }
  if (!is_urgent) STRATA_TRY(CheckRoom(peer, message));
  message.arrived = {std::move(*envelope), now};
  ++messages_;
  bytes_ += message.bytes;
  peer.bytes += message.bytes;
  if (message.is_credited) peer.cost += message.cost;
  if (is_urgent) {
    peer.urgent.push_back(std::move(message));
    if (!std::exchange(peer.in_urgent_turns, true)) urgent_turns_.push_back(&peer);
  } else {
    peer.others.push_back(std::move(message));
    if (!peer.in_turns) BeginTurn(&peer);
  }
  return {};
}

// Who was idle has no claim to what it did not use.
void ArrivedQueue::BeginTurn(Peer* peer) {
  peer->served = std::max(peer->served, now_served_);
  peer->in_turns = true;
  turns_.push({peer->served, next_number_++, peer});
}

ArrivedQueue::Arrived ArrivedQueue::Take(Peer* peer, std::deque<Waiting>* from) {
  Waiting message = std::move(from->front());
  from->pop_front();
  --messages_;
  bytes_ -= message.bytes;
  peer->bytes -= message.bytes;
  peer->served += message.cost;
  if (message.is_credited) peer->cost -= message.cost;
  return std::move(message.arrived);
}

// Null: no urgent message waits.
ArrivedQueue::Peer* ArrivedQueue::NextUrgent() {
  while (!urgent_turns_.empty()) {
    Peer* const peer = urgent_turns_.front();
    urgent_turns_.pop_front();
    if (!peer->urgent.empty()) return peer;
    peer->in_urgent_turns = false;  // its messages were dropped
  }
  return nullptr;
}

// Likewise of others.
ArrivedQueue::Peer* ArrivedQueue::NextOther() {
  while (!turns_.empty()) {
    const Turn turn = turns_.top();
    turns_.pop();
    if (!turn.peer->others.empty()) {
      now_served_ = std::max(now_served_, turn.due);
      return turn.peer;
    }
    turn.peer->in_turns = false;
  }
  return nullptr;
}

ArrivedQueue::Arrived ArrivedQueue::TakeUrgent(Peer* peer) {
  Arrived next = Take(peer, &peer->urgent);
  peer->in_urgent_turns = !peer->urgent.empty();
  if (peer->in_urgent_turns) urgent_turns_.push_back(peer);
  return next;
}

std::optional<ArrivedQueue::Arrived> ArrivedQueue::NextForBusyLane(uint32_t cut) {
  for (size_t peers = urgent_turns_.size(); peers > 0; --peers) {
    Peer* const peer = NextUrgent();
    if (peer == nullptr) break;
    const Waiting& first = peer->urgent.front();
    if (first.is_for_busy_lane && first.cut <= cut) return TakeUrgent(peer);
    urgent_turns_.push_back(peer);
  }
  return std::nullopt;
}

ArrivedQueue::Arrived ArrivedQueue::Next() {
  if (urgent_run_ < kUrgentRunMax || turns_.empty()) {
    if (Peer* const peer = NextUrgent()) {
      ++urgent_run_;
      return TakeUrgent(peer);
    }
  }
  urgent_run_ = 0;
  Peer* const peer = NextOther();
  if (peer == nullptr) return Next();  // what waited for a turn was dropped
  Arrived next = Take(peer, &peer->others);
  peer->in_turns = false;
  if (!peer->others.empty()) BeginTurn(peer);
  return next;
}

size_t ArrivedQueue::Drop(const std::string& peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return 0;
  Peer& gone = found->second;
  const size_t dropped = gone.urgent.size() + gone.others.size();
  gone.urgent.clear();
  gone.others.clear();
  messages_ -= dropped;
  bytes_ -= gone.bytes;
  gone.bytes = 0;
  gone.cost = 0;
  return dropped;
}

void ArrivedQueue::ForgetIdlePeers() {
  std::erase_if(peers_, [](const auto& entry) { return entry.second.IsIdle(); });
  sweep_at_ = std::max(kSweepLeast, 2 * peers_.size());
}

}  // namespace strata
