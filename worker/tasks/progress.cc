#include "worker/tasks/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/json_text.h"
#include "base/print.h"

namespace strata {
namespace {

constexpr TimeNs kTerminalInterval = 200 * kMillisecond;
constexpr TimeNs kPlainInterval = 2 * kSecond;
constexpr TimeNs kUpdateEvery = 200 * kMillisecond;

std::string Duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string EvaluationText(const ShownEvaluation& evaluation) {
  const std::string metrics =
      evaluation.mse.has_value()
          ? fmt::format("RMSE {:.4g}", std::sqrt(*evaluation.mse))
          : fmt::format(
                "AUC {} logloss {}{}", MetricText(evaluation.auc, 4),
                MetricText(evaluation.logloss, 4),
                evaluation.gauc.has_value() ? " GAUC " + MetricText(*evaluation.gauc, 4) : "");
  return fmt::format(
      "test {} (step {}{})", metrics, evaluation.steps,
      evaluation.best_steps.has_value() ? fmt::format(", best {}", *evaluation.best_steps) : "");
}

constexpr uint64_t kAdvancesMin = 20;
constexpr TimeNs kWindow = 10 * kSecond;
constexpr TimeNs kPointEvery = 200 * kMillisecond;
constexpr double kShareMaxAtRest = 0.99;

}  // namespace

double ShownShare(double share, double samples_per_second) {
  return samples_per_second == 0 ? std::min(share, kShareMaxAtRest) : share;
}

void Pace::Advance(TimeNs now, uint64_t samples, double share) {
  last_ = {now, samples, share};
  if (points_.empty() || now - points_.back().time >= kPointEvery) points_.push_back(last_);
  while (points_.size() > 1 && points_[1].time <= now - kWindow) points_.pop_front();
  ++advances_;
}

double Pace::Elapsed(TimeNs now) const {
  if (points_.empty()) return kUnknown;
  const TimeNs gone = last_.time - points_.front().time;
  if (gone <= 0 || (gone < kSecond && advances_ <= kAdvancesMin)) return kUnknown;
  const TimeNs elapsed = std::max(now, last_.time) - points_.front().time;
  return static_cast<double>(elapsed) / static_cast<double>(kSecond);
}

// A task of long steps stands still between two of them, and goes on all the same.
bool Pace::Stands(TimeNs now) const {
  if (points_.size() < 2) return now - last_.time > kWindow;
  const TimeNs step = (last_.time - points_.front().time) / static_cast<TimeNs>(points_.size() - 1);
  return now - last_.time > std::max(kWindow, 3 * step);
}

double Pace::SamplesPerSecond(TimeNs now) const {
  const double elapsed = Elapsed(now);
  if (std::isnan(elapsed)) return kUnknown;
  if (Stands(now)) return 0;
  return static_cast<double>(last_.samples - points_.front().samples) / elapsed;
}

double Pace::EtaSeconds(TimeNs now) const {
  const double elapsed = Elapsed(now);
  if (std::isnan(elapsed) || Stands(now)) return kUnknown;
  const double share = last_.share - points_.front().share;
  return share > 0 ? elapsed * (1 - last_.share) / share : kUnknown;
}

void UpdateTimer::Restart() { due_ = clock_.Now() + kUpdateEvery; }

std::string ProgressLine(const std::string& task, const ProgressState& state) {
  std::string line = fmt::format("{:<8} {:3} %  {} samples", task,
                                 WholePercent(ShownShare(state.share, state.samples_per_second)),
                                 HumanCount(state.samples));
  if (std::isfinite(state.samples_per_second)) {
    line += fmt::format("  {}/s", HumanRate(state.samples_per_second));
  }
  if (std::isfinite(state.eta_seconds)) line += "  ETA " + Duration(state.eta_seconds);
  if (std::isfinite(state.loss)) line += fmt::format("  loss {:.4f}", state.loss);
  if (std::isfinite(state.auc)) line += fmt::format("  AUC {:.4f}", state.auc);
  if (state.evaluation.has_value()) line += "  " + EvaluationText(*state.evaluation);
  return line;
}

std::string ProgressJson(const std::string& task, const ProgressState& state) {
  nlohmann::json object = {{"progress", ShownShare(state.share, state.samples_per_second)},
                           {"task", task},
                           {"samples", state.samples},
                           {"samples_per_second", JsonNumber(state.samples_per_second)},
                           {"eta_seconds", JsonNumber(state.eta_seconds)},
                           {"loss", JsonNumber(state.loss)},
                           {"auc", JsonNumber(state.auc)}};
  if (state.evaluation.has_value()) {
    nlohmann::json& evaluation = object["evaluation"];
    evaluation = {{"step", state.evaluation->steps}};
    if (state.evaluation->mse.has_value()) {
      evaluation["mse"] = JsonNumber(*state.evaluation->mse);
    } else {
      evaluation["auc"] = JsonNumber(state.evaluation->auc);
      evaluation["logloss"] = JsonNumber(state.evaluation->logloss);
    }
    if (state.evaluation->gauc.has_value()) {
      evaluation["gauc"] = JsonNumber(*state.evaluation->gauc);
    }
    if (state.evaluation->best_steps.has_value()) {
      evaluation["best_step"] = *state.evaluation->best_steps;
    }
  }
  return object.dump();
}

void RecentSamples::Add(const Batch& batch, std::span<const float> logits) {
  for (size_t i = 0; i < batch.samples; ++i) {
    const ScoredSample sample{logits[i], batch.labels[i], batch.weights[i]};
    if (samples_.size() < kSamples) {
      samples_.push_back(sample);
    } else {
      samples_[next_] = sample;
      next_ = (next_ + 1) % kSamples;
    }
  }
}

Metrics RecentSamples::Measure() const {
  std::vector<ScoredSample> samples = samples_;
  return ComputeMetrics(&samples, loss_);
}

ProgressPrinter::ProgressPrinter(const Clock& clock, std::FILE* lines, bool terminal,
                                 std::FILE* objects)
    : clock_(clock),
      lines_(lines),
      terminal_(terminal),
      objects_(objects),
      due_(clock.Now() + (terminal ? kTerminalInterval : kPlainInterval)) {}

void ProgressPrinter::Print(const std::string& task, const ProgressState& state) {
  PrintLine(ProgressLine(task, state));
  if (objects_ != nullptr) {
    WriteOut(objects_, ProgressJson(task, state) + "\n");
  }
}

void ProgressPrinter::PrintLine(const std::string& line) {
  if (lines_ != nullptr) {
    if (terminal_) {
      // The rest of a longer line before it is erased.
      WriteOut(lines_, fmt::format("\r{}\x1b[K", line));
      drawn_ = true;
    } else if (line != last_line_) {  // a task that ends says again how far it is
      WriteOut(lines_, line + "\n");
    }
  }
  last_line_ = line;
  due_ = clock_.Now() + (terminal_ ? kTerminalInterval : kPlainInterval);
}

void ProgressPrinter::Finish() {
  if (drawn_) WriteOut(lines_, "\n");
  drawn_ = false;
}

}  // namespace strata
