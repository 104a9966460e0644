// What the tables on a GPU ask of it, where a failure is final.
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "kernels/core/cuda_status.cuh"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/residents.h"
#include "storage/gpu/distinct_buffers.h"
#include "strata/exec.h"

namespace strata {

// Counted by kernels for one call.
struct Counters {
  unsigned long long hits;
  DistinctCounts batch;
  uint32_t missed;
  uint32_t erased;
  uint32_t absent;  // keys of a batch that are not on the GPU
  uint32_t copied;  // distinct keys of a batch whose row the tier below knows
};

// What a GPU answers to anything but a call for memory is final, if it is an error: nothing can be
// asked of it any more (kernels/core/gpu_fault.h).
inline void Must(const Status& status) {
  if (!status.ok() && !IgnoresGpuFaults()) EndForGpuFault(status);
}
inline void MustBegin(const char* what) { Must(FromCuda(cudaGetLastError(), what)); }

// For all that was enqueued.
inline void Wait(const Exec& exec) {
  Must(FromCuda(cudaStreamSynchronize(StreamOf(exec)), "the GPU"));
}

inline cudaMemoryType WhereIs(const void* memory) {
  cudaPointerAttributes where = {};
  Must(FromCuda(cudaPointerGetAttributes(&where, memory), "asking where memory is"));
  return where.type;
}
inline bool IsOnGpu(const void* memory) { return WhereIs(memory) == cudaMemoryTypeDevice; }
// Whether the GPU copies from it at the speed of the link.
inline bool IsPinned(const void* memory) { return WhereIs(memory) == cudaMemoryTypeHost; }

// Headers that hosts compile, too, hold events as void*.
inline cudaEvent_t EventOf(void* event) { return static_cast<cudaEvent_t>(event); }

// An event of the calling thread's GPU, which tells no times.
inline Result<cudaEvent_t> MakeEvent() {
  cudaEvent_t event = nullptr;
  STRATA_TRY(FromAllocation(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event"));
  return event;
}
// A stream of the calling thread's GPU, which waits for no other.
inline Result<cudaStream_t> MakeStream() {
  cudaStream_t stream = nullptr;
  STRATA_TRY(FromAllocation(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  return stream;
}

template <typename T>
void CopyUp(const Exec& exec, std::span<const T> from, T* to) {
  Must(FromCuda(
      cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyDefault, StreamOf(exec)),
      "copying to the GPU"));
}
template <typename T>
void CopyDown(const Exec& exec, const T* from, std::span<T> to) {
  Must(
      FromCuda(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDefault, StreamOf(exec)),
               "copying from the GPU"));
}
inline void Clear(const Exec& exec, void* memory, size_t bytes) {
  Must(FromCuda(cudaMemsetAsync(memory, 0, bytes, StreamOf(exec)), "clearing memory of the GPU"));
}

}  // namespace strata
