#include "worker/tasks/job_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"

namespace strata {
namespace {

const char* PrecisionName(GemmPrecision precision) {
  switch (precision) {
    case GemmPrecision::kFp32:
      return "fp32";
    case GemmPrecision::kTf32:
      return "tf32";
    case GemmPrecision::kBf16:
      return "bf16";
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<Network>> MakeJobNetwork(const JobConfig& job, LayerGraph graph,
                                                WorkPool* threads) {
  if (job.device.kind == DeviceKind::kCpu) return MakeCpuNetwork(std::move(graph), threads);
  const int gpu = job.device.ordinal.value_or(0);
  const int beside = threads == nullptr ? 1 : static_cast<int>(threads->threads());
  Result<std::unique_ptr<Network>> network =
      MakeGpuNetwork(graph, gpu, job.precision, StepThreads("GPU", beside));
  if (network.ok()) {
    Log(LogLevel::kInfo, "the network is computed on GPU {} in {}", gpu,
        PrecisionName(job.precision));
    return network;
  }
  if (!job.device.kind.has_value()) {
    Log(LogLevel::kInfo, "the network is computed on the CPU: {}", network.status().message());
    return MakeCpuNetwork(std::move(graph), threads);
  }
  return network.status().Prefixed("compute.device").Prefixed(job.file);
}

// A step asks them some hundred times, microseconds apart.
Result<std::unique_ptr<WorkPool>> StartStepThreads(int threads) {
  return WorkPool::Start("step", threads - 1, ThreadWait::kSpinFirst);
}

int StepThreads(const std::string& device, int threads) {
  constexpr int kBesideAGpu = 8;  // more copy no faster
  if (device == "CPU") return threads;
  // Others read and parse.
  const auto half = static_cast<int>(std::thread::hardware_concurrency() / 2);
  return std::max(threads, std::clamp(half, 1, kBesideAGpu));
}

}  // namespace strata
