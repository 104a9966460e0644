#include "cluster/collective/sub_exchanger.h"

#include <utility>

namespace strata {

SubExchanger::SubExchanger(Exchanger& whole, std::vector<int> members, int rank)
    : whole_(whole), members_(std::move(members)), rank_(rank) {}

Status SubExchanger::Exchange(const ExchangeTag& tag, const SendPart& send,
                              const ReceivePart& receive, TimeNs deadline) {
  SendPart to = send;
  ReceivePart from = receive;
  if (to.peer >= 0) to.peer = members_[static_cast<size_t>(to.peer)];
  if (from.peer >= 0) from.peer = members_[static_cast<size_t>(from.peer)];
  return whole_.Exchange(tag, to, from, deadline);
}

}  // namespace strata
