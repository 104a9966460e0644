// The index of GpuSets, made on the GPU: documents come as images (block_image.h), block by block,
// while kernels sort those that have come. A block's tokens become pairs of token and place, which
// are sorted by token; equal ones stay in the order of places. What is made is SetBlock's, to the
// bit, and tiles, which the scanning engine reads:
//
//   tile    32 documents in a row: groups of 8 tokens, each group of all 32 documents side by side.
//           Tokens are ranks, by how many documents have them, in any order; kNoRank stands where
//           a document has fewer
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/work_pool.h"
#include "kernels/core/device_memory.cuh"
#include "kernels/setops/block_image.h"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_sets.cuh"

namespace strata::gpu_sets {

class GpuIndex {
 public:
  // Once; of the current device. What kernels read is there when it returns.
  Status Make(const BlockSource& source, WorkPool& pool, int device);

  size_t blocks() const { return shapes_.size(); }
  size_t documents() const { return documents_; }
  uint32_t longest() const { return longest_; }
  // Whether each block's ids are larger than those of all blocks before it.
  bool ids_ascend() const { return ids_ascend_; }
  size_t bytes() const;
  const BlockShape& shape(size_t block) const { return shapes_[block]; }
  // On the GPU.
  const Block* of_blocks() const { return of_blocks_.data(); }
  // Whether there are tiles: all tokens are below SetBlock::kDirectTokens, and one of those numbers
  // is no token.
  bool has_tiles() const { return ranked_ > 0; }
  uint32_t ranked() const { return ranked_; }  // tokens that a document has
  // On the GPU: by token its rank, for tokens that nobody has kNoRank.
  const uint16_t* ranks() const { return ranks_.data(); }
  // On the GPU: all blocks' tiles, those of a block from first_tile(block) on.
  const TileInfo* tiles() const { return tiles_.data(); }
  const uint4* forward() const { return forward_->data(); }
  uint32_t first_tile(size_t block) const { return first_tiles_[block]; }

 private:
  struct Region;
  struct Slot;

  Status TryToMake(const BlockSource& source, WorkPool& pool, int device, bool may_be_wide,
                   bool* is_wide);
  Status PlanMemory(bool with_tiles);
  Status MakeBlock(const BlockSource& source, size_t block, size_t work_bytes, Slot& slot,
                   bool* is_wide);
  template <typename Number>
  Status Invert(size_t block, Slot& slot);
  Status Rank(cudaStream_t stream);
  Status MakeTiles(cudaStream_t stream);

  size_t documents_ = 0;
  uint32_t longest_ = 0;
  bool ids_ascend_ = true;
  std::vector<BlockShape> shapes_;
  std::vector<Block> made_;          // what of_blocks_ has
  std::vector<size_t> raw_offsets_;  // in raw_: a block's offsets, and behind them its tokens
  std::unique_ptr<DeviceMemory<std::byte>> arena_;
  std::unique_ptr<DeviceMemory<std::byte>> raw_;  // offsets and tokens, until there are tiles
  std::unique_ptr<DeviceMemory<uint4>> forward_;  // null: a block is wide
  DeviceMemory<TileInfo> tiles_;
  std::vector<uint32_t> first_tiles_;  // and how many there are
  DeviceMemory<Block> of_blocks_;
  DeviceMemory<uint32_t> documents_with_;  // by direct token
  DeviceMemory<uint16_t> ranks_;
  uint32_t ranked_ = 0;
};

}  // namespace strata::gpu_sets
