#include "worker/run_trees.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/disk.h"
#include "base/log.h"
#include "base/signals.h"
#include "worker/gbdt/tree_task.h"

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

Status Run(const WorkerOptions& options) {
  STRATA_TRY(StartLogging(options.log_level, "worker-0", options.log_file));
  std::atomic<int> signal_seen = 0;
  const SignalWatch watch([&](int signal) { signal_seen = signal; });
  const TreeParameters& parameters = *options.trees;
  const auto total = static_cast<size_t>(parameters.num_iterations);
  const TreeTaskContext context = {
      .disk = RealDisk(),
      .clock = RealClock(),
      .progress =
          [&](size_t rounds, const std::vector<Evaluation>& evaluations, double eta_seconds) {
            if (options.json) {
              const Json object = {{"round", rounds},
                                   {"rounds", total},
                                   {"eta_seconds", Number(eta_seconds)},
                                   {"metrics", MetricsJson(evaluations)}};
              fmt::print("{}\n", object.dump());
              std::fflush(stdout);
            } else if (parameters.verbosity > 0) {
              fmt::print(stderr, "{}\n", ProgressText(rounds, total, evaluations, eta_seconds));
            }
          },
      .check =
          [&] {
            if (signal_seen == 0) return Status::Ok();
            return Cancelled(
                fmt::format("stopped by {}", signal_seen == SIGINT ? "SIGINT" : "SIGTERM"));
          }};
  STRATA_ASSIGN(const TreeTaskResult result, RunTreeTask(parameters, context));
  fmt::print("{}", options.json ? ResultJson(result).dump() + "\n" : ResultText(result));
  std::fflush(stdout);
  return {};
}

}  // namespace

int RunTrees(const WorkerOptions& options) {
  const Status status = Run(options);
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
