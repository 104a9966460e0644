// Ranks as threads, one a GPU.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/thread/mutex.h"
#include "cluster/gpu/gpu_group.h"
#include "tests/support/device_memory.cuh"

namespace strata {

// A ShareBytes between threads.
class SharedBytes {
 public:
  ShareBytes Of(int rank) {
    return [this, rank](std::span<std::byte> bytes) {
      const MutexLock lock(mutex_);
      if (rank == 0) {
        bytes_.emplace(bytes.begin(), bytes.end());
        there_.NotifyAll();
      }
      while (!bytes_.has_value()) there_.Wait(mutex_);
      std::copy(bytes_->begin(), bytes_->end(), bytes.begin());
      return Status();
    };
  }

 private:
  Mutex mutex_;
  CondVar there_;
  std::optional<std::vector<std::byte>> bytes_ STRATA_GUARDED_BY(mutex_);
};

// Runs the body on `world` threads, each with its GPU current and a group made; returns when all
// groups are gone.
inline void RunRanks(int world, const GpuGroupOptions& common,
                     const std::function<void(GpuGroup& group, cudaStream_t stream)>& body) {
  SharedBytes shared;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
      const Stream stream;
      GpuGroupOptions options = common;
      options.rank = rank;
      options.world = world;
      options.device = rank;
      Result<std::unique_ptr<GpuGroup>> group = GpuGroup::Make(options, shared.Of(rank));
      ASSERT_TRUE(group.ok()) << group.status().ToString();
      body(**group, stream.get());
    });
  }
}

}  // namespace strata
