#include "cluster/link/hub.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "cluster/link/exchange/data_exchange.h"
#include "cluster/link/exchange/exchange_parts.h"
#include "cluster/link/exchange/shared_exchange.h"
#include "cluster/topology/peers.h"

namespace strata::link_internal {
namespace {

using boost::system::error_code;

// How long the end of a data connection waits for the control connection to say why.
constexpr TimeNs kVerdictWait = kSecond;
// How long the end of the process waits for aborts and goodbyes to be written.
constexpr TimeNs kLinger = 500 * kMillisecond;

std::chrono::nanoseconds Chrono(TimeNs t) { return std::chrono::nanoseconds(t); }

int RanksHere(const LinkOptions& options) {
  const std::string& host = options.workers[static_cast<size_t>(options.rank)].host;
  return static_cast<int>(std::ranges::count(options.workers, host, &Machine::host));
}

}  // namespace

Hub::Hub(LinkOptions options, Listener listener)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      proof_{.key = MakeLinkKey(options_.secret), .tls = options_.tls},
      place_{.job = MakeJobId(options_.cluster, options_.job, options_.generation),
             .world = static_cast<int>(options_.workers.size()),
             .rank = options_.rank},
      process_(MakeProcessId()),
      io_(1),
      accepting_(io_, [this](ConnectionPtr from) { return ServeHandshake(std::move(from)); }),
      heart_(io_),
      linger_(io_),
      scratch_(kReduceScratchBytes),
      crowded_(RanksHere(options_) > static_cast<int>(std::thread::hardware_concurrency())),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (int rank = 0; rank < place_.world; ++rank) {
    if (rank == options_.rank) continue;
    Peer& peer = peers_[rank];
    peer.rank = rank;
    peer.machine = options_.workers[static_cast<size_t>(rank)];
    peer.name = RankName(rank, peer.machine);
  }
  for (const int rank : CirculantPeers(place_.world, options_.rank)) peers_[rank].wanted = true;
}

Hub::~Hub() { static_cast<void>(Close()); }

Listener Hub::Close() {
  if (!thread_.joinable()) return std::move(listener_);
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    over_ = true;
    LeaveMemory();
  }
  asio::post(io_, [this] {
    // What the I/O thread posted to itself may come behind this: without a word from here the
    // peers would blame this rank.
    TellPeers();
    listener_.socket = accepting_.Stop();
    heart_.cancel();
    stopping_ = true;
    linger_.expires_after(Chrono(kLinger));
    linger_.async_wait([this](const error_code&) { io_.stop(); });
    StopWhenWritten();
  });
  thread_.join();
  return std::move(listener_);
}

Status Hub::Start() {
  if (wake_.get() < 0) return Failed(fmt::format("eventfd: {}", std::strerror(errno)));
  STRATA_TRY(accepting_.Start(&listener_));
  asio::co_spawn(io_, KeepHearts(), asio::detached);
  thread_ = std::thread([this] { io_.run(); });
  return {};
}

void Hub::SetStatusProvider(std::function<std::string()> provider) {
  const MutexLock lock(mutex_);
  status_provider_ = std::move(provider);
}

void Hub::SetControlHandler(std::function<std::string(std::string_view)> handler) {
  const MutexLock lock(mutex_);
  control_handler_ = std::move(handler);
}

void Hub::OnFailure(std::function<void(const Status&)> callback) {
  const MutexLock lock(mutex_);
  on_failure_ = std::move(callback);
  if (!failure_.ok() && !untold_.has_value()) {
    asio::post(io_, [call = on_failure_, why = failure_] { call(why); });
  }
}

std::string Hub::Self() const {
  return RankName(options_.rank, options_.workers[static_cast<size_t>(options_.rank)]);
}

// ---- Failure.

Status Hub::Failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

bool Hub::HasEnded() const {
  const MutexLock lock(mutex_);
  return ended_ || !failure_.ok();
}

