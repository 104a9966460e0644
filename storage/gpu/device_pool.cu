#include <cuda.h>

#include <algorithm>

#include "base/human_text.h"
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

// kRefused when there is no memory.
Status FromDriver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  (void)TheDriver()->error_string(result, &text);
  std::string message = fmt::format("{}: CUDA: {}", what, text == nullptr ? "unknown error" : text);
  return result == CUDA_ERROR_OUT_OF_MEMORY ? Refused(std::move(message))
                                            : Failed(std::move(message));
}

CUmemLocation LocationOf(int device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

// Memory of the GPU: its handle.
Result<uint64_t> Create(int device, size_t bytes) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = LocationOf(device);
  CUmemGenericAllocationHandle handle = 0;
  STRATA_TRY(
      FromDriver(TheDriver()->create(&handle, bytes, &properties, 0), "taking memory of the GPU"));
  return uint64_t{handle};
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
    return Failed(fmt::format("GPU {} has {} free of {}; {} are asked for", device,
                              HumanBytes(free), HumanBytes(total), HumanBytes(bytes)));
  }
  auto pool = std::unique_ptr<DevicePool>(new DevicePool(device));
  STRATA_ASSIGN(const int devices, CountGpus());
  for (int peer = 0; peer < devices; ++peer) {
    int reaches = 0;
    if (peer == device) continue;
    STRATA_TRY(FromCuda(cudaDeviceCanAccessPeer(&reaches, peer, device), "which GPUs reach it"));
    if (reaches != 0) pool->users_.push_back(peer);
  }
  for (; pool->chunks_ < chunks; ++pool->chunks_) {
    const Result<uint64_t> handle = Create(device, kChunkBytes);
    if (!handle.ok()) return Failed(handle.status().message());  // not for a batch: there is none
    pool->free_chunks_.push_back(*handle);
  }
  return Result<std::unique_ptr<DevicePool>>(std::move(pool));
}

DevicePool::~DevicePool() {
  for (const uint64_t handle : free_chunks_) (void)TheDriver()->release(handle);
  for (const uint64_t handle : free_pieces_) (void)TheDriver()->release(handle);
}

size_t DevicePool::bytes_free() const {
  const MutexLock lock(mutex_);
  return free_chunks_.size() * kChunkBytes + free_pieces_.size() * kPieceBytes;
}

Status DevicePool::CutChunk() {
  const DeviceScope scope(device_);
  (void)TheDriver()->release(free_chunks_.back());
  free_chunks_.pop_back();
  std::vector<uint64_t> made;
  while (made.size() < kChunkBytes / kPieceBytes) {
    const Result<uint64_t> piece = Create(device_, kPieceBytes);
    if (piece.ok()) {
      made.push_back(*piece);
      continue;
    }
    for (const uint64_t handle : made) (void)TheDriver()->release(handle);
    const Result<uint64_t> whole = Create(device_, kChunkBytes);
    if (whole.ok()) {
      free_chunks_.push_back(*whole);
    } else {
      --chunks_;
    }
    return piece.status();
  }
  free_pieces_.insert(free_pieces_.end(), made.begin(), made.end());
  return {};
}

Result<std::vector<DevicePool::Piece>> DevicePool::Take(size_t pieces, size_t chunks) {
  const MutexLock lock(mutex_);
  const size_t whole = std::min(chunks, free_chunks_.size());
  pieces += (chunks - whole) * (kChunkBytes / kPieceBytes);
  const size_t cuts = free_chunks_.size() - whole;
  if (pieces > free_pieces_.size() + cuts * (kChunkBytes / kPieceBytes)) {
    return Refused(fmt::format(
        "{} of the GPU's memory are asked for, {} of {} are free",
        HumanBytes(pieces * kPieceBytes + whole * kChunkBytes),
        HumanBytes(free_chunks_.size() * kChunkBytes + free_pieces_.size() * kPieceBytes),
        HumanBytes(bytes())));
  }
  while (free_pieces_.size() < pieces) STRATA_TRY(CutChunk());
  std::vector<Piece> taken;
  const auto take = [&taken](std::vector<uint64_t>& from, size_t count, size_t bytes) {
    for (; count > 0; --count) {
      taken.push_back({from.back(), bytes});
      from.pop_back();
    }
  };
  take(free_pieces_, pieces, kPieceBytes);
  take(free_chunks_, whole, kChunkBytes);
  return taken;
}

