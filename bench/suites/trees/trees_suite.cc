// Suite "trees": boosted trees on the CPU beside LightGBM and CatBoost, the same arrays and
// parameters, as many threads each as there are cores.
#include <fmt/format.h>

#include <optional>

#include "base/print.h"
#include "bench/harness/figure.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/trees/catboost_predictions.h"
#include "bench/suites/trees/oblivious_cases.h"
#include "bench/suites/trees/tree_arrays.h"
#include "bench/suites/trees/tree_contender.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int kTrees = 100;
constexpr int kLeaves = 255;

struct Measured {
  const char* what;
  const char* unit;
  bool more_is_better;
  double TreeRun::*value;
};

constexpr Measured kMeasured[] = {
    {"train", "s", false, &TreeRun::train_seconds},
    {"construct", "s", false, &TreeRun::construct_seconds},
    {"predict", "s", false, &TreeRun::predict_seconds},
    {"auc", "auc", true, &TreeRun::auc},
};

double MedianOf(const std::vector<TreeRun>& runs, double TreeRun::*value) {
  std::vector<double> values;
  for (const TreeRun& run : runs) values.push_back(run.*value);
  return Median(std::move(values));
}

Result<std::vector<Figure>> RunCase(const TreeShape& shape, int bins, const BenchOptions& options) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, kSeed, folder.path()));
  const std::vector<std::string> parameters = {"objective=binary",
                                               "learning_rate=0.1",
                                               "min_data_in_leaf=1",
                                               "min_sum_hessian_in_leaf=100",
                                               fmt::format("num_leaves={}", kLeaves),
                                               fmt::format("max_bin={}", bins),
                                               fmt::format("num_iterations={}", kTrees),
                                               fmt::format("num_threads={}", Cores())};
  std::vector<TreeRun> ours;
  std::vector<TreeRun> theirs;
  std::string absent;
  for (int round = 0; round < options.rounds; ++round) {
    STRATA_ASSIGN(TreeRun run, RunOurTrees(folder.path(), parameters));
    ours.push_back(std::move(run));
    if (!absent.empty()) continue;
    Result<TreeRun> peer = RunLightGbm(folder.path(), parameters);
    if (peer.ok()) {
      theirs.push_back(std::move(*peer));
    } else if (peer.status().code() == StatusCode::kNotFound) {
      absent = peer.status().message();
      PrintStderr("lightgbm: {}\n", absent);
    } else {
      return peer.status();
    }
  }
  std::vector<Figure> figures;
  for (const Measured& measured : kMeasured) {
    Figure figure{.name = fmt::format("{} {} bins={} leaves={} trees={}", measured.what, shape.name,
                                      bins, kLeaves, kTrees),
                  .unit = measured.unit,
                  .more_is_better = measured.more_is_better,
                  .ours = MedianOf(ours, measured.value)};
    figure.peer = theirs.empty() ? "lightgbm" : theirs.front().name;
    if (!theirs.empty()) figure.peer_value = MedianOf(theirs, measured.value);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace

Suite TreesSuite() {
  return {
      "trees",
      "boosted trees beside LightGBM and CatBoost: dataset, training, prediction, and the AUC",
      [](bool all) {
        std::vector<TreeShape> shapes = {{.name = "higgs1m", .rows = 1'000'000, .features = 28}};
        if (all) shapes.push_back({.name = "epsilon-s", .rows = 50'000, .features = 2000});
        std::vector<Case> cases;
        for (const TreeShape& shape : shapes) {
          for (const int bins : {255, 63}) {
            cases.push_back({fmt::format("{} bins={}", shape.name, bins),
                             [shape, bins](const BenchOptions& options) {
                               return RunCase(shape, bins, options);
                             }});
          }
        }
        AddObliviousTrees(&cases);
        AddCatBoostPredictions(&cases);
        return cases;
      }};
}

}  // namespace strata::bench
