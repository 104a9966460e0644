#include "storage/memory/pool_shares.h"

#include <algorithm>

namespace strata {

uint64_t FairShare(uint64_t bytes, std::vector<uint64_t> others) {
  std::ranges::sort(others);
  uint64_t takers = others.size() + 1;
  for (const uint64_t wanted : others) {
    if (wanted > bytes / takers) break;
    bytes -= wanted;
    --takers;
  }
  return bytes / takers;
}

PoolShare::PoolShare(PoolShares& shares, uint64_t bytes)
    : shares_(shares), answered_(shares.lacks_) {
  Need(bytes);
}

PoolShare::~PoolShare() {
  const MutexLock lock(shares_.mutex_);
  shares_.wants_.erase(this);
  ++shares_.changes_;
}

void PoolShare::Need(uint64_t bytes) {
  if (bytes <= needed_) return;
  needed_ = bytes;
  const MutexLock lock(shares_.mutex_);
  shares_.wants_[this] = bytes;
  ++shares_.changes_;
}

uint64_t PoolShare::EqualPartOf(uint64_t bytes) const {
  const MutexLock lock(shares_.mutex_);
  return bytes / std::max<size_t>(shares_.wants_.size(), 1);
}

uint64_t PoolShare::Of(uint64_t bytes) {
  if (bytes == of_ && change_ == shares_.changes_) return share_;
  std::vector<uint64_t> others;
  {
    const MutexLock lock(shares_.mutex_);
    change_ = shares_.changes_;
    for (const auto& [share, wanted] : shares_.wants_) {
      if (share != this) others.push_back(wanted);
    }
  }
  of_ = bytes;
  share_ = FairShare(bytes, std::move(others));
  return share_;
}

}  // namespace strata
