// Of a build without CUDA.
#include "kernels/tree/grow/gpu_leaves.h"
#include "kernels/tree/grow/gpu_trees.h"
#include "kernels/tree/metric/gpu_metrics.h"
#include "kernels/tree/oblivious/gpu_oblivious.h"
#include "kernels/tree/score/gpu_bin_forest.h"
#include "kernels/tree/score/gpu_forest.h"
#include "kernels/tree/score/gpu_scores.h"

namespace strata {
namespace {

constexpr char kAbsent[] = "this build has no CUDA; ./dev build --cuda=on makes one that does";

}  // namespace

Result<std::unique_ptr<GpuTrees>> GpuTrees::Open(std::span<const int> /*devices*/,
                                                 const BinMatrix& /*bins*/,
                                                 std::span<const FeatureShape> /*shapes*/,
                                                 const GpuTreeOptions& /*options*/,
                                                 const std::shared_ptr<const GpuBins>& /*made*/) {
  return NotFound(kAbsent);
}

Result<std::shared_ptr<const GpuBins>> GpuBins::Make(int /*device*/, const NumberArray& /*array*/,
                                                     std::span<const ColumnBins> /*columns*/,
                                                     std::span<const FeatureShape> /*shapes*/,
                                                     WorkPool& /*pool*/, BinMatrix* /*bins*/) {
  return NotFound(kAbsent);
}

Result<std::unique_ptr<GpuForest>> GpuForest::Open(int /*device*/, const ForestView& /*forest*/,
                                                   size_t /*classes*/) {
  return NotFound(kAbsent);
}

Result<std::unique_ptr<GpuBinForest>> GpuBinForest::Open(int /*device*/,
                                                         const BinColumnsView& /*columns*/,
                                                         const BinForestView& /*forest*/) {
  return NotFound(kAbsent);
}

Result<std::unique_ptr<GpuOblivious>> GpuOblivious::Open(int /*device*/, size_t /*rows*/,
                                                         const ScoreRule& /*rule*/) {
  return NotFound(kAbsent);
}

Result<std::unique_ptr<GpuMetrics>> GpuMetrics::Open(int /*device*/, const MetricRows& /*rows*/) {
  return NotFound(kAbsent);
}

Result<std::unique_ptr<GpuScores>> GpuScores::Open(int /*device*/, const BinMatrix& /*bins*/,
                                                   std::span<const FeatureShape> /*shapes*/,
                                                   size_t /*classes*/) {
  return NotFound(kAbsent);
}

Result<std::unique_ptr<GpuLeaves>> GpuLeaves::Open(int /*device*/, const BinMatrix& /*bins*/,
                                                   std::span<const FeatureShape> /*shapes*/) {
  return NotFound("this build has no CUDA; ./dev build --cuda=on makes one that does");
}

size_t GpuLeaves::Devices() { return 0; }

}  // namespace strata
