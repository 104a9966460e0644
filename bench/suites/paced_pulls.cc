#include "bench/suites/paced_pulls.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

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
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !slot.busy; });
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
      const std::lock_guard lock(mutex_);
      latencies_.push_back(latency);
      if (status_.ok()) status_ = std::move(outcome.status);
      slot.busy = false;
      changed_.notify_all();
    });
  }

  // Until `due`, or a little later.
  void Pause(TimeNs due) {
    std::unique_lock lock(pause_mutex_);
    const TimeNs left = due - RealClock().Now();
    if (left > 0) pause_.wait_for(lock, std::chrono::nanoseconds(left));
  }

  void WaitAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::ranges::none_of(slots_, [](const Slot& slot) { return slot.busy; });
    });
  }

  Result<std::vector<TimeNs>> Take() {
    WaitAll();
    STRATA_TRY(status_);
    return std::move(latencies_);
  }

 private:
  struct Slot {
    std::vector<float> rows;
    bool busy = false;
  };

  TableStore& store_;
  const PacedPulls& pulls_;
  std::mutex pause_mutex_;
  std::condition_variable pause_;  // never notified: a pause
  std::mutex mutex_;               // for the rest
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<TimeNs> latencies_;
  Status status_;
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
