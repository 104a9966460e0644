#include "bench/suites/trees/oblivious_gpu_cases.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "worker/gbdt/catboost/train/fit.h"

namespace strata::bench {
namespace {

constexpr size_t kTrees = 100;
constexpr size_t kBorders = 254;
constexpr uint64_t kSeed = 7;

// What CatBoost 1.2.10 took for so many trees on one H200, with one leaf step and no sampling.
struct GpuShape {
  size_t rows = 0;
  size_t features = 0;
  size_t depth = 0;
  double catboost_seconds = 0;

  std::string Name() const {
    return fmt::format("oblivious {} x {}, depth {}", rows, features, depth);
  }
};
constexpr GpuShape kShapes[] = {{10'000'000, 28, 6, 2.34},
                                {10'000'000, 28, 8, 3.14},
                                {428'576, 2000, 6, 2.64},
                                {428'576, 2000, 8, 4.67}};

// A number from 0 to 1 that depends on both.
double Drawn(uint64_t row, uint64_t what) {
  return static_cast<double>(Mix64(Mix64(kSeed + what) ^ row) >> 11) * 0x1p-53;
}

// All bins are as frequent, as those of GreedyLogSum are for numbers that are all different. Labels
// follow a linear part and products of some features.
FitRows DrawRows(const GpuShape& shape, WorkPool& pool) {
  FitRows rows;
  rows.bins.resize(shape.rows * shape.features);
  rows.labels.resize(shape.rows);
  rows.weights.assign(shape.rows, 1);
  rows.weight_sum = static_cast<double>(shape.rows);
  pool.RunPieces(shape.rows, FitPiece(shape.rows), [&](size_t begin, size_t end) {
    for (size_t f = 0; f < shape.features; ++f) {
      uint8_t* const bins = rows.bins.data() + f * shape.rows;
      for (size_t row = begin; row < end; ++row) {
        bins[row] = static_cast<uint8_t>(Drawn(row, f) * (kBorders + 1));
      }
    }
    for (size_t row = begin; row < end; ++row) {
      const auto number = [&](size_t f) { return rows.Column(f)[row] / 127.5 - 1; };
      double logit = 2 * number(3) * number(5) + (number(7) > 0.1 ? number(9) : 0);
      for (size_t f = 0; f < 12; ++f) logit += number(f) * (f % 2 == 0 ? 0.6 : -0.8);
      rows.labels[row] = Drawn(row, shape.features) * (1 + std::exp(-logit)) < 1 ? 1 : 0;
    }
  });
  return rows;
}

CatBoostModel EmptyModel(const GpuShape& shape) {
  CatBoostModel model;
  for (size_t f = 0; f < shape.features; ++f) {
    CatBoostNumber& number = model.numbers.emplace_back();
    number.index = static_cast<uint32_t>(f);
    number.flat_index = number.index;
    for (size_t i = 0; i < kBorders; ++i) number.borders.push_back(static_cast<float>(i));
  }
  model.ListFeatureSplits();
  return model;
}

Result<std::vector<Figure>> Run(const GpuShape& shape, int rounds) {
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool,
                WorkPool::Start("tree", static_cast<int>(Cores()) - 1, ThreadWait::kSpinFirst));
  FitParameters parameters;
  parameters.device = {.kind = DeviceKind::kCuda, .ordinal = 0};
  parameters.loss = FitLoss::kLogloss;
  parameters.iterations = kTrees;
  parameters.learning_rate = 0.1F;
  parameters.depth = shape.depth;
  parameters.border_count = kBorders;
  parameters.leaf_iterations = 1;
  parameters.boost_from_average = false;
  parameters.sampling.type = BootstrapType::kNo;
  parameters.random_strength = 0;
  const FitRows rows = DrawRows(shape, *pool);
  std::vector<double> seconds;
  std::vector<double> losses;
  for (int round = 0; round < rounds; ++round) {
    CatBoostModel model = EmptyModel(shape);
    TimeNs began = 0;  // after the first tree, before which bins are copied
    const FitWatch watch = {.round = [&](size_t trees, const FitLosses&) -> Result<bool> {
                              if (trees == 1) began = RealClock().Now();
                              return true;
                            },
                            .check = [] { return Status(); }};
    STRATA_ASSIGN(const FitResult fitted,
                  FitTrees(parameters, rows, nullptr, CategoryFeatures(), *pool, watch, &model));
    seconds.push_back(SecondsBetween(began, RealClock().Now()) * kTrees / (kTrees - 1));
    losses.push_back(fitted.losses.learn[0].value_or(0));
  }
  return std::vector<Figure>{{.name = fmt::format("{}: {} trees", shape.Name(), kTrees),
                              .unit = "s",
                              .more_is_better = false,
                              .ours = Median(seconds),
                              .peer = "CatBoost 1.2.10, H200 (recorded)",
                              .peer_value = shape.catboost_seconds,
                              .recorded = true},
                             {.name = shape.Name() + ": training logloss",
                              .unit = "",
                              .more_is_better = false,
                              .ours = Median(losses)}};
}

}  // namespace

void AddObliviousTreesOnGpu(std::vector<Case>* cases) {
  for (const GpuShape& shape : kShapes) {
    cases->push_back({shape.Name(),
                      [shape](const BenchOptions& options) { return Run(shape, options.rounds); }});
  }
}

}  // namespace strata::bench
