#include "base/large_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/support/allocations.h"

namespace strata {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(LargeBlocks, AreUsedAgainForMessagesOfAboutTheirSize) {
  const std::byte* first = nullptr;
  {
    const auto block = TakeBlock(20 * kMiB);
    std::fill_n(block.get(), 20 * kMiB, std::byte{1});
    first = block.get();
  }
  const auto again = TakeBlock(20 * kMiB - 1000);
  EXPECT_EQ(again.get(), first);
  const auto other = TakeBlock(20 * kMiB - 1000);
  EXPECT_NE(other.get(), first);
}

// The bound also holds for blocks of sizes that nobody asks for any more.
TEST(LargeBlocks, NoMoreThanTheBoundAreKept) {
  size_t most = 0;
  for (size_t mib = 2; mib < 40; ++mib) {
    TakeBlock(mib * kMiB).reset();
    most = std::max(most, KeptBlockBytes());
    EXPECT_GE(KeptBlockBytes(), mib * kMiB);
  }
  EXPECT_LE(most, kLargeBlocksKept);
  EXPECT_GT(most, kLargeBlocksKept / 2);
}

TEST(LargeBlocks, ComeAndGoOnSeveralThreads) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      std::shared_ptr<std::byte[]> last;
      for (size_t i = 0; i < 200; ++i) {
        auto block = TakeBlock(kMiB + i % 7 * kMiB / 2);
        block[0] = static_cast<std::byte>(t);
        block[kMiB - 1] = static_cast<std::byte>(i);
        EXPECT_EQ(block[0], static_cast<std::byte>(t));
        last = std::move(block);
      }
    });
  }
}

TEST(LargeBlocks, GoToTheSystemWhenThereIsNoMemoryToKeepThem) {
  auto block = TakeBlock(77 * kMiB);
  const size_t kept = KeptBlockBytes();
  test::FailAllocation(0);
  block.reset();
  EXPECT_TRUE(test::AllocationsWork());
  EXPECT_LE(KeptBlockBytes(), kept);
  TakeBlock(77 * kMiB).reset();
  EXPECT_GE(KeptBlockBytes(), 77 * kMiB);
}

TEST(LargeBlocks, SmallOnesAreOrdinaryMemory) {
  const auto none = TakeBlock(0);
  const auto one = TakeBlock(1);
  one[0] = std::byte{7};
  EXPECT_EQ(one[0], std::byte{7});
}

}  // namespace
}  // namespace strata
