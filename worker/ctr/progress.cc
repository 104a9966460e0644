#include "worker/ctr/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/print.h"

namespace strata {
namespace {

constexpr TimeNs kTerminalInterval = 200 * kMillisecond;
constexpr TimeNs kPlainInterval = 2 * kSecond;

std::string Grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string Duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kAdvancesMin = 20;

// JSON has no NaN.
nlohmann::json Number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace

void Pace::Advance(TimeNs now, uint64_t samples, double share) {
  last_ = {now, samples, share};
  if (advances_ == 0) first_ = last_;
  ++advances_;
}

double Pace::Elapsed() const {
  const TimeNs elapsed = last_.time - first_.time;
  if (elapsed <= 0 || (elapsed < kSecond && advances_ <= kAdvancesMin)) return kUnknown;
  return static_cast<double>(elapsed) / static_cast<double>(kSecond);
}

double Pace::SamplesPerSecond() const {
  return static_cast<double>(last_.samples - first_.samples) / Elapsed();
}

double Pace::EtaSeconds() const {
  const double share = last_.share - first_.share;
  return share > 0 ? Elapsed() * (1 - last_.share) / share : kUnknown;
}

std::string ProgressLine(const std::string& task, const ProgressState& state) {
  std::string line =
      fmt::format("{:<8} {:3.0f} %  {} samples", task, 100 * state.share, Grouped(state.samples));
  if (std::isfinite(state.samples_per_second)) {
    line += fmt::format("  {}/s", Grouped(static_cast<uint64_t>(state.samples_per_second)));
  }
  if (std::isfinite(state.eta_seconds)) line += "  ETA " + Duration(state.eta_seconds);
  if (std::isfinite(state.loss)) line += fmt::format("  loss {:.4f}", state.loss);
  if (std::isfinite(state.auc)) line += fmt::format("  AUC {:.4f}", state.auc);
  return line;
}

std::string ProgressJson(const std::string& task, const ProgressState& state) {
  const nlohmann::json object = {{"progress", state.share},
                                 {"task", task},
                                 {"samples", state.samples},
                                 {"samples_per_second", Number(state.samples_per_second)},
                                 {"eta_seconds", Number(state.eta_seconds)},
                                 {"loss", Number(state.loss)},
                                 {"auc", Number(state.auc)}};
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

double RecentSamples::Auc() const {
  std::vector<ScoredSample> samples = samples_;
  return ComputeMetrics(&samples).auc;
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
    } else {
      WriteOut(lines_, line + "\n");
    }
  }
  due_ = clock_.Now() + (terminal_ ? kTerminalInterval : kPlainInterval);
}

void ProgressPrinter::Finish() {
  if (drawn_) WriteOut(lines_, "\n");
  drawn_ = false;
}

}  // namespace strata
