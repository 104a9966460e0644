#include "cluster/link/exchange/data_progress.h"

namespace strata {

void DataProgress::TakeAnnounced(uint64_t bytes, bool awaited, TimeNs now) {
  const uint64_t received = received_.load(std::memory_order_relaxed);
  if (!awaited || received >= bytes) {
    since_ = 0;
  } else if (since_ == 0 || received != received_then_) {
    since_ = now;
  }
  received_then_ = received;
}

TimeNs DataProgress::Stalled(bool awaited, TimeNs now) const {
  const bool moves = received_.load(std::memory_order_relaxed) != received_then_;
  return since_ == 0 || !awaited || moves ? 0 : now - since_;
}

void DataProgress::Excuse(TimeNs stopped) {
  if (since_ != 0) since_ += stopped;
}

}  // namespace strata
