#include "cluster/tls/tls_stream.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace strata {

// OpenSSL's own way to a socket knows neither MSG_NOSIGNAL nor MSG_MORE.
struct SocketBio {
  static TlsStream::Socket* Of(BIO* bio) {
    return static_cast<TlsStream::Socket*>(BIO_get_data(bio));
  }

  // send, but for what it returns when the socket is full: 0.
  static ssize_t SendNow(TlsStream::Socket* to, const char* data, size_t bytes) {
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (to->more ? MSG_MORE : 0);
    const ssize_t sent = send(to->fd, data, bytes, flags);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EINTR) return 0;
    to->error = errno;
    return -1;
  }

  static int Write(BIO* bio, const char* data, size_t bytes, size_t* written) {
    TlsStream::Socket* const to = Of(bio);
    BIO_clear_retry_flags(bio);
    if (!to->held.empty()) {
      const ssize_t sent = SendNow(to, to->held.data(), to->held.size());
      if (sent < 0) return 0;
      to->held.erase(0, static_cast<size_t>(sent));
    }
    const ssize_t sent = to->held.empty() ? SendNow(to, data, bytes) : 0;
    if (sent < 0) return 0;
    *written = static_cast<size_t>(sent);
    if (to->hold) {
      to->held.append(data + *written, bytes - *written);
      *written = bytes;
    }
    if (*written > 0) return 1;
    BIO_set_retry_write(bio);
    return 0;
  }

  static int Read(BIO* bio, char* data, size_t bytes, size_t* read) {
    TlsStream::Socket* const from = Of(bio);
    BIO_clear_retry_flags(bio);
    if (from->deaf) {
      BIO_set_retry_read(bio);
      return 0;
    }
    const ssize_t got = recv(from->fd, data, bytes, MSG_DONTWAIT);
    if (got > 0) {
      *read = static_cast<size_t>(got);
      return 1;
    }
    if (got == 0) {
      from->closed = true;
    } else if (errno == EAGAIN || errno == EINTR) {
      BIO_set_retry_read(bio);
    } else {
      from->error = errno;
    }
    return 0;
  }

  static long Control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;  // nothing is held back
    return command == BIO_CTRL_EOF && Of(bio)->closed ? 1 : 0;
  }

  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      STRATA_CHECK(made != nullptr);
      BIO_meth_set_write_ex(made, &Write);
      BIO_meth_set_read_ex(made, &Read);
      BIO_meth_set_ctrl(made, &Control);
      return made;
    }();
    return method;
  }
};

TlsStream::TlsStream(const TlsContext& context, TlsSide side, int fd, uint64_t records_per_key)
    : socket_(new Socket{.fd = fd}),
      ssl_(SSL_new(context.get())),
      records_per_key_(records_per_key) {
  BIO* const bio = BIO_new(SocketBio::Method());
  STRATA_CHECK(ssl_ != nullptr && bio != nullptr);  // memory
  BIO_set_data(bio, socket_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (side == TlsSide::kDialer) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

TlsStream::~TlsStream() = default;

void TlsStream::Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }

void TlsStream::SayHello() {
  socket_->deaf = true;
  short wait_for = 0;
  static_cast<void>(Handshake(&wait_for));
  socket_->deaf = false;
}

int TlsStream::Handshake(short* wait_for) {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  return result == 1 ? 1 : Failure(result, wait_for);
}

ssize_t TlsStream::Send(std::span<const iovec> parts, short* wait_for) {
  size_t left = 0;
  for (const iovec& part : parts) left += part.iov_len;
  size_t offset = 0;  // into the first part
  size_t sent = 0;
  while (left > 0) {
    const size_t most = retry_bytes_ != 0 ? retry_bytes_ : kTlsRecordBytes;
    const std::span<const std::byte> record = NextRecord(parts, offset, std::min(left, most));
    socket_->more = record.size() < left;
    size_t written = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), record.data(), record.size(), &written);
    if (result != 1) {
      if (Failure(result, wait_for) == 0) errno = EPIPE;
      if (errno == EAGAIN) {
        retry_bytes_ = record.size();
        if (sent > 0) return static_cast<ssize_t>(sent);
      }
      return -1;
    }
    retry_bytes_ = 0;
    if (++records_ == records_per_key_ && !TakeNewKey()) return -1;
    sent += written;
    left -= written;
    offset += written;
    while (!parts.empty() && offset >= parts[0].iov_len) {
      offset -= parts[0].iov_len;
      parts = parts.subspan(1);
    }
  }
  return static_cast<ssize_t>(sent);
}

