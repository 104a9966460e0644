#include "worker/run_trees.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/disk.h"
#include "base/log.h"
#include "base/signals.h"
#include "worker/gbdt/tree_task.h"
#include "worker/link_up.h"
#include "worker/status_board.h"
#include "worker/tree_ranks.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json MetricsJson(const std::vector<Evaluation>& evaluations) {
  Json all = Json::object();
  for (const Evaluation& evaluation : evaluations) {
    for (const MetricValue& metric : evaluation.metrics) {
      all[evaluation.data][metric.name] = Number(metric.value);
    }
  }
  return all;
}

std::string ProgressText(size_t rounds, size_t total, const std::vector<Evaluation>& evaluations,
                         double eta_seconds) {
  std::string line = fmt::format("round {:>5} of {}", rounds, total);
  for (const Evaluation& evaluation : evaluations) {
    line += "  " + evaluation.data;
    for (const MetricValue& metric : evaluation.metrics) {
      line += fmt::format(" {} {:.6f}", metric.name, metric.value);
    }
  }
  return line + fmt::format("  ETA {:.0f} s", std::ceil(eta_seconds));
}

std::string ResultText(const TreeTaskResult& result) {
  std::string text =
      fmt::format("{:<14}{}\n{:<14}{}\n{:<14}{}\n{:<14}{}\n", "task", result.task, "rows",
                  result.rows, "features", result.features, "rounds", result.rounds);
  if (result.best_round.has_value())
    text += fmt::format("{:<14}{}\n", "best round", *result.best_round);
  if (result.task == "train")
    text += fmt::format("{:<14}{:.2f} s\n", "loading", result.load_seconds);
  text += fmt::format("{:<14}{:.2f} s\n", result.task == "train" ? "training" : "predicting",
                      result.train_seconds);
  for (const Evaluation& evaluation : result.evaluations) {
    for (const MetricValue& metric : evaluation.metrics) {
      text += fmt::format("{:<14}{} {:.6f}\n", evaluation.data, metric.name, metric.value);
    }
  }
  return text + fmt::format("{:<14}{}\n", "written", result.output);
}

Json ResultJson(const TreeTaskResult& result) {
  Json object = {{"task", result.task},
                 {"rows", result.rows},
                 {"features", result.features},
                 {"rounds", result.rounds}};
  if (result.best_round.has_value()) object["best_round"] = *result.best_round;
  if (result.task == "train") object["load_seconds"] = result.load_seconds;
  object["seconds"] = result.train_seconds;
  object["metrics"] = MetricsJson(result.evaluations);
  object["output"] = result.output;
  return object;
}

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
    STRATA_TRY(StartLogging(options_.log_level, fmt::format("worker-{}", identity.rank),
                            options_.log_file));
    board_.SetIdentity(identity);
    const SignalWatch watch([this](int signal) { stop_.OnSignal(signal); });
    if (!options_.cluster.has_value()) return Work(nullptr);
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
    return ranks->Close(outcome);
  }

 private:
  Status Work(Group* group) {
    const TreeTaskContext context = {
        .disk = RealDisk(),
        .clock = RealClock(),
        .progress = [this](size_t rounds, const std::vector<Evaluation>& evaluations,
                           double eta_seconds) { Show(rounds, evaluations, eta_seconds); },
        .check = [this] { return stop_.reason(); },
        .group = group};
    const Result<TreeTaskResult> result = RunTreeTask(parameters_, context);
    if (const Status stopped = stop_.reason(); !result.ok() && !stopped.ok()) return stopped;
    STRATA_TRY(result.status());
    fmt::print("{}", options_.json ? ResultJson(*result).dump() + "\n" : ResultText(*result));
    std::fflush(stdout);
    return {};
  }

  void Show(size_t rounds, const std::vector<Evaluation>& evaluations, double eta_seconds) const {
    const auto total = static_cast<size_t>(parameters_.num_iterations);
    if (options_.json) {
      const Json object = {{"round", rounds},
                           {"rounds", total},
                           {"eta_seconds", Number(eta_seconds)},
                           {"metrics", MetricsJson(evaluations)}};
      fmt::print("{}\n", object.dump());
      std::fflush(stdout);
    } else if (parameters_.verbosity > 0) {
      fmt::print(stderr, "{}\n", ProgressText(rounds, total, evaluations, eta_seconds));
    }
  }

  const WorkerOptions& options_;
  const TreeParameters& parameters_;
  StatusBoard board_;
  StopSignal stop_;
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
  fmt::print(stderr, "strata-worker: {}\n", status.ToString());
  return ExitCode(status);
}

}  // namespace strata
