// Suite "trees" on a GPU: training boosted trees on data of public shapes, and what of a tree's
// time goes to which phase, beside the time that the phase's bytes take at the speed of memory. The
// same on all GPUs together, beside one, where there are several.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_time.cuh"
#include "bench/harness/measure.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/trees/catboost_predictions.h"
#include "bench/suites/trees/gpu_histograms.h"
#include "bench/suites/trees/gpu_tree_rounds.h"
#include "bench/suites/trees/oblivious_gpu_cases.h"
#include "bench/suites/trees/tree_arrays.h"
#include "bench/suites/trees/tree_contender.h"
#include "kernels/core/math.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "kernels/tree/grow/gpu_trees.h"

namespace strata::bench {
namespace {

constexpr size_t kTrees = 100;
constexpr size_t kTimedTrees = 10;  // behind those, phase by phase

struct BinShape {
  size_t rows;
  size_t features;
  size_t leaves;
  size_t depth;  // 0: any
  uint32_t bins = 255;

  std::string Name() const {
    return fmt::format(
        "{} x {}, {}, {} bins", rows, features,
        depth > 0 ? fmt::format("depth {}", depth) : fmt::format("{} leaves", leaves), bins);
  }
};

// Normal features by quantiles, so that bins are alike, and labels that trees can learn: sums,
// products, steps.
struct TreeData {
  BinMatrix bins;
  std::vector<float> labels;
};

std::vector<double> BinCentres(uint32_t bins) {
  std::vector<double> centres(bins, 0);
  for (uint32_t bin = 0; bin < bins; ++bin) {
    double low = -6;
    double high = 6;
    const double share = (bin + 0.5) / bins;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
    }
    centres[bin] = low;
  }
  return centres;
}

float LabelOf(size_t row, std::span<const uint32_t> bins, std::span<const double> centres) {
  const auto x = [&](size_t f) { return centres[bins[f % bins.size()]]; };
  double score = 0;
  for (size_t f = 0; f < std::min<size_t>(20, bins.size()); ++f) {
    score += 0.5 * x(f) * (static_cast<double>(Mix64(f + 1) % 2001) / 1000 - 1);
  }
  score += std::sin(2 * x(0)) * x(1) + (x(2) > 0 ? 1.5 * x(3) : 0) - (x(4) * x(5) > 0.3 ? 1 : 0);
  return RowUniform(77, row) < math::Sigmoid(score) ? 1.0F : 0.0F;
}

Result<TreeData> MakeData(const BinShape& shape) {
  TreeData data{BinMatrix(shape.rows, std::vector<uint32_t>(shape.features, shape.bins)),
                std::vector<float>(shape.rows)};
  const std::vector<double> centres = BinCentres(shape.bins);
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("bench", threads - 1));
  pool->RunPieces(shape.rows, 4096, [&](size_t begin, size_t end) {
    std::vector<uint32_t> bins(shape.features);
    for (size_t row = begin; row < end; ++row) {
      for (size_t f = 0; f < shape.features; ++f) {
        bins[f] = static_cast<uint32_t>(Mix64(row * shape.features + f) % shape.bins);
      }
      data.bins.SetRow(row, bins);
      data.labels[row] = LabelOf(row, bins, centres);
    }
  });
  return data;
}

// Rows that a tree's phases go over.
struct TreeRows {
  double partitioned = 0;
  double added = 0;  // to histograms: all rows, and of each split the fewer

  explicit TreeRows(const GrownTree& tree, size_t rows) : added(static_cast<double>(rows)) {
    const auto rows_of = [&](int32_t at) {
      return at >= 0 ? tree.nodes[static_cast<size_t>(at)].leaf.rows
                     : tree.leaves[static_cast<size_t>(~at)].leaf.rows;
    };
    for (const GrownNode& node : tree.nodes) {
      partitioned += static_cast<double>(node.leaf.rows);
      added += static_cast<double>(std::min(rows_of(node.left), rows_of(node.right)));
    }
  }
};

