// GpuMap: a hash map in a GPU's memory for kernels of one's own. docs/gpu-internals.md draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "strata/exec.h"
#include "strata/gpu/hash_map.h"
#include "strata/gpu/map_ref.h"
#include "strata/status.h"

namespace strata {

struct GpuMapOptions {
  uint32_t dim = 1;          // elements of a row
  uint32_t state_width = 0;  // further elements of a row, which calls leave alone
  uint64_t rows_max = 0;     // that it ever may have; addresses are reserved for them
  size_t memory_bytes = 0;   // of the GPU; taken at once
};

// Not thread-safe. All work of a map goes over one stream, that of its Exec.
class GpuMap {
 public:
  // kNotFound: there is no such GPU. kFailed: it has not so much memory free; says how much is.
  static Result<std::unique_ptr<GpuMap>> Make(const Exec& exec, const GpuMapOptions& options);
  ~GpuMap();

  // To be called before a call of hash_map.h that makes up to `rows` rows. kRefused when there is
  // no more memory, or rows_max is reached.
  Status MakeRoom(uint64_t rows);
  // What kernels take by value. It holds until the next MakeRoom.
  const MapRef& ref() const;
  // Waits for the stream. Exact.
  Result<MapCounts> Counts() const;

 private:
  struct Impl;
  explicit GpuMap(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