void Hub::Fail(const Status& here, const Status& elsewhere) {
  {
    const MutexLock lock(mutex_);
    if (ended_ || !failure_.ok()) return;
    failure_ = here;
    untold_ = elsewhere;
    over_ = true;
    WakeExchange();
  }
  const uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
  changed_.NotifyAll();
  asio::post(io_, [this] { TellPeers(); });
}

void Hub::TellPeers() {
  Status here;
  Status elsewhere;
  std::function<void(const Status&)> callback;
  {
    const MutexLock lock(mutex_);
    if (!untold_.has_value()) return;
    elsewhere = *std::exchange(untold_, std::nullopt);
    here = failure_;
    callback = on_failure_;
  }
  Flood(elsewhere);
  if (callback) callback(here);
}

void Hub::FailSeenHere(const Status& why) {
  Fail(why, Status(why.code(), fmt::format("rank {} says: {}", options_.rank, why.message())));
}

void Hub::Cancel(const Status& why) {
  if (why.ok()) return;
  Fail(why, Lost(fmt::format("{} has ended the job: {}", Self(), why.ToString())));
}

void Hub::Flood(const Status& why) {
  const std::string frame =
      MakeLinkFrame({.type = LinkFrameType::kAbort, .operation = static_cast<uint64_t>(why.code())},
                    why.message().substr(0, kNoticeBytesMax));
  for (auto& [rank, peer] : peers_) Post(&peer, frame);
}

// ---- The control connections.

void Hub::Post(Peer* peer, std::string frame) {
  if (!peer->control || !peer->control->is_open()) return;
  peer->outbox.push_back(std::move(frame));
  if (peer->outbox.size() > 1) return;
  // Straight into the socket's buffer: an abort is out before the callback may end the process.
  std::string& front = peer->outbox.front();
  front.erase(0, peer->control->WriteNow(front));
  if (front.empty()) {
    peer->outbox.pop_front();
  } else {
    asio::co_spawn(io_, WriteOutbox(peer, peer->control), asio::detached);
  }
}

Hub::Task Hub::WriteOutbox(Peer* peer, ConnectionPtr control) {
  while (!peer->outbox.empty()) {
    Status written = co_await control->Write(peer->outbox.front());
    if (!written.ok()) {
      peer->outbox.clear();  // the reader sees the end, and says so
    } else {
      peer->outbox.pop_front();
    }
  }
  StopWhenWritten();
}

void Hub::StopWhenWritten() {
  if (!stopping_) return;
  for (const auto& [rank, peer] : peers_) {
    if (!peer.outbox.empty()) return;
  }
  error_code ignored;
  for (auto& [rank, peer] : peers_) {
    if (peer.control) peer.control->socket().shutdown(Tcp::socket::shutdown_both, ignored);
  }
  io_.stop();
}

Hub::Task Hub::KeepHearts() {
  TimeNs last_tick = RealClock().Now();
  for (;;) {
    heart_.expires_after(Chrono(options_.heartbeat_every));
    error_code error;
    co_await heart_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error || stopping_) co_return;
    const TimeNs now = RealClock().Now();
    // The time that this process was stopped itself is not the silence of others.
    const TimeNs since_last = now - last_tick;
    const TimeNs stopped = since_last > 3 * options_.heartbeat_every ? since_last : 0;
    last_tick = now;
    const std::optional<Whereabouts::Stay> stay = whereabouts_.LongStay();
    for (auto& [rank, peer] : peers_) {
      if (!peer.control || !peer.control->is_open()) continue;
      peer.last_heard = std::min(peer.last_heard + stopped, now);
      // The next look is a beat away, or a little more, and then the others are to be told.
      if (now - peer.last_heard > options_.peer_lost_after - options_.heartbeat_every * 5 / 4) {
        FailSeenHere(Lost(fmt::format("{} is lost: it has been silent for {} s", peer.name,
                                      (now - peer.last_heard) / kSecond)));
      }
      // The stall may have begun a beat before it was announced.
      peer.progress.Excuse(stopped);
      const TimeNs stalled = peer.progress.Stalled(Awaits(peer), now);
      if (stalled > options_.peer_lost_after - options_.heartbeat_every * 9 / 4) {
        FailSeenHere(Lost(fmt::format(
            "{} is lost: it is alive, but nothing of what it sends has come over its data "
            "connection for {} s",
            peer.name, stalled / kSecond)));
      }
      LinkHeader beat;
      if (stay.has_value() && (rank == stay->to || rank == stay->from)) {
        beat.operation = stay->tag.OperationWord();
        beat.sequence = stay->tag.SequenceWord();
      }
      if (peer.outbox.empty()) SendHeartbeat(&peer, beat);
    }
  }
}

