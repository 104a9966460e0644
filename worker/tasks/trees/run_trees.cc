#include "worker/tasks/trees/run_trees.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/human_text.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/print.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/status_board.h"
#include "worker/tasks/trees/tree_ranks.h"
#include "worker/tasks/trees/tree_task.h"
#include "worker/tasks/worker_process.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

double Percent(const TreeProgress& at) {
  return 100 * static_cast<double>(at.round) / static_cast<double>(at.rounds);
}

// By data set, and of the first validation set (without one, of the training data) without its name
// too: {"auc": 0.9, "training": {"auc": 0.95}, "valid_1": {"auc": 0.9}}.
Json MetricsJson(const std::vector<Evaluation>& evaluations) {
  Json all = Json::object();
  const auto add = [](const Evaluation& evaluation, Json* to) {
    for (const MetricValue& metric : evaluation.metrics)
      (*to)[metric.name] = JsonNumber(metric.value);
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
          {"samples_per_second", JsonNumber(pace.SamplesPerSecond())},
          {"eta_seconds", JsonNumber(pace.EtaSeconds())},
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
  Json object = {{"task", result.task},
                 {"samples", result.samples},
                 {"seconds", result.train_seconds},
                 {"samples_per_second",
                  JsonNumber(static_cast<double>(result.samples) / result.train_seconds)},
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
  const int64_t verbosity = options.trees->task.verbosity;
  if (verbosity > 0) return options.log_level;
  return std::max(options.log_level, verbosity == 0 ? LogLevel::kWarning : LogLevel::kError);
}

// What is shown while trees grow: a line now and then, and with --json an object a measured round.
class Progress {
 public:
  Progress(bool lines, bool objects, StatusBoard& board)
      : json_(objects),
        board_(board),
        printer_(RealClock(), lines ? stderr : nullptr, isatty(STDERR_FILENO) != 0, nullptr) {}

  void Advance(const TreeProgress& at) {
    pace_.Advance(RealClock().Now(), at.rows * at.round, Percent(at) / 100);
    board_.Advance(at.rows, at.round, 0);
    board_.SetProgress({.share = Percent(at) / 100,
                        .samples = at.rows * at.round,
                        .samples_per_second = pace_.SamplesPerSecond(),
                        .eta_seconds = pace_.EtaSeconds(),
                        .loss = kUnknown,
                        .auc = kUnknown},
                       pace_);
    if (json_ && at.evaluations != nullptr) {
      WriteOut(stdout, ProgressJson(at, pace_).dump() + "\n");
    }
    if (printer_.Due()) printer_.PrintLine(ProgressText(at, pace_));
  }
  void Finish() { printer_.Finish(); }

 private:
  const bool json_;
  StatusBoard& board_;
  ProgressPrinter printer_;
  Pace pace_;
};

// As the tasks of click models say it.
std::string StateOf(const std::string& task) {
  if (task == "train") return "training";
  if (task == "refit") return "refitting";
  if (task == "evaluate") return "evaluating";
  if (task == "predict") return "predicting";
  if (task == "convert") return "converting";
  return task;
}

class TreeRun {
 public:
  explicit TreeRun(const WorkerOptions& options)
      : options_(options), parameters_(*options.trees), process_(options) {}

  Status Run() {
    return process_.Run(
        {.job = "trees",
         .task = parameters_.task.name,
         .log_level = LogLevelOf(options_),
         .find = FindIdentity},
        [this](const WorkerIdentity& identity) -> Status {
          for (const std::string& warning : parameters_.warnings) {
            Log(LogLevel::kWarning, "{}", warning);
          }
          STRATA_TRY(options_.cluster.has_value() ? WorkInCluster(identity) : WorkAlone());
          return told_;
        });
  }

 private:
  // It asks by itself whether it is to stop, and waits for nobody.
  Status WorkAlone() {
    process_.stop().Attach([](const Status&) {});
    return Work(nullptr);
  }

  Status WorkInCluster(const WorkerIdentity& identity) {
    STRATA_ASSIGN(
        const std::unique_ptr<TreeRanks> ranks,
        TreeRanks::Open(*options_.cluster, parameters_.machine, identity, process_.Hooks()));
    process_.stop().Attach([&](const Status& why) { ranks->Cancel(why); });
    const Status outcome = Work(ranks->group());
    process_.board().SetState("ending");
    process_.stop().Attach([](const Status&) {});  // parting: what was to be written is
    const Status closed = ranks->Close(outcome);
    process_.stop().Attach(nullptr);
    return closed;
  }

  Status Work(Group* group) {
    process_.board().SetState(StateOf(parameters_.task.name));
    const bool shown = group == nullptr || group->rank() == 0;
    Progress progress(shown && parameters_.task.verbosity > 0, shown && options_.json,
                      process_.board());
    const TreeTaskContext context = {
        .disk = RealDisk(),
        .clock = RealClock(),
        .progress = [&progress](const TreeProgress& at) { progress.Advance(at); },
        .check = [this] { return process_.stop().reason(); },
        .is_unread = IsStdoutUnread,
        .group = group,
        .files = options_.files};
    const Result<TreeTaskResult> result = RunTreeTask(parameters_, context);
    progress.Finish();
    const Status stopped = process_.stop().reason();
    if (!result.ok() && !stopped.ok() && result.status().code() != stopped.code()) return stopped;
    STRATA_TRY(result.status());
    told_ = Tell(*result);
    return {};
  }

  // With verbosity below 1 people get no table, unless it is what the task is for.
  Status Tell(const TreeTaskResult& result) const {
    if (options_.json) return WriteStdout(ResultJson(result).dump() + "\n");
    if (parameters_.task.verbosity < 1 && result.task != "evaluate") return {};
    if (!WritesToStandardOutput(options_)) return WriteStdout(ResultText(result));
    PrintStderr("{}", ResultText(result));
    return {};
  }

  const WorkerOptions& options_;
  const TreeParameters& parameters_;
  WorkerProcess process_;
  Status told_;  // how stdout took the result: other workers do not fail by that
};

}  // namespace

Status RunTrees(const WorkerOptions& options) { return TreeRun(options).Run(); }

}  // namespace strata