class Training {
 public:
  Training(const BinShape& shape, size_t gpus) : shape_(shape), devices_(gpus) {
    std::iota(devices_.begin(), devices_.end(), 0);
  }

  double seconds() const { return seconds_; }  // of all trees
  const GrownTree& tree() const { return tree_; }

  Result<std::vector<Figure>> Run(const TreeData& data) {
    GpuTreeOptions options;
    options.num_leaves = shape_.leaves;
    options.max_depth = shape_.depth;
    options.rules.min_data_in_leaf = 1;
    options.rules.min_sum_hessian_in_leaf = 100;
    const std::vector<FeatureShape> shapes(shape_.features, FeatureShape{shape_.bins});
    const TimeNs opening = RealClock().Now();
    STRATA_ASSIGN(trees_, GpuTrees::Open(devices_, data.bins, shapes, options));
    const double open_seconds = SecondsSince(opening);
    STRATA_TRY(trees_->SetLabels(data.labels, {}));
    STRATA_TRY(trees_->SetScores(std::vector<double>(shape_.rows, 0)));
    used_.assign(shape_.features, 1);
    STRATA_TRY(Round(0));  // kernels are loaded
    const TimeNs began = RealClock().Now();
    for (size_t tree = 1; tree <= kTrees; ++tree) STRATA_TRY(Round(tree));
    seconds_ = SecondsSince(began);
    STRATA_TRY(RunTimed());
    STRATA_ASSIGN(bandwidth_, CopyBandwidth());
    bandwidth_ *= static_cast<double>(devices_.size());
    std::vector<Figure> figures;
    figures.push_back({.name = fmt::format("{}: {} trees", Name(), kTrees),
                       .unit = "s",
                       .more_is_better = false,
                       .ours = seconds_,
                       .limit = TreeBytes() / bandwidth_ * kTrees});
    figures.push_back({.name = fmt::format("{}: bins to the GPU", Name()),
                       .unit = "s",
                       .more_is_better = false,
                       .ours = open_seconds});
    AddPhases(&figures);
    return figures;
  }

 private:
  static double SecondsSince(TimeNs began) {
    return static_cast<double>(RealClock().Now() - began) / kSecond;
  }

  std::string Name() const {
    return devices_.size() == 1 ? shape_.Name()
                                : fmt::format("{}, {} GPUs", shape_.Name(), devices_.size());
  }

  Status Gradients(size_t number) {
    const loss::BinaryLogistic loss{.sigmoid = 1};
    STRATA_TRY(trees_->ComputeGradients(loss, number));
    return trees_->RoundGradients(0, {}, number);
  }
  Status Grow(size_t number) {
    STRATA_ASSIGN(const uint64_t not_finite, trees_->Grow(used_, number, &tree_));
    STRATA_CHECK(not_finite == 0);
    return {};
  }
  Status AddScores() {
    std::vector<double> values;
    for (const GrownLeaf& leaf : tree_.leaves) values.push_back(0.1 * leaf.leaf.output);
    return trees_->AddTree(0, tree_, values);
  }
  Status Round(size_t number) {
    STRATA_TRY(Gradients(number));
    STRATA_TRY(Grow(number));
    return AddScores();
  }