// Its body is how much this rank has sent over the data connection.
void Hub::SendHeartbeat(Peer* peer, LinkHeader beat) {
  beat.type = LinkFrameType::kHeartbeat;
  std::string sent;
  PutLittle(&sent, peer->progress.sent());
  Post(peer, MakeLinkFrame(beat, sent));
}

// That this rank waits for data of the peer, and that it is not just slow to take what has come.
bool Hub::Awaits(const Peer& peer) const {
  const std::optional<Whereabouts::Stay> stay = whereabouts_.Now();
  if (!stay.has_value() || stay->from != peer.rank) return false;
  int arrived = 0;
  return ioctl(peer.data.socket.get(), FIONREAD, &arrived) == 0 && arrived == 0;
}

// The peer may say which exchange with this rank it has been in for long.
void Hub::TakeHeartbeat(Peer* peer, const LinkFrame& frame) {
  const LinkHeader& header = frame.header;
  std::string_view body = frame.body;
  if (body.size() != sizeof(uint64_t)) {
    ControlEnded(peer, Corrupt(fmt::format("a heartbeat of {} bytes", body.size())));
    return;
  }
  peer->progress.TakeAnnounced(TakeLittle<uint64_t>(&body), Awaits(*peer), peer->last_heard);
  if (header.operation == 0) return;
  const ExchangeTag theirs = ExchangeTag::FromWords(header.operation, header.sequence);
  const auto mine = whereabouts_.OperationOf(theirs.group, theirs.call);
  if (!mine.has_value() || *mine == header.operation) return;
  FailSeenHere(CheckMessage(peer->name, ExchangeTag::FromWords(*mine, header.sequence),
                            header.operation, header.sequence, 0, 0));
}

Hub::Task Hub::ReadControl(Peer* peer, ConnectionPtr control) {
  for (;;) {
    Result<LinkFrame> frame = co_await ReadFrame(*control, kNoticeBytesMax);
    if (!frame.ok()) {
      ControlEnded(peer, frame.status());
      co_return;
    }
    peer->last_heard = RealClock().Now();
    switch (frame->header.type) {
      case LinkFrameType::kHeartbeat:
        TakeHeartbeat(peer, *frame);
        break;
      case LinkFrameType::kAbort: {
        const Status why(CodeFromWire(frame->header.operation), frame->body);
        Fail(why, why);
        break;
      }
      case LinkFrameType::kOffer:
        TakeOffer(peer, frame->body);
        break;
      case LinkFrameType::kAnswer:
        TakeAnswer(peer, frame->header.operation == 0
                             ? Status()
                             : Status(CodeFromWire(frame->header.operation), frame->body));
        break;
      case LinkFrameType::kGoodbye: {
        const MutexLock lock(mutex_);
        peer->left = true;
        changed_.NotifyAll();
        break;
      }
      default:
        ControlEnded(peer, Corrupt(fmt::format("it sent a frame of type {} between heartbeats",
                                               static_cast<int>(frame->header.type))));
        co_return;
    }
  }
}

