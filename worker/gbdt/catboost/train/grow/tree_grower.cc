#include "worker/gbdt/catboost/train/grow/tree_grower.h"

#include <utility>

#include "base/log.h"
#include "kernels/tree/oblivious/gpu_oblivious.h"
#include "worker/gbdt/catboost/train/grow/gpu_grower.h"

namespace strata {
namespace {

class CpuGrower : public TreeGrower {
 public:
  CpuGrower(const ScoreRule& rule, WorkPool& pool) : grower_(rule, pool) {}

  Status Begin(std::span<const double> gradients, std::span<const double> weights) override {
    grower_.Begin(gradients, weights);
    return {};
  }
  Status AddColumns(std::span<const GrowColumn> columns) override {
    grower_.AddColumns(columns);
    return {};
  }
  Status AddFixedColumns(std::span<const GrowColumn> columns) override {
    grower_.AddFixedColumns(columns);
    return {};
  }
  Status SetGradients(std::span<const double> gradients, std::span<const double> weights) override {
    grower_.SetGradients(gradients, weights);
    return {};
  }
  Result<const LevelScores*> Score() override { return &grower_.Score(); }
  Result<bool> Split(const GrowSplit& split) override { return grower_.Split(split); }
  size_t levels() const override { return grower_.levels(); }
  Result<GrownObliviousTree> Take() override { return grower_.Take(); }

 private:
  ObliviousGrower grower_;
};

}  // namespace

Result<std::unique_ptr<TreeGrower>> TreeGrower::Make(const DeviceChoice& device, size_t rows,
                                                     const ScoreRule& rule, WorkPool& pool) {
  if (device.kind != DeviceKind::kCpu) {
    Result<std::unique_ptr<GpuOblivious>> gpu =
        GpuOblivious::Open(device.ordinal.value_or(0), rows, rule);
    if (gpu.ok()) {
      return std::unique_ptr<TreeGrower>(
          std::make_unique<GpuGrower>(std::move(*gpu), rows, rule, pool));
    }
    if (device.kind.has_value()) return gpu.status();
    Log(LogLevel::kInfo, "device = auto: the CPU grows trees: {}", gpu.status().message());
  }
  return std::unique_ptr<TreeGrower>(std::make_unique<CpuGrower>(rule, pool));
}

}  // namespace strata