  Status RunTimed() {
    for (size_t i = 0; i < kTimedTrees; ++i) {
      const size_t number = kTrees + 1 + i;
      TimeNs began = RealClock().Now();
      STRATA_TRY(Gradients(number));
      for (const int device : devices_) {
        const DeviceScope scope(device);
        STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "gradients"));
      }
      gradients_ms_ += SecondsSince(began) * 1e3;
      trees_->TimePhases(true);
      STRATA_TRY(Grow(number));
      trees_->TimePhases(false);
      const GpuTreeTimes& times = trees_->times();
      choose_ms_ += times.choose;
      partition_ms_ += times.partition;
      histogram_ms_ += times.histogram;
      search_ms_ += times.search;
      steps_ += static_cast<double>(times.steps);
      splits_ += static_cast<double>(times.splits);
      const TreeRows rows(tree_, shape_.rows);
      partitioned_ += rows.partitioned;
      added_ += rows.added;
      began = RealClock().Now();
      STRATA_TRY(AddScores());
      scores_ms_ += SecondsSince(began) * 1e3;
    }
    return {};
  }

  // What phases move at least, of one tree.
  double GradientBytes() const { return static_cast<double>(shape_.rows) * (8 + 4 + 8 + 4 + 4); }
  double ScoreBytes() const { return static_cast<double>(shape_.rows) * (4 + 8 + 8); }
  double PartitionBytes() const { return partitioned_ / kTimedTrees * (4 + 4 + 1 + 4 + 4); }
  double HistogramBytes() const {
    return added_ / kTimedTrees * static_cast<double>(shape_.features + 4 + 4);
  }
  double SearchBytes() const {  // of each split a parent's, a child's, and what is left
    return static_cast<double>(tree_.nodes.size() * shape_.features * shape_.bins * 3) *
           sizeof(GradientSums);
  }
  double TreeBytes() const {
    return GradientBytes() + ScoreBytes() + PartitionBytes() + HistogramBytes() + SearchBytes();
  }

  void AddPhases(std::vector<Figure>* figures) const {
    const auto add = [&](const char* phase, double ms, double bytes) {
      figures->push_back(
          {.name = fmt::format("{}: {} of a tree", Name(), phase),
           .unit = "ms",
           .more_is_better = false,
           .ours = ms / kTimedTrees,
           .limit = bytes > 0 ? std::optional(bytes / bandwidth_ * 1e3) : std::nullopt,
           .bytes = bytes > 0 ? std::optional(bytes) : std::nullopt});
    };
    add("gradients", gradients_ms_, GradientBytes());
    add("choosing leaves", choose_ms_, 0);
    add("partition", partition_ms_, PartitionBytes());
    add("histograms", histogram_ms_, HistogramBytes());
    add("split search", search_ms_, SearchBytes());
    add("scores", scores_ms_, ScoreBytes());
    figures->push_back({.name = fmt::format("{}: steps of a tree", Name()),
                        .unit = "steps",
                        .more_is_better = false,
                        .ours = steps_ / kTimedTrees});
    figures->push_back({.name = fmt::format("{}: splits made for a tree", Name()),
                        .unit = "splits",
                        .more_is_better = false,
                        .ours = splits_ / kTimedTrees,
                        .limit = static_cast<double>(tree_.nodes.size())});
  }

  const BinShape shape_;
  std::vector<int> devices_;
  std::unique_ptr<GpuTrees> trees_;
  std::vector<uint8_t> used_;
  GrownTree tree_;
  double seconds_ = 0;
  double bandwidth_ = 1;  // of all GPUs
  double gradients_ms_ = 0;
  double choose_ms_ = 0;
  double partition_ms_ = 0;
  double histogram_ms_ = 0;
  double search_ms_ = 0;
  double scores_ms_ = 0;
  double steps_ = 0;
  double splits_ = 0;
  double partitioned_ = 0;
  double added_ = 0;
};

// On one GPU, and on all.
Result<std::vector<Figure>> TrainOnAll(const BinShape& shape, size_t gpus) {
  STRATA_ASSIGN(const TreeData data, MakeData(shape));
  std::optional<Training> one(std::in_place, shape, 1);
  STRATA_ASSIGN(std::vector<Figure> figures, one->Run(data));
  const double seconds = one->seconds();
  const GrownTree tree = one->tree();
  one.reset();
  Training all(shape, gpus);
  STRATA_ASSIGN(std::vector<Figure> of_all, all.Run(data));
  of_all[0].peer = "one GPU";
  of_all[0].peer_value = seconds;
  figures.insert(figures.end(), of_all.begin(), of_all.end());
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const Split& split = tree.nodes[i].split;
    const Split& other = all.tree().nodes.at(i).split;
    if (split.feature == other.feature && split.threshold == other.threshold &&
        split.gain == other.gain) {
      continue;
    }
    return Failed(
        fmt::format("{}: {} GPUs grew another last tree than one: node {}", shape.Name(), gpus, i));
  }
  return figures;
}

