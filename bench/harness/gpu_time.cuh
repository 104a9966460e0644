// How long calls take on the current GPU, and how fast its memory is.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/harness/gpu_buffer.cuh"

namespace strata::bench {

// Seconds of one of many calls behind one another, as a trainer makes them; the best of three.
template <typename F>
Result<double> SecondsOf(const F& call) {
  constexpr int kCalls = 20;
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    call(0);
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before the calls"));
    const TimeNs began = RealClock().Now();
    for (int i = 0; i < kCalls; ++i) call(i);
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "the calls"));
    best = std::min(best, static_cast<double>(RealClock().Now() - began) / kSecond / kCalls);
  }
  return best;
}

// Bytes a second that this GPU reads and writes when it copies.
inline Result<double> CopyBandwidth() {
  constexpr size_t kBytes = size_t{1} << 30;
  GpuBuffer<std::byte> from;
  GpuBuffer<std::byte> to;
  STRATA_TRY(from.Make(kBytes));
  STRATA_TRY(to.Make(kBytes));
  STRATA_ASSIGN(const double seconds, SecondsOf([&](int) {
                  (void)cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice);
                }));
  return 2.0 * kBytes / seconds;
}

}  // namespace strata::bench
