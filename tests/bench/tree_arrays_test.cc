#include "bench/suites/trees/tree_arrays.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file/disk.h"
#include "bench/harness/scratch_folder.h"
#include "worker/gbdt/data/npy_rows.h"

namespace strata::bench {
namespace {

TEST(TreeArrays, AreReadAsRowsAndAreTheSameForASeed) {
  const TreeShape shape = {.name = "small", .rows = 2100, .features = 7};
  const Result<ScratchFolder> folder = ScratchFolder::Make();
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/train.npy";
  const auto bytes = [&](uint64_t seed) {
    EXPECT_TRUE(WriteTreeArrays(shape, seed, folder->path()).ok());
    return *ReadFile(RealDisk(), path, 1 << 20);
  };
  const std::string first = bytes(1);
  EXPECT_NE(bytes(2), first);
  EXPECT_EQ(bytes(1), first);
  const auto rows = NpyRows::Open(RealDisk(), path, {});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  SparseRows block;
  ASSERT_TRUE((*rows)->Next(&block).ok());
  EXPECT_EQ(block.rows(), 2000U);
  EXPECT_EQ((*rows)->features(), 7U);
  const auto positives = std::ranges::count(block.labels, 1.0F);
  EXPECT_GT(positives, 600);
  EXPECT_LT(positives, 1400);
  EXPECT_EQ(std::ranges::count(block.labels, 0.0F), 2000 - positives);
}

}  // namespace
}  // namespace strata::bench
