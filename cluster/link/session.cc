#include "cluster/link/session.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

namespace strata::link_internal {
namespace {

using boost::system::error_code;

constexpr LinkHeader kHelloHeader{.type = LinkFrameType::kHello};
constexpr LinkHeader kChallengeHeader{.type = LinkFrameType::kChallenge};
constexpr LinkHeader kProofHeader{.type = LinkFrameType::kProof};
constexpr LinkHeader kAcceptedHeader{.type = LinkFrameType::kVerdict};
constexpr LinkHeader kConfirmHeader{.type = LinkFrameType::kConfirm};

Status Broken(const error_code& error) {
  if (error == asio::error::eof) return Lost("the connection was closed");
  if (error == asio::error::operation_aborted) return Lost("given up, there were too many at once");
  return Lost(error.message());
}

// Reads a frame of one certain type of the handshake.
asio::awaitable<Result<std::string>> Expect(Tcp::socket& socket, LinkFrameType type) {
  Result<LinkFrame> frame = co_await ReadFrame(socket, kHandshakeBytesMax);
  if (!frame.ok()) co_return frame.status();
  if (frame->header.type == LinkFrameType::kVerdict && type != LinkFrameType::kVerdict) {
    co_return Status(CodeFromWire(frame->header.operation), frame->body);
  }
  if (frame->header.type != type) {
    co_return Corrupt(fmt::format("a link frame of type {} where {} was due",
                                  static_cast<int>(frame->header.type), static_cast<int>(type)));
  }
  co_return std::move(frame->body);
}

asio::awaitable<Status> Refuse(Tcp::socket& socket, const Status& why) {
  const LinkHeader header{.type = LinkFrameType::kVerdict,
                          .operation = static_cast<uint64_t>(why.code())};
  const std::string text = why.message().substr(0, kHandshakeBytesMax);
  // The reason matters more than whether it arrives.
  Status written = co_await WriteFrame(socket, header, text);
  static_cast<void>(written);
  co_return why;
}

}  // namespace

SocketDeadline::SocketDeadline(const SocketPtr& socket, TimeNs timeout)
    : timer_(socket->get_executor()),
      armed_(std::make_shared<bool>(true)),
      passed_(std::make_shared<bool>(false)) {
  timer_.expires_after(std::chrono::nanoseconds(timeout));
  timer_.async_wait([socket, armed = armed_, passed = passed_](const error_code& error) {
    if (error || !*armed) return;
    *passed = true;
    error_code ignored;
    socket->close(ignored);
  });
}

SocketDeadline::~SocketDeadline() {
  *armed_ = false;
  timer_.cancel();
}

asio::awaitable<Result<LinkFrame>> ReadFrame(Tcp::socket& socket, uint64_t bytes_max) {
  error_code error;
  LinkHeaderBytes bytes;
  co_await asio::async_read(socket, asio::buffer(bytes),
                            asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Broken(error);
  Result<LinkHeader> header = DecodeLinkHeader(bytes);
  if (!header.ok()) co_return header.status();
  if (header->length > bytes_max) {
    co_return Refused(fmt::format("a link frame of {} bytes; at most {} are taken here",
                                  header->length, bytes_max));
  }
  LinkFrame frame{.header = *header, .body = std::string(header->length, '\0')};
  co_await asio::async_read(socket, asio::buffer(frame.body),
                            asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Broken(error);
  co_return frame;
}

asio::awaitable<Status> WriteFrame(Tcp::socket& socket, const LinkHeader& header,
                                   const std::string& body) {
  const std::string frame = MakeLinkFrame(header, body);
  error_code error;
  co_await asio::async_write(socket, asio::buffer(frame),
                             asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Broken(error);
  co_return Status();
}

asio::awaitable<Status> DialHandshake(Tcp::socket& socket, const LinkHello& hello,
                                      const LinkKey& key) {
  const std::string mine = EncodeHello(hello);
  Status written = co_await WriteFrame(socket, kHelloHeader, mine);
  if (!written.ok()) co_return written;
  Result<std::string> challenge = co_await Expect(socket, LinkFrameType::kChallenge);
  if (!challenge.ok()) co_return challenge.status();
  const std::string proof(AsText(DialerProof(key, mine, *challenge)));
  written = co_await WriteFrame(socket, kProofHeader, proof);
  if (!written.ok()) co_return written;
  Result<LinkFrame> verdict = co_await ReadFrame(socket, kHandshakeBytesMax);
  if (!verdict.ok()) co_return verdict.status();
  if (verdict->header.type != LinkFrameType::kVerdict) {
    co_return Corrupt("a link frame of another type where the verdict was due");
  }
  if (verdict->header.operation != 0) {
    co_return Status(CodeFromWire(verdict->header.operation), verdict->body);
  }
  if (!SameMac(verdict->body, AcceptorProof(key, mine, *challenge))) {
    co_return Refused("it does not know the secret; use the same secret_file on all machines");
  }
  const std::string nothing;
  written = co_await WriteFrame(socket, kConfirmHeader, nothing);
  co_return written;
}

asio::awaitable<Result<LinkHello>> AcceptHandshake(Tcp::socket& socket, const LinkKey& key,
                                                   const Judgement& judge) {
  Result<std::string> theirs = co_await Expect(socket, LinkFrameType::kHello);
  if (!theirs.ok()) {
    // A Strata of another version understands the refusal; a stranger gets no answer.
    if (theirs.status().code() != StatusCode::kRefused) co_return theirs.status();
    Status refused = co_await Refuse(socket, theirs.status());
    co_return refused;
  }
  Result<LinkHello> hello = DecodeHello(*theirs);
  if (!hello.ok()) co_return hello.status();
  const std::string challenge(AsText(MakeLinkNonce()));
  Status written = co_await WriteFrame(socket, kChallengeHeader, challenge);
  if (!written.ok()) co_return written;
  Result<std::string> proof = co_await Expect(socket, LinkFrameType::kProof);
  if (!proof.ok()) co_return proof.status();
  Status verdict;
  if (SameMac(*proof, DialerProof(key, *theirs, challenge))) {
    verdict = judge(*hello);
  } else {
    verdict = Refused("the secrets differ; use the same secret_file on all machines");
  }
  if (!verdict.ok()) {
    Status refused = co_await Refuse(socket, verdict);
    co_return refused;
  }
  const std::string accepted(AsText(AcceptorProof(key, *theirs, challenge)));
  written = co_await WriteFrame(socket, kAcceptedHeader, accepted);
  if (!written.ok()) co_return written;
  co_return *hello;
}

asio::awaitable<Status> RefuseRequest(Tcp::socket& socket, const std::string& why) {
  Result<LinkFrame> request = co_await ReadFrame(socket, kAdminBytesMax);
  if (!request.ok()) co_return request.status();
  const LinkHeader header{.type = LinkFrameType::kReply,
                          .operation = static_cast<uint64_t>(StatusCode::kRefused)};
  co_return co_await WriteFrame(socket, header, why);
}

void PrepareSocket(Tcp::socket& socket) {
  error_code ignored;  // a peer that is gone shows at the first read
  socket.set_option(Tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
}

std::string RemoteText(const Tcp::socket& socket) {
  error_code error;
  const Tcp::endpoint remote = socket.remote_endpoint(error);
  if (error) return "an unknown address";
  const std::string address = remote.address().to_string();
  return remote.address().is_v6() ? fmt::format("[{}]:{}", address, remote.port())
                                  : fmt::format("{}:{}", address, remote.port());
}

StatusCode CodeFromWire(uint64_t code) {
  if (code >= static_cast<uint64_t>(StatusCode::kFailed) &&
      code <= static_cast<uint64_t>(StatusCode::kCancelled)) {
    return static_cast<StatusCode>(code);
  }
  return code == static_cast<uint64_t>(StatusCode::kInternal) ? StatusCode::kInternal
                                                              : StatusCode::kFailed;
}

}  // namespace strata::link_internal
