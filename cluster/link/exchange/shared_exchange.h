// The data path of links within a host: one full-duplex exchange over rings in shared memory, by
// the calling thread. Bytes are copied once, into the ring; what is to be reduced is reduced
// straight out of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "cluster/link/exchange/data_exchange.h"
#include "cluster/link/exchange/exchange.h"
#include "cluster/link/exchange/shared_ring.h"
#include "strata/status.h"

namespace strata {

struct SharedEnds {
  SharedSide* send = nullptr;     // shared with the rank to send to
  SharedSide* receive = nullptr;  // shared with the rank to receive from; may be the same
  // The group has failed. Whoever sets it then rings the bells of both sides.
  const std::atomic<bool>* failed = nullptr;
  std::string_view send_peer = {};  // "rank 2 (10.0.0.2:7700)", for messages
  std::string_view receive_peer = {};
  // Where an element lies that is cut by the end of the ring, or larger than it.
  std::span<std::byte> scratch;
  // More ranks run on this host than it has processors: waiting means giving way at once.
  bool crowded = false;
};

// kCancelled: `failed` is set. kLost: a peer has left. kFailed: the peer is in another collective
// or passes another size. kCorrupt: a peer has broken the ring. kInvalid: an element is larger than
// the scratch memory. kDeadlineExceeded.
Status ExchangeOverMemory(const SharedEnds& ends, const ExchangeTag& tag, const SendPart& send,
                          const ReceivePart& receive, TimeNs deadline);

// One part goes through memory, as the end that is not null says, the other over the socket: the
// one peer is of this host, the other is not.
Status ExchangeOverBoth(const SharedEnds& shared, const SocketEnds& sockets, const ExchangeTag& tag,
                        const SendPart& send, const ReceivePart& receive, TimeNs deadline);

}  // namespace strata
