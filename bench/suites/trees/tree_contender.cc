#include "bench/suites/trees/tree_contender.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "bench/harness/peer_script.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/boost/booster.h"
#include "worker/gbdt/data/array_rows.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/input/open_rows.h"
#include "worker/gbdt/lightgbm/train_conf.h"
#include "worker/gbdt/predict/predictor.h"

namespace strata::bench {
namespace {

// The share of pairs of a positive and a negative row that are in order; ties count half.
double AreaUnderCurve(std::span<const float> labels, std::span<const double> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t row) { return scores[row]; });
  double in_order = 0;
  double negatives_below = 0;
  double positives = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    double tied[2] = {0, 0};
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) {
      ++tied[labels[order[end]] > 0 ? 1 : 0];
    }
    in_order += tied[1] * (negatives_below + tied[0] / 2);
    negatives_below += tied[0];
    positives += tied[1];
    begin = end;
  }
  return in_order / (positives * negatives_below);
}

// Seconds since the last call.
class Lap {
 public:
  double Seconds() {
    const TimeNs now = RealClock().Now();
    const double seconds = static_cast<double>(now - last_) / kSecond;
    last_ = now;
    return seconds;
  }

 private:
  TimeNs last_ = RealClock().Now();
};

struct Predicted {
  std::vector<float> labels;
  std::vector<double> scores;
  double seconds = 0;
};

Result<Predicted> Predict(const TreeModel& model, const TreeParameters& parameters,
                          const std::string& path, WorkPool& pool) {
  Lap lap;
  STRATA_ASSIGN(const DeviceChoice device, ParseDevice(parameters.machine.device_type));
  STRATA_ASSIGN(const Predictor predictor, Predictor::Make(model, {.device = device}));
  STRATA_ASSIGN(const std::unique_ptr<RowSource> source,
                OpenRows(RealDisk(), parameters.data, path));
  Predicted predicted;
  SparseRows rows;
  if (const std::optional<ArrayRows> array = source->Array(); predictor.on_gpu() && array) {
    STRATA_TRY(ReadArrayLabels(*array, path, pool, &rows));
    STRATA_TRY(predictor.PredictArray(*array, 0, array->numbers.rows, pool, &predicted.scores));
    predicted.seconds = lap.Seconds();
    predicted.labels = std::move(rows.labels);
    return predicted;
  }
  std::vector<double> part;
  while (true) {
    STRATA_TRY(source->Next(&rows));
    if (rows.rows() == 0) break;
    STRATA_TRY(predictor.Predict(rows, pool, &part));
    predicted.scores.insert(predicted.scores.end(), part.begin(), part.end());
    predicted.labels.insert(predicted.labels.end(), rows.labels.begin(), rows.labels.end());
  }
  predicted.seconds = lap.Seconds();
  return predicted;
}

Result<std::unique_ptr<WorkPool>> PoolFor(const TreeParameters& parameters) {
  return WorkPool::Start("tree", static_cast<int>(parameters.machine.num_threads) - 1,
                         ThreadWait::kSpinFirst);
}

}  // namespace

Result<TreeRun> RunOurTrees(const std::string& folder, const std::vector<std::string>& settings) {
  const std::string path = folder + "/train.npy";
  STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf("", "bench", settings));
  const auto threads = static_cast<size_t>(parameters.machine.num_threads);
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, PoolFor(parameters));
  TreeRun run;
  run.name = "ours";
  Lap lap;
  STRATA_ASSIGN(const std::unique_ptr<RowSource> source,
                OpenRows(RealDisk(), parameters.data, path));
  DatasetOptions options = {.binning = parameters.data.binning, .categorical = {}};
  STRATA_ASSIGN(const DeviceChoice device, ParseDevice(parameters.machine.device_type));
  if (device.kind != DeviceKind::kCpu) options.gpu = device.ordinal.value_or(0);
  STRATA_ASSIGN(const TreeDataset data,
                LoadTreeDataset(RealDisk(), *source, path, options, nullptr, *pool));
  run.construct_seconds = lap.Seconds();
  STRATA_ASSIGN(const std::unique_ptr<Booster> booster,
                Booster::Make(parameters, data, {}, *pool, threads));
  lap.Seconds();
  for (int64_t round = 0; round < parameters.boosting.num_iterations; ++round) {
    STRATA_ASSIGN(const bool goes_on, booster->Round());
    if (!goes_on) return Failed("no leaf could be split any more");
    if (parameters.metric.is_provide_training_metric) STRATA_TRY(booster->Evaluate().status());
  }
  run.train_seconds = lap.Seconds();
  run.model = booster->model();
  STRATA_ASSIGN(const Predicted predicted,
                Predict(run.model, parameters, folder + "/test.npy", *pool));
  run.predict_seconds = predicted.seconds;
  if (predicted.scores.size() == predicted.labels.size()) {
    run.auc = AreaUnderCurve(predicted.labels, predicted.scores);
  }
  return run;
}

Result<double> PredictByOurs(const TreeModel& model, const std::string& path,
                             const std::vector<std::string>& settings) {
  STRATA_ASSIGN(const TreeParameters parameters, ParseLightGbmConf("", "bench", settings));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, PoolFor(parameters));
  STRATA_ASSIGN(const Predicted predicted, Predict(model, parameters, path, *pool));
  return predicted.seconds;
}

Result<TreeRun> RunLightGbm(const std::string& folder, const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {folder};
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  STRATA_ASSIGN(const nlohmann::json json,
                RunPeerScript("lightgbm_trees.py", "lightgbm", arguments));
  return TreeRun{.name = "lightgbm " + json.value("version", ""),
                 .construct_seconds = json.value("construct_s", 0.0),
                 .train_seconds = json.value("train_s", 0.0),
                 .predict_seconds = json.value("predict_s", 0.0),
                 .auc = json.value("auc", 0.0)};
}

}  // namespace strata::bench
