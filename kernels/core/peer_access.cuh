// GPUs of this process that read and write each other's memory.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "kernels/core/cuda_status.cuh"

namespace strata {

// Calls visit(device, peer) for all pairs, both ways, until one fails.
template <typename Visit>
Status ForPeers(std::span<const int> devices, const Visit& visit) {
  for (const int device : devices) {
    for (const int peer : devices) {
      if (device != peer) STRATA_TRY(visit(device, peer));
    }
  }
  return {};
}

// The first two of which one cannot reach the other's memory; nothing: all can.
inline Result<std::optional<std::pair<int, int>>> FindUnreachable(std::span<const int> devices) {
  std::optional<std::pair<int, int>> found;
  STRATA_TRY(ForPeers(devices, [&found](int device, int peer) -> Status {
    if (found.has_value()) return {};
    int can = 0;
    STRATA_TRY(
        FromCuda(cudaDeviceCanAccessPeer(&can, device, peer), "which GPUs reach each other"));
    if (can == 0) found = {device, peer};
    return {};
  }));
  return found;
}

// From now on each reaches the memory of all others, which FindUnreachable says they can.
inline Status LetReachEachOther(std::span<const int> devices) {
  return ForPeers(devices, [](int device, int peer) -> Status {
    const DeviceScope scope(device);
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(peer, 0);
    if (enabled != cudaErrorPeerAccessAlreadyEnabled) return FromCuda(enabled, "reaching a GPU");
    (void)cudaGetLastError();
    return {};
  });
}

}  // namespace strata
