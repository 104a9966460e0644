// Tiles of GpuIndex, and ranks of tokens, which are in them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/setops/gpu_raw.cuh"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_sets.cuh"

namespace strata::gpu_sets {

// What ranks are made with, on the GPU.
struct RankJob {
  const uint32_t* documents_with;  // by direct token
  uint64_t* keys[2];               // SetBlock::kDirectTokens each
  std::byte* scratch;
  size_t scratch_bytes;  // at least RankScratchBytes()
  uint16_t* ranks;       // by direct token; kNoRank: no document has it
  uint32_t* ranked;      // becomes how many some document has
};

cudaError_t RankScratchBytes(size_t& bytes);
cudaError_t MakeRanks(const RankJob& job, cudaStream_t stream);

// The tiles of one block.
struct TileJob {
  Raw<uint16_t> raw;
  Block block;
  uint32_t number;       // of the block
  uint32_t first_group;  // in `forward`
  const uint16_t* ranks;
  uint4* forward;   // of all blocks
  TileInfo* tiles;  // of this one
};

cudaError_t MakeTiles(const TileJob& job, cudaStream_t stream);

}  // namespace strata::gpu_sets
