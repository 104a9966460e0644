// StageTimes: where the time of a training run goes, stage by stage of its steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/clock.h"

namespace strata {

enum class Stage : uint8_t {
  kData,       // waiting for the next batch to be read and parsed
  kRows,       // asking for rows and waiting for them; with servers also for the updates before
  kCompute,    // embeddings, layers and the update of the dense part; rows that are on a GPU, too
  kAllreduce,  // sums over the workers, and waiting for slower ones
  kUpdates,    // sending gradients and waiting until they are applied; without servers also the
               // rows that are asked for with them
  kOther,      // evaluations, checkpoints, progress
};
inline constexpr size_t kStages = 6;

// "data", "rows", "compute", "allreduce", "updates", "other".
constexpr const char* StageName(Stage stage) {
  constexpr std::array<const char*, kStages> kNames = {"data",      "rows",    "compute",
                                                       "allreduce", "updates", "other"};
  return kNames[static_cast<size_t>(stage)];
}

// One thread at a time. A stage costs one look at the clock.
class StageTimes {
 public:
  // Null: nothing is measured.
  explicit StageTimes(const Clock* clock) : clock_(clock) {}

  // What was before is of no stage.
  void Start() { last_ = Now(); }
  // The time since the last Start or End is of this stage.
  void End(Stage stage) {
    const TimeNs now = Now();
    times_[static_cast<size_t>(stage)] += now - last_;
    last_ = now;
  }

  TimeNs time(Stage stage) const { return times_[static_cast<size_t>(stage)]; }
  TimeNs total() const { return std::accumulate(times_.begin(), times_.end(), TimeNs{0}); }

 private:
  TimeNs Now() const { return clock_ == nullptr ? 0 : clock_->Now(); }

  const Clock* clock_;
  TimeNs last_ = 0;
  std::array<TimeNs, kStages> times_ = {};
};

}  // namespace strata
