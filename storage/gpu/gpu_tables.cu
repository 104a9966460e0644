#include <algorithm>

#include "base/human_text.h"
#include "base/large_blocks.h"
#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/device_pool.h"
#include "storage/gpu/gpu_table.h"
#include "storage/gpu/gpu_tables.h"
#include "storage/gpu/hot/hot_table.h"
#include "storage/gpu/pinned_pool.h"
#include "strata/gpu/gpu_store.h"

namespace strata {
namespace {

constexpr int kOldestCapability = 80;  // 8.0: what is compiled for
// Of the free memory, when nothing is said; the rest is for batches.
constexpr size_t kShareOfFree = 85;

struct Gpu {
  std::string name;
  size_t free = 0;
  size_t total = 0;
};

Result<Gpu> LookAt(int ordinal) {
  STRATA_TRY(CheckDevice(ordinal));
  cudaDeviceProp properties = {};
  STRATA_TRY(FromCuda(cudaGetDeviceProperties(&properties, ordinal), "asking a GPU what it is"));
  const int capability = properties.major * 10 + properties.minor;
  Gpu gpu;
  gpu.name = fmt::format("GPU {} ({})", ordinal, properties.name);
  if (capability < kOldestCapability) {
    return Failed(
        fmt::format("{} is too old: its compute capability is {}.{}, 8.0 or newer is needed",
                    gpu.name, properties.major, properties.minor));
  }
  const DeviceScope scope(ordinal);
  const Status started = FromCuda(cudaMemGetInfo(&gpu.free, &gpu.total), "starting it");
  if (!started.ok()) return started.Prefixed(gpu.name + "; nvidia-smi shows who uses it");
  return gpu;
}

}  // namespace

GpuTables::GpuTables() = default;
GpuTables::~GpuTables() = default;

Result<std::unique_ptr<GpuTables>> GpuTables::Open(const GpuTablesOptions& options) {
  STRATA_ASSIGN(const int count, CountGpus());
  auto tables = std::unique_ptr<GpuTables>(new GpuTables());
  tables->host_ = PinnedPool::Make();
  STRATA_ASSIGN(tables->workers_, StartGatherers());
  const int first = options.ordinal.value_or(0);
  const int used = options.lanes == 0 ? count : std::min(count, static_cast<int>(options.lanes));
  const int last = options.ordinal.value_or(used - 1);
  if (!options.ordinal.has_value()) tables->unused_ = static_cast<size_t>(count - used);
  for (int ordinal = first; ordinal <= last; ++ordinal) {
    STRATA_ASSIGN(const Gpu gpu, LookAt(ordinal));
    const size_t wanted =
        options.memory_bytes != 0 ? options.memory_bytes : gpu.free / 100 * kShareOfFree;
    if (wanted > gpu.total) {
      return Invalid(fmt::format(
          "{} has {} of memory in all; {} are asked for: ask for less (server.gpu_memory), or say "
          "nothing, which takes {} % of what is free",
          gpu.name, HumanBytes(gpu.total), HumanBytes(wanted), kShareOfFree));
    }
    if (wanted < DevicePool::kChunkBytes) {
      return Failed(fmt::format(
          "{}: rows take {} at least, there are {} for them: {} of {} are free; nvidia-smi shows "
          "who uses its memory",
          gpu.name, HumanBytes(DevicePool::kChunkBytes), HumanBytes(wanted), HumanBytes(gpu.free),
          HumanBytes(gpu.total)));
    }
    auto pool = DevicePool::Make(ordinal, wanted);
    if (!pool.ok()) {
      return pool.status().Prefixed(gpu.name + "; nvidia-smi shows who uses its memory");
    }
    const uint64_t left = gpu.free - (*pool)->bytes();
    tables->plan_.push_back(
        fmt::format("{}: {} of memory, {} taken for rows, {} left for batches{}", gpu.name,
                    HumanBytes(gpu.total), HumanBytes((*pool)->bytes()), HumanBytes(left),
                    left < GpuLeft::kForBatches
                        ? ", which is little: tiers below do those that it has no room for, and a "
                          "smaller server.gpu_memory leaves more"
                        : ""));
    tables->pools_.push_back(std::move(*pool));
    tables->left_.push_back({ordinal, left});
    tables->name_ += fmt::format("{}{}", ordinal == first ? "cuda:" : ",", ordinal);
  }
  // Rows of large messages go up from where they came.
  SetBlockSource([host = tables->host_](size_t bytes) {
    const std::shared_ptr<float[]> taken = host->Take((bytes + sizeof(float) - 1) / sizeof(float));
    return std::shared_ptr<std::byte[]>(taken, reinterpret_cast<std::byte*>(taken.get()));
  });
  return Result<std::unique_ptr<GpuTables>>(std::move(tables));
}

std::shared_ptr<WarnedFlag> GpuTables::WarnedOf(const std::string& table) {
  const MutexLock lock(warned_mutex_);
  std::erase_if(warned_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<WarnedFlag>& known = warned_[table];
  std::shared_ptr<WarnedFlag> warned = known.lock();
  if (warned == nullptr) known = warned = std::make_shared<WarnedFlag>(false);
  return warned;
}

uint64_t GpuTables::staging_bytes() const { return HotTable::kStagingBytes; }

std::unique_ptr<LocalTable> GpuTables::MakeOver(const TableSpec& spec, uint16_t lane,
                                                std::unique_ptr<LowerTable> below,
                                                VictimOrder order) {
  return std::make_unique<HotTable>(spec, *pools_[lane % pools_.size()], host_, std::move(below),
                                    *workers_,
                                    HotTableOptions{.order = order, .warned = WarnedOf(spec.name)});
}

std::unique_ptr<LocalTable> GpuTables::Make(const TableSpec& spec, uint16_t lane) {
  return std::make_unique<GpuTable>(spec, *pools_[lane % pools_.size()], host_);
}

Status CheckGpu(int device) { return CheckDevice(device); }

}  // namespace strata
