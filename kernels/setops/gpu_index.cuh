// The index of GpuSets, made on the GPU: documents come in pieces (block_image.h), written by the
// pool's threads in turn and copied in the order that they are done in, while kernels sort the
// blocks that have come whole. A block's tokens become pairs of token and place, which are sorted
// by token; equal ones stay in the order of places. What is made is SetBlock's, to the bit, and
// tiles, which the scanning engine reads:
//
//   tile    32 documents in a row: groups of 8 tokens, each group of all 32 documents side by side.
//           Tokens are ranks, by how many documents have them, in any order; kNoRank stands where
//           a document has fewer
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "kernels/core/device_memory.cuh"
#include "kernels/setops/block_image.h"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_sets.cuh"

namespace strata::gpu_sets {

class GpuIndex {
 public:
  explicit GpuIndex(bool wants_tiles = true) : wants_tiles_(wants_tiles) {}

  // First: looks at the documents' lengths. Takes no GPU: a thread of the pool calls `meanwhile`
  // beside it, if there is such a thing.
  Status Look(const BlockSource& source, WorkPool& pool,
              const std::function<void()>& meanwhile = {});
  // Then, once; of the current device. What kernels read is there when it returns.
  // `alone`, if it is asked for, is what it takes to make the index a second time, of documents
  // that are on the GPU as they came.
  Status Make(const BlockSource& source, WorkPool& pool, int device, TimeNs* alone = nullptr);

  size_t blocks() const { return shapes_.size(); }
  size_t documents() const { return documents_; }
  uint32_t longest() const { return longest_; }
  // Whether each block's ids are larger than those of all blocks before it.
  bool ids_ascend() const { return ids_ascend_; }
  size_t bytes() const { return arena_ == nullptr ? 0 : arena_->size(); }
  const BlockShape& shape(size_t block) const { return shapes_[block]; }
  // When memory was there, the last piece sent and the index made.
  TimeNs memory_at() const { return memory_at_; }
  TimeNs sent_at() const { return sent_at_; }
  TimeNs made_at() const { return made_at_; }
  // On the GPU.
  const Block* of_blocks() const { return of_blocks_; }
  // Whether there are tiles: they are wanted, all tokens are below SetBlock::kDirectTokens, and one
  // of those numbers is no token.
  bool has_tiles() const { return ranked_ > 0; }
  uint32_t ranked() const { return ranked_; }  // tokens that a document has
  // On the GPU: by token its rank, for tokens that nobody has kNoRank.
  const uint16_t* ranks() const { return ranks_; }
  // On the GPU: all blocks' tiles, those of a block from first_tile(block) on.
  const TileInfo* tiles() const { return tiles_; }
  const uint4* forward() const { return forward_; }
  uint32_t first_tile(size_t block) const { return first_tiles_[block]; }

 private:
  struct Region;
  struct Passing;
  class Sending;

  Status LookAt(const BlockSource& source, WorkPool& pool, bool may_be_wide,
                const std::function<void()>& meanwhile);
  bool MayHaveTiles() const;
  Status TryToMake(const BlockSource& source, WorkPool& pool, int device, bool* is_wide,
                   TimeNs* alone);
  Status MakeAgain(const Passing& passing);
  Status CountNone(const Passing& passing);
  Status PlanMemory(Passing& passing);
  Status Invert(size_t block, const Passing& passing, size_t slot);
  Status EnqueueTiles(const Passing& passing);
  Status Await(const Passing& passing) const;
  Status Rank(const Passing& passing);
  Status MakeTiles(const Passing& passing);

  bool wants_tiles_;
  size_t documents_ = 0;
  uint32_t longest_ = 0;
  bool ids_ascend_ = true;
  std::vector<BlockShape> shapes_;
  std::vector<uint32_t> first_tiles_;  // and how many there are
  std::vector<Block> made_;            // what of_blocks_ has
  std::unique_ptr<DeviceMemory<std::byte>> arena_;
  // In the arena.
  Block* of_blocks_ = nullptr;
  uint32_t* documents_with_ = nullptr;  // by direct token
  uint16_t* ranks_ = nullptr;
  TileInfo* tiles_ = nullptr;
  uint4* forward_ = nullptr;  // null: a block is wide
  uint32_t ranked_ = 0;
  TimeNs memory_at_ = 0;
  TimeNs sent_at_ = 0;
  TimeNs made_at_ = 0;
};

}  // namespace strata::gpu_sets
