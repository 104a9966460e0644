#include "bench/suites/paced_pulls.h"

#include <algorithm>

#include "base/thread/mutex.h"

namespace strata::bench {
namespace {

constexpr size_t kSlots = 256;  // pulls under way at a time, at most
constexpr size_t kPeakDepth = 4;

// Pulls under way, each with memory of its own.
class Slots {
 public:
  Slots(TableStore& store, const PacedPulls& pulls, size_t count)
      : store_(store), pulls_(pulls), slots_(count) {
    for (Slot& slot : slots_) slot.rows.resize(pulls.batch * pulls.dim);
  }
  ~Slots() { WaitAll(); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Waits for a slot, if none is free, and submits pull number `n` from it.
  void Submit(uint64_t n, TimeNs due) {
    Slot& slot = slots_[n % slots_.size()];
    {
      const MutexLock lock(mutex_);
      while (slot.busy) changed_.Wait(mutex_);
      slot.busy = true;
    }
    Operation operation;
    operation.kind = OpKind::kLookup;
    operation.parts.push_back(
        {.table = pulls_.table,
         .keys = pulls_.keys.subspan(n % (pulls_.keys.size() / pulls_.batch) * pulls_.batch,
                                     pulls_.batch),
         .out = slot.rows});
    store_.Submit(std::move(operation), [this, &slot, due](Outcome outcome) {
      const TimeNs latency = RealClock().Now() - due;
      const MutexLock lock(mutex_);
      latencies_.push_back(latency);
      if (status_.ok()) status_ = std::move(outcome.status);
      slot.busy = false;
      changed_.NotifyAll();
    });
  }

  // Until `due`, or a little later.
  void Pause(TimeNs due) {
    const MutexLock lock(pause_mutex_);
    const TimeNs left = due - RealClock().Now();
    if (left > 0) pause_.WaitFor(pause_mutex_, left);
  }

  void WaitAll() {
    const MutexLock lock(mutex_);
    while (std::ranges::any_of(slots_, [](const Slot& slot) { return slot.busy; })) {
      changed_.Wait(mutex_);
    }
  }

  Result<std::vector<TimeNs>> Take() {
    WaitAll();
    const MutexLock lock(mutex_);
    STRATA_TRY(status_);
    return std::move(latencies_);
  }

 private:
  struct Slot {
    std::vector<float> rows;
    bool busy = false;  // under Slots::mutex_
  };

  TableStore& store_;
  const PacedPulls& pulls_;
  Mutex pause_mutex_;
  CondVar pause_;  // never notified: a pause
  Mutex mutex_;
  CondVar changed_;
  std::vector<Slot> slots_;
  std::vector<TimeNs> latencies_ STRATA_GUARDED_BY(mutex_);
  Status status_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::vector<TimeNs>> RunPaced(TableStore& store, const PacedPulls& pulls, TimeNs duration) {
  Slots slots(store, pulls, kSlots);
  const double every = static_cast<double>(kSecond) / pulls.batches_a_second;
  const TimeNs begin = RealClock().Now();
  for (uint64_t n = 0;; ++n) {
    const TimeNs due = begin + static_cast<TimeNs>(static_cast<double>(n) * every);
    if (due >= begin + duration) return slots.Take();
    slots.Pause(due);
    slots.Submit(n, due);
  }
}

Result<double> PeakPulls(TableStore& store, const PacedPulls& pulls, TimeNs duration) {
  Slots slots(store, pulls, kPeakDepth);
  const TimeNs begin = RealClock().Now();
  for (uint64_t n = 0; RealClock().Now() < begin + duration; ++n) slots.Submit(n, begin);
  STRATA_ASSIGN(const std::vector<TimeNs> done, slots.Take());
  return static_cast<double>(done.size()) * kSecond /
         static_cast<double>(RealClock().Now() - begin);
}

}  // namespace strata::bench