// Tells the peer, too. OpenSSL reads nothing before that is out, and the peer might be waiting for
// this side to read: so it counts as sent at once.
bool TlsStream::TakeNewKey() {
  records_ = 0;
  socket_->hold = true;
  int result = SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
  if (result == 1) result = SSL_do_handshake(ssl_.get());
  socket_->hold = false;
  if (result == 1) return true;
  short never = 0;
  if (Failure(result, &never) == 0) errno = EPIPE;
  return false;
}

ssize_t TlsStream::Receive(std::span<const iovec> parts, short* wait_for) {
  size_t received = 0;
  for (const iovec& part : parts) {
    size_t filled = 0;
    while (filled < part.iov_len) {
      size_t got = 0;
      ERR_clear_error();
      const int result = SSL_read_ex(ssl_.get(), static_cast<std::byte*>(part.iov_base) + filled,
                                     part.iov_len - filled, &got);
      if (result != 1) {
        // What is wrong is found again by the next call.
        const int failed = Failure(result, wait_for);
        return received > 0 ? static_cast<ssize_t>(received) : failed;
      }
      filled += got;
      received += got;
    }
  }
  return static_cast<ssize_t>(received);
}

// `bytes` of the parts: where they lie, when they lie together.
std::span<const std::byte> TlsStream::NextRecord(std::span<const iovec> parts, size_t offset,
                                                 size_t bytes) {
  const auto begin = [](const iovec& part) { return static_cast<const std::byte*>(part.iov_base); };
  if (parts[0].iov_len - offset >= bytes) return {begin(parts[0]) + offset, bytes};
  size_t gathered = 0;
  for (const iovec& part : parts) {
    const size_t taken = std::min(part.iov_len - offset, bytes - gathered);
    std::memcpy(gather_.data() + gathered, begin(part) + offset, taken);
    gathered += taken;
    offset = 0;
    if (gathered == bytes) break;
  }
  return std::span(gather_).first(bytes);
}

// What a call that returned `result` means: 0 or -1, as Receive returns them.
int TlsStream::Failure(int result, short* wait_for) {
  if (!fault_.ok()) {
    errno = EPROTO;
    return -1;
  }
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      *wait_for = POLLIN;
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_WANT_WRITE:
      *wait_for = POLLOUT;
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_SYSCALL:
      errno = socket_->error;
      return socket_->error == 0 ? 0 : -1;
    default:
      fault_ = Explain();
      errno = EPROTO;
      return -1;
  }
}

Status TlsStream::Explain() const {
  const unsigned long error = ERR_get_error();  // NOLINT: OpenSSL's type
  const int reason = ERR_GET_REASON(error);
  const char* const known = ERR_reason_error_string(error);
  const std::string text = known == nullptr ? "unknown reason" : known;
  ERR_clear_error();
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return Corrupt("TLS: " + text);
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return Refused(
        fmt::format("its certificate is not taken here: {}; expected one that the "
                    "cluster's CA (tls.ca) has signed and that is still good",
                    X509_verify_cert_error_string(SSL_get_verify_result(ssl_.get()))));
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return Refused("it has no certificate; expected one that the cluster's CA (tls.ca) has signed");
  }
  if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_NO_PROTOCOLS_AVAILABLE) {
    return Refused("it speaks an older TLS; expected TLS 1.3");
  }
  const int alert = reason - SSL_AD_REASON_OFFSET;  // of the other side
  if (alert == SSL_AD_UNEXPECTED_MESSAGE || alert == SSL_AD_BAD_RECORD_MAC ||
      alert == SSL_AD_RECORD_OVERFLOW || alert == SSL_AD_DECODE_ERROR ||
      alert == SSL_AD_INTERNAL_ERROR) {
    return Corrupt("TLS was ended by the other side: " + text);
  }
  if (alert > 0) {
    return Refused(
        fmt::format("it turned the TLS handshake down: {}; it expects TLS 1.3 and a certificate "
                    "that its CA (tls.ca) has signed and that is still good",
                    text));
  }
  return Corrupt("TLS: " + text);
}

}  // namespace strata