void DevicePool::GiveBack(const Piece& piece) {
  const MutexLock lock(mutex_);
  (piece.bytes == kPieceBytes ? free_pieces_ : free_chunks_).push_back(piece.handle);
}

GrowingArray::~GrowingArray() {
  if (address_ == 0) return;
  uint64_t at = address_;
  for (const DevicePool::Piece& piece : pieces_) {
    (void)TheDriver()->unmap(at, piece.bytes);
    pool_->GiveBack(piece);
    at += piece.bytes;
  }
  (void)TheDriver()->free_range(address_, bytes_max_);
}

Status GrowingArray::Reserve(DevicePool& pool, size_t bytes_max) {
  STRATA_CHECK(address_ == 0);
  pool_ = &pool;
  constexpr size_t kUnit = DevicePool::kChunkBytes;
  bytes_max_ = std::max<size_t>(1, (bytes_max + kUnit - 1) / kUnit) * kUnit;
  CUdeviceptr address = 0;
  STRATA_TRY(
      FromDriver(TheDriver()->reserve(&address, bytes_max_, 0, 0, 0), "a range of addresses"));
  address_ = address;
  return {};
}

size_t GrowingArray::BytesFor(size_t bytes) {
  const size_t unit =
      bytes <= DevicePool::kChunkBytes ? DevicePool::kPieceBytes : DevicePool::kChunkBytes;
  return (bytes + unit - 1) / unit * unit;
}

Status GrowingArray::Grow(size_t bytes) {
  STRATA_CHECK(address_ != 0 && bytes <= bytes_max_);
  const size_t wanted = BytesFor(bytes);
  if (wanted <= bytes_) return {};
  // Up to a whole chunk in pieces, then chunks.
  constexpr size_t kUnit = DevicePool::kChunkBytes;
  const size_t by_pieces = bytes_ < kUnit ? std::min(wanted, kUnit) - bytes_ : 0;
  STRATA_ASSIGN(
      const std::vector<DevicePool::Piece> taken,
      pool_->Take(by_pieces / DevicePool::kPieceBytes, (wanted - bytes_ - by_pieces) / kUnit));
  Status mapped = MapBehind(taken);
  if (mapped.ok()) return mapped;
  for (const DevicePool::Piece& piece : taken) pool_->GiveBack(piece);
  return mapped;
}

Status GrowingArray::MapBehind(const std::vector<DevicePool::Piece>& pieces) {
  const CUdeviceptr first = address_ + bytes_;
  CUdeviceptr end = first;
  size_t mapped = 0;
  Status status;
  for (; mapped < pieces.size(); ++mapped) {
    const DevicePool::Piece& piece = pieces[mapped];
    status = FromDriver(TheDriver()->map(end, piece.bytes, 0, piece.handle, 0), "mapping memory");
    if (!status.ok()) break;
    end += piece.bytes;
  }
  if (status.ok()) {
    std::vector<CUmemAccessDesc> access;
    for (const int device : pool_->users_) {
      access.push_back({LocationOf(device), CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    }
    status = FromDriver(TheDriver()->set_access(first, end - first, access.data(), access.size()),
                        "access to memory");
  }
  if (status.ok()) {
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
    bytes_ = end - address_;
    return status;
  }
  while (mapped > 0) {
    end -= pieces[--mapped].bytes;
    (void)TheDriver()->unmap(end, pieces[mapped].bytes);
  }
  return status;
}

}  // namespace strata
