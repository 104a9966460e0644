#include "base/large_blocks.h"

#include <atomic>
#include <bit>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "base/thread/mutex.h"

namespace strata {
namespace {

constexpr size_t kSmall = size_t{1} << 20;  // malloc keeps blocks below this by itself

// Blocks of a size serve all requests from just above the size before: there are eight from one
// power of two to the next.
size_t RoomFor(size_t bytes) {
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

using Block = std::unique_ptr<std::byte[]>;

class KeptBlocks {
 public:
  // Null: none of this size is kept.
  Block Take(size_t room) {
    const MutexLock lock(mutex_);
    const auto found = free_.find(room);
    if (found == free_.end() || found->second.empty()) return nullptr;
    Block block = std::move(found->second.back());
    found->second.pop_back();
    bytes_ -= room;
    return block;
  }
  void Keep(size_t room, Block block) noexcept {
    const MutexLock lock(mutex_);
    if (bytes_ + room > kLargeBlocksKept) {  // of sizes that nobody asks for any more
      free_.clear();
      bytes_ = 0;
    }
    try {
      free_[room].push_back(std::move(block));
      bytes_ += room;
    } catch (const std::bad_alloc&) {
      // The list has no memory for its place, and so the block goes back to the system.
    }
  }
  size_t bytes() {
    const MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  Mutex mutex_;
  std::map<size_t, std::vector<Block>> free_ STRATA_GUARDED_BY(mutex_);
  size_t bytes_ STRATA_GUARDED_BY(mutex_) = 0;
};

// Blocks may be given back when static objects have ended, so this one does not end.
KeptBlocks& Kept() {
  static auto* const kept = new KeptBlocks;
  return *kept;
}

// Once set it stays, as threads may be using it.
std::atomic<const BlockSource*> block_source = nullptr;

}  // namespace

void SetBlockSource(BlockSource source) {
  auto made = std::make_unique<const BlockSource>(std::move(source));
  const BlockSource* none = nullptr;
  if (block_source.compare_exchange_strong(none, made.get())) (void)made.release();
}

size_t KeptBlockBytes() { return Kept().bytes(); }

std::shared_ptr<std::byte[]> TakeBlock(size_t bytes) {
  if (bytes < kSmall) return std::make_shared_for_overwrite<std::byte[]>(bytes);
  const BlockSource* const source = block_source.load();
  if (source != nullptr) return (*source)(bytes);
  const size_t room = RoomFor(bytes);
  Block block = Kept().Take(room);
  if (block == nullptr) block = std::make_unique_for_overwrite<std::byte[]>(room);
  std::byte* const memory = block.get();
  return {memory, [room, kept = std::move(block)](std::byte* /*memory*/) mutable {
            Kept().Keep(room, std::move(kept));
          }};
}

}  // namespace strata
