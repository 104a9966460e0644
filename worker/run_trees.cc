#include "worker/run_trees.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/print.h"
#include "base/signals.h"
#include "worker/ctr/progress.h"
#include "worker/gbdt/tree_task.h"
#include "worker/link_up.h"
#include "worker/status_board.h"
#include "worker/tree_ranks.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

double Percent(const TreeProgress& at) {
  return 100 * static_cast<double>(at.round) / static_cast<double>(at.rounds);
}

// JSON has no NaN.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

// By data set, and of the first validation set (without one, of the training data) without its name
// too: {"auc": 0.9, "training": {"auc": 0.95}, "valid_1": {"auc": 0.9}}.
Json MetricsJson(const std::vector<Evaluation>& evaluations) {
  Json all = Json::object();
  const auto add = [](const Evaluation& evaluation, Json* to) {
    for (const MetricValue& metric : evaluation.metrics) (*to)[metric.name] = Number(metric.value);
  };
  const auto judged = std::ranges::find_if(
      evaluations, [](const Evaluation& evaluation) { return evaluation.data != "training"; });
  if (judged != evaluations.end()) {
    add(*judged, &all);
  } else if (!evaluations.empty()) {
    add(evaluations.front(), &all);
  }
  for (const Evaluation& evaluation : evaluations) {
    all[evaluation.data] = Json::object();
    add(evaluation, &all[evaluation.data]);
  }
  return all;
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
          {"samples_per_second", Number(pace.SamplesPerSecond())},
          {"eta_seconds", Number(pace.EtaSeconds())},
          {"metrics", MetricsJson(*at.evaluations)}};
}

std::string ResultText(const TreeTaskResult& result) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  add("task", result.task);
  if (result.task != "convert") add("rows", HumanCount(result.rows));
  if (result.bad_rows > 0) add("bad rows", HumanCount(result.bad_rows));
  add("features", HumanCount(result.features));
  add("rounds", HumanCount(result.rounds));
  if (result.best_round.has_value()) add("best round", HumanCount(*result.best_round));
  if (result.task == "train") add("loading", fmt::format("{:.2f} s", result.load_seconds));
  add(result.task == "train" ? "training" : "seconds",
      fmt::format("{:.2f} s", result.train_seconds));
  for (const Evaluation& evaluation : result.evaluations) {
    for (const MetricValue& metric : evaluation.metrics) {
      add(evaluation.data, fmt::format("{} {:.6f}", metric.name, metric.value));
    }
  }
  if (!result.output.empty()) add("written", result.output);
  return text;
}

Json ResultJson(const TreeTaskResult& result) {
  Json object = {
      {"task", result.task},
      {"samples", result.samples},
      {"seconds", result.train_seconds},
      {"samples_per_second", Number(static_cast<double>(result.samples) / result.train_seconds)},
      {"metrics", MetricsJson(result.evaluations)},
      {"rows", result.rows},
      {"bad_rows", result.bad_rows},
      {"features", result.features},
      {"rounds", result.rounds}};
  if (result.best_round.has_value()) object["best_round"] = *result.best_round;
  if (result.task == "train") object["load_seconds"] = result.load_seconds;
  object["output"] = result.output;
  return object;
}

// LightGBM's verbosity bounds what is logged, as --log_level does.
LogLevel LogLevelOf(const WorkerOptions& options) {
  const int64_t verbosity = options.trees->verbosity;
  if (verbosity > 0) return options.log_level;
  return std::max(options.log_level, verbosity == 0 ? LogLevel::kWarning : LogLevel::kError);
}

// What is shown while trees grow: a line now and then, and with --json an object a measured round.
class Progress {
 public:
  Progress(const WorkerOptions& options, bool lines)
      : json_(options.json),
        printer_(RealClock(), lines ? stderr : nullptr, isatty(STDERR_FILENO) != 0, nullptr) {}

  void Advance(const TreeProgress& at) {
    pace_.Advance(RealClock().Now(), at.rows * at.round, Percent(at) / 100);
    if (json_ && at.evaluations != nullptr) {
      WriteOut(stdout, ProgressJson(at, pace_).dump() + "\n");
    }
    if (printer_.Due()) printer_.PrintLine(ProgressText(at, pace_));
  }
  void Finish() { printer_.Finish(); }

 private:
  const bool json_;
  ProgressPrinter printer_;
  Pace pace_;
};

