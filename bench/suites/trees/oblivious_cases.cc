#include "bench/suites/trees/oblivious_cases.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/print.h"
#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/harness/peer_script.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/trees/tree_arrays.h"
#include "worker/gbdt/catboost/train/fit.h"
#include "worker/gbdt/catboost/train/number_borders.h"
#include "worker/gbdt/input/open_rows.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 7;
constexpr size_t kTrees = 100;
constexpr size_t kBorders = 254;

struct ObliviousRun {
  double construct_seconds = 0;  // borders and bins; ours reads the file, too
  double train_seconds = 0;
  double loss = 0;  // of the training rows
};

// The arrays of WriteTreeArrays as floats; `model` gets a number for each feature.
Result<LearnRows> ReadArray(const std::string& path, CatBoostModel* model) {
  STRATA_ASSIGN(const std::unique_ptr<RowSource> source, OpenRows(RealDisk(), {}, path));
  const std::optional<ArrayRows> array = source->Array();
  if (!array.has_value()) return Failed(path + ": expected an array of floats");
  const NumberArray& numbers = array->numbers;
  std::vector<float> values(numbers.rows * numbers.columns);
  STRATA_TRY(numbers.read(0, std::as_writable_bytes(std::span(values))));
  model->numbers.resize(numbers.columns - 1);
  LearnRows rows;
  CatBoostRows& block = rows.blocks.emplace_back(*model, numbers.rows);
  for (size_t row = 0; row < numbers.rows; ++row) {
    const float* const of_row = values.data() + row * numbers.columns;
    rows.labels.push_back(of_row[0]);
    for (size_t f = 0; f < model->numbers.size(); ++f) block.Number(f)[row] = of_row[f + 1];
  }
  rows.weights.assign(numbers.rows, 1);
  return rows;
}

Result<ObliviousRun> RunOurs(const std::string& folder, size_t depth) {
  FitParameters parameters;
  parameters.loss = FitLoss::kLogloss;
  parameters.iterations = kTrees;
  parameters.learning_rate = 0.1F;
  parameters.depth = depth;
  parameters.border_count = kBorders;
  parameters.leaf_iterations = 1;
  parameters.boost_from_average = false;
  parameters.sampling.type = BootstrapType::kNo;
  parameters.random_strength = 0;
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool,
                WorkPool::Start("tree", static_cast<int>(Cores()) - 1, ThreadWait::kSpinFirst));
  const TimeNs begin = RealClock().Now();
  CatBoostModel model;
  STRATA_ASSIGN(LearnRows rows, ReadArray(folder + "/train.npy", &model));
  SetBorders(parameters, rows, *pool, &model);
  model.ListFeatureSplits();
  const FitRows learn = BinRows(SplitBins(model), std::move(rows), *pool);
  const TimeNs constructed = RealClock().Now();
  const FitWatch watch = {.round = [](size_t, const FitLosses&) -> Result<bool> { return true; },
                          .check = [] { return Status::Ok(); }};
  STRATA_ASSIGN(const FitResult fitted,
                FitTrees(parameters, learn, nullptr, CategoryFeatures(), *pool, watch, &model));
  return ObliviousRun{.construct_seconds = SecondsBetween(begin, constructed),
                      .train_seconds = SecondsBetween(constructed, RealClock().Now()),
                      .loss = fitted.losses.learn[0].value_or(0)};
}

Result<ObliviousRun> RunCatBoost(const std::string& folder, size_t depth, std::string* name) {
  STRATA_ASSIGN(
      const nlohmann::json json,
      RunPeerScript(
          "catboost_trees.py", "catboost",
          {folder, fmt::format("iterations={}", kTrees), fmt::format("depth={}", depth),
           fmt::format("border_count={}", kBorders), fmt::format("thread_count={}", Cores())}));
  *name = "catboost " + json.value("version", "");
  return ObliviousRun{.construct_seconds = json.value("construct_s", 0.0),
                      .train_seconds = json.value("train_s", 0.0),
                      .loss = json.value("loss", 0.0)};
}

double MedianOf(const std::vector<ObliviousRun>& runs, double ObliviousRun::*value) {
  std::vector<double> values;
  for (const ObliviousRun& run : runs) values.push_back(run.*value);
  return Median(std::move(values));
}

Result<std::vector<Figure>> RunCase(const TreeShape& shape, size_t depth, int rounds) {
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, kSeed, folder.path()));
  std::vector<ObliviousRun> ours;
  std::vector<ObliviousRun> theirs;
  std::string peer_name = "catboost";
  bool is_absent = false;
  for (int round = 0; round < rounds; ++round) {
    STRATA_ASSIGN(const ObliviousRun run, RunOurs(folder.path(), depth));
    ours.push_back(run);
    if (is_absent) continue;
    const Result<ObliviousRun> peer = RunCatBoost(folder.path(), depth, &peer_name);
    if (peer.ok()) {
      theirs.push_back(*peer);
    } else if (peer.status().code() == StatusCode::kNotFound) {
      is_absent = true;
      PrintStderr("catboost: {}\n", peer.status().message());
    } else {
      return peer.status();
    }
  }
  std::vector<Figure> figures;
  const auto add = [&](const std::string& what, const std::string& unit,
                       double ObliviousRun::*value) {
    Figure figure{
        .name = fmt::format("{} {} oblivious depth={} trees={}", what, shape.name, depth, kTrees),
        .unit = unit,
        .more_is_better = false,
        .ours = MedianOf(ours, value),
        .peer = peer_name};
    if (!theirs.empty()) figure.peer_value = MedianOf(theirs, value);
    figures.push_back(std::move(figure));
  };
  add("train", "s", &ObliviousRun::train_seconds);
  add("construct", "s", &ObliviousRun::construct_seconds);
  add("training logloss", "", &ObliviousRun::loss);
  return figures;
}

}  // namespace

void AddObliviousTrees(std::vector<Case>* cases) {
  const TreeShape shape = {.name = "higgs1m", .rows = 1'000'000, .features = 28};
  for (const size_t depth : {6, 8}) {
    cases->push_back({fmt::format("{} oblivious depth={}", shape.name, depth),
                      [shape, depth](const BenchOptions& options) {
                        return RunCase(shape, depth, options.rounds);
                      }});
  }
}

}  // namespace strata::bench
