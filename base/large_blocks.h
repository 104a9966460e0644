// Memory for large messages, used again. What malloc gets from the system for blocks of many
// megabytes it gives back at once, and faulting their pages in anew takes longer than filling them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace strata {

// Blocks of this process that nobody uses are kept up to this many bytes in all, or one.
inline constexpr size_t kLargeBlocksKept = size_t{128} << 20;

// `bytes` bytes, which hold anything. The last owner gives the block back, on any thread.
// Thread-safe. std::bad_alloc: there is no memory.
std::shared_ptr<std::byte[]> TakeBlock(size_t bytes);

// Gives blocks as TakeBlock does, and keeps what is given back.
using BlockSource = std::function<std::shared_ptr<std::byte[]>(size_t)>;
// From now on blocks of a megabyte and more come from `source`. A process whose GPUs copy from them
// sets one. A second call has no effect. Thread-safe.
void SetBlockSource(BlockSource source);

// Returns how many bytes are kept now, other than by a source. Thread-safe.
size_t KeptBlockBytes();

}  // namespace strata
