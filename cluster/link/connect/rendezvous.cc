#include "cluster/link/connect/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "base/log.h"
#include "cluster/link/connect/accept_loop.h"
#include "cluster/link/connect/handshake.h"
#include "cluster/link/connect/session.h"
#include "cluster/names/resolve.h"

namespace strata {
namespace {

using boost::system::error_code;
using link_internal::AcceptLoop;
using link_internal::Connection;
using link_internal::ConnectionPtr;
using link_internal::LinkFrame;
using link_internal::LinkProof;
using link_internal::SocketDeadline;
using link_internal::Tcp;
namespace asio = boost::asio;

constexpr LinkHeader kJoinHeader{.type = LinkFrameType::kJoin};
constexpr LinkHeader kMembersHeader{.type = LinkFrameType::kMembers};
constexpr TimeNs kRetryFirst = 50 * kMillisecond;
constexpr TimeNs kRetryLast = kSecond;
constexpr TimeNs kResolveTimeout = 5 * kSecond;
constexpr TimeNs kSayEvery = 10 * kSecond;

LinkPlace PlaceOf(const RendezvousOptions& options) {
  return {
      .job = MakeJobId(options.cluster, options.job), .world = options.world, .rank = options.rank};
}

LinkProof ProofOf(const RendezvousOptions& options) {
  return {.key = MakeLinkKey(options.secret), .tls = options.tls};
}

// Addresses of the ranks from 1 on, each two bytes of port, two of length, and text.
std::string EncodeMembers(std::span<const Machine> workers) {
  std::string body;
  for (const Machine& worker : workers) {
    PutLittle(&body, worker.port);
    PutLittle(&body, static_cast<uint16_t>(worker.host.size()));
    body += worker.host;
  }
  return body;
}

Result<std::vector<Machine>> DecodeMembers(std::string_view body, int count) {
  std::vector<Machine> workers;
  while (static_cast<int>(workers.size()) < count) {
    if (body.size() < 4) return Corrupt("a list of ranks that ends too early");
    Machine worker;
    worker.port = TakeLittle<uint16_t>(&body);
    const size_t bytes = TakeLittle<uint16_t>(&body);
    if (body.size() < bytes) return Corrupt("a list of ranks that ends too early");
    worker.host = body.substr(0, bytes);
    worker.rank = static_cast<int>(workers.size()) + 1;
    body.remove_prefix(bytes);
    workers.push_back(std::move(worker));
  }
  if (!body.empty()) return Corrupt("a list of more ranks than there are");
  return workers;
}

// ---- Rank 0.

class Host {
 public:
  explicit Host(const RendezvousOptions& options)
      : options_(options),
        proof_(ProofOf(options)),
        io_(1),
        accepting_(io_, [this](ConnectionPtr from) { return Serve(std::move(from)); }),
        timer_(io_),
        guests_(static_cast<size_t>(options.world - 1)) {}

  Result<Meeting> Meet() {
    auto opened = OpenListener(options_.host, options_.port, options_.timeout);
    if (!opened.ok()) return opened.status().Prefixed("the ranks' meeting place");
    Listener listener = std::move(opened).value();
    STRATA_TRY(CheckExposure(listener, options_.has_proof(), options_.insecure));
    STRATA_TRY(accepting_.Start(&listener));
    asio::co_spawn(io_, Wait(), asio::detached);
    io_.run();
    if (!not_met_.ok()) return not_met_;
    listener.socket = std::move(socket_);
    workers_.insert(workers_.begin(), {.host = listener.address, .port = listener.port});
    return Meeting{.workers = std::move(workers_), .listener = std::move(listener)};
  }

 private:
  // Another rank; its place is free without a process.
  struct Guest {
    uint64_t process = 0;
    ConnectionPtr connection;  // null: its handshake is not over
    Machine machine;
  };

  static double Seconds(TimeNs time) {
    return static_cast<double>(time) / static_cast<double>(kSecond);
  }

  // "rank 3", "ranks 1, 3"; "" when all are here.
  std::string Missing() const {
    std::vector<size_t> missing;
    for (size_t i = 0; i < guests_.size(); ++i) {
      if (guests_[i].connection == nullptr) missing.push_back(i + 1);
    }
    if (missing.empty()) return "";
    return fmt::format("rank{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
  }

  asio::awaitable<void> Wait() {
    const TimeNs begin = RealClock().Now();
    TimeNs next_word = begin + kSayEvery;
    const TimeNs deadline = begin + options_.timeout;
    while (!Missing().empty() && RealClock().Now() < deadline) {
      const TimeNs rest = std::min(deadline, next_word) - RealClock().Now();
      timer_.expires_after(std::chrono::nanoseconds(std::max<TimeNs>(rest, 0)));
      error_code woken;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (RealClock().Now() < next_word) continue;
      next_word += kSayEvery;
      if (!Missing().empty()) Log(LogLevel::kInfo, "waiting for {} to come", Missing());
    }
    // Whoever dials from here on waits in the socket's queue until Links serves it.
    socket_ = accepting_.Stop();
    const std::string missing = Missing();
    if (missing.empty()) {
      // One that ends from now on is missed by the links.
      for (const Guest& guest : guests_) workers_.push_back(guest.machine);
      co_await TellGuests(kMembersHeader, EncodeMembers(workers_));
    } else {
      not_met_ = Lost(fmt::format(
          "{} did not come to the meeting place {} port {} within {}: {} started, with the same "
          "address?",
          missing, options_.host, options_.port, HumanSeconds(Seconds(options_.timeout)),
          options_.world == 2 ? "is it" : "are they all"));
      co_await TellGuests(
          {.type = LinkFrameType::kAbort, .operation = static_cast<uint64_t>(not_met_.code())},
          not_met_.message().substr(0, kNoticeBytesMax));
    }
    io_.stop();
  }

  // Those who have come by now. That one of them does not hear it is for others to find.
  asio::awaitable<void> TellGuests(LinkHeader header, std::string body) {
    const std::vector<Guest> came = guests_;
    for (const Guest& guest : came) {
      if (guest.connection == nullptr) continue;
      const SocketDeadline limit(guest.connection, options_.accept_timeout);
      Status told = co_await link_internal::WriteFrame(*guest.connection, header, body);
      static_cast<void>(told);
    }
  }

  asio::awaitable<Status> Serve(ConnectionPtr connection) {
    std::optional<SocketDeadline> limit(std::in_place, connection, options_.accept_timeout);
    Guest* claimed = nullptr;  // whose place this connection has, from the verdict on
    const link_internal::Judgement judge = [&, this](const LinkHello& hello) {
      Status verdict = Judge(hello);
      if (!verdict.ok()) return verdict;
      accepting_.Trust(connection);
      if (hello.purpose == LinkPurpose::kRendezvous) claimed = &guests_[hello.from - 1];
      return verdict;
    };
    Result<LinkHello> hello = co_await link_internal::AcceptHandshake(*connection, proof_, judge);
    if (!hello.ok()) {
      if (claimed != nullptr) *claimed = Guest();
      co_return hello.status();
    }
    Result<LinkFrame> confirm = co_await link_internal::ReadFrame(*connection, 0);
    Status status = confirm.status();
    if (hello->purpose == LinkPurpose::kAdmin) {
      const std::string answer = "the job's ranks have yet to meet: waiting for " + Missing();
      if (status.ok()) status = co_await link_internal::RefuseRequest(*connection, answer);
      co_return status;
    }
    Guest& guest = guests_[hello->from - 1];
    if (status.ok()) status = co_await Join(connection, &guest);
    limit.reset();
    if (status.ok()) {
      timer_.cancel();  // all may be here
      // It says no more: this ends when its process does.
      Result<LinkFrame> end = co_await link_internal::ReadFrame(*connection, 0);
      status = end.status();
    }
    guest = Guest();
    co_return status;
  }

  Status Judge(const LinkHello& hello) {
    if (hello.purpose == LinkPurpose::kAdmin) return {};
    STRATA_TRY(CheckHello(hello, PlaceOf(options_)));
    if (hello.purpose != LinkPurpose::kRendezvous) {
      return Refused("the ranks of this job have a meeting place; start all of them with it");
    }
    Guest& guest = guests_[hello.from - 1];
    if (guest.process != 0) {
      return Refused(
          fmt::format("rank {} is already taken by another process; two were started "
                      "with one rank",
                      hello.from));
    }
    guest.process = hello.process;
    return {};
  }

  asio::awaitable<Status> Join(const ConnectionPtr& connection, Guest* guest) {
    Result<LinkFrame> join = co_await link_internal::ReadFrame(*connection, sizeof(uint16_t));
    if (!join.ok()) co_return join.status();
    std::string_view body = join->body;
    if (join->header.type != LinkFrameType::kJoin || body.size() != sizeof(uint16_t)) {
      co_return Corrupt("it does not say where it listens");
    }
    error_code gone;
    const Tcp::endpoint remote = connection->socket().remote_endpoint(gone);
    if (gone) co_return Lost("the connection was closed");
    guest->machine.host = remote.address().to_string();
    guest->machine.port = TakeLittle<uint16_t>(&body);
    guest->machine.rank = static_cast<int>(guest - guests_.data()) + 1;
    guest->connection = connection;
    co_return Status();
  }

  const RendezvousOptions& options_;
  const LinkProof proof_;
  asio::io_context io_;
  AcceptLoop accepting_;
  asio::steady_timer timer_;
  std::vector<Guest> guests_;     // ranks from 1 on
  std::vector<Machine> workers_;  // likewise, once all have met
  Status not_met_;                // or why they have not
  OwnedFd socket_;
};

// ---- The others.

class Visitor {
 public:
  explicit Visitor(const RendezvousOptions& options)
      : options_(options), proof_(ProofOf(options)), process_(MakeProcessId()) {}

