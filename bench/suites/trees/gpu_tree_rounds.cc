#include "bench/suites/trees/gpu_tree_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "bench/harness/measure.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/trees/tree_arrays.h"
#include "bench/suites/trees/tree_contender.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/metric/metric.h"

namespace strata::bench {
namespace {

using Settings = std::vector<std::string>;

constexpr int kRuns = 3;  // of which the median counts; the first one starts the GPU
constexpr size_t kManyRows = 10'500'000;
constexpr size_t kFewFeatures = 28;

int Threads() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

Settings With(Settings settings, const Settings& more) {
  settings.push_back(fmt::format("num_threads={}", Threads()));
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

Figure Milliseconds(const std::string& name, double ms) {
  return {.name = name, .unit = "ms", .more_is_better = false, .ours = ms};
}

// Milliseconds of a round.
Result<double> RoundMs(const std::string& folder, const Settings& settings, int rounds) {
  std::vector<double> ms;
  for (int run = 0; run < kRuns; ++run) {
    STRATA_ASSIGN(const TreeRun took,
                  RunOurTrees(folder, With(settings, {fmt::format("num_iterations={}", rounds)})));
    ms.push_back(took.train_seconds * 1e3 / rounds);
  }
  return Median(ms);
}

Result<std::vector<Figure>> TimeRounds(const TreeShape& shape, const std::string& objective) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, 7, folder.path()));
  Settings settings = {"objective=" + objective, "num_leaves=63", "device_type=cuda"};
  if (shape.classes > 2 && shape.query_rows == 0) {
    settings.push_back(fmt::format("num_class={}", shape.classes));
  }
  STRATA_ASSIGN(const double ms, RoundMs(folder.path(), settings, 20));
  return std::vector<Figure>{
      Milliseconds(fmt::format("{} x {}, {}, 63 leaves: a round", shape.train_rows(),
                               shape.features, shape.name),
                   ms)};
}

// The rounds of an objective with renewed leaves beside one without.
Result<std::vector<Figure>> TimeRenewal(const TreeShape& shape) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, 7, folder.path()));
  std::vector<Figure> figures;
  for (const std::string objective : {"regression", "regression_l1", "quantile", "mape"}) {
    STRATA_ASSIGN(const double ms,
                  RoundMs(folder.path(),
                          {"objective=" + objective, "num_leaves=255", "device_type=cuda"}, 20));
    figures.push_back(Milliseconds(fmt::format("{}, {}: a round", shape.name, objective), ms));
  }
  return figures;
}

// What the CPU takes for the metrics of so many rows.
Result<double> MetricsMsOnCpu(const Settings& settings, size_t rows) {
  STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf("", "bench", settings));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool,
                WorkPool::Start("tree", Threads() - 1, ThreadWait::kSpinFirst));
  TreeDataset data;
  std::vector<double> scores;
  for (size_t row = 0; row < rows; ++row) {
    scores.push_back(2 * RowUniform(1, row) - 1);
    data.labels.push_back(RowUniform(2, row) < (1 + scores.back()) / 2 ? 1.0F : 0.0F);
  }
  STRATA_ASSIGN(const auto metrics,
                MakeMetrics(parameters.metric, parameters.objective, data, *pool));
  std::vector<double> ms;
  for (int run = 0; run < kRuns; ++run) {
    const TimeNs began = RealClock().Now();
    for (const auto& metric : metrics) (void)metric->Evaluate(scores);
    ms.push_back(static_cast<double>(RealClock().Now() - began) * 1e3 / kSecond);
  }
  return Median(ms);
}

Result<std::vector<Figure>> TimeMetrics(const TreeShape& shape) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, 7, folder.path()));
  const Settings settings = {"objective=binary", "num_leaves=255", "device_type=cuda"};
  STRATA_ASSIGN(const double without, RoundMs(folder.path(), settings, 20));
  std::vector<Figure> figures = {Milliseconds(shape.name + ", binary: a round", without)};
  for (const std::string metric : {"auc", "binary_logloss"}) {
    Settings measured = settings;
    measured.push_back("is_provide_training_metric=true");
    measured.push_back("metric=" + metric);
    STRATA_ASSIGN(const double with, RoundMs(folder.path(), measured, 20));
    figures.push_back(
        Milliseconds(fmt::format("{}, binary: a round with {}", shape.name, metric), with));
    Figure alone = Milliseconds(fmt::format("{}, {} of a round", shape.name, metric),
                                std::max(0.0, with - without));
    STRATA_ASSIGN(alone.peer_value, MetricsMsOnCpu(measured, shape.train_rows()));
    alone.peer = fmt::format("ours, {} CPU threads, of scores there", Threads());
    figures.push_back(std::move(alone));
  }
  return figures;
}

// The rows of the training data, as they are in their file, by a model of 100 trees.
Result<std::vector<Figure>> TimePrediction(const TreeShape& shape) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, 7, folder.path()));
  const Settings settings = {"objective=binary", "num_leaves=255", "num_iterations=100"};
  STRATA_ASSIGN(const TreeRun trained,
                RunOurTrees(folder.path(), With(settings, {"device_type=cuda"})));
  double rates[2] = {};
  for (int on_gpu = 0; on_gpu < 2; ++on_gpu) {
    std::vector<double> seconds;
    for (int run = 0; run < kRuns; ++run) {
      STRATA_ASSIGN(
          const double took,
          PredictByOurs(trained.model, folder.path() + "/train.npy",
                        With(settings, {on_gpu == 1 ? "device_type=cuda" : "device_type=cpu"})));
      seconds.push_back(took);
    }
    rates[on_gpu] = static_cast<double>(shape.train_rows()) / Median(seconds) * 1e-6;
  }
  Figure figure = {.name = shape.name + ", 100 trees: predicted from a .npy file",
                   .unit = "M rows/s",
                   .ours = rates[1]};
  figure.peer = fmt::format("ours, {} CPU threads", Threads());
  figure.peer_value = rates[0];
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace

void AddGpuTreeRounds(std::vector<Case>* cases) {
  const auto add = [cases](const std::string& name, auto time, const TreeShape& shape) {
    cases->push_back({name, [time, shape](const BenchOptions&) { return time(shape); }});
  };
  const auto rounds_of = [](const std::string& objective) {
    return [objective](const TreeShape& shape) { return TimeRounds(shape, objective); };
  };
  const std::string queries = "queries of 50 to 150 rows, ";
  const TreeShape classes = {"7 classes, multiclass", 610'000, 54, 7};
  add(classes.name, rounds_of("multiclass"), classes);
  for (const std::string objective : {"lambdarank", "rank_xendcg"}) {
    const TreeShape ranked = {queries + objective, 735'000, 137, 5, 100};
    add(ranked.name, rounds_of(objective), ranked);
  }
  const std::string many = "10000000 x 28, 255 leaves";
  const TreeShape numbers = {many, kManyRows, kFewFeatures, 1000};
  add(many + ", renewed leaves", TimeRenewal, numbers);
  const TreeShape sides = {many, kManyRows, kFewFeatures};
  add(many + ", metrics", TimeMetrics, sides);
  add(many + ", prediction", TimePrediction, sides);
}

}  // namespace strata::bench
