// The part of Hub that makes connections: accepting, judging, dialling, adopting.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "base/log.h"
#include "cluster/link/hub.h"
#include "cluster/link/regroup/regroup_message.h"
#include "cluster/names/resolve.h"

namespace strata::link_internal {
namespace {

using boost::system::error_code;

constexpr TimeNs kRetryFirst = 50 * kMillisecond;
constexpr TimeNs kRetryLast = kSecond;
constexpr TimeNs kResolveTimeout = 5 * kSecond;

asio::awaitable<void> Pause(asio::io_context& io, TimeNs time) {
  asio::steady_timer timer(io);
  timer.expires_after(std::chrono::nanoseconds(time));
  error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace

// ---- Accepting.

asio::awaitable<Status> Hub::ServeHandshake(ConnectionPtr connection) {
  TimeNs allowed = options_.accept_timeout;
  std::optional<SocketDeadline> limit(std::in_place, connection, allowed);
  const std::string remote = connection->Remote();
  Peer* claimed = nullptr;  // whose place this handshake holds, from the verdict on
  const Judgement judge = [&](const LinkHello& theirs) {
    Status verdict = Judge(theirs, remote);
    if (!verdict.ok()) return verdict;
    accepting_.Trust(connection);
    if (theirs.purpose != LinkPurpose::kControl && theirs.purpose != LinkPurpose::kData) {
      return verdict;
    }
    claimed = &peers_.at(static_cast<int>(theirs.from));
    // The dialer counts the link once it has sent its confirm: who gives up on that now would end
    // the group when a slow machine is late.
    allowed = std::max(options_.accept_timeout, options_.connect_timeout);
    limit.emplace(connection, allowed);
    return verdict;
  };
  Result<LinkHello> hello = co_await AcceptHandshake(*connection, proof_, judge);
  Status status = hello.status();
  if (hello.ok()) {
    Result<LinkFrame> confirm = co_await ReadFrame(*connection, 0);
    status = confirm.status();
    if (confirm.ok() && confirm->header.type != LinkFrameType::kConfirm) {
      status = Corrupt("it did not confirm the handshake");
    }
    if (hello->purpose == LinkPurpose::kAdmin) {
      if (status.ok()) status = co_await ServeAdmin(connection);
    } else if (hello->purpose == LinkPurpose::kRegroup) {
      if (status.ok()) status = co_await ServeRegroup(connection);
    } else if (status.ok()) {
      Adopt(claimed, hello->purpose, connection);
    }
  }
  if (claimed != nullptr) {
    --claimed->handshakes;
    if (claimed->handshakes == 0 && !claimed->control && !claimed->data_up) claimed->process = 0;
  }
  if (!status.ok() && limit->passed()) {
    status = DeadlineExceeded(fmt::format("no handshake within {} ms", allowed / kMillisecond));
  }
  co_return status;
}

Status Hub::Judge(const LinkHello& hello, const std::string& remote) {
  if (hello.purpose == LinkPurpose::kAdmin) return {};
  if (hello.purpose == LinkPurpose::kRegroup) {
    return CheckJob(hello, MakeJobId(options_.cluster, options_.job), options_.rank);
  }
  for (uint64_t before = 0; before < options_.generation; ++before) {
    if (hello.job != MakeJobId(options_.cluster, options_.job, before)) continue;
    return Refused(fmt::format("rank {} of generation {} is out: the group is in generation {}",
                               hello.from, before, options_.generation));
  }
  STRATA_TRY(CheckHello(hello, place_));
  if (hello.purpose == LinkPurpose::kRendezvous) {
    return Refused("the ranks of this job have met, or have machine lists: nobody else can join");
  }
  if (HasEnded()) return Refused("the job has ended here: " + Failure().message());
  Peer& peer = peers_.at(static_cast<int>(hello.from));
  if (peer.process != 0 && peer.process != hello.process) {
    return Refused(
        fmt::format("rank {} is already taken by a process at {}; two processes were "
                    "started with one rank",
                    hello.from, peer.holder));
  }
  peer.process = hello.process;
  peer.holder = remote;
  ++peer.handshakes;
  return {};
}

asio::awaitable<Status> Hub::ServeAdmin(ConnectionPtr connection) {
  Result<LinkFrame> request = co_await ReadFrame(*connection, kAdminBytesMax);
  if (!request.ok()) co_return request.status();
  std::function<std::string()> provider;
  std::function<std::string(std::string_view)> handler;
  {
    const MutexLock lock(mutex_);
    provider = status_provider_;
    handler = control_handler_;
  }
  Status status;
  std::string answer;
  if (request->header.type == LinkFrameType::kStatus && provider) {
    answer = provider();
  } else if (request->header.type == LinkFrameType::kControl && handler) {
    answer = handler(request->body);
  } else if (request->header.type == LinkFrameType::kWorkers) {
    for (const Machine& worker : options_.workers) answer += worker.Address() + " worker\n";
  } else {
    status = Refused("this worker does not answer such requests yet; try again in a moment");
    answer = status.message();
  }
  co_return co_await WriteFrame(
      *connection,
      {.type = LinkFrameType::kReply, .operation = static_cast<uint64_t>(status.code())}, answer);
}

// From ranks of the generation before, which do not know yet that this one follows it, or that they
// are not in it.
asio::awaitable<Status> Hub::ServeRegroup(ConnectionPtr connection) {
  const RegroupReply reply = [this](const RegroupMessage& question) {
    return AnswerOfGroup(options_, question);
  };
  co_return co_await AnswerRegroup(*connection, reply);
}

// ---- Dialling.

void Hub::NoteProblem(Peer* peer, const std::string& what) {
  const MutexLock lock(mutex_);
  peer->problem = what;
}

void Hub::ResolveAndDial(std::set<int>* unresolved, TimeNs deadline) {
  for (auto at = unresolved->begin(); at != unresolved->end();) {
    Peer* peer = &peers_.at(*at);
    const TimeNs left = std::max<TimeNs>(deadline - RealClock().Now(), 0);
    auto addresses = ResolveHost(peer->machine.host, std::min(left, kResolveTimeout));
    if (!addresses.ok()) {
      NoteProblem(peer, addresses.status().message());
      ++at;
      continue;
    }
    for (LinkPurpose purpose : {LinkPurpose::kControl, LinkPurpose::kData}) {
      asio::co_spawn(io_, Dial(peer, purpose, *addresses), asio::detached);
    }
    at = unresolved->erase(at);
  }
}

Hub::Task Hub::Dial(Peer* peer, LinkPurpose purpose, std::vector<std::string> addresses) {
  TimeNs pause = kRetryFirst;
  for (;;) {
    for (const std::string& address : addresses) {
      if (stopping_ || HasEnded()) co_return;
      Status status = co_await DialOnce(peer, purpose, address);
      if (status.ok()) co_return;
      if (status.code() == StatusCode::kRefused) {
        FailSeenHere(status.Prefixed("no link with " + peer->name));
        co_return;
      }
      NoteProblem(peer, status.message());
    }
    co_await Pause(io_, pause);
    pause = std::min(2 * pause, kRetryLast);
  }
}

asio::awaitable<Status> Hub::DialOnce(Peer* peer, LinkPurpose purpose, const std::string& address) {
  error_code error;
  const Tcp::endpoint endpoint(asio::ip::make_address(address, error), peer->machine.port);
  if (error) co_return Failed(fmt::format("'{}' is no address", address));
  auto connection = std::make_shared<Connection>(Tcp::socket(io_));
  const SocketDeadline deadline(connection, options_.accept_timeout);
  co_await connection->socket().async_connect(endpoint,
                                              asio::redirect_error(asio::use_awaitable, error));
  if (deadline.passed()) co_return DeadlineExceeded("no answer to the connection request");
  if (error) co_return Lost(error.message());
  connection->Prepare();
  const LinkHello hello{.purpose = purpose,
                        .job = place_.job,
                        .world = static_cast<uint32_t>(place_.world),
                        .from = static_cast<uint32_t>(options_.rank),
                        .to = static_cast<uint32_t>(peer->rank),
                        .process = process_,
                        .nonce = MakeLinkNonce()};
  Status status = co_await DialHandshake(*connection, hello, proof_);
  if (deadline.passed()) co_return DeadlineExceeded("it does not answer the handshake");
  if (status.ok()) Adopt(peer, purpose, connection);
  co_return status;
}

void Hub::Adopt(Peer* peer, LinkPurpose purpose, ConnectionPtr connection) {
  const bool is_control = purpose == LinkPurpose::kControl;
  if (is_control ? peer->control != nullptr : peer->data_up) return;
  if (is_control) {
    error_code ignored;
    connection->socket().non_blocking(true, ignored);
    peer->control = connection;
    peer->last_heard = RealClock().Now();
  }
  {
    const MutexLock lock(mutex_);
    if (is_control) {
      peer->control_up = true;
    } else {
      peer->data = connection->Release();
      peer->data_up = true;
    }
    NoteLinked(peer);
  }
  changed_.NotifyAll();
  if (is_control) {
    SendHeartbeat(peer, {});
    // What TLS has read ahead is handled before this returns.
    asio::co_spawn(io_, ReadControl(peer, std::move(connection)), asio::detached);
  }
  if (peer->rank > options_.rank && peer->control_up && peer->data_up) OfferMemory(peer);
}

}  // namespace strata::link_internal
