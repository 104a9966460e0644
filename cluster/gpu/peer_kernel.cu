#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cluster/gpu/peer_kernel.cuh"

namespace strata {
namespace {

constexpr uint32_t kPollsBetweenLooks = 1024;  // about half a millisecond

// The kernel before this one in the stream is done. That behind this one may be brought to the
// GPU already, where it waits here: it was launched so (PeerMemory::Allreduce).
__device__ void AwaitKernelBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ uint64_t NowNs() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ void StoreLine(PeerLine* line, uint64_t bits, uint32_t mark) {
  const uint64_t high = uint64_t{mark} << 32;
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(line),
               "l"(high | (bits & 0xffffffffU)), "l"(high | (bits >> 32))
               : "memory");
}

__device__ bool LoadLine(const PeerLine* line, uint32_t mark, uint64_t* bits) {
  uint64_t low, high;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(low), "=l"(high)
               : "l"(line)
               : "memory");
  *bits = (low & 0xffffffffU) | (high << 32);
  return (low >> 32) == mark && (high >> 32) == mark;
}

// False when the peer has not come in time, or the host or another thread ended the call.
__device__ bool AwaitLine(const PeerCall& call, int peer, size_t i, uint64_t* bits) {
  uint64_t until = 0;
  for (;;) {
    for (uint32_t poll = 0; poll < kPollsBetweenLooks; ++poll) {
      if (LoadLine(call.from[peer] + i, call.mark, bits)) return true;
    }
    volatile PeerControl* control = call.control;
    const uint64_t now = NowNs();
    if (until == 0) until = now + static_cast<uint64_t>(call.deadline_ns);
    if (now > until && atomicExch(call.failed, 1) == 0) {
      control->call = call.call;
      __threadfence_system();
      control->missing = static_cast<uint32_t>(peer) + 1;
    }
    if (control->stop != 0) atomicExch(call.failed, 1);
    if (*static_cast<volatile uint32_t*>(call.failed) != 0) return false;
  }
}

// The elements of one line.
template <typename T>
union Packed {
  uint64_t bits;
  T of[kLineBytes / sizeof(T)];
  __device__ Packed() : bits(0) {}
};

__device__ bool IsWholeWord(const void* data, size_t end, size_t count) {
  return end <= count && reinterpret_cast<uintptr_t>(data) % kLineBytes == 0;
}

template <typename T>
__device__ Packed<T> LoadElements(const void* data, size_t line, size_t count) {
  constexpr size_t kEach = kLineBytes / sizeof(T);
  Packed<T> packed;
  const size_t begin = line * kEach;
  if (IsWholeWord(data, begin + kEach, count)) {
    packed.bits = static_cast<const uint64_t*>(data)[line];
    return packed;
  }
#pragma unroll
  for (size_t k = 0; k < kEach; ++k) {
    if (begin + k < count) packed.of[k] = static_cast<const T*>(data)[begin + k];
  }
  return packed;
}

template <typename T>
__device__ void StoreElements(void* data, size_t line, size_t count, const Packed<T>& packed) {
  constexpr size_t kEach = kLineBytes / sizeof(T);
  const size_t begin = line * kEach;
  if (IsWholeWord(data, begin + kEach, count)) {
    static_cast<uint64_t*>(data)[line] = packed.bits;
    return;
  }
#pragma unroll
  for (size_t k = 0; k < kEach; ++k) {
    if (begin + k < count) static_cast<T*>(data)[begin + k] = packed.of[k];
  }
}

// In what elements are added up, and their arithmetic: unsigned where signed would overflow.
template <typename T>
struct Arithmetic {
  using Wide = T;
  using Wrapping = T;
};
template <>
struct Arithmetic<int32_t> {
  using Wide = int32_t;
  using Wrapping = uint32_t;
};
template <>
struct Arithmetic<int64_t> {
  using Wide = int64_t;
  using Wrapping = uint64_t;
};
template <>
struct Arithmetic<__half> {
  using Wide = float;
  using Wrapping = float;
};
template <>
struct Arithmetic<__nv_bfloat16> {
  using Wide = float;
  using Wrapping = float;
};

// A minimum or maximum keeps the first of two elements that do not compare, as on links.
template <typename Wrapping, ReduceOp kOp, typename Wide>
__device__ Wide Combined(Wide a, Wide b) {
  if constexpr (kOp == ReduceOp::kMin) return b < a ? b : a;
  if constexpr (kOp == ReduceOp::kMax) return a < b ? b : a;
  if constexpr (kOp == ReduceOp::kSum) {
    return static_cast<Wide>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  }
  return static_cast<Wide>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
}

template <typename T, ReduceOp kOp>
__global__ void PeerAllreduce(PeerCall call) {
  using Wide = typename Arithmetic<T>::Wide;
  using Wrapping = typename Arithmetic<T>::Wrapping;
  constexpr size_t kEach = kLineBytes / sizeof(T);
  AwaitKernelBefore();
  if (*static_cast<volatile uint32_t*>(call.failed) != 0) return;
  const size_t lines = (call.count + kEach - 1) / kEach;
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const size_t step = size_t{gridDim.x} * blockDim.x;

  for (size_t i = first; i < lines; i += step) {
    const Packed<T> mine = LoadElements<T>(call.send, i, call.count);
    for (int r = 0; r < call.world; ++r) {
      if (r != call.rank) StoreLine(call.to[r] + i, mine.bits, call.mark);
    }
  }
  for (size_t i = first; i < lines; i += step) {
    Wide sums[kEach] = {};
    for (int r = 0; r < call.world; ++r) {
      Packed<T> in;
      if (r == call.rank) {
        in = LoadElements<T>(call.send, i, call.count);
      } else if (!AwaitLine(call, r, i, &in.bits)) {
        return;
      }
#pragma unroll
      for (size_t k = 0; k < kEach; ++k) {
        const Wide one = static_cast<Wide>(in.of[k]);
        sums[k] = r == 0 ? one : Combined<Wrapping, kOp>(sums[k], one);
      }
    }
    Packed<T> out;
#pragma unroll
    for (size_t k = 0; k < kEach; ++k) out.of[k] = static_cast<T>(sums[k]);
    StoreElements<T>(call.receive, i, call.count, out);
  }
}

template <typename T>
PeerKernel KernelOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return PeerAllreduce<T, ReduceOp::kSum>;
    case ReduceOp::kMin:
      return PeerAllreduce<T, ReduceOp::kMin>;
    case ReduceOp::kMax:
      return PeerAllreduce<T, ReduceOp::kMax>;
    case ReduceOp::kProduct:
      break;
  }
  return PeerAllreduce<T, ReduceOp::kProduct>;
}

}  // namespace

PeerKernel PeerAllreduceKernel(GpuReduction reduction) {
  switch (reduction.type) {
    case ElementType::kInt32:
      return KernelOf<int32_t>(reduction.op);
    case ElementType::kInt64:
      return KernelOf<int64_t>(reduction.op);
    case ElementType::kHalf:
      return KernelOf<__half>(reduction.op);
    case ElementType::kBfloat16:
      return KernelOf<__nv_bfloat16>(reduction.op);
    case ElementType::kFloat:
      return KernelOf<float>(reduction.op);
    case ElementType::kDouble:
      break;
  }
  return KernelOf<double>(reduction.op);
}

}  // namespace strata
