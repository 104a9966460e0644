#include "base/http/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/thread/thread.h"

namespace strata {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr uint32_t kRequestBytesMax = 16 * 1024;
constexpr size_t kConnectionsMax = 64;
constexpr std::chrono::seconds kRequestMax{10};  // for all of a request's header
constexpr std::chrono::seconds kAnswerMax{10};   // for the peer to take all of an answer
constexpr std::chrono::milliseconds kAcceptPause{100};

using Handlers = std::map<std::string, HttpServer::Handler>;

class Connection;

// What the connections share; only the server's thread touches it while that runs.
struct Shared {
  Handlers handlers;
  std::list<Connection*> open;  // those that began to wait for a request first are in front

  // For one connection more: ends the one that has waited longest for a request, or the oldest.
  void MakeRoom();
};

HttpReply NoSuchPage(const Handlers& handlers) {
  HttpReply reply{404, "text/plain; charset=utf-8", "not found; this server has:\n"};
  for (const auto& [path, handler] : handlers) reply.body += path + "\n";
  return reply;
}

// The answer to bytes that are no request that we take.
HttpReply RequestError(const error_code& error) {
  const std::string type = "text/plain; charset=utf-8";
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {431, type, fmt::format("a request may have {} bytes\n", kRequestBytesMax)};
  }
  return {400, type, fmt::format("not an HTTP request: {}\n", error.message())};
}

// One connection, kept alive by the operation that it waits for.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Shared* shared)
      : stream_(std::move(socket)),
        shared_(shared),
        place_(shared->open.insert(shared->open.end(), this)) {}
  ~Connection() { Leave(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Read() {
    waits_ = true;
    if (is_open_) shared_->open.splice(shared_->open.end(), shared_->open, place_);
    parser_.emplace();
    parser_->header_limit(kRequestBytesMax);
    stream_.expires_after(kRequestMax);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](const error_code& error, size_t) { self->OnHeader(error); });
  }

  bool waits() const { return waits_; }  // for a request
  // Closes the connection; the read or write that it waits for then ends with an error.
  void Close() {
    Leave();
    stream_.close();
  }

 private:
  void Leave() {
    if (std::exchange(is_open_, false)) shared_->open.erase(place_);
  }

  void OnHeader(const error_code& error) {
    waits_ = false;
    if (!error) return Answer();
    // Parse errors are the peer's; it is told. Everything else (end of stream, time out, reset)
    // ends the connection.
    const bool parse_error =
        error.category() == make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message;
    if (parse_error) Write(RequestError(error), /*head=*/false, /*keep=*/false);
  }

  void Answer() {
    const auto& request = parser_->get();
    const bool head = request.method() == http::verb::head;
    if (request.method() != http::verb::get && !head) {
      return Write({405, "text/plain; charset=utf-8", "only GET and HEAD\n"}, false, false);
    }
    if (!parser_->is_done()) {
      return Write({413, "text/plain; charset=utf-8", "a request may have no body\n"}, head, false);
    }
    const auto target = request.target();
    const std::string path(target.substr(0, target.find('?')));
    const auto it = shared_->handlers.find(path);
    const HttpReply reply =
        it == shared_->handlers.end() ? NoSuchPage(shared_->handlers) : it->second();
    Write(reply, head, request.keep_alive());
  }

  void Write(const HttpReply& reply, bool head, bool keep) {
    response_ = {};
    response_.result(static_cast<unsigned>(reply.code));
    response_.set(http::field::content_type, reply.content_type);
    if (reply.code == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(keep);
    response_.content_length(reply.body.size());
    if (!head) response_.body() = reply.body;
    serializer_.emplace(response_);
    stream_.expires_after(kAnswerMax);
    const auto done = [self = shared_from_this(), keep](const error_code& error, size_t) {
      self->OnWritten(error, keep);
    };
    if (head) {
      http::async_write_header(stream_, *serializer_, done);
    } else {
      http::async_write(stream_, *serializer_, done);
    }
  }

  void OnWritten(const error_code& error, bool keep) {
    if (error) return;
    if (keep) return Read();
    // Bytes of the request that nobody read would turn a close into a reset, which may overtake the
    // answer: say that no more comes, and read until the peer ends too.
    error_code ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    Drain();
  }

  void Drain() {
    drained_ += buffer_.size();
    buffer_.clear();
    if (drained_ > 16 * kRequestBytesMax) return;
    stream_.async_read_some(buffer_.prepare(kRequestBytesMax),
                            [self = shared_from_this()](const error_code& error, size_t count) {
                              self->buffer_.commit(count);
                              if (!error) self->Drain();
                            });
  }

  beast::tcp_stream stream_;
  Shared* const shared_;
  const std::list<Connection*>::iterator place_;
  bool is_open_ = true;  // it has its place
  bool waits_ = false;
  beast::flat_buffer buffer_{2 * kRequestBytesMax};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  size_t drained_ = 0;
};

