// SingleGroup: a world of one, for jobs without machines. Nothing is sent.
#pragma once

#include "cluster/collective/group.h"

namespace strata {

class SingleExchanger : public Exchanger {
 public:
  int rank() const override { return 0; }
  int world() const override { return 1; }
  Status Exchange(const ExchangeTag& /*tag*/, const SendPart& /*send*/,
                  const ReceivePart& /*receive*/, TimeNs /*deadline*/) override {
    return {};
  }
  void Cancel(const Status& /*why*/) override {}
};

// The exchanger is a base, so that it is there before the group.
class SingleGroup final : private SingleExchanger, public Group {
 public:
  SingleGroup() : Group(static_cast<Exchanger&>(*this)) {}
  using Group::rank;
  using Group::world;
};

}  // namespace strata
