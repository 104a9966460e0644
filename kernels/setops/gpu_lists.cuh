// Lists of GpuIndex: for each token of a block the places of the documents that have it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/setops/block_image.h"
#include "kernels/setops/gpu_raw.cuh"
#include "kernels/setops/gpu_sets.cuh"
#include "strata/status.h"

namespace strata::gpu_sets {

// Of a block, on the GPU: 32-bit words of a list of bits, and what its lists take at the most.
size_t WordsOf(uint32_t size);
size_t ListBytes(const BlockShape& shape);
// To make the lists of any of the blocks.
Status ListWorkBytes(std::span<const BlockShape> shapes, size_t& bytes);

// Of one block, whose shape is known to the last.
struct ListJob {
  const BlockShape& shape;
  Block block;               // but for what the lists say
  Block* made;               // becomes all of it; on the GPU, as what follows
  uint32_t* documents_with;  // by direct token, grows by the block's; null: nobody asks
  std::byte* work;
  size_t work_bytes;  // at least ListWorkBytes
};

template <typename Number>
Status MakeLists(const Raw<Number>& raw, const ListJob& job, cudaStream_t stream);

}  // namespace strata::gpu_sets
