// The data path of links: one full-duplex exchange over two connected sockets, with or without TLS,
// by the system calls of the calling thread. What is to be reduced is reduced as it arrives, in
// runs that stay in the cache.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "cluster/link/exchange/data_progress.h"
#include "cluster/link/exchange/exchange.h"
#include "cluster/link/exchange/exchange_parts.h"
#include "cluster/tls/tls_stream.h"
#include "strata/status.h"

namespace strata {

struct SocketEnds {
  int send_fd = -1;
  int receive_fd = -1;
  TlsStream* send_tls = nullptr;  // over the socket; null: without TLS
  TlsStream* receive_tls = nullptr;
  int wake_fd = -1;                 // becomes readable when the group has failed
  bool crowded = false;             // more ranks on this host than processors
  std::string_view send_peer = {};  // "rank 2 (10.0.0.2:7700)", for messages
  std::string_view receive_peer = {};
  DataProgress* send_progress = nullptr;  // counts what passes; may be null
  DataProgress* receive_progress = nullptr;
  // Where bytes lie until they are reduced: kReduceScratchBytes, aligned for any element.
  std::span<std::byte> scratch;
};

constexpr size_t kReduceScratchBytes = 256ULL << 10;

// kCancelled: wake_fd became readable. kLost: a peer closed or reset its socket. kFailed: the peer
// is in another collective or passes another size. kCorrupt: no link frame, or TLS has failed.
// kDeadlineExceeded.
// With `other`, one half goes over the sockets and that one beside it.
Status ExchangeOverSockets(const SocketEnds& ends, const ExchangeTag& tag, const SendPart& send,
                           const ReceivePart& receive, TimeNs deadline, OtherHalf* other = nullptr);

}  // namespace strata
