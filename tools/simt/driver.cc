// The driver API: ranges of addresses, and memory that is mapped to them.
#include <sys/mman.h>

#include <map>
#include <mutex>
#include <string_view>

#include "tools/simt/device_memory.h"
#include "tools/simt/include/cuda.h"
#include "tools/simt/include/cuda_runtime.h"

namespace {

struct Handles {
  std::mutex mutex;
  std::map<CUmemGenericAllocationHandle, size_t> bytes;
  CUmemGenericAllocationHandle next = 1;
};
Handles& TheHandles() {
  static Handles handles;
  return handles;
}

CUresult Map(CUdeviceptr address, size_t bytes, int protection) {
  void* const mapped =
      mmap(reinterpret_cast<void*>(address), bytes, protection,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address == 0 ? 0 : MAP_FIXED), -1, 0);
  return mapped == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                     unsigned long long) {
  if (!simt::TakeBytes(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  Handles& handles = TheHandles();
  const std::lock_guard lock(handles.mutex);
  *handle = handles.next++;
  handles.bytes[*handle] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Handles& handles = TheHandles();
  const std::lock_guard lock(handles.mutex);
  simt::GiveBackBytes(handles.bytes.at(handle));
  handles.bytes.erase(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  void* const range =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(range);
  simt::AddRange(range, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  simt::RemoveRange(reinterpret_cast<void*>(address));
  return munmap(reinterpret_cast<void*>(address), bytes) == 0 ? CUDA_SUCCESS
                                                              : CUDA_ERROR_OUT_OF_MEMORY;
}

// What is in the memory does not come along: nobody maps a piece twice and reads it.
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle,
                  unsigned long long) {
  return Map(address, bytes, PROT_READ | PROT_WRITE);
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) { return Map(address, bytes, PROT_NONE); }
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "out of memory";
  return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  static const std::map<std::string_view, void*> functions = {
      {"cuMemCreate", reinterpret_cast<void*>(cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(cuMemRelease)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(cuMemAddressFree)},
      {"cuMemMap", reinterpret_cast<void*>(cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(cuMemSetAccess)},
      {"cuGetErrorString", reinterpret_cast<void*>(cuGetErrorString)}};
  const auto found = functions.find(name);
  *result =
      found == functions.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  if (found != functions.end()) *function = found->second;
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