// From arrays in files, which the page cache holds: boundaries and bins, training, and the AUC of
// rows that were left out.
Result<std::vector<Figure>> TrainFromArrays(const TreeShape& shape, uint32_t bins) {
  STRATA_TRY(FromCuda(cudaFree(nullptr), "starting the GPU"));
  STRATA_ASSIGN(const ScratchFolder folder, ScratchFolder::Make());
  STRATA_TRY(WriteTreeArrays(shape, 7, folder.path()));
  const std::vector<std::string> parameters = {
      "objective=binary",
      "learning_rate=0.1",
      "min_data_in_leaf=1",
      "min_sum_hessian_in_leaf=100",
      "num_leaves=255",
      "device_type=cuda",
      fmt::format("max_bin={}", bins),
      fmt::format("num_iterations={}", kTrees),
      fmt::format("num_threads={}", std::max(1U, std::thread::hardware_concurrency()))};
  std::vector<double> construct;
  std::vector<double> train;
  double auc = 0;
  for (int round = 0; round < 3; ++round) {
    STRATA_ASSIGN(const TreeRun run, RunOurTrees(folder.path(), parameters));
    construct.push_back(run.construct_seconds);
    train.push_back(run.train_seconds);
    auc = run.auc;
  }
  const auto figure = [&](const char* what, const char* unit, double value) {
    return Figure{
        .name = fmt::format("{} from arrays, 255 leaves, {} bins: {}", shape.name, bins, what),
        .unit = unit,
        .more_is_better = false,
        .ours = value};
  };
  std::vector<Figure> figures = {figure("boundaries and bins", "s", Median(construct)),
                                 figure("100 trees", "s", Median(train)),
                                 figure("AUC of the test rows", "auc", auc)};
  figures.back().more_is_better = true;
  return figures;
}

}  // namespace

Suite GpuTreesSuite() {
  return {
      "trees", "training boosted trees on a GPU, by phase", [](bool all) {
        std::vector<BinShape> shapes = {{10'000'000, 28, 255, 0}, {10'000'000, 28, 64, 6}};
        if (all) {
          shapes.push_back({428'572, 2000, 255, 0});
          shapes.push_back({428'572, 2000, 255, 0, 63});
          shapes.push_back({10'000'000, 28, 255, 0, 63});
          shapes.push_back({10'000'000, 28, 255, 0, 15});
        }
        std::vector<Case> cases;
        std::vector<TreeShape> arrays = {{"10000000 x 28", 10'500'000, 28}};
        if (all) arrays.push_back({"428572 x 2000", 450'000, 2000});
        for (const TreeShape& shape : arrays) {
          cases.push_back({shape.name + " from arrays",
                           [shape](const BenchOptions&) { return TrainFromArrays(shape, 255); }});
        }
        for (const BinShape& shape : shapes) {
          cases.push_back(
              {shape.Name(), [shape](const BenchOptions&) -> Result<std::vector<Figure>> {
                 STRATA_ASSIGN(const TreeData data, MakeData(shape));
                 return Training(shape, 1).Run(data);
               }});
        }
        AddGpuTreeRounds(&cases);
        AddGpuHistograms(&cases);
        AddCatBoostGpuPredictions(&cases);
        AddObliviousTreesOnGpu(&cases);
        const size_t gpus = std::min<size_t>(GpuLeaves::Devices(), 16);
        if (gpus < 2) return cases;
        shapes = {{10'000'000, 28, 255, 0}, {60'000'000, 28, 255, 0}};
        if (all) shapes.push_back({428'572, 2000, 255, 0});
        for (const BinShape& shape : shapes) {
          cases.push_back({fmt::format("{} GPUs: {}", gpus, shape.Name()),
                           [shape, gpus](const BenchOptions&) { return TrainOnAll(shape, gpus); }});
        }
        return cases;
      }};
}

}  // namespace strata::bench