// What a signal asks for. Thread-safe.
class StopSignal {
 public:
  // While workers gather, nobody relies on this one, and nothing can be cancelled.
  void SetGathering(bool gathering) { gathering_ = gathering; }
  // Null: nobody waits for others any more.
  void Attach(TreeRanks* ranks) {
    const std::lock_guard lock(mutex_);
    ranks_ = ranks;
  }
  void OnSignal(int signal) {
    const Status stopped =
        Cancelled(fmt::format("stopped by {}", signal == SIGINT ? "SIGINT" : "SIGTERM"));
    if (gathering_) std::_Exit(FailWorker(stopped));
    const std::lock_guard lock(mutex_);
    if (!reason_.ok()) return;
    reason_ = stopped;
    if (ranks_ != nullptr) ranks_->Cancel(stopped);
  }
  Status reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  std::atomic<bool> gathering_ = false;
  mutable std::mutex mutex_;
  Status reason_;
  TreeRanks* ranks_ = nullptr;
};

class TreeRun {
 public:
  explicit TreeRun(const WorkerOptions& options)
      : options_(options), parameters_(*options.trees), board_(RealClock()) {}

  Status Run() {
    WorkerIdentity identity;
    if (options_.cluster.has_value()) {
      STRATA_ASSIGN(identity, FindRank(*options_.cluster));
    }
    identity.job = "trees";
    identity.task = parameters_.task;
    STRATA_TRY(StartLogging(LogLevelOf(options_), fmt::format("worker-{}", identity.rank),
                            options_.log_file));
    if (!options_.log_file.empty()) ReopenLogOnHangup();
    for (const std::string& warning : parameters_.warnings) Log(LogLevel::kWarning, "{}", warning);
    board_.SetIdentity(identity);
    const SignalWatch watch([this](int signal) { stop_.OnSignal(signal); });
    if (!options_.cluster.has_value()) {
      STRATA_TRY(Work(nullptr));
      return told_;
    }
    stop_.SetGathering(true);
    STRATA_ASSIGN(
        const std::unique_ptr<TreeRanks> ranks,
        TreeRanks::Open(
            *options_.cluster, parameters_, identity,
            {.status = [this] { return board_.Serialized(); },
             .control = [this](std::string_view request) { return board_.Control(request); }}));
    stop_.Attach(ranks.get());
    stop_.SetGathering(false);
    board_.SetState("training");
    const Status outcome = Work(ranks->group());
    board_.SetState("ending");
    stop_.Attach(nullptr);
    STRATA_TRY(ranks->Close(outcome));
    return told_;
  }

 private:
  Status Work(Group* group) {
    Progress progress(options_, parameters_.verbosity > 0);
    const TreeTaskContext context = {
        .disk = RealDisk(),
        .clock = RealClock(),
        .progress = [&progress](const TreeProgress& at) { progress.Advance(at); },
        .check = [this] { return stop_.reason(); },
        .is_unread = IsStdoutUnread,
        .group = group,
        .files = options_.files};
    const Result<TreeTaskResult> result = RunTreeTask(parameters_, context);
    progress.Finish();
    const Status stopped = stop_.reason();
    if (!result.ok() && !stopped.ok() && result.status().code() != stopped.code()) return stopped;
    STRATA_TRY(result.status());
    told_ = Tell(*result);
    return {};
  }

  // With verbosity below 1 people get no table, unless it is what the task is for.
  Status Tell(const TreeTaskResult& result) const {
    if (options_.json) return WriteStdout(ResultJson(result).dump() + "\n");
    if (parameters_.verbosity < 1 && result.task != "evaluate") return {};
    if (!WritesToStandardOutput(options_)) return WriteStdout(ResultText(result));
    PrintStderr("{}", ResultText(result));
    return {};
  }

  const WorkerOptions& options_;
  const TreeParameters& parameters_;
  StatusBoard board_;
  StopSignal stop_;
  Status told_;  // how stdout took the result: other workers do not fail by that
};

}  // namespace

int RunTrees(const WorkerOptions& options) {
  const Status status = TreeRun(options).Run();
  if (!status.ok()) return FailWorker(status);
  FlushLog();
  return 0;
}

int FailWorker(const Status& status) {
  FlushLog();
  PrintStderr("strata-worker: {}\n", status.ToString());
  return ExitCode(status);
}

}  // namespace strata
