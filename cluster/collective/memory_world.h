// MemoryWorld: ranks that are threads of one process, with messages passed in memory. For tests and
// for groups that need no machines.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread/mutex.h"
#include "cluster/link/exchange/exchange.h"
#include "strata/status.h"

namespace strata {

// Outlives its exchangers. Thread-safe; each exchanger belongs to one thread at a time.
class MemoryWorld {
 public:
  explicit MemoryWorld(int world);
  ~MemoryWorld();

  Exchanger& rank(int r);
  // Ends the group: all exchanges, waiting ones too, return the first such error.
  void Fail(const Status& why);

 private:
  class End;
  struct Mail {
    uint64_t operation;
    uint64_t sequence;
    std::vector<std::byte> bytes;
  };

  Status Exchange(int self, const ExchangeTag& tag, const SendPart& send,
                  const ReceivePart& receive, TimeNs deadline);
  void Cancel(int rank, const Status& why);
  const Status& FailureOf(int rank) const STRATA_REQUIRES(mutex_);
  Status Deliver(const Mail& mail, const ExchangeTag& tag, const ReceivePart& receive) const;

  const int world_;
  std::vector<std::unique_ptr<End>> ends_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::pair<int, int>, std::deque<Mail>> mail_ STRATA_GUARDED_BY(mutex_);  // by (from, to)
  Status failure_ STRATA_GUARDED_BY(mutex_);
  // Who has cancelled, if that was the failure, and why.
  int canceller_ STRATA_GUARDED_BY(mutex_) = -1;
  Status reason_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata
