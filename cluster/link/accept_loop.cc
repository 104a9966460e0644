#include "cluster/link/accept_loop.h"

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

constexpr size_t kPendingMax = 64;     // connections not trusted; above it the oldest one goes
constexpr size_t kStrangersMax = 256;  // different ones that are logged
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

void AcceptLoop::Trust(const SocketPtr& socket) {
  std::erase_if(pending_, [&](const auto& weak) { return weak.lock() == socket; });
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
    auto socket = std::make_shared<Tcp::socket>(std::move(accepted));
    std::erase_if(pending_, [](const auto& weak) { return weak.expired(); });
    if (pending_.size() >= kPendingMax) {
      if (const SocketPtr oldest = pending_.front().lock()) oldest->close(error);
      pending_.pop_front();
    }
    pending_.push_back(socket);
    asio::co_spawn(io_, ServeOne(std::move(socket)), asio::detached);
  }
}

asio::awaitable<void> AcceptLoop::ServeOne(SocketPtr socket) {
  PrepareSocket(*socket);
  const std::string remote = RemoteText(*socket);
  const Status status = co_await serve_(std::move(socket));
  if (!status.ok()) LogStranger(remote, status);
}

void AcceptLoop::LogStranger(const std::string& remote, const Status& why) {
  const std::string host = remote.substr(0, remote.rfind(':'));
  if (!acceptor_.is_open() || strangers_.size() >= kStrangersMax) return;
  if (!strangers_.insert(host + ' ' + why.message()).second) return;
  Log(LogLevel::kWarning, "link: turned away a connection from {}: {}", remote, why.message());
}

}  // namespace strata::link_internal