void Shared::MakeRoom() {
  if (open.size() < kConnectionsMax) return;
  const auto waiting = std::ranges::find_if(open, &Connection::waits);
  (waiting == open.end() ? open.front() : *waiting)->Close();
}

}  // namespace

struct HttpServer::Impl {
  Status Listen(const std::string& host, uint16_t port);
  void Accept();
  void OnAccept(const error_code& error, Tcp::socket socket);
  void Run();

  Shared shared;
  asio::io_context io{1};  // before what uses it: destroyed after it
  Tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  uint16_t port = 0;
  std::optional<std::jthread> thread;
};

Status HttpServer::Impl::Listen(const std::string& host, uint16_t wanted) {
  const auto failed = [&](const error_code& error) {
    const bool v6 = host.find(':') != std::string::npos;
    const bool in_use = error == asio::error::address_in_use;
    return Failed(fmt::format("cannot listen for HTTP on {}{}{}:{}: {}{}", v6 ? "[" : "", host,
                              v6 ? "]" : "", wanted, error.message(),
                              in_use ? "; choose another --http_port, 0 for a free one" : ""));
  };
  error_code error;
  const auto found = Tcp::resolver(io).resolve(host, std::to_string(wanted),
                                               Tcp::resolver::numeric_service, error);
  if (error) return failed(error);
  const Tcp::endpoint endpoint = *found.begin();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(static_cast<int>(kConnectionsMax), error);
  if (!error) port = acceptor.local_endpoint(error).port();
  return error ? failed(error) : Status::Ok();
}

void HttpServer::Impl::Accept() {
  acceptor.async_accept(
      [this](const error_code& error, Tcp::socket socket) { OnAccept(error, std::move(socket)); });
}

void HttpServer::Impl::OnAccept(const error_code& error, Tcp::socket socket) {
  if (error) {
    // Out of file descriptors, most likely: at once again would only spin.
    Log(LogLevel::kWarning, "http: cannot accept a connection: {}", error.message());
    pause.expires_after(kAcceptPause);
    pause.async_wait([this](const error_code&) { Accept(); });
    return;
  }
  shared.MakeRoom();
  std::make_shared<Connection>(std::move(socket), &shared)->Read();
  Accept();
}

void HttpServer::Impl::Run() {
  const MustAllocate must;  // its answers are small
  try {
    io.run();
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "http: the server ended: {}", error.what());
  }
}

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}

HttpServer::~HttpServer() {
  Stop();
  Join();
}

void HttpServer::Handle(const std::string& path, Handler handler) {
  impl_->shared.handlers[path] = std::move(handler);
}

Status HttpServer::Start(const std::string& host, uint16_t port) {
  STRATA_TRY(impl_->Listen(host, port));
  impl_->Accept();
  STRATA_ASSIGN(impl_->thread, StartThread("http", [this] { impl_->Run(); }));
  return Status::Ok();
}

uint16_t HttpServer::port() const { return impl_->port; }

void HttpServer::Stop() { impl_->io.stop(); }

void HttpServer::Join() {
  if (impl_->thread && impl_->thread->joinable()) impl_->thread->join();
}

}  // namespace strata
