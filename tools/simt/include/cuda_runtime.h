// What the kernels and their callers use of CUDA's language and runtime, on a CPU: README.md.
// Names and meanings are those of the CUDA C++ Programming Guide and the Runtime API reference.
// NOLINTBEGIN
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
      : x(of_x), y(of_y), z(of_z) {}
};
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(b) < T(a) ? T(b) : T(a);
}
template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return T(a) < T(b) ? T(b) : T(a);
}

namespace simt {

enum class WarpOp : uint8_t { kSync, kBallot, kAll, kShuffle, kShuffleXor };
// Waits for the lanes of the mask, which bring the same operation.
uint64_t Meet(WarpOp op, uint32_t mask, uint64_t value, int lane, int width);
void MeetBlock();
std::byte* Shared();  // of the block that runs, as large as its launch asked for
// Runs `thread` for each thread of the grid.
void Run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread);

template <typename Kernel, typename... Args>
void Launch(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes, const void*,
            const Args&... args) {
  Run(grid, block, shared_bytes, [&] { kernel(args...); });
}

template <typename T>
T Shuffle(WarpOp op, uint32_t mask, T value, int lane, int width) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = Meet(op, mask, bits, lane, width);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T, typename Change>
T Exchange(T* at, const Change& change) {
  const T before = *at;
  *at = static_cast<T>(change(before));
  return before;
}

}  // namespace simt

inline void __syncthreads() { simt::MeetBlock(); }
inline int __syncthreads_count(int predicate) {
  static int count;  // of the block that runs
  __syncthreads();
  count = 0;
  __syncthreads();
  count += predicate != 0;
  __syncthreads();
  return count;
}
inline void __syncwarp(unsigned mask = ~0U) { simt::Meet(simt::WarpOp::kSync, mask, 0, 0, 32); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(simt::Meet(simt::WarpOp::kBallot, mask, predicate != 0, 0, 32));
}
inline int __all_sync(unsigned mask, int predicate) {
  return static_cast<int>(simt::Meet(simt::WarpOp::kAll, mask, predicate != 0, 0, 32));
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  return simt::Shuffle(simt::WarpOp::kShuffle, mask, value, lane, width);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  return simt::Shuffle(simt::WarpOp::kShuffleXor, mask, value, lanes, width);
}

template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  unsigned same = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const bool is_one = (mask >> lane & 1) != 0;
    const T other = __shfl_sync(mask, value, is_one ? lane : 0);
    if (is_one && other == value) same |= 1U << lane;
  }
  return same;
}

// One thread runs at a time.
template <typename T, typename U>
T atomicAdd(T* at, U by) {
  return simt::Exchange(at, [by](T before) { return before + static_cast<T>(by); });
}
template <typename T, typename U>
T atomicMax(T* at, U by) {
  return simt::Exchange(
      at, [by](T before) { return before < static_cast<T>(by) ? static_cast<T>(by) : before; });
}
template <typename T, typename U>
T atomicMin(T* at, U by) {
  return simt::Exchange(
      at, [by](T before) { return static_cast<T>(by) < before ? static_cast<T>(by) : before; });
}
template <typename T, typename U>
T atomicAnd(T* at, U by) {
  return simt::Exchange(at, [by](T before) { return before & static_cast<T>(by); });
}
template <typename T, typename U>
T atomicOr(T* at, U by) {
  return simt::Exchange(at, [by](T before) { return before | static_cast<T>(by); });
}
template <typename T, typename U>
T atomicXor(T* at, U by) {
  return simt::Exchange(at, [by](T before) { return before ^ static_cast<T>(by); });
}
template <typename T, typename U, typename V>
T atomicCAS(T* at, U expected, V desired) {
  return simt::Exchange(at, [=](T before) {
    return before == static_cast<T>(expected) ? static_cast<T>(desired) : before;
  });
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

inline unsigned __vcmpeq4(unsigned a, unsigned b) {
  unsigned equal = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    if ((a >> shift & 0xff) == (b >> shift & 0xff)) equal |= 0xffU << shift;
  }
  return equal;
}
inline unsigned __vcmpgeu4(unsigned a, unsigned b) {
  unsigned as_large = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    if ((a >> shift & 0xff) >= (b >> shift & 0xff)) as_large |= 0xffU << shift;
  }
  return as_large;
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  return max(a & 0xffff, b & 0xffff) | max(a >> 16, b >> 16) << 16;
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}
[[noreturn]] void __trap();

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
struct cudaPointerAttributes {
  cudaMemoryType type;
};
struct cudaDeviceProp {
  char name[256];
  int major, minor;
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound
};
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocPortable = 1;
constexpr unsigned cudaHostRegisterPortable = 1;
constexpr unsigned long long cudaEnableDefault = 0;

cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) {
  *least = *most = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result);

// There are no graphs: who wants one launches kernel by kernel.
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaErrorNotSupported; }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaErrorNotSupported; }
inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0;
  return cudaSuccess;
}

// Nor can blocks wait for one another: they run one after the other.
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const Kernel&, int, size_t) {
  *blocks = 1;
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaLaunchCooperativeKernel(const Kernel&, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}

// Copies need no pinned memory here.
inline cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }

template <typename T>
cudaError_t cudaMalloc(T** memory, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
template <typename T>
cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(memory), bytes, flags);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind);
}
inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes);
}
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(const Kernel&, cudaFuncAttribute, int) {
  return cudaSuccess;
}
// NOLINTEND
