#include "ps/net/link_set.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace strata::net {
namespace {

// Messages after which a port that never sleeps looks for new peers and those that are gone.
constexpr unsigned kEventsEvery = 32;

Status EpollFailed() {
  return Failed(fmt::format("cannot watch a descriptor: {}", std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<LinkSet>> LinkSet::Create(Events events) {
  OwnedFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (epoll.get() < 0) return EpollFailed();
  std::unique_ptr<LinkSet> set(new LinkSet(std::move(events), std::move(epoll)));
  STRATA_TRY(set->bell_->event().status());
  STRATA_TRY(set->Watch(set->bell_->event().descriptor()));
  return set;
}

Status LinkSet::Poll(int descriptor, Link* link) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.ptr = link;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0 ? Status() : EpollFailed();
}

Status LinkSet::Watch(int descriptor) { return Poll(descriptor, nullptr); }

Status LinkSet::Add(const std::string& peer, std::unique_ptr<Link> link) {
  Remove(peer);
  if (link->descriptor() >= 0) STRATA_TRY(Poll(link->descriptor(), link.get()));
  by_peer_.emplace(peer, link.get());
  links_.push_back({peer, std::move(link)});
  return {};
}

Link* LinkSet::Find(const std::string& peer) {
  const auto at = by_peer_.find(peer);
  return at == by_peer_.end() ? nullptr : at->second;
}

void LinkSet::Remove(const std::string& peer) {
  Link* const link = Find(peer);
  if (link == nullptr) return;
  // Its close alone would not do while a fork of this process, on its way to exec, holds a copy.
  if (link->descriptor() >= 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link->descriptor(), nullptr);
  }
  by_peer_.erase(peer);
  std::erase_if(links_, [&](const Entry& entry) { return entry.peer == peer; });
}

void LinkSet::HandleEvents(int timeout_ms) {
  receives_ = 0;
  std::array<epoll_event, 32> events = {};
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms);
  bool knocked = false;
  for (int i = 0; i < count; ++i) {
    auto* const link = static_cast<Link*>(events[static_cast<size_t>(i)].data.ptr);
    if (link != nullptr) {
      link->HandleEvent();
    } else {
      knocked = true;
    }
  }
  if (!knocked) return;
  bell_->event().Clear();
  events_.knock();
}

std::optional<Envelope> LinkSet::TryReceive() {
  for (size_t i = 0; i < links_.size(); ++i) {
    const size_t at = (next_ + i) % links_.size();
    Link& link = *links_[at].link;
    link.Flush();
    const Status ended = link.ended();  // before: what came until then is still handed on
    std::optional<Envelope> envelope = link.TryReceive();
    if (envelope) {
      next_ = at + 1;
      envelope->peer = links_[at].peer;
      return envelope;
    }
    if (ended.ok()) continue;
    const std::string peer = links_[at].peer;
    events_.ended(peer, ended);
    Remove(peer);
    return TryReceive();
  }
  return {};
}

// Links and sockets take turns.
Result<std::optional<Envelope>> LinkSet::Next(MessagePort& sockets, const std::string& prefix) {
  if (++receives_ >= kEventsEvery) HandleEvents(0);
  sockets_turn_ = !sockets_turn_ || links_.empty();
  if (!sockets_turn_) {
    if (auto envelope = TryReceive()) return envelope;
  }
  STRATA_ASSIGN(std::optional<Envelope> envelope, sockets.Receive(0));
  if (envelope) {
    envelope->peer.insert(0, prefix);
    return envelope;
  }
  return sockets_turn_ ? TryReceive() : std::optional<Envelope>();
}

bool LinkSet::BeginSleep() {
  bell_->Listen();
  bool may_sleep = true;
  for (const Entry& entry : links_) may_sleep = entry.link->BeginSleep() && may_sleep;
  return may_sleep;
}

void LinkSet::EndSleep() {
  bell_->Wake();
  for (const Entry& entry : links_) entry.link->EndSleep();
}

Result<std::optional<Envelope>> LinkSet::Receive(MessagePort& sockets, const std::string& prefix,
                                                 TimeNs deadline, const Clock& clock) {
  while (true) {
    STRATA_ASSIGN(std::optional<Envelope> envelope, Next(sockets, prefix));
    if (envelope) return envelope;
    if (deadline <= 0 || (deadline != kNever && clock.Now() >= deadline)) return envelope;
    if (woken_.exchange(false)) return envelope;
    Result<std::optional<Envelope>> got = std::optional<Envelope>();
    if (BeginSleep()) got = sockets.Receive(deadline);
    EndSleep();
    HandleEvents(0);
    STRATA_TRY(got.status());
    if (got->has_value()) {
      (**got).peer.insert(0, prefix);
      return got;
    }
  }
}

void LinkSet::Wake(MessagePort& sockets) {
  woken_ = true;
  sockets.Wake();
}

void LinkSet::Linger(TimeNs limit, const Clock& clock) {
  const auto all_flushed = [this] {
    return std::ranges::all_of(links_, [](const Entry& entry) { return entry.link->Flush(); });
  };
  const TimeNs end = clock.Now() + limit;
  while (!all_flushed() && clock.Now() < end) {
    const bool may_sleep = std::ranges::all_of(
        links_, [](const Entry& entry) { return entry.link->Flush() || entry.link->BeginSleep(); });
    HandleEvents(may_sleep ? static_cast<int>(PollMilliseconds(clock, end)) : 0);
  }
}

}  // namespace strata::net
