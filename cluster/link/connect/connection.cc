#include "cluster/link/connect/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>

namespace strata::link_internal {
namespace {

using boost::system::error_code;

// What is taken from somebody who does not stop talking before the connection is closed after all.
constexpr size_t kFarewellBytesMax = 64ULL << 10;

Status Broken(const error_code& error) {
  if (error == asio::error::eof) return Lost("the connection was closed");
  if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) {
    return Lost("given up, there were too many at once");
  }
  return Lost(error.message());
}

}  // namespace

void Connection::Close() {
  error_code ignored;
  socket_.close(ignored);
}

void Connection::Prepare() {
  error_code ignored;  // a peer that is gone shows at the first read
  socket_.set_option(Tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
}

std::string Connection::Remote() const {
  error_code error;
  const Tcp::endpoint remote = socket_.remote_endpoint(error);
  if (error) return "an unknown address";
  const std::string address = remote.address().to_string();
  return remote.address().is_v6() ? fmt::format("[{}]:{}", address, remote.port())
                                  : fmt::format("{}:{}", address, remote.port());
}

asio::awaitable<Status> Connection::Await(Tcp::socket::wait_type event) {
  error_code error;
  co_await socket_.async_wait(event, asio::redirect_error(asio::use_awaitable, error));
  if (!error && !socket_.is_open()) error = asio::error::operation_aborted;
  if (error) co_return Broken(error);
  co_return Status();
}

asio::awaitable<Result<std::byte>> Connection::Peek() {
  for (;;) {
    std::byte first{};
    const ssize_t got = recv(socket_.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 1) co_return first;
    if (got == 0) co_return Lost("the connection was closed");
    if (errno != EAGAIN && errno != EINTR) co_return Lost(std::strerror(errno));
    Status status = co_await Await(Tcp::socket::wait_read);
    if (!status.ok()) co_return status;
  }
}

// What comes of a call of TLS that has moved nothing: OK when it is to be repeated.
asio::awaitable<Status> Connection::AfterTls(ssize_t result, int error, short event) {
  if (result == 0) co_return Lost("the connection was closed");
  if (error == EPROTO) co_return tls_->fault();
  if (error != EAGAIN) co_return Lost(std::strerror(error));
  const auto wait = event == POLLIN ? Tcp::socket::wait_read : Tcp::socket::wait_write;
  Status status = co_await Await(wait);
  co_return status;
}

asio::awaitable<Status> Connection::ShakeHands() {
  for (;;) {
    short event = POLLIN;
    const int result = tls_->Handshake(&event);
    const int error = errno;
    if (result == 1) co_return Status();
    Status status = co_await AfterTls(result, error, event);
    if (!status.ok()) co_return status;
  }
}

asio::awaitable<Status> Connection::Read(std::span<std::byte> bytes) {
  if (tls_ == nullptr) {
    error_code error;
    co_await asio::async_read(socket_, asio::buffer(bytes.data(), bytes.size()),
                              asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return Broken(error);
    co_return Status();
  }
  if (!socket_.is_open()) co_return Broken(asio::error::operation_aborted);
  while (!bytes.empty()) {
    const iovec part = {bytes.data(), bytes.size()};
    short event = POLLIN;
    const ssize_t got = tls_->Receive({&part, 1}, &event);
    const int error = errno;
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
      continue;
    }
    Status status = co_await AfterTls(got, error, event);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

asio::awaitable<Status> Connection::Write(std::string_view bytes) {
  if (tls_ == nullptr) {
    error_code error;
    co_await asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return Broken(error);
    co_return Status();
  }
  if (!socket_.is_open()) co_return Broken(asio::error::operation_aborted);
  while (!bytes.empty()) {
    const iovec part = {const_cast<char*>(bytes.data()), bytes.size()};  // iovec knows no const
    short event = POLLOUT;
    const ssize_t sent = tls_->Send({&part, 1}, &event);
    const int error = errno;
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    Status status = co_await AfterTls(sent, error, event);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

size_t Connection::WriteNow(std::string_view bytes) {
  if (tls_ == nullptr) {
    error_code ignored;  // found again by the next write
    return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), ignored);
  }
  const iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  short ignored = 0;
  const ssize_t sent = tls_->Send({&part, 1}, &ignored);
  return sent > 0 ? static_cast<size_t>(sent) : 0;
}

asio::awaitable<void> Connection::Farewell() {
  error_code error;
  socket_.shutdown(Tcp::socket::shutdown_send, error);
  std::array<char, 4096> ignored;
  for (size_t taken = 0; !error && taken < kFarewellBytesMax;) {
    taken += co_await socket_.async_read_some(asio::buffer(ignored),
                                              asio::redirect_error(asio::use_awaitable, error));
  }
}

Connection::Parts Connection::Release() {
  error_code ignored;
  return {.socket = OwnedFd(socket_.release(ignored)), .tls = std::move(tls_)};
}

}  // namespace strata::link_internal
