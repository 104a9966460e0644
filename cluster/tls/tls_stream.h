// TlsStream: TLS over one connected socket, by the system calls of whoever calls. It never waits:
// the I/O thread waits through Asio, an exchange through poll.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cluster/tls/tls_context.h"
#include "strata/status.h"

struct ssl_st;

namespace strata {

enum class TlsSide : uint8_t { kDialer, kAcceptor };

constexpr size_t kTlsRecordBytes = 16ULL << 10;
// After this many records the sender takes a new key: AES-GCM's limit is 2^24.5 (RFC 8446, 5.5).
constexpr uint64_t kTlsRecordsPerKey = 1ULL << 24;

// One thread at a time.
class TlsStream {
 public:
  // The socket is the caller's and lives longer. Nothing is sent yet.
  TlsStream(const TlsContext& context, TlsSide side, int fd,
            uint64_t records_per_key = kTlsRecordsPerKey);
  ~TlsStream();

  // As sendmsg and recvmsg would do it. -1 with errno
  //   EAGAIN: call again, a Send with at least the same bytes, once the socket is ready for
  //           `*wait_for` (POLLIN or POLLOUT; a Send may have to wait for POLLIN),
  //   EPROTO: TLS has failed, fault() says how,
  //   another: the socket's.
  // After a Receive that has not said EAGAIN there may be more here, whatever poll says.
  ssize_t Send(std::span<const iovec> parts, short* wait_for);
  ssize_t Receive(std::span<const iovec> parts, short* wait_for);  // 0: the peer has closed
  // Sends a dialer's hello and reads nothing: who answers may turn out not to speak TLS. What is
  // wrong Handshake finds again.
  void SayHello();
  // Needed before the two. 1: done; 0 and -1 as above.
  int Handshake(short* wait_for);

  // kRefused: one of the sides does not take the other's certificate or version. kCorrupt: what
  // came is not TLS, or was changed on its way.
  const Status& fault() const { return fault_; }

 private:
  struct Socket {
    int fd;
    int error = 0;        // of the last call that failed other than for now
    bool closed = false;  // by the peer
    bool more = false;    // more is sent right behind it
    bool deaf = false;    // nothing is read
    bool hold = false;    // what cannot be sent now is kept in `held` and counts as sent
    std::string held = {};
  };
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  friend struct SocketBio;

  int Failure(int result, short* wait_for);
  bool TakeNewKey();
  Status Explain() const;
  std::span<const std::byte> NextRecord(std::span<const iovec> parts, size_t offset, size_t bytes);

  std::unique_ptr<Socket> socket_;
  std::unique_ptr<ssl_st, Free> ssl_;
  Status fault_;
  size_t retry_bytes_ = 0;  // of the record that a Send could not finish
  const uint64_t records_per_key_;
  uint64_t records_ = 0;                                // with the present key
  std::array<std::byte, kTlsRecordBytes> gather_ = {};  // a record of several parts
};

}  // namespace strata
