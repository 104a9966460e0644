// Hub: what is behind Links. One I/O thread runs all of Asio; the calling thread waits on a
// condition or exchanges over the data sockets. Internal to cluster/link.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/thread/mutex.h"
#include "cluster/link/connect/accept_loop.h"
#include "cluster/link/connect/handshake.h"
#include "cluster/link/connect/session.h"
#include "cluster/link/exchange/data_progress.h"
#include "cluster/link/exchange/shared_segment.h"
#include "cluster/link/exchange/whereabouts.h"
#include "cluster/link/links.h"

namespace strata::link_internal {

// Another rank. Links to most are made when they are needed for the first time.
struct Peer {
  int rank = 0;
  Machine machine;
  std::string name;  // "rank 2 (10.0.0.2:7700)"

  // I/O thread only.
  ConnectionPtr control;
  std::deque<std::string> outbox;  // the front one is being written
  TimeNs last_heard = 0;
  DataProgress progress;  // what it counts is counted by the calling thread
  uint64_t process = 0;   // who holds this place, 0 nobody; set when its hello was accepted
  int handshakes = 0;     // accepted ones whose confirm has not come yet
  std::string holder;     // its address

  // Under Hub::mutex_.
  bool wanted = false;  // a link is to be made, or is there
  bool control_up = false;
  bool data_up = false;
  bool left = false;       // it said goodbye
  std::string problem;     // the last one while dialling it
  Connection::Parts data;  // written before data_up; the calling thread's from then on

  bool settled = false;                    // whether there is a segment
  std::unique_ptr<SharedSegment> segment;  // null: exchanges go over `data`; constant once settled

  std::atomic<bool> linked = false;  // wanted, and all of the above: for the calling thread
};

class Hub {
 public:
  Hub(LinkOptions options, Listener listener);
  ~Hub();
  Status Start();

  void SetStatusProvider(std::function<std::string()> provider);
  void SetControlHandler(std::function<std::string(std::string_view)> handler);
  void OnFailure(std::function<void(const Status&)> callback);
  Status Connect();
  Status Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                  TimeNs deadline);
  int open_links() const;
  void Cancel(const Status& why);
  Status Failure() const;
  Status Leave(TimeNs timeout);
  Listener Close();
  bool connected() const { return connected_; }
  const LinkOptions& options() const { return options_; }

 private:
  using Task = asio::awaitable<void>;

  // hub.cc
  void Fail(const Status& here, const Status& elsewhere) STRATA_EXCLUDES(mutex_);
  void FailSeenHere(const Status& why) STRATA_EXCLUDES(mutex_);
  void TellPeers() STRATA_EXCLUDES(mutex_);
  void Flood(const Status& why);
  bool AllLinked() const STRATA_REQUIRES(mutex_);
  std::string Missing() const STRATA_REQUIRES(mutex_);
  Status TimedOut();
  Status LinkWanted(std::set<int> unresolved, TimeNs deadline);
  Status LinkTo(Peer* peer, TimeNs deadline);
  void NoteLinked(Peer* peer) STRATA_REQUIRES(mutex_);
  void WakeExchange() STRATA_REQUIRES(mutex_);
  void LeaveMemory() STRATA_REQUIRES(mutex_);
  Status ExchangeWith(Peer* to, Peer* from, const ExchangeTag& tag, const SendPart& send,
                      const ReceivePart& receive, TimeNs deadline);
  Status WhyOver() const;
  Task KeepHearts();
  Task ReadControl(Peer* peer, ConnectionPtr control);
  void ControlEnded(Peer* peer, const Status& why);
  void SendHeartbeat(Peer* peer, LinkHeader beat);
  void TakeHeartbeat(Peer* peer, const LinkFrame& frame);
  bool Awaits(const Peer& peer) const;
  void Post(Peer* peer, std::string frame);
  Task WriteOutbox(Peer* peer, ConnectionPtr control);
  void StopWhenWritten();
  std::string Self() const;
  bool HasEnded() const STRATA_EXCLUDES(mutex_);

  // hub_handshakes.cc
  asio::awaitable<Status> ServeHandshake(ConnectionPtr connection);
  asio::awaitable<Status> ServeAdmin(ConnectionPtr connection);
  asio::awaitable<Status> ServeRegroup(ConnectionPtr connection);
  Status Judge(const LinkHello& hello, const std::string& remote);
  Task Dial(Peer* peer, LinkPurpose purpose, std::vector<std::string> addresses);
  asio::awaitable<Status> DialOnce(Peer* peer, LinkPurpose purpose, const std::string& address);
  void ResolveAndDial(std::set<int>* unresolved, TimeNs deadline);
  void NoteProblem(Peer* peer, const std::string& what);
  void Adopt(Peer* peer, LinkPurpose purpose, ConnectionPtr connection);

  // hub_memory.cc: with a peer on this host, exchanges go through memory that both share. The lower
  // rank offers it over the control connection once both are up, the other answers.
  void OfferMemory(Peer* peer);
  void TakeOffer(Peer* peer, const std::string& offer);
  void TakeAnswer(Peer* peer, const Status& answer);
  void Settle(Peer* peer, const Status& why_not);
  SharedPair PairWith(const Peer& peer) const;
  void NoteSockets(const Peer& peer, const Status& why);

  const LinkOptions options_;
  Listener listener_;
  const LinkProof proof_;
  const LinkPlace place_;
  const uint64_t process_;
  asio::io_context io_;
  AcceptLoop accepting_;
  asio::steady_timer heart_;
  asio::steady_timer linger_;
  std::map<int, Peer> peers_;       // by rank; the map itself never changes
  bool connected_ = false;          // Connect has succeeded; of the calling thread
  std::vector<std::byte> scratch_;  // of exchanges
  Whereabouts whereabouts_;         // of the calling thread
  const bool crowded_;              // more ranks on this host than processors
  OwnedFd wake_;                    // eventfd: readable once the group has failed
  std::thread thread_;

  // I/O thread only.
  bool noted_sockets_ = false;
  bool stopping_ = false;

  std::atomic<bool> over_ = false;  // failed, left or stopping: WhyOver says which

  mutable Mutex mutex_;
  CondVar changed_;
  Status failure_ STRATA_GUARDED_BY(mutex_);
  // What the peers have yet to hear of the failure.
  std::optional<Status> untold_ STRATA_GUARDED_BY(mutex_);
  bool ended_ STRATA_GUARDED_BY(mutex_) = false;  // left or stopping: nothing is a failure any more
  std::function<void(const Status&)> on_failure_ STRATA_GUARDED_BY(mutex_);
  std::function<std::string()> status_provider_ STRATA_GUARDED_BY(mutex_);
  std::function<std::string(std::string_view)> control_handler_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata::link_internal
