// GPUs, memory and streams of tests.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace strata {

// Whether the CPU takes the place of the GPU (tools/simt): work takes some hundred times as long
// there, so random runs are shorter.
#ifdef __CUDACC__
constexpr bool kGpuIsEmulated = false;
#else
constexpr bool kGpuIsEmulated = true;
#endif

inline int GpusHere() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

#define STRATA_SKIP_BELOW_GPUS(n) \
  if (GpusHere() < (n)) GTEST_SKIP() << "needs " << (n) << " GPUs; this machine has " << GpusHere()

// The GPUs from 0 on that work together: all if each can reach each of them, and then they may read
// each other's memory from here on; else GPU 0 alone.
inline int GpusTogether() {
  const int all = GpusHere();
  const auto for_pairs = [all](const auto& succeeds) {
    for (int device = 0; device < all; ++device) {
      for (int peer = 0; peer < all; ++peer) {
        if (device != peer && !succeeds(device, peer)) return false;
      }
    }
    return true;
  };
  const bool reach = for_pairs([](int device, int peer) {
    int can = 0;
    return cudaDeviceCanAccessPeer(&can, device, peer) == cudaSuccess && can != 0;
  });
  if (!reach) return 1;
  int before = 0;
  EXPECT_EQ(cudaGetDevice(&before), cudaSuccess);
  for_pairs([](int device, int peer) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(peer, 0);
    EXPECT_TRUE(enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled);
    (void)cudaGetLastError();
    return true;
  });
  EXPECT_EQ(cudaSetDevice(before), cudaSuccess);
  return all;
}

// A function of the driver; null where it has none of this name.
template <typename Function>
Function* FromDriver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = {};
  (void)cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
  return result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

// (call, after, times): calls of this name fail behind the next `after`, `times` times.
using FailCalls = void (*)(const char*, unsigned, unsigned);
// Null but for GPUs that are emulated.
inline FailCalls CallsThatFail() {
  return FromDriver<void(const char*, unsigned, unsigned)>("simtFail");
}

// Memory of the current device, and the same on the host. `slack` is in bytes.
template <typename T>
class DeviceArray {
 public:
  // NCCL reads elements of two bytes as words of four, and so behind the end.
  static constexpr size_t kSlack = 4;

  explicit DeviceArray(size_t count, size_t slack = kSlack) : count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, std::max<size_t>(count * sizeof(T) + slack, 1)), cudaSuccess);
  }
  explicit DeviceArray(const std::vector<T>& values, size_t slack = kSlack)
      : DeviceArray(values.size(), slack) {
    Set(values);
  }
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  void Set(const std::vector<T>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyDefault),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);  // streams of tests do not wait for it
  }
  void Poison() {
    EXPECT_EQ(cudaMemset(data_, 0xEE, count_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  std::vector<T> Get() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDefault), cudaSuccess);
    return values;
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// The elements that are expected, and behind them nothing that was written.
template <typename T>
void ExpectSame(const std::vector<T>& found, const std::vector<T>& expected) {
  ASSERT_GE(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(T)), 0)
        << "element " << i << " of " << expected.size();
  }
  for (size_t i = expected.size() * sizeof(T); i < found.size() * sizeof(T); ++i) {
    ASSERT_EQ(reinterpret_cast<const uint8_t*>(found.data())[i], 0xEE) << "written behind the end";
  }
}

}  // namespace strata
