#include <cuda.h>

#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/device_pool.h"

namespace strata {
namespace {

// The driver's functions, found at run time: a build has no driver to link with.
struct Driver {
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free_range = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
};

template <typename Function>
Status Find(const char* name, Function* function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = {};
  STRATA_TRY(FromCuda(
      cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name));
  if (found == nullptr || result != cudaDriverEntryPointSuccess) {
    return Failed(fmt::format("the CUDA driver has no {}; install one of CUDA 12 or newer", name));
  }
  *function = reinterpret_cast<Function>(found);
  return {};
}

Result<Driver> LoadDriver() {
  Driver driver;
  STRATA_TRY(Find("cuMemCreate", &driver.create));
  STRATA_TRY(Find("cuMemRelease", &driver.release));
  STRATA_TRY(Find("cuMemAddressReserve", &driver.reserve));
  STRATA_TRY(Find("cuMemAddressFree", &driver.free_range));
  STRATA_TRY(Find("cuMemMap", &driver.map));
  STRATA_TRY(Find("cuMemUnmap", &driver.unmap));
  STRATA_TRY(Find("cuMemSetAccess", &driver.set_access));
  STRATA_TRY(Find("cuGetErrorString", &driver.error_string));
  return driver;
}

// That it was found is seen by DevicePool::Make, without which nobody comes here.
const Result<Driver>& TheDriver() {
  static const Result<Driver> driver = LoadDriver();
  return driver;
}

Status FromDriver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  (void)TheDriver()->error_string(result, &text);
  return Failed(fmt::format("{}: CUDA: {}", what, text == nullptr ? "unknown error" : text));
}

CUmemLocation LocationOf(int device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

}  // namespace

Result<std::unique_ptr<DevicePool>> DevicePool::Make(int device, size_t bytes) {
  STRATA_TRY(CheckDevice(device));
  STRATA_TRY(TheDriver().status());
  const DeviceScope scope(device);
  STRATA_TRY(FromCuda(cudaFree(nullptr), "starting the GPU"));
  size_t free = 0;
  size_t total = 0;
  STRATA_TRY(FromCuda(cudaMemGetInfo(&free, &total), "memory of the GPU"));
  const size_t chunks = bytes / kChunkBytes;
  if (chunks * kChunkBytes > free) {
    return Failed(fmt::format("GPU {} has {} MiB free of {}; {} MiB are asked for", device,
                              free >> 20, total >> 20, bytes >> 20));
  }
  auto pool = std::unique_ptr<DevicePool>(new DevicePool(device));
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = LocationOf(device);
  for (; pool->chunks_ < chunks; ++pool->chunks_) {
    CUmemGenericAllocationHandle handle = 0;
    STRATA_TRY(FromDriver(TheDriver()->create(&handle, kChunkBytes, &properties, 0),
                          "taking memory of the GPU"));
    pool->free_.push_back(handle);
  }
  return Result<std::unique_ptr<DevicePool>>(std::move(pool));
}

DevicePool::~DevicePool() {
  for (const uint64_t handle : free_) (void)TheDriver()->release(handle);
}

size_t DevicePool::bytes_free() const {
  const std::lock_guard lock(mutex_);
  return free_.size() * kChunkBytes;
}

std::vector<uint64_t> DevicePool::Take(size_t count) {
  const std::lock_guard lock(mutex_);
  if (count > free_.size()) return {};
  std::vector<uint64_t> taken(free_.end() - static_cast<ptrdiff_t>(count), free_.end());
  free_.resize(free_.size() - count);
  return taken;
}

void DevicePool::GiveBack(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  free_.push_back(handle);
}

GrowingArray::~GrowingArray() {
  if (address_ == 0) return;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    (void)TheDriver()->unmap(address_ + i * DevicePool::kChunkBytes, DevicePool::kChunkBytes);
    pool_->GiveBack(chunks_[i]);
  }
  (void)TheDriver()->free_range(address_, bytes_max_);
}

Status GrowingArray::Reserve(DevicePool& pool, size_t bytes_max) {
  STRATA_CHECK(address_ == 0);
  pool_ = &pool;
  bytes_max_ = std::max<size_t>(1, ChunksFor(bytes_max)) * DevicePool::kChunkBytes;
  CUdeviceptr address = 0;
  STRATA_TRY(
      FromDriver(TheDriver()->reserve(&address, bytes_max_, 0, 0, 0), "a range of addresses"));
  address_ = address;
  return {};
}

size_t GrowingArray::ChunksFor(size_t bytes) const {
  const size_t chunks = (bytes + DevicePool::kChunkBytes - 1) / DevicePool::kChunkBytes;
  return chunks > chunks_.size() ? chunks - chunks_.size() : 0;
}

Status GrowingArray::Grow(size_t bytes) {
  STRATA_CHECK(address_ != 0 && bytes <= bytes_max_);
  const size_t wanted = ChunksFor(bytes);
  if (wanted == 0) return {};
  const std::vector<uint64_t> taken = pool_->Take(wanted);
  if (taken.empty()) {
    return Refused(fmt::format("{} MiB of the GPU's memory are asked for, {} of {} are free",
                               wanted * DevicePool::kChunkBytes >> 20, pool_->bytes_free() >> 20,
                               pool_->bytes() >> 20));
  }
  const CUdeviceptr first = address_ + chunks_.size() * DevicePool::kChunkBytes;
  for (size_t i = 0; i < wanted; ++i) {
    const Status mapped = FromDriver(TheDriver()->map(first + i * DevicePool::kChunkBytes,
                                                      DevicePool::kChunkBytes, 0, taken[i], 0),
                                     "mapping memory");
    if (!mapped.ok()) {
      for (; i < wanted; ++i) pool_->GiveBack(taken[i]);
      return mapped;
    }
    chunks_.push_back(taken[i]);
  }
  CUmemAccessDesc access = {};
  access.location = LocationOf(pool_->device());
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return FromDriver(TheDriver()->set_access(first, wanted * DevicePool::kChunkBytes, &access, 1),
                    "access to memory");
}

}  // namespace strata
