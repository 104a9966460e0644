// PhaseTimes: how long each phase of the training of trees took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace strata {

enum class TreePhase : uint8_t {
  kLoad,         // reading files
  kBin,          // finding boundaries, and filling bins
  kGradients,    // of the objective, and their rounding
  kHistograms,   // sums of gradients by bin
  kSplitSearch,  // with the subtraction of histograms
  kPartition,    // rows to the sides of a split
  kExchange,     // what ranks tell each other of a tree, and waiting for them
  kScores,       // what a new tree adds to the scores of all rows
  kMetrics,
};
inline constexpr size_t kTreePhases = 9;

// "load", "bin", "gradients", ...
constexpr const char* TreePhaseName(TreePhase phase) {
  constexpr std::array<const char*, kTreePhases> kNames = {
      "load",      "bin",      "gradients", "histograms", "split search",
      "partition", "exchange", "scores",    "metrics"};
  return kNames[static_cast<size_t>(phase)];
}

// One thread at a time. To read the clock twice a phase costs some tens of nanoseconds.
class PhaseTimes {
 public:
  explicit PhaseTimes(const Clock& clock) : clock_(clock) {}

  void Add(TreePhase phase, TimeNs time) { times_[static_cast<size_t>(phase)] += time; }
  TimeNs time(TreePhase phase) const { return times_[static_cast<size_t>(phase)]; }
  double Seconds(TreePhase phase) const {
    return static_cast<double>(time(phase)) / static_cast<double>(kSecond);
  }
  const Clock& clock() const { return clock_; }

 private:
  const Clock& clock_;
  std::array<TimeNs, kTreePhases> times_ = {};
};

// The time of its own life belongs to a phase. Null: nobody wants to know.
class PhaseScope {
 public:
  PhaseScope(PhaseTimes* times, TreePhase phase)
      : times_(times), phase_(phase), begin_(times == nullptr ? 0 : times->clock().Now()) {}
  ~PhaseScope() {
    if (times_ != nullptr) times_->Add(phase_, times_->clock().Now() - begin_);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  PhaseTimes* const times_;
  const TreePhase phase_;
  const TimeNs begin_;
};

}  // namespace strata
