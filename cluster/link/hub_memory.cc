// The part of Hub that settles with each peer whether they share memory.
#include <fmt/format.h>

#include "base/log.h"
#include "cluster/link/hub.h"

namespace strata::link_internal {

SharedPair Hub::PairWith(const Peer& peer) const {
  return {.job = place_.job,
          .creator = std::min(peer.rank, options_.rank),
          .attacher = std::max(peer.rank, options_.rank)};
}

void Hub::OfferMemory(Peer* peer) {
  std::string offer;
  if (options_.shared_memory) {
    auto segment = SharedSegment::Create(PairWith(*peer));
    if (segment.ok()) {
      offer = (*segment)->Offer();
      const MutexLock lock(mutex_);
      peer->segment = std::move(*segment);
    } else {
      NoteSockets(*peer, segment.status());
    }
  }
  Post(peer, MakeLinkFrame({.type = LinkFrameType::kOffer}, offer));
}

void Hub::TakeOffer(Peer* peer, const std::string& offer) {
  if (peer->rank > options_.rank || peer->settled) return;
  Status why_not = Refused("it offers none");
  if (!options_.shared_memory) {
    why_not = Refused("it is switched off here");
  } else if (!offer.empty()) {
    auto segment = SharedSegment::Attach(PairWith(*peer), offer);
    why_not = segment.status();
    if (segment.ok()) {
      const MutexLock lock(mutex_);
      peer->segment = std::move(*segment);
    }
  }
  Post(peer, MakeLinkFrame({.type = LinkFrameType::kAnswer,
                            .operation = static_cast<uint64_t>(why_not.code())},
                           why_not.message().substr(0, kNoticeBytesMax)));
  Settle(peer, why_not);
}

void Hub::TakeAnswer(Peer* peer, const Status& answer) {
  if (peer->rank < options_.rank || peer->settled) return;
  if (peer->segment != nullptr) peer->segment->CloseDoor();
  Settle(peer, answer);
}

// Once, and only of a rank that the list has on this host.
void Hub::NoteSockets(const Peer& peer, const Status& why) {
  const std::string& here = options_.workers[static_cast<size_t>(options_.rank)].host;
  if (noted_sockets_ || peer.machine.host != here) return;
  noted_sockets_ = true;
  Log(LogLevel::kInfo, "link: exchanges with {} go over sockets, not through shared memory: {}",
      peer.name, why.message());
}

void Hub::Settle(Peer* peer, const Status& why_not) {
  if (!why_not.ok() && options_.shared_memory) NoteSockets(*peer, why_not);
  Log(LogLevel::kDebug, "link: exchanges with {} go {}", peer->name,
      why_not.ok() ? "through shared memory" : "over sockets");
  {
    const MutexLock lock(mutex_);
    if (!why_not.ok()) peer->segment.reset();
    peer->settled = true;
    NoteLinked(peer);
    if (over_) WakeExchange();
  }
  changed_.NotifyAll();
}

}  // namespace strata::link_internal
