// The runtime API: allocations, copies, and streams that have always done everything.
#include <cstdio>
#include <map>
#include <utility>

#include "base/thread/mutex.h"
#include "tools/simt/device_memory.h"
#include "tools/simt/include/cuda_runtime.h"

namespace {

constexpr size_t kFilledMax = size_t{64} << 20;  // larger blocks are not worth the time

size_t FromEnvironment(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Memory {
  strata::Mutex mutex;
  std::map<const std::byte*, size_t> ranges STRATA_GUARDED_BY(mutex);
  std::map<const std::byte*, size_t> pinned STRATA_GUARDED_BY(mutex);
  size_t used STRATA_GUARDED_BY(mutex) = 0;
  bool fault STRATA_GUARDED_BY(mutex) = false;
};
Memory& TheMemory() {
  static Memory memory;
  return memory;
}
size_t TotalBytes() {
  static const size_t bytes = FromEnvironment("STRATA_SIMT_GIB", 40) << 30;
  return bytes;
}
int Gpus() {
  static const auto count = static_cast<int>(FromEnvironment("STRATA_SIMT_GPUS", 1));
  return count;
}
thread_local int current_device = 0;

bool IsInside(const std::map<const std::byte*, size_t>& ranges, const void* pointer) {
  const auto* at = static_cast<const std::byte*>(pointer);
  auto next = ranges.upper_bound(at);
  return next != ranges.begin() && at < (--next)->first + next->second;
}

size_t Remove(std::map<const std::byte*, size_t>& ranges, const void* memory) {
  const auto found = ranges.find(static_cast<const std::byte*>(memory));
  if (found == ranges.end()) {
    std::fprintf(stderr, "simt: %p is given back, but was not given out\n", memory);
    std::abort();
  }
  const size_t bytes = found->second;
  ranges.erase(found);
  return bytes;
}

cudaError_t Result() {
  const strata::MutexLock lock(TheMemory().mutex);
  return TheMemory().fault ? cudaErrorLaunchFailure : cudaSuccess;
}

// A handle that nobody looks into.
template <typename Handle>
cudaError_t Make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new char);
  return Result();
}
template <typename Handle>
cudaError_t Destroy(Handle handle) {
  delete reinterpret_cast<char*>(handle);
  return Result();
}

}  // namespace

namespace simt {

bool TakeBytes(size_t bytes) {
  Memory& memory = TheMemory();
  const strata::MutexLock lock(memory.mutex);
  if (bytes > TotalBytes() - memory.used) return false;
  memory.used += bytes;
  return true;
}

void GiveBackBytes(size_t bytes) {
  const strata::MutexLock lock(TheMemory().mutex);
  TheMemory().used -= bytes;
}

void AddRange(const void* memory, size_t bytes) {
  const strata::MutexLock lock(TheMemory().mutex);
  TheMemory().ranges[static_cast<const std::byte*>(memory)] = bytes;
}

size_t RemoveRange(const void* memory) {
  const strata::MutexLock lock(TheMemory().mutex);
  return Remove(TheMemory().ranges, memory);
}

void SetFault() {
  const strata::MutexLock lock(TheMemory().mutex);
  TheMemory().fault = true;
}

}  // namespace simt

// NOLINTBEGIN(readability-identifier-naming)
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (Result() != cudaSuccess) return Result();
  if (simt::Fails("cudaMalloc") || !simt::TakeBytes(bytes)) return cudaErrorMemoryAllocation;
  constexpr size_t kAlignment = 256;
  *memory = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
  if (bytes <= kFilledMax) std::memset(*memory, 0xcd, bytes);
  simt::AddRange(*memory, bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return Result();
  simt::GiveBackBytes(simt::RemoveRange(memory));
  std::free(memory);
  return Result();
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  if (Result() != cudaSuccess) return Result();
  *memory = std::malloc(bytes);
  const strata::MutexLock lock(TheMemory().mutex);
  TheMemory().pinned[static_cast<const std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  {
    const strata::MutexLock lock(TheMemory().mutex);
    Remove(TheMemory().pinned, memory);
  }
  std::free(memory);
  return Result();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (bytes != 0) std::memmove(to, from, bytes);
  return Result();
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  if (bytes != 0) std::memset(to, value, bytes);
  return Result();
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const strata::MutexLock lock(TheMemory().mutex);
  *total = TotalBytes();
  *free = *total - TheMemory().used;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  Memory& memory = TheMemory();
  const strata::MutexLock lock(memory.mutex);
  attributes->type = IsInside(memory.ranges, pointer)   ? cudaMemoryTypeDevice
                     : IsInside(memory.pinned, pointer) ? cudaMemoryTypeHost
                                                        : cudaMemoryTypeUnregistered;
  return memory.fault ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return Make(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return Destroy(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return simt::Fails("cudaStreamSynchronize") ? cudaErrorLaunchFailure : Result();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return Make(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return Destroy(event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return Result(); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return Result(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return Result(); }
cudaError_t cudaDeviceSynchronize() { return Result(); }
cudaError_t cudaGetLastError() { return Result(); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "the driver is too old";
    case cudaErrorNoDevice:
      return "no GPU is there";
    case cudaErrorInvalidDevice:
      return "no such GPU";
    case cudaErrorPeerAccessAlreadyEnabled:
      return "the GPUs reach each other already";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorLaunchFailure:
      return "a kernel failed";
  }
  return "an unknown error";
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = Gpus();
  return Gpus() == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= Gpus()) return cudaErrorInvalidDevice;
  current_device = device;
  return cudaSuccess;
}

// All GPUs reach each other, and need not ask; unless a test has it fail.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer && !simt::Fails("cudaDeviceCanAccessPeer") ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorPeerAccessAlreadyEnabled; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {.name = "emulated on a CPU", .major = 9, .minor = 0};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = 4;
  if (attribute == cudaDevAttrCooperativeLaunch) *value = 0;
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) *value = 227 * 1024;
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
