// PoolShares: how memory for tables, a GPU's or the host's, is shared out between them: max-min
// fair.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "base/thread/mutex.h"

namespace strata {

// The share of one that takes whatever it gets, beside others that want `others`, in bytes: the
// level to which water rises, where none takes more than the level, nor more than it wants (D.
// Bertsekas, R. Gallager, Data Networks, 6.5.2). No less than an equal part of `bytes`.
uint64_t FairShare(uint64_t bytes, std::vector<uint64_t> others);

class PoolShare;

// Thread-safe. Who shares: a PoolShare each.
class PoolShares {
 private:
  friend class PoolShare;

  Mutex mutex_;
  std::map<const PoolShare*, uint64_t> wants_ STRATA_GUARDED_BY(mutex_);  // bytes
  std::atomic<uint64_t> changes_{1};                                      // of wants_
  std::atomic<uint64_t> lacks_{0};
};

// A table's share, of which it is told whatever it needs. What it needed once counts as long as it
// lives: arrays do not shrink. Not thread-safe; others of the same shares may be used meanwhile.
class PoolShare {
 public:
  PoolShare(PoolShares& shares, uint64_t bytes);
  ~PoolShare();
  PoolShare(const PoolShare&) = delete;
  PoolShare& operator=(const PoolShare&) = delete;

  void Need(uint64_t bytes);
  // Of so much in all, what the table may take: more than it needs, where others leave it.
  uint64_t Of(uint64_t bytes);
  // What it may take whatever the others need.
  uint64_t EqualPartOf(uint64_t bytes) const;
  // It found no memory within its share: others that have more than theirs are to give it back.
  void Lack() { ++shares_.lacks_; }
  // Whether a table has said so since AnswerLack.
  bool IsLacked() const { return shares_.lacks_ != answered_; }
  void AnswerLack() { answered_ = shares_.lacks_; }

 private:
  PoolShares& shares_;
  uint64_t needed_ = 0;
  uint64_t answered_ = 0;
  uint64_t of_ = 0;      // what the share was computed of
  uint64_t change_ = 0;  // and after which change
  uint64_t share_ = 0;
};

}  // namespace strata