  Result<Meeting> Meet() {
    const TimeNs deadline = RealClock().Now() + options_.timeout;
    TimeNs pause = kRetryFirst;
    Status last = Lost("no time was left to dial it");
    while (RealClock().Now() < deadline) {
      const TimeNs left = deadline - RealClock().Now();
      auto addresses = ResolveHost(options_.host, std::min(left, kResolveTimeout));
      if (!addresses.ok()) last = addresses.status();
      for (const std::string& address : addresses.ok() ? *addresses : std::vector<std::string>()) {
        last = Dial(address, deadline);
        if (last.ok()) return std::move(meeting_);
        if (last.code() == StatusCode::kFailed) return last;  // nowhere to listen here
        if (last.code() != StatusCode::kLost) return last.Prefixed(Where());
      }
      asio::io_context io(1);
      asio::steady_timer timer(io);
      timer.expires_after(std::chrono::nanoseconds(
          std::min(pause, std::max<TimeNs>(deadline - RealClock().Now(), 0))));
      timer.wait();
      pause = std::min(2 * pause, kRetryLast);
    }
    if (!dismissal_.ok()) return dismissal_.Prefixed(Where());
    return Lost(fmt::format("{} let nobody in within {} s: {}", Where(), options_.timeout / kSecond,
                            last.message()));
  }

 private:
  std::string Where() const {
    return fmt::format("rank 0 at the meeting place {} port {}", options_.host, options_.port);
  }

  Status Dial(const std::string& address, TimeNs deadline) {
    error_code error;
    const Tcp::endpoint endpoint(asio::ip::make_address(address, error), options_.port);
    if (error) return Lost(fmt::format("'{}' is no address", address));
    asio::io_context io(1);
    Status status;
    asio::co_spawn(io, Visit(endpoint, deadline, &status), asio::detached);
    io.run();
    return status;
  }

  asio::awaitable<void> Visit(Tcp::endpoint endpoint, TimeNs deadline, Status* status) {
    const auto executor = co_await asio::this_coro::executor;
    auto connection = std::make_shared<Connection>(Tcp::socket(executor));
    std::optional<SocketDeadline> limit(std::in_place, connection, options_.accept_timeout);
    *status = co_await Introduce(connection, endpoint);
    if (limit->passed()) *status = Lost("it does not answer the handshake");
    if (!status->ok()) co_return;
    // Rank 0 knows who is missing, and says so when its time is over: about when this one's is.
    const TimeNs left = std::max<TimeNs>(deadline - RealClock().Now(), 0);
    limit.emplace(connection, left + options_.accept_timeout);
    Result<LinkFrame> members = co_await link_internal::ReadFrame(*connection, kAdminBytesMax);
    *status = limit->passed() ? Lost("others have not come") : members.status();
    if (!status->ok()) co_return;
    if (members->header.type == LinkFrameType::kAbort) {
      *status = dismissal_ = Lost(members->body);
      co_return;
    }
    Result<std::vector<Machine>> workers = DecodeMembers(members->body, options_.world - 1);
    *status = workers.status();
    if (!status->ok()) co_return;
    meeting_.workers = std::move(workers).value();
    meeting_.workers.insert(meeting_.workers.begin(),
                            {.host = endpoint.address().to_string(), .port = endpoint.port()});
  }

  asio::awaitable<Status> Introduce(const ConnectionPtr& connection, Tcp::endpoint endpoint) {
    error_code error;
    co_await connection->socket().async_connect(endpoint,
                                                asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return Lost(error.message());
    connection->Prepare();
    const LinkPlace place = PlaceOf(options_);
    const LinkHello hello{.purpose = LinkPurpose::kRendezvous,
                          .job = place.job,
                          .world = static_cast<uint32_t>(place.world),
                          .from = static_cast<uint32_t>(place.rank),
                          .process = process_,
                          .nonce = MakeLinkNonce()};
    Status status = co_await link_internal::DialHandshake(*connection, hello, proof_);
    if (!status.ok()) co_return status;
    // The address by which this machine reaches rank 0 is one by which it is reached.
    const std::string address = connection->socket().local_endpoint(error).address().to_string();
    if (error) co_return Lost(error.message());
    if (meeting_.listener.address != address) {
      meeting_.listener = Listener();
      Result<Listener> listener = OpenListener(address, options_.own_port, options_.timeout);
      if (!listener.ok()) co_return listener.status();
      meeting_.listener = std::move(listener).value();
      status = CheckExposure(meeting_.listener, options_.has_proof(), options_.insecure);
      if (!status.ok()) co_return status;
    }
    std::string join;
    PutLittle(&join, meeting_.listener.port);
    co_return co_await link_internal::WriteFrame(*connection, kJoinHeader, join);
  }

  const RendezvousOptions& options_;
  const LinkProof proof_;
  const uint64_t process_;
  Status dismissal_;  // what a rank 0 said that waits no more
  Meeting meeting_;
};

}  // namespace

Result<Meeting> Meet(const RendezvousOptions& options) {
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    return Invalid(
        fmt::format("rank {} of {}: expected a rank below the number of workers, and at least one "
                    "worker",
                    options.rank, options.world));
  }
  return options.rank == 0 ? Host(options).Meet() : Visitor(options).Meet();
}

}  // namespace strata
