// Progress: the line that says how far a task is. On a terminal it is drawn over itself; elsewhere
// a plain line comes now and then, and with --json an object on standard output.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "worker/ctr/metrics.h"
#include "worker/data/batch/batch.h"

namespace strata {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The newest evaluation of a training run.
struct ShownEvaluation {
  uint64_t steps = 0;
  double auc = 0;
  double logloss = 0;
  std::optional<double> mse = {};           // of LossKind::kMse, which has neither of the two
  std::optional<double> gauc = {};          // of a job with data.group
  std::optional<uint64_t> best_steps = {};  // of the best one, where that is kept
};

// Where a task stands. What is kUnknown is not shown.
struct ProgressState {
  double share = 0;  // done, 0 to 1
  uint64_t samples = 0;
  double samples_per_second = 0;
  double eta_seconds = 0;
  double loss = 0;
  double auc = 0;
  std::optional<ShownEvaluation> evaluation = {};
};

// What is to be shown of a share: less than all of it for as long as a task does not go on.
double ShownShare(double share, double samples_per_second);

// How fast a task goes, over about the last ten seconds and from its first advance on: what it
// needs to start (a shuffle buffer that fills, first connections) says nothing about the rest.
class Pace {
 public:
  // `samples` and `share` of the task are done by now, all in all.
  void Advance(TimeNs now, uint64_t samples, double share);
  // As of the last advance, or of `now`: 0 once it has not gone on for far longer than before. Both
  // NaN until it went on for a second or 20 advances; the ETA also while it does not go on.
  double SamplesPerSecond() const { return SamplesPerSecond(last_.time); }
  double SamplesPerSecond(TimeNs now) const;
  double EtaSeconds() const { return EtaSeconds(last_.time); }
  double EtaSeconds(TimeNs now) const;

 private:
  struct Point {
    TimeNs time = 0;
    uint64_t samples = 0;
    double share = 0;
  };
  double Elapsed(TimeNs now) const;  // of the window; NaN while that is too short
  bool Stands(TimeNs now) const;

  uint64_t advances_ = 0;
  std::deque<Point> points_;  // of the window, some time apart; the first is its begin
  Point last_;
};

// When a status that others read is to be set again: not more often than every 200 ms, as setting
// it costs something. One thread at a time.
class UpdateTimer {
 public:
  explicit UpdateTimer(const Clock& clock) : clock_(clock) {}

  bool Due() const { return clock_.Now() >= due_; }
  // It has been set now.
  void Restart();

 private:
  const Clock& clock_;
  TimeNs due_ = 0;  // the first one is due at once
};

// "train   45 %    81,920 samples  12,345/s  ETA 3 s  loss 0.3012  AUC 0.9123".
std::string ProgressLine(const std::string& task, const ProgressState& state);
// {"progress":0.45,"task":"train",...}.
std::string ProgressJson(const std::string& task, const ProgressState& state);

// The newest samples' scores as they were before the model learned from them: an honest AUC while
// training.
class RecentSamples {
 public:
  static constexpr size_t kSamples = 16384;

  explicit RecentSamples(LossKind loss = LossKind::kLogloss) : loss_(loss) {}

  void Add(const Batch& batch, std::span<const float> logits);
  Metrics Measure() const;
  // NaN until both labels were seen, and of LossKind::kMse.
  double Auc() const { return loss_ == LossKind::kMse ? kUnknown : Measure().auc; }

 private:
  const LossKind loss_;
  std::vector<ScoredSample> samples_;
  size_t next_ = 0;
};

// One thread at a time.
class ProgressPrinter {
 public:
  // Lines go to `lines` (null: none), objects to `objects` (null: none).
  ProgressPrinter(const Clock& clock, std::FILE* lines, bool terminal, std::FILE* objects);

  // True when it is time for another line; Print then shows one.
  bool Due() const { return clock_.Now() >= due_; }
  void Print(const std::string& task, const ProgressState& state);
  // The same for a task that words its line itself.
  void PrintLine(const std::string& line);
  // Ends a line that was being drawn over.
  void Finish();

 private:
  const Clock& clock_;
  std::FILE* lines_;
  bool terminal_;
  std::FILE* objects_;
  TimeNs due_;
  bool drawn_ = false;
  std::string last_line_;
};

}  // namespace strata
