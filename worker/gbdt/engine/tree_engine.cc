#include "worker/gbdt/engine/tree_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "base/log.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/engine/engines.h"
#include "worker/gbdt/engine/feature_rules.h"

namespace strata {

namespace {

// For data no feature of which can be split.
class OneLeafEngine : public TreeEngine {
 public:
  Result<EngineTree> Grow(const FixedGradients& /*gradients*/, const GradientUnits& units,
                          std::span<const uint32_t> /*bag*/, uint64_t /*tree_number*/,
                          bool /*with_rows*/) override {
    return EngineTree{.tree = &tree_, .units = units};
  }

 private:
  const GrownTree tree_ = {.nodes = {}, .leaves = std::vector<GrownLeaf>(1), .rows = {}};
};

// Trees grow on the host, which has partitions and histograms made of rows on a GPU.
Result<std::unique_ptr<TreeEngine>> MakeWithRowsOnGpu(int device, const TreeDataset& data,
                                                      WorkPool& pool,
                                                      const EngineOptions& options) {
  STRATA_ASSIGN(std::unique_ptr<GpuLeaves> gpu,
                GpuLeaves::Open(device, data.bins, data.features->shapes));
  return MakeCpuEngine(data, pool, options, std::move(gpu));
}

// One rank of several: its rows are on a GPU, and the host exchanges what the CPU's ranks do. Ranks
// of one machine take its GPUs in turn.
Result<std::unique_ptr<TreeEngine>> MakeRankOnGpu(std::optional<int> device,
                                                  const TreeDataset& data, WorkPool& pool,
                                                  const EngineOptions& options) {
  if (options.machine.tree_learner != "data") {
    return Invalid(
        fmt::format("device = cuda with {} ranks and tree_learner = {}: ranks with GPUs divide the "
                    "rows; set tree_learner = data, or device = cpu",
                    options.group->world(), options.machine.tree_learner));
  }
  if (options.machine.num_gpu > 1) {
    return Invalid(
        fmt::format("num_gpu = {} with {} ranks: a rank has one GPU; start a rank for each, and "
                    "leave num_gpu out",
                    options.machine.num_gpu, options.group->world()));
  }
  const auto gpus = static_cast<int>(std::max<size_t>(1, GpuLeaves::Devices()));
  return MakeWithRowsOnGpu(device.value_or(options.group->rank() % gpus), data, pool, options);
}

// Those that grow each tree together, each once, in the order of their numbers.
std::vector<int> GpusOf(std::optional<int> device, const MachineParameters& machine) {
  if (machine.num_gpu > 1 && !machine.gpu_device_id_list.empty()) {
    const std::set<int> listed(machine.gpu_device_id_list.begin(),
                               machine.gpu_device_id_list.end());
    if (listed.size() != static_cast<size_t>(machine.num_gpu)) {
      Log(LogLevel::kWarning, "num_gpu = {}, gpu_device_id_list names {}: those grow the trees",
          machine.num_gpu, listed.size());
    }
    return {listed.begin(), listed.end()};
  }
  std::vector<int> devices(static_cast<size_t>(machine.num_gpu));
  std::iota(devices.begin(), devices.end(), device.value_or(0));
  return devices;
}

Result<std::unique_ptr<TreeEngine>> MakeOnGpu(std::optional<int> device, const TreeDataset& data,
                                              WorkPool& pool, const EngineOptions& options) {
  if (options.group != nullptr && options.group->world() > 1) {
    return MakeRankOnGpu(device, data, pool, options);
  }
  if (const char* const what = GrowsOnHost(options.growth); what != nullptr) {
    if (options.machine.num_gpu == 1)
      return MakeWithRowsOnGpu(device.value_or(0), data, pool, options);
    return Invalid(
        fmt::format("num_gpu = {} with {}: such trees grow on the host, with the rows on one GPU; "
                    "leave num_gpu out",
                    options.machine.num_gpu, what));
  }
  return MakeCudaEngine(GpusOf(device, options.machine), data, options);
}

}  // namespace

Result<std::unique_ptr<TreeEngine>> MakeTreeEngine(const TreeDataset& data, WorkPool& pool,
                                                   const EngineOptions& options) {
  if (data.features->used.empty()) {
    STRATA_TRY(RuledShapes(options.growth, *data.features).status());
    return std::unique_ptr<TreeEngine>(std::make_unique<OneLeafEngine>());
  }
  STRATA_ASSIGN(const DeviceChoice choice, ParseDevice(options.machine.device_type));
  if (choice.kind == DeviceKind::kCpu) return MakeCpuEngine(data, pool, options);
  Result<std::unique_ptr<TreeEngine>> cuda = MakeOnGpu(choice.ordinal, data, pool, options);
  if (cuda.ok() || choice.kind.has_value()) return cuda;
  Log(LogLevel::kInfo, "device = auto: trees grow on the CPU: {}", cuda.status().message());
  return MakeCpuEngine(data, pool, options);
}

}  // namespace strata
