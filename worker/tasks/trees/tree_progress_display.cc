#include "worker/tasks/trees/tree_progress_display.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "base/json_text.h"
#include "base/print.h"
#include "worker/tasks/trees/tree_result.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

double Percent(const TreeProgress& at) {
  return 100 * static_cast<double>(at.round) / static_cast<double>(at.rounds);
}

// "train    45 %  round 45 of 100  1,234,567 rows x rounds/s  ETA 3s  valid_1 auc 0.927".
std::string ProgressText(const TreeProgress& at, const Pace& pace) {
  std::string line =
      fmt::format("train    {:3.0f} %  round {} of {}", Percent(at), at.round, at.rounds);
  const double rate = pace.SamplesPerSecond();
  if (std::isfinite(rate)) {
    line += fmt::format("  {} rows x rounds/s  ETA {}", HumanCount(static_cast<uint64_t>(rate)),
                        HumanSeconds(pace.EtaSeconds()));
  }
  if (at.evaluations == nullptr) return line;
  for (const Evaluation& evaluation : *at.evaluations) {
    line += "  " + evaluation.data;
    for (const MetricValue& metric : evaluation.metrics) {
      line += fmt::format(" {} {:.6g}", metric.name, metric.value);
    }
  }
  return line;
}

Json ProgressJson(const TreeProgress& at, const Pace& pace) {
  return {{"task", "train"},
          {"progress", Percent(at) / 100},
          {"round", at.round},
          {"rounds", at.rounds},
          {"samples", at.rows * at.round},
          {"samples_per_second", JsonNumber(pace.SamplesPerSecond())},
          {"eta_seconds", JsonNumber(pace.EtaSeconds())},
          {"metrics", MetricsJson(*at.evaluations)}};
}

}  // namespace

TreeProgressDisplay::TreeProgressDisplay(const Clock& clock, StatusBoard& board,
                                         const Outputs& outputs)
    : clock_(clock),
      board_(board),
      objects_(outputs.objects),
      has_line_each_(outputs.has_line_each),
      printer_(clock, outputs.lines, outputs.terminal, nullptr),
      update_(clock) {}

void TreeProgressDisplay::Advance(const TreeProgress& at) {
  pace_.Advance(clock_.Now(), at.rows * at.round, Percent(at) / 100);
  board_.Advance(at.rows, at.round, 0);
  last_ = {.share = Percent(at) / 100,
           .samples = at.rows * at.round,
           .samples_per_second = pace_.SamplesPerSecond(),
           .eta_seconds = pace_.EtaSeconds(),
           .loss = kUnknown,
           .auc = kUnknown};
  if (update_.Due()) Update();
  if (objects_ != nullptr && at.evaluations != nullptr) {
    WriteOut(objects_, ProgressJson(at, pace_).dump() + "\n");
  }
  if (has_line_each_ || printer_.Due()) printer_.PrintLine(ProgressText(at, pace_));
}

void TreeProgressDisplay::Update() {
  board_.SetProgress(*last_, pace_);
  last_.reset();
  update_.Restart();
}

void TreeProgressDisplay::Finish() {
  if (last_.has_value()) Update();
  printer_.Finish();
}

}  // namespace strata
