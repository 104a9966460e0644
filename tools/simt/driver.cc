// The driver API: ranges of addresses, and memory that is mapped to them.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/thread/mutex.h"
#include "tools/simt/device_memory.h"
#include "tools/simt/include/cuda.h"
#include "tools/simt/include/cuda_runtime.h"

namespace {

struct Handles {
  strata::Mutex mutex;
  std::map<CUmemGenericAllocationHandle, size_t> bytes STRATA_GUARDED_BY(mutex);
  CUmemGenericAllocationHandle next STRATA_GUARDED_BY(mutex) = 1;
  // A page that is mapped, a GPU that may use it.
  std::set<std::pair<CUdeviceptr, int>> users STRATA_GUARDED_BY(mutex);
  // The call that is to fail: after so many that do not, so many times.
  std::string failing STRATA_GUARDED_BY(mutex);
  unsigned after STRATA_GUARDED_BY(mutex) = 0;
  unsigned times STRATA_GUARDED_BY(mutex) = 0;
};
// STRATA_SIMT_FAIL=CALL:AFTER:TIMES does in a process that a test starts what simtFail does in its
// own.
void FailAsAsked(Handles* handles) {
  const char* const asked = std::getenv("STRATA_SIMT_FAIL");
  if (asked == nullptr) return;
  char call[64] = {};
  if (std::sscanf(asked, "%63[^:]:%u:%u", call, &handles->after, &handles->times) == 3) {
    handles->failing = call;
    return;
  }
  std::fprintf(stderr, "simt: STRATA_SIMT_FAIL=%s: expected CALL:AFTER:TIMES\n", asked);
  std::abort();
}

Handles& TheHandles() {
  static Handles handles;
  static const bool asked = (FailAsAsked(&handles), true);
  (void)asked;
  return handles;
}

constexpr size_t kPageBytes = size_t{2} << 20;  // what is mapped at least

CUresult Map(CUdeviceptr address, size_t bytes, int protection) {
  void* const mapped =
      mmap(reinterpret_cast<void*>(address), bytes, protection,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address == 0 ? 0 : MAP_FIXED), -1, 0);
  return mapped == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

}  // namespace

bool simt::Fails(std::string_view call) {
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
  if (call != handles.failing || handles.times == 0) return false;
  if (handles.after > 0) {
    --handles.after;
    return false;
  }
  --handles.times;
  return true;
}

using simt::Fails;

// NOLINTBEGIN(readability-identifier-naming)
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                     unsigned long long) {
  if (Fails("cuMemCreate") || !simt::TakeBytes(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
  *handle = handles.next++;
  handles.bytes[*handle] = bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
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
  return Fails("cuMemMap") ? CUDA_ERROR_OUT_OF_MEMORY : Map(address, bytes, PROT_NONE);
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
  handles.users.erase(handles.users.lower_bound({address, 0}),
                      handles.users.lower_bound({address + bytes, 0}));
  return Map(address, bytes, PROT_NONE);
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access,
                        size_t count) {
  if (Fails("cuMemSetAccess")) return CUDA_ERROR_OUT_OF_MEMORY;
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
  for (CUdeviceptr page = address; page < address + bytes; page += kPageBytes) {
    for (size_t i = 0; i < count; ++i) handles.users.insert({page, access[i].location.id});
  }
  return mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE) == 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
  *flags = 0;
  // Ranges begin at pages of 4 KiB.
  for (auto at = handles.users.lower_bound({address - kPageBytes + 1, 0});
       at != handles.users.end() && at->first <= address; ++at) {
    if (at->second == location->id) *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return CUDA_SUCCESS;
}
// Calls of this name fail after the next `after`, `times` times. No driver has it.
void simtFail(const char* call, unsigned after, unsigned times) {
  Handles& handles = TheHandles();
  const strata::MutexLock lock(handles.mutex);
  handles.failing = call;
  handles.after = after;
  handles.times = times;
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
      {"cuMemGetAccess", reinterpret_cast<void*>(cuMemGetAccess)},
      {"simtFail", reinterpret_cast<void*>(simtFail)},
      {"cuGetErrorString", reinterpret_cast<void*>(cuGetErrorString)}};
  const auto found = functions.find(name);
  *result =
      found == functions.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  if (found != functions.end()) *function = found->second;
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
