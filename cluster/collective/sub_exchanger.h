// SubExchanger: some ranks of an exchanger, numbered anew.
#pragma once

#include <vector>

#include "cluster/link/exchange/exchange.h"

namespace strata {

class SubExchanger final : public Exchanger {
 public:
  // members[r] is the rank of `whole` that is rank r here; `rank` this one's place among them.
  // `whole` outlives this.
  SubExchanger(Exchanger& whole, std::vector<int> members, int rank);

  int rank() const override { return rank_; }
  int world() const override { return static_cast<int>(members_.size()); }
  Status Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                  TimeNs deadline) override;
  void Cancel(const Status& why) override { whole_.Cancel(why); }

 private:
  Exchanger& whole_;
  const std::vector<int> members_;
  const int rank_;
};

}  // namespace strata
