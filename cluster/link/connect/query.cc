#include "cluster/link/connect/query.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <vector>

#include "cluster/link/connect/session.h"
#include "cluster/names/resolve.h"

namespace strata {
namespace {

using link_internal::Connection;
using link_internal::LinkFrame;
using link_internal::Tcp;
namespace asio = boost::asio;

struct Request {
  LinkHeader header;
  std::string body;
  link_internal::LinkProof proof;
};

Request MakeRequest(LinkFrameType type, std::string_view body, std::string_view secret,
                    const std::shared_ptr<const TlsContext>& tls) {
  return {.header = {.type = type},
          .body = std::string(body),
          .proof = {.key = MakeLinkKey(secret), .tls = tls}};
}

asio::awaitable<Status> Converse(Connection& connection, const Request& request,
                                 std::string* answer) {
  const LinkHello hello{
      .purpose = LinkPurpose::kAdmin, .process = MakeProcessId(), .nonce = MakeLinkNonce()};
  Status status = co_await link_internal::DialHandshake(connection, hello, request.proof);
  if (!status.ok()) co_return status;
  status = co_await link_internal::WriteFrame(connection, request.header, request.body);
  if (!status.ok()) co_return status;
  Result<LinkFrame> reply = co_await link_internal::ReadFrame(connection, kAdminBytesMax);
  if (!reply.ok()) co_return reply.status();
  if (reply->header.type != LinkFrameType::kReply) co_return Corrupt("it answers out of turn");
  if (reply->header.operation != 0) {
    co_return Status(link_internal::CodeFromWire(reply->header.operation), reply->body);
  }
  *answer = std::move(reply->body);
  co_return Status();
}

asio::awaitable<void> AskOne(const std::string& address, uint16_t port, const Request& request,
                             TimeNs timeout, Status* status, std::string* answer) {
  boost::system::error_code error;
  const Tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  const auto executor = co_await asio::this_coro::executor;
  auto connection = std::make_shared<Connection>(Tcp::socket(executor));
  const link_internal::SocketDeadline deadline(connection, timeout);
  if (!error) {
    co_await connection->socket().async_connect(endpoint,
                                                asio::redirect_error(asio::use_awaitable, error));
  }
  if (error) {
    *status = Lost(fmt::format("{}; is the worker running?", error.message()));
  } else {
    connection->Prepare();
    *status = co_await Converse(*connection, request, answer);
  }
  if (deadline.passed()) {
    *status = DeadlineExceeded(fmt::format("no answer within {} ms", timeout / kMillisecond));
  }
}

Result<std::string> Ask(const std::string& host, uint16_t port, const Request& request,
                        TimeNs timeout) {
  const std::string where = fmt::format("{} port {}", host, port);
  const TimeNs deadline = RealClock().Now() + timeout;
  STRATA_ASSIGN(const auto addresses, ResolveHost(host, timeout));
  Status status = Lost("no address");
  for (const std::string& address : addresses) {
    asio::io_context io(1);
    std::string answer;
    const TimeNs left = std::max<TimeNs>(deadline - RealClock().Now(), 0);
    asio::co_spawn(io, AskOne(address, port, request, left, &status, &answer), asio::detached);
    io.run();
    if (status.ok()) return answer;
    if (status.code() != StatusCode::kLost) break;
  }
  return status.Prefixed(where);
}

}  // namespace

Result<std::string> QueryStatus(const std::string& host, uint16_t port, std::string_view secret,
                                TimeNs timeout, const std::shared_ptr<const TlsContext>& tls) {
  return Ask(host, port, MakeRequest(LinkFrameType::kStatus, "", secret, tls), timeout);
}

Result<std::vector<Machine>> QueryWorkers(const std::string& host, uint16_t port,
                                          std::string_view secret, TimeNs timeout,
                                          const std::shared_ptr<const TlsContext>& tls) {
  STRATA_ASSIGN(const std::string text,
                Ask(host, port, MakeRequest(LinkFrameType::kWorkers, "", secret, tls), timeout));
  STRATA_ASSIGN(MachineList list,
                ParseMachineList(text, fmt::format("the answer of {} port {}", host, port)));
  return std::move(list.machines);
}

Result<std::string> SendControl(const std::string& host, uint16_t port, std::string_view secret,
                                std::string_view request, TimeNs timeout,
                                const std::shared_ptr<const TlsContext>& tls) {
  return Ask(host, port, MakeRequest(LinkFrameType::kControl, request, secret, tls), timeout);
}

}  // namespace strata
