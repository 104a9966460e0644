// Stands in for gpu.cu in a build without CUDA.
#include "bench/suites/gpu.h"
#include "bench/suites/gpu_runs.h"

namespace strata::bench {

namespace {

Status NoCuda() {
  return NotFound(
      "this build has no CUDA: --device=cpu measures on the CPU; ./dev build --cuda=on makes one "
      "that has it");
}

}  // namespace

Result<std::string> UseGpu(int /*ordinal*/) { return NoCuda(); }

std::vector<Suite> GpuSuites(const DeviceChoice& choice) {
  return {GpuTableSuite(),  GpuEmbeddingSuite(), GpuCtrSuite(), GpuServiceSuite(choice.ordinal),
          GpuTieredSuite(), GpuTreeBlocksSuite()};
}

Result<std::vector<Figure>> RunMap(const MapShape& /*shape*/) { return NoCuda(); }
Result<std::vector<Figure>> RunMapGrowth(uint32_t /*dim*/, uint64_t /*rows*/) { return NoCuda(); }
Result<std::vector<Figure>> RunGpuTiers(Distribution /*distribution*/) { return NoCuda(); }
Result<std::vector<Figure>> RunPooled(uint32_t /*dim*/) { return NoCuda(); }
Result<std::vector<Figure>> RunCombine() { return NoCuda(); }
Result<std::vector<Figure>> RunTraining() { return NoCuda(); }
Result<std::vector<Figure>> RunNarrowRows(uint32_t /*dim*/) { return NoCuda(); }
Result<std::vector<Figure>> RunAsGraphs() { return NoCuda(); }
Result<std::vector<Figure>> RunCtr(const CtrCase& /*of*/) { return NoCuda(); }
Result<std::vector<Figure>> RunReduce(size_t /*count*/) { return NoCuda(); }
Result<std::vector<Figure>> RunPrefixSum(size_t /*count*/) { return NoCuda(); }
Result<std::vector<Figure>> RunSort(size_t /*count*/) { return NoCuda(); }
Result<std::vector<Figure>> RunSmallSorts() { return NoCuda(); }

}  // namespace strata::bench