void Hub::ControlEnded(Peer* peer, const Status& why) {
  peer->control->Close();
  peer->outbox.clear();
  {
    const MutexLock lock(mutex_);
    if (peer->left) return;
  }
  if (why.code() == StatusCode::kLost) {
    FailSeenHere(Lost(fmt::format("{} is lost: its process has ended or cannot be reached ({})",
                                  peer->name, why.message())));
  } else {
    FailSeenHere(why.Prefixed(peer->name));
  }
}

// ---- The calling thread.

bool Hub::AllLinked() const {
  return std::ranges::all_of(
      peers_, [](const auto& entry) { return !entry.second.wanted || entry.second.linked; });
}

std::string Hub::Missing() const {
  std::vector<std::string> missing;
  for (const auto& [rank, peer] : peers_) {
    if (!peer.wanted || peer.linked) continue;
    const std::string quiet = rank > options_.rank ? "has not connected" : "gives no answer";
    missing.push_back(
        fmt::format("{}: {}", peer.name, peer.problem.empty() ? quiet : peer.problem));
  }
  return fmt::format("{}", fmt::join(missing, "; "));
}

Status Hub::TimedOut() {
  std::string missing;
  {
    const MutexLock lock(mutex_);
    missing = Missing();
  }
  FailSeenHere(
      Lost(fmt::format("workers are missing after {} s: {}; are they started, with the "
                       "same machine list?",
                       options_.connect_timeout / kSecond, missing)));
  return Failure();
}

Status Hub::Connect() {
  std::set<int> unresolved;
  for (const int rank : CirculantPeers(place_.world, options_.rank)) {
    if (rank < options_.rank) unresolved.insert(rank);
  }
  STRATA_TRY(LinkWanted(std::move(unresolved), RealClock().Now() + options_.connect_timeout));
  connected_ = true;
  return {};
}

Status Hub::LinkWanted(std::set<int> unresolved, TimeNs deadline) {
  for (;;) {
    ResolveAndDial(&unresolved, deadline);
    const TimeNs left = deadline - RealClock().Now();
    // A name that is not known yet is asked for again now and then.
    const TimeNs wait = unresolved.empty() ? left : std::min(left, 500 * kMillisecond);
    MutexLock lock(mutex_);
    const bool settled = changed_.WaitFor(mutex_, std::max<TimeNs>(wait, 0), [this] {
      mutex_.AssumeHeld();
      return !failure_.ok() || AllLinked();
    });
    if (!failure_.ok()) return failure_;
    if (settled) return {};
    lock.Unlock();
    if (RealClock().Now() >= deadline) return TimedOut();
  }
}

// The peer does the same at the same time, since it takes part in the exchange for which this is.
Status Hub::LinkTo(Peer* peer, TimeNs deadline) {
  {
    const MutexLock lock(mutex_);
    peer->wanted = true;
    NoteLinked(peer);
  }
  std::set<int> unresolved;
  if (peer->rank < options_.rank) unresolved.insert(peer->rank);
  return LinkWanted(std::move(unresolved),
                    std::min(deadline, RealClock().Now() + options_.connect_timeout));
}

void Hub::NoteLinked(Peer* peer) {
  peer->linked = peer->wanted && peer->control_up && peer->data_up && peer->settled;
}

void Hub::WakeExchange() {
  for (auto& [rank, peer] : peers_) {
    if (peer.segment != nullptr) peer.segment->side().bell->Ring();
  }
}

void Hub::LeaveMemory() {
  for (auto& [rank, peer] : peers_) {
    if (peer.segment != nullptr) peer.segment->Leave();
  }
}

int Hub::open_links() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(
      std::ranges::count_if(peers_, [](const auto& entry) { return entry.second.data_up; }));
}

Status Hub::WhyOver() const {
  const MutexLock lock(mutex_);
  return failure_.ok() ? Cancelled("this rank has left the group") : failure_;
}

