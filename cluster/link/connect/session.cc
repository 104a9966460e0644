#include "cluster/link/connect/session.h"

#include <fmt/format.h>

#include <chrono>

namespace strata::link_internal {
namespace {

using boost::system::error_code;

constexpr LinkHeader kHelloHeader{.type = LinkFrameType::kHello};
constexpr LinkHeader kChallengeHeader{.type = LinkFrameType::kChallenge};
constexpr LinkHeader kProofHeader{.type = LinkFrameType::kProof};
constexpr LinkHeader kAcceptedHeader{.type = LinkFrameType::kVerdict};
constexpr LinkHeader kConfirmHeader{.type = LinkFrameType::kConfirm};

// Reads a frame of one certain type of the handshake.
asio::awaitable<Result<std::string>> Expect(Connection& connection, LinkFrameType type) {
  Result<LinkFrame> frame = co_await ReadFrame(connection, kHandshakeBytesMax);
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

asio::awaitable<Status> Refuse(Connection& connection, const Status& why) {
  const LinkHeader header{.type = LinkFrameType::kVerdict,
                          .operation = static_cast<uint64_t>(why.code())};
  const std::string text = why.message().substr(0, kHandshakeBytesMax);
  // The reason matters more than whether it arrives.
  Status written = co_await WriteFrame(connection, header, text);
  static_cast<void>(written);
  co_return why;
}

// The other side may not know TLS; then it says no without it, which nobody has to prove.
asio::awaitable<Status> DialTls(Connection& connection, const TlsContext& context) {
  auto tls =
      std::make_unique<TlsStream>(context, TlsSide::kDialer, connection.socket().native_handle());
  tls->SayHello();
  Result<std::byte> first = co_await connection.Peek();
  if (!first.ok()) co_return first.status().Prefixed("no answer to TLS, which is set up here");
  if (*first == kLinkFirstByte) {
    Result<std::string> verdict = co_await Expect(connection, LinkFrameType::kChallenge);
    if (!verdict.ok()) co_return verdict.status();
    co_return Corrupt("an answer without TLS to a connection that began with it");
  }
  connection.BeginTls(std::move(tls));
  Status status = co_await connection.ShakeHands();
  co_return status;
}

// Who comes without TLS but knows links is told so.
asio::awaitable<Status> AcceptTls(Connection& connection, const TlsContext& context) {
  Result<std::byte> first = co_await connection.Peek();
  if (!first.ok()) co_return first.status();
  if (*first == kLinkFirstByte) {
    Result<LinkFrame> plain = co_await ReadFrame(connection, kHandshakeBytesMax);
    const Status no_tls = Refused(
        fmt::format("the dialling side speaks no TLS, the one that it dialled expects TLS 1.3; {}",
                    kTlsAdvice));
    const Status why = plain.ok() ? no_tls : plain.status();
    if (why.code() != StatusCode::kRefused) co_return why;
    Status refused = co_await Refuse(connection, why);
    co_return refused;
  }
  if (*first != kTlsFirstByte) {
    co_return Corrupt("neither TLS, which is expected, nor a link frame");
  }
  auto tls =
      std::make_unique<TlsStream>(context, TlsSide::kAcceptor, connection.socket().native_handle());
  connection.BeginTls(std::move(tls));
  Status status = co_await connection.ShakeHands();
  co_return status;
}

}  // namespace

SocketDeadline::SocketDeadline(const ConnectionPtr& connection, TimeNs timeout)
    : timer_(connection->socket().get_executor()),
      armed_(std::make_shared<bool>(true)),
      passed_(std::make_shared<bool>(false)) {
  timer_.expires_after(std::chrono::nanoseconds(timeout));
  timer_.async_wait([connection, armed = armed_, passed = passed_](const error_code& error) {
    if (error || !*armed) return;
    *passed = true;
    connection->Close();
  });
}

SocketDeadline::~SocketDeadline() {
  *armed_ = false;
  timer_.cancel();
}

asio::awaitable<Result<LinkFrame>> ReadFrame(Connection& connection, uint64_t bytes_max) {
  LinkHeaderBytes bytes;
  Status status = co_await connection.Read(bytes);
  if (!status.ok()) co_return status;
  Result<LinkHeader> header = DecodeLinkHeader(bytes);
  if (!header.ok()) co_return header.status();
  if (header->length > bytes_max) {
    co_return Refused(fmt::format("a link frame of {} bytes; at most {} are taken here",
                                  header->length, bytes_max));
  }
  LinkFrame frame{.header = *header, .body = std::string(header->length, '\0')};
  const std::span<std::byte> body = std::as_writable_bytes(std::span(frame.body));
  status = co_await connection.Read(body);
  if (!status.ok()) co_return status;
  co_return frame;
}

asio::awaitable<Status> WriteFrame(Connection& connection, const LinkHeader& header,
                                   const std::string& body) {
  const std::string frame = MakeLinkFrame(header, body);
  Status status = co_await connection.Write(frame);
  co_return status;
}

asio::awaitable<Status> DialHandshake(Connection& connection, const LinkHello& hello,
                                      const LinkProof& mine) {
  if (mine.tls != nullptr) {
    Status secured = co_await DialTls(connection, *mine.tls);
    if (!secured.ok()) co_return secured;
  }
  const std::string words = EncodeHello(hello);
  Status written = co_await WriteFrame(connection, kHelloHeader, words);
  if (!written.ok()) co_return written;
  Result<std::string> challenge = co_await Expect(connection, LinkFrameType::kChallenge);
  if (!challenge.ok()) co_return challenge.status();
  const std::string proof(AsText(DialerProof(mine.key, words, *challenge)));
  written = co_await WriteFrame(connection, kProofHeader, proof);
  if (!written.ok()) co_return written;
  Result<LinkFrame> verdict = co_await ReadFrame(connection, kHandshakeBytesMax);
  if (!verdict.ok()) co_return verdict.status();
  if (verdict->header.type != LinkFrameType::kVerdict) {
    co_return Corrupt("a link frame of another type where the verdict was due");
  }
  if (verdict->header.operation != 0) {
    co_return Status(CodeFromWire(verdict->header.operation), verdict->body);
  }
  if (!SameMac(verdict->body, AcceptorProof(mine.key, words, *challenge))) {
    co_return Refused("it does not know the secret; use the same secret_file on all machines");
  }
  const std::string nothing;
  written = co_await WriteFrame(connection, kConfirmHeader, nothing);
  co_return written;
}

asio::awaitable<Result<LinkHello>> AcceptHandshake(Connection& connection, const LinkProof& mine,
                                                   const Judgement& judge) {
  if (mine.tls != nullptr) {
    Status secured = co_await AcceptTls(connection, *mine.tls);
    if (!secured.ok()) co_return secured;
  }
  Result<std::string> theirs = co_await Expect(connection, LinkFrameType::kHello);
  if (!theirs.ok()) {
    // A Strata of another version understands the refusal; a stranger gets no answer.
    if (theirs.status().code() != StatusCode::kRefused) co_return theirs.status();
    Status refused = co_await Refuse(connection, theirs.status());
    co_return refused;
  }
  Result<LinkHello> hello = DecodeHello(*theirs);
  if (!hello.ok()) co_return hello.status();
  const std::string challenge(AsText(MakeLinkNonce()));
  Status written = co_await WriteFrame(connection, kChallengeHeader, challenge);
  if (!written.ok()) co_return written;
  Result<std::string> proof = co_await Expect(connection, LinkFrameType::kProof);
  if (!proof.ok()) co_return proof.status();
  Status verdict;
  if (SameMac(*proof, DialerProof(mine.key, *theirs, challenge))) {
    verdict = judge(*hello);
  } else {
    verdict = Refused("the secrets differ; use the same secret_file on all machines");
  }
  if (!verdict.ok()) {
    Status refused = co_await Refuse(connection, verdict);
    co_return refused;
  }
  const std::string accepted(AsText(AcceptorProof(mine.key, *theirs, challenge)));
  written = co_await WriteFrame(connection, kAcceptedHeader, accepted);
  if (!written.ok()) co_return written;
  co_return *hello;
}

asio::awaitable<Status> RefuseRequest(Connection& connection, const std::string& why) {
  Result<LinkFrame> request = co_await ReadFrame(connection, kAdminBytesMax);
  if (!request.ok()) co_return request.status();
  const LinkHeader header{.type = LinkFrameType::kReply,
                          .operation = static_cast<uint64_t>(StatusCode::kRefused)};
  co_return co_await WriteFrame(connection, header, why);
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
