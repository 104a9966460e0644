#include "tests/soak/trees/case_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/hash.h"
#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"
#include "tests/support/temp_folder.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata::soak {
namespace {

constexpr double kTolerance = 1e-10;        // relative
constexpr double kToleranceOfDrops = 1e-6;  // dart adds to scores and takes away from them
constexpr double kNoise = 1e-13;            // relative, of scores that were summed in another order
constexpr uint64_t kNoises = 4;
constexpr double kSmall = 1e-6;  // smaller numbers need not be nearer than this is

Result<TreeTaskResult> RunAlone(const TreeParameters& parameters, Group* group) {
  return RunTreeTask(parameters, {.disk = RealDisk(),
                                  .clock = RealClock(),
                                  .progress = [](const TreeProgress&) {},
                                  .check = [] { return Status::Ok(); },
                                  .group = group});
}

class Checker {
 public:
  Checker(const TreeCase& tree_case, std::string folder)
      : case_(tree_case), folder_(std::move(folder)) {}

  CaseOutcome Run() {
    const Status done = RunAll();
    if (!done.ok()) outcome_.differences.push_back(done.ToString());
    return std::move(outcome_);
  }

 private:
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  std::string DataFile(const char* set) const {
    return File(fmt::format("{}.{}", set, case_.format));
  }
  std::string PartFile(const char* set, int rank) const {
    return File(fmt::format("{}{}.{}", set, rank, case_.format));
  }

  Status RunAll() {
    WriteFiles();
    const std::string model = File("model.txt");
    STRATA_ASSIGN(TreeTaskResult trained, Train("output_model=" + model));
    if (case_.goes_on) {
      STRATA_ASSIGN(trained, Train(fmt::format("input_model={0}\noutput_model={0}", model)));
    }
    STRATA_ASSIGN(model_, ReadLightGbmText(ReadWholeFile(model), model));
    STRATA_CHECK(trained.evaluations.size() == 2);
    STRATA_TRY(CheckSet(case_.train, DataFile("train"), trained.evaluations[0]));
    return CheckSet(case_.valid, DataFile("valid"), trained.evaluations[1]);
  }

  void WriteFiles() const {
    WriteRows(case_.train, case_.format, DataFile("train"));
    WriteRows(case_.valid, case_.format, DataFile("valid"));
    if (!case_.own_files) return;
    WriteParts(case_.train, "train");
    WriteParts(case_.valid, "valid");
  }

  // Uneven ones, which cut no query.
  void WriteParts(const CaseRows& rows, const char* set) const {
    const std::vector<size_t>& queries = rows.query_begins;
    const size_t count = queries.empty() ? rows.labels.size() : queries.size() - 1;
    const auto world = static_cast<size_t>(case_.world);
    size_t first = 0;
    for (size_t rank = 0; rank < world; ++rank) {
      const size_t share = count * (rank + 1) * (rank + 1) / (world * world);
      const size_t last = rank + 1 == world ? count : std::max(share, rank + 1);
      const size_t end = queries.empty() ? last : queries[last];
      WriteRows(rows.Part(first, end - first), case_.format, PartFile(set, static_cast<int>(rank)));
      first = end;
    }
  }

  // The case's parameters, then `more`, a key=value a line.
  Result<TreeParameters> Parameters(const std::string& more) const {
    std::vector<std::string> overrides;
    std::istringstream lines(more);
    for (std::string line; std::getline(lines, line);) overrides.push_back(line);
    return ParseLightGbmConf(case_.conf, "case", overrides);
  }

  Result<TreeTaskResult> Train(const std::string& more) const {
    std::string ending;
    if (case_.is_binned) {
      STRATA_TRY(Task("save_binary", DataFile("train"), "valid=" + DataFile("valid")).status());
      ending = ".bin";
    }
    const std::string whole = fmt::format("{}\ndata={}{}\nvalid={}{}", more, DataFile("train"),
                                          ending, DataFile("valid"), ending);
    if (case_.world > 1) return TrainOnRanks(whole);
    STRATA_ASSIGN(const TreeParameters parameters, Parameters(whole));
    return RunAlone(parameters, nullptr);
  }

