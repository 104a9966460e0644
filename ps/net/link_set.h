// LinkSet: the links of one port, beside its sockets: messages from all of them in turn, and one
// sleep for all. Internal to ps/net.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file/owned_fd.h"
#include "ps/net/bell.h"
#include "ps/net/link.h"

namespace strata::net {

// Owned by one thread, but for Wake.
class LinkSet {
 public:
  struct Events {
    // A watched descriptor is readable, or the bell has rung.
    std::function<void()> knock = [] {};
    // A link has ended, and is gone once this returns.
    std::function<void(const std::string& peer, const Status& why)> ended = [](const std::string&,
                                                                               const Status&) {};
  };

  static Result<std::unique_ptr<LinkSet>> Create(Events events);

  // Readable when Receive has something to do.
  int descriptor() const { return epoll_.get(); }
  // Of this port, for links within the process.
  const std::shared_ptr<Bell>& bell() const { return bell_; }
  // From now on the descriptor's readiness is a knock.
  Status Watch(int descriptor);

  // In place of the peer's last link, if it had one.
  Status Add(const std::string& peer, std::unique_ptr<Link> link);
  Link* Find(const std::string& peer);  // null: none
  void Remove(const std::string& peer);
  size_t size() const { return links_.size(); }

  // The next message of a link or of `sockets`, whose Receive must end when descriptor() is
  // readable. As MessagePort::Receive. Names of peers of `sockets` begin with `prefix`.
  Result<std::optional<Envelope>> Receive(MessagePort& sockets, const std::string& prefix,
                                          TimeNs deadline, const Clock& clock);
  // Any thread: ends a Receive that waits.
  void Wake(MessagePort& sockets);

  // Waits until all peers have taken what waits for them, but no longer than `limit`.
  void Linger(TimeNs limit, const Clock& clock);

 private:
  struct Entry {
    std::string peer;
    std::unique_ptr<Link> link;
  };

  LinkSet(Events events, OwnedFd epoll) : events_(std::move(events)), epoll_(std::move(epoll)) {}
  Status Poll(int descriptor, Link* link);
  void HandleEvents(int timeout_ms);
  std::optional<Envelope> TryReceive();
  Result<std::optional<Envelope>> Next(MessagePort& sockets, const std::string& prefix);
  bool BeginSleep();
  void EndSleep();

  const Events events_;
  const OwnedFd epoll_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::vector<Entry> links_;
  std::map<std::string, Link*> by_peer_;
  size_t next_ = 0;  // the link to look at first, so that a busy one cannot starve the others
  bool sockets_turn_ = false;
  unsigned receives_ = 0;  // since events were looked for
  std::atomic<bool> woken_ = false;
};

}  // namespace strata::net