Status Hub::Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                     TimeNs deadline) {
  if (over_) return WhyOver();
  std::array<Peer*, 2> used{};
  if (send.peer >= 0) used[0] = &peers_.at(send.peer);
  if (receive.peer >= 0) used[1] = &peers_.at(receive.peer);
  for (Peer* peer : used) {
    if (peer != nullptr && !peer->linked) STRATA_TRY(LinkTo(peer, deadline));
  }
  whereabouts_.Enter({.tag = tag, .to = send.peer, .from = receive.peer});
  Status status = ExchangeWith(used[0], used[1], tag, send, receive, deadline);
  whereabouts_.Leave();
  if (status.ok()) return status;
  if (status.code() == StatusCode::kLost) {
    const auto departed = [&used] {
      return std::ranges::find_if(used,
                                  [](const Peer* peer) { return peer != nullptr && peer->left; });
    };
    const MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, kVerdictWait, [&] {
      mutex_.AssumeHeld();
      return !failure_.ok() || departed() != used.end();
    });
    if (departed() != used.end()) {
      status = Lost(fmt::format("{} has finished its job and left while this rank is in {}",
                                (*departed())->name, tag.Describe()));
    }
  }
  FailSeenHere(status);
  return Failure();
}

// Either may be null.
Status Hub::ExchangeWith(Peer* to, Peer* from, const ExchangeTag& tag, const SendPart& send,
                         const ReceivePart& receive, TimeNs deadline) {
  SocketEnds sockets{.wake_fd = wake_.get(), .crowded = crowded_, .scratch = scratch_};
  SharedEnds shared{.failed = &over_, .scratch = scratch_, .crowded = crowded_};
  bool over_sockets = false;
  bool in_memory = false;
  if (to != nullptr) {
    sockets.send_peer = shared.send_peer = to->name;
    if (to->segment != nullptr) {
      shared.send = &to->segment->side();
      in_memory = true;
    } else {
      sockets.send_fd = to->data.socket.get();
      sockets.send_tls = to->data.tls.get();
      sockets.send_progress = &to->progress;
      over_sockets = true;
    }
  }
  if (from != nullptr) {
    sockets.receive_peer = shared.receive_peer = from->name;
    if (from->segment != nullptr) {
      shared.receive = &from->segment->side();
      in_memory = true;
    } else {
      sockets.receive_fd = from->data.socket.get();
      sockets.receive_tls = from->data.tls.get();
      sockets.receive_progress = &from->progress;
      over_sockets = true;
    }
  }
  if (!in_memory) return ExchangeOverSockets(sockets, tag, send, receive, deadline);
  if (!over_sockets) return ExchangeOverMemory(shared, tag, send, receive, deadline);
  return ExchangeOverBoth(shared, sockets, tag, send, receive, deadline);
}

Status Hub::Leave(TimeNs timeout) {
  {
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    // Whoever still waits for data of this rank sees the end of the stream.
    for (auto& [rank, peer] : peers_) {
      if (peer.data_up) shutdown(peer.data.socket.get(), SHUT_WR);
    }
    LeaveMemory();
  }
  asio::post(io_, [this] {
    for (auto& [rank, peer] : peers_) {
      Post(&peer, MakeLinkFrame({.type = LinkFrameType::kGoodbye}));
    }
  });
  const MutexLock lock(mutex_);
  const auto all_left = [this] {
    return std::ranges::all_of(
        peers_, [](const auto& entry) { return entry.second.left || !entry.second.control_up; });
  };
  changed_.WaitFor(mutex_, timeout, [&] {
    mutex_.AssumeHeld();
    return !failure_.ok() || all_left();
  });
  if (!failure_.ok()) return failure_;
  ended_ = true;
  over_ = true;
  if (!all_left()) Log(LogLevel::kInfo, "link: leaving before all others have said goodbye");
  return {};
}

}  // namespace strata::link_internal
