#include "cluster/link/connect/accept_loop.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace strata::link_internal {
namespace {

using boost::system::error_code;

constexpr size_t kPendingMax = 64;         // connections not trusted; above it the oldest one goes
constexpr size_t kStrangersMax = 256;      // different ones that are logged
constexpr TimeNs kFarewellTime = kSecond;  // for who was refused to read why
constexpr std::chrono::milliseconds kAcceptPause{100};  // the process is out of descriptors

}  // namespace

AcceptLoop::AcceptLoop(asio::io_context& io, Serve serve)
    : io_(io), serve_(std::move(serve)), acceptor_(io) {}

Status AcceptLoop::Start(Listener* listener) {
  const bool is_ipv6 = listener->address.find(':') != std::string::npos;
  error_code error;
  acceptor_.assign(is_ipv6 ? Tcp::v6() : Tcp::v4(), listener->socket.get(), error);
  if (error) return Failed(fmt::format("cannot use the listening socket: {}", error.message()));
  listener->socket.Release();  // the acceptor closes it
  asio::co_spawn(io_, AcceptAll(), asio::detached);
  return {};
}

OwnedFd AcceptLoop::Stop() {
  if (!acceptor_.is_open()) return OwnedFd();
  error_code ignored;
  return OwnedFd(acceptor_.release(ignored));
}

void AcceptLoop::Trust(const ConnectionPtr& connection) {
  std::erase_if(pending_, [&](const auto& weak) { return weak.lock() == connection; });
}

asio::awaitable<void> AcceptLoop::AcceptAll() {
  for (;;) {
    error_code error;
    Tcp::socket accepted =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor_.is_open()) co_return;
    if (error) {
      asio::steady_timer timer(io_);
      timer.expires_after(kAcceptPause);
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    auto connection = std::make_shared<Connection>(std::move(accepted));
    std::erase_if(pending_, [](const auto& weak) { return weak.expired(); });
    if (pending_.size() >= kPendingMax) {
      if (const ConnectionPtr oldest = pending_.front().lock()) oldest->Close();
      pending_.pop_front();
    }
    pending_.push_back(connection);
    asio::co_spawn(io_, ServeOne(std::move(connection)), asio::detached);
  }
}

asio::awaitable<void> AcceptLoop::ServeOne(ConnectionPtr connection) {
  connection->Prepare();
  const std::string remote = connection->Remote();
  ConnectionPtr served = connection;
  const Status status = co_await serve_(std::move(served));
  if (status.ok()) co_return;
  LogStranger(remote, status);
  if (status.code() != StatusCode::kRefused || !connection->is_open()) co_return;
  // Closed with bytes unread, the connection would be reset, perhaps before the reason has arrived.
  const SocketDeadline limit(connection, kFarewellTime);
  co_await connection->Farewell();
}

void AcceptLoop::LogStranger(const std::string& remote, const Status& why) {
  const std::string host = remote.substr(0, remote.rfind(':'));
  if (!acceptor_.is_open() || strangers_.size() >= kStrangersMax) return;
  if (!strangers_.insert(host + ' ' + why.message()).second) return;
  Log(LogLevel::kWarning, "link: turned away a connection from {}: {}", remote, why.message());
}

}  // namespace strata::link_internal
