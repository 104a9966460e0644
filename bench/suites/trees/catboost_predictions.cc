#include "bench/suites/trees/catboost_predictions.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/print.h"
#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/harness/peer_script.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/trees/catboost_model_data.h"
#include "worker/gbdt/catboost/catboost_predictor.h"

namespace strata::bench {
namespace {

constexpr size_t kRows = size_t{1} << 18;
constexpr size_t kGpuRows = 10'000'000;

std::string NameOf(bool has_categories) {
  return has_categories ? "catboost predictions, numbers and categories"
                        : "catboost predictions, numbers";
}

// Millions of rows a second: the median of some rounds, after one that is not counted.
Result<double> Rate(const CatBoostPredictor& predictor, const CatBoostRows& rows, int rounds,
                    std::span<double> raw) {
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool,
                WorkPool::Start("tree", Cores() - 1, ThreadWait::kSpinFirst));
  std::vector<double> seconds;
  for (int round = 0; round <= rounds; ++round) {
    const TimeNs began = RealClock().Now();
    STRATA_TRY(predictor.Predict(rows, *pool, raw));
    if (round == 0) continue;
    seconds.push_back(static_cast<double>(RealClock().Now() - began) / kSecond);
  }
  return static_cast<double>(rows.rows()) / Median(seconds) / 1e6;
}

Result<std::vector<Figure>> RunBesideCatBoost(bool has_categories, const BenchOptions& options) {
  const CatBoostModel model = MakeCatBoostModel(has_categories);
  const CatBoostRows rows = MakeCatBoostRows(model, kRows);
  std::vector<double> raw(kRows * model.outputs);
  STRATA_ASSIGN(const double rate, Rate(CatBoostPredictor(model), rows, options.rounds, raw));
  Figure figure{.name = fmt::format("{}: {} trees of depth 6, {} threads", NameOf(has_categories),
                                    model.trees.size(), Cores()),
                .unit = "M rows/s",
                .ours = rate,
                .peer = "catboost"};
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteCatBoostPool(model, kRows, folder.path()));
  const Result<nlohmann::json> peer =
      RunPeerScript("catboost_predict.py", "catboost",
                    {folder.path(), fmt::format("{}", Cores()), fmt::format("{}", options.rounds)});
  if (!peer.ok()) {
    if (peer.status().code() != StatusCode::kNotFound) return peer.status();
    PrintStderr("catboost: {}\n", peer.status().message());
    return std::vector<Figure>{std::move(figure)};
  }
  const double sum = std::accumulate(raw.begin(), raw.end(), 0.0);
  const double theirs = peer->value("sum", 0.0);
  if (std::fabs(sum - theirs) > 1e-9 * kRows) {
    return Failed(fmt::format("the predictions' sum is {}, CatBoost's {}", sum, theirs));
  }
  figure.peer = "catboost " + peer->value("version", "");
  figure.peer_value = kRows / peer->value("seconds", 0.0) / 1e6;
  return std::vector<Figure>{std::move(figure)};
}

Result<std::vector<Figure>> RunOnGpu(bool has_categories, const BenchOptions& options) {
  const CatBoostModel model = MakeCatBoostModel(has_categories);
  const CatBoostRows rows = MakeCatBoostRows(model, kGpuRows);
  STRATA_ASSIGN(
      const CatBoostPredictor on_gpu,
      CatBoostPredictor::Make(model, {.kind = DeviceKind::kCuda, .ordinal = std::nullopt}));
  std::vector<double> raw(kGpuRows * model.outputs);
  STRATA_ASSIGN(const double rate, Rate(on_gpu, rows, options.rounds, raw));
  std::vector<double> of_cpu(raw.size());
  STRATA_ASSIGN(const double cpu_rate,
                Rate(CatBoostPredictor(model), rows, options.rounds, of_cpu));
  if (raw != of_cpu) return Failed("the GPU's predictions are not those of the CPU");
  return std::vector<Figure>{
      {.name = fmt::format("{}: {} trees of depth 6, {} rows", NameOf(has_categories),
                           model.trees.size(), kGpuRows),
       .unit = "M rows/s",
       .ours = rate,
       .peer = fmt::format("ours, {} CPU threads", Cores()),
       .peer_value = cpu_rate}};
}

void AddCases(Result<std::vector<Figure>> (*run)(bool has_categories, const BenchOptions& options),
              std::vector<Case>* cases) {
  for (const bool has_categories : {false, true}) {
    cases->push_back({NameOf(has_categories), [run, has_categories](const BenchOptions& options) {
                        return run(has_categories, options);
                      }});
  }
}

}  // namespace

void AddCatBoostPredictions(std::vector<Case>* cases) { AddCases(RunBesideCatBoost, cases); }

void AddCatBoostGpuPredictions(std::vector<Case>* cases) { AddCases(RunOnGpu, cases); }

}  // namespace strata::bench
