#include "base/heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/support/sanitizers.h"

namespace strata {
namespace {

constexpr size_t kBlocks = 6;
constexpr size_t kBlockBytes = size_t{1} << 20;

long PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

void UseBlocks() {
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::byte[]>(kBlockBytes));
}

TEST(KeepFreedMemory, FreedBlocksAreUsedAgainWithoutPageFaults) {
  if (kSanitized) GTEST_SKIP() << "sanitizers bring their own malloc";
  KeepFreedMemory();
  UseBlocks();
  const long before = PageFaults();
  constexpr int kTimes = 10;
  for (int i = 0; i < kTimes; ++i) UseBlocks();
  // Without it each time has a fault for each page.
  EXPECT_LT(PageFaults() - before, static_cast<long>(kBlocks * kBlockBytes / 4096));
}

}  // namespace
}  // namespace strata