  Result<TreeTaskResult> TrainOnRanks(const std::string& more) const {
    MemoryWorld memory(case_.world);
    std::vector<std::thread> threads;
    std::vector<Result<TreeTaskResult>> results;
    for (int rank = 0; rank < case_.world; ++rank) results.emplace_back(Failed("has not run"));
    for (int rank = 0; rank < case_.world; ++rank) {
      threads.emplace_back([&, rank] {
        Group group(memory.rank(rank));
        Result<TreeTaskResult>& result = results[static_cast<size_t>(rank)];
        result = RunAsRank(more, rank, group);
        if (!result.ok()) group.Cancel(result.status());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : results) STRATA_TRY(result.status());
    return std::move(results[0]);
  }

  Result<TreeTaskResult> RunAsRank(const std::string& more, int rank, Group& group) const {
    STRATA_ASSIGN(TreeParameters parameters, Parameters(more));
    if (case_.own_files) {
      parameters.data.path = PartFile("train", rank);
      parameters.data.valid = {PartFile("valid", rank)};
    }
    return RunAlone(parameters, &group);
  }

  Result<TreeTaskResult> Task(const std::string& task, const std::string& data,
                              const std::string& more) const {
    STRATA_ASSIGN(const TreeParameters parameters,
                  Parameters(fmt::format("task={}\ndata={}\n{}", task, data, more)));
    return RunAlone(parameters, nullptr);
  }

  // Number after number, row by row.
  Result<std::vector<double>> Predict(const std::string& data, const std::string& more) const {
    const std::string out = File("out.txt");
    STRATA_TRY(Task("predict", data,
                    fmt::format("input_model={}\noutput_result={}{}", File("model.txt"), out, more))
                   .status());
    std::vector<double> numbers;
    std::istringstream text(ReadWholeFile(out));
    for (std::string number; text >> number;) numbers.push_back(std::atof(number.c_str()));
    return numbers;
  }

  Status CheckSet(const CaseRows& rows, const std::string& data, const Evaluation& printed) {
    STRATA_ASSIGN(const TreeTaskResult evaluated,
                  Task("evaluate", data, "input_model=" + File("model.txt")));
    STRATA_ASSIGN(std::vector<double> raw, Predict(data, "\npredict_raw_score=true"));
    STRATA_ASSIGN(const std::vector<double> predicted, Predict(data, ""));
    if (raw.size() != rows.labels.size() * case_.classes || predicted.size() != raw.size()) {
      return Failed(fmt::format("{}: {} and {} predictions", data, raw.size(), predicted.size()));
    }
    if (case_.is_forest) {
      for (double& score : raw) score /= static_cast<double>(model_.iterations());
    }
    const std::vector<double> by_hand = PredictedByHand(model_.objective, raw, case_.classes);
    for (size_t i = 0; i < predicted.size(); ++i) {
      Compare(fmt::format("{}: prediction {}", data, i), "predict", predicted[i], "by hand",
              by_hand[i], kTolerance);
    }
    return CheckMetrics(rows, data, printed, evaluated.evaluations[0],
                        {.labels = rows.labels,
                         .weights = rows.weights,
                         .query_begins = rows.query_begins,
                         .raw = std::move(raw),
                         .predicted = predicted,
                         .classes = case_.classes});
  }

  Status CheckMetrics(const CaseRows& rows, const std::string& data, const Evaluation& printed,
                      const Evaluation& evaluated, PredictedRows by_hand) {
    if (!rows.init_scores.empty()) {
      const size_t count = rows.labels.size();
      for (size_t i = 0; i < by_hand.raw.size(); ++i) {
        by_hand.raw[i] += rows.init_scores[i % case_.classes * count + i / case_.classes];
      }
      by_hand.predicted = PredictedByHand(model_.objective, by_hand.raw, case_.classes);
    }
    if (printed.metrics.size() != evaluated.metrics.size() || printed.metrics.empty()) {
      return Failed(fmt::format("{}: {} metrics printed, {} evaluated", data,
                                printed.metrics.size(), evaluated.metrics.size()));
    }
    for (size_t m = 0; m < printed.metrics.size(); ++m) {
      const std::string& name = printed.metrics[m].name;
      const std::string where = fmt::format("{}: {}", data, name);
      if (evaluated.metrics[m].name != name) return Failed(where + ": another order of metrics");
      const double value = evaluated.metrics[m].value;
      const std::string plain = name.starts_with("multi_error@") ? "multi_error" : name;
      // What r2 says is how far it is from 1.
      const double zero = name == "r2" ? -1 : 0;
      const double expected = MetricByHand(plain, case_.metric_parameters, by_hand);
      Compare(where, "evaluate", zero + value, "by hand", zero + expected, kTolerance);
      if (case_.drops && !IsSteady(plain, expected, by_hand)) continue;
      Compare(where, "training", zero + printed.metrics[m].value, "evaluate", zero + value,
              case_.drops ? kToleranceOfDrops : kTolerance);
    }
    return {};
  }

  // False: scores tie, so that sums in another order, which dart's are, may give another value.
  bool IsSteady(const std::string& metric, double value, const PredictedRows& rows) const {
    for (uint64_t noise = 1; noise <= kNoises; ++noise) {
      PredictedRows noisy = rows;
      for (size_t i = 0; i < noisy.raw.size(); ++i) {
        noisy.raw[i] *= 1 + (Mix64(noise * 1000003 + i) % 2 == 0 ? kNoise : -kNoise);
      }
      noisy.predicted = PredictedByHand(model_.objective, noisy.raw, case_.classes);
      const double other = MetricByHand(metric, case_.metric_parameters, noisy);
      if (std::abs(other - value) > kToleranceOfDrops * std::max(std::abs(value), kSmall)) {
        return false;
      }
    }
    return true;
  }

  void Compare(const std::string& where, const char* one, double a, const char* other, double b,
               double tolerance) {
    ++outcome_.compared;
    const double scale = std::max({std::abs(a), std::abs(b), kSmall});
    if (std::abs(a - b) <= tolerance * scale) return;
    outcome_.differences.push_back(
        fmt::format("{}: {} {:.17g}, {} {:.17g}", where, one, a, other, b));
  }

  const TreeCase& case_;
  const std::string folder_;
  TreeModel model_;
  CaseOutcome outcome_;
};

}  // namespace

CaseOutcome CheckTreeCase(const TreeCase& tree_case, const std::string& folder) {
  return Checker(tree_case, folder).Run();
}

}  // namespace strata::soak
