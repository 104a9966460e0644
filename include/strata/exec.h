// Where a compute entry point runs. Callers pass an Exec first, spans after; entry points neither
// allocate on the hot path nor synchronise.
#pragma once

#include <cstdint>

namespace strata {

enum class DeviceKind : uint8_t { kCpu = 0, kCuda = 1 };
enum class MemorySpace : uint8_t { kHost = 0, kDevice = 1 };

struct Exec {
  DeviceKind device = DeviceKind::kCpu;
  int ordinal = 0;         // which GPU
  void* stream = nullptr;  // cudaStream_t on a GPU, unused on the CPU
};

}  // namespace strata
