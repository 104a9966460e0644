#include "storage/gpu/device_pool.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr size_t kChunk = DevicePool::kChunkBytes;

class DevicePoolTest : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

TEST_F(DevicePoolTest, AnArrayGrowsInPlaceAndGivesBackWhatItTook) {
  auto pool = DevicePool::Make(0, 5 * kChunk + 1);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  EXPECT_EQ((*pool)->bytes(), 5 * kChunk);
  {
    GrowingArray array;
    ASSERT_TRUE(array.Reserve(**pool, 100 * kChunk).ok());
    EXPECT_EQ((*pool)->bytes_free(), 5 * kChunk);
    ASSERT_TRUE(array.Grow(1).ok());
    const std::byte* const data = array.data();
    EXPECT_EQ(cudaMemset(array.data(), 7, array.bytes()), cudaSuccess);
    ASSERT_TRUE(array.Grow(3 * kChunk).ok());
    EXPECT_EQ(array.data(), data);
    EXPECT_EQ(array.bytes(), 3 * kChunk);
    EXPECT_EQ(cudaMemset(array.data() + kChunk, 8, 2 * kChunk), cudaSuccess);
    std::byte ends[2];
    EXPECT_EQ(cudaMemcpy(&ends[0], array.data(), 1, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&ends[1], array.data() + 3 * kChunk - 1, 1, cudaMemcpyDefault),
              cudaSuccess);
    EXPECT_EQ(ends[0], std::byte{7});
    EXPECT_EQ(ends[1], std::byte{8});
    const Status refused = array.Grow(6 * kChunk);
    EXPECT_EQ(refused.code(), StatusCode::kRefused) << refused.ToString();
    EXPECT_EQ(array.bytes(), 3 * kChunk);
  }
  EXPECT_EQ((*pool)->bytes_free(), 5 * kChunk);
}

TEST_F(DevicePoolTest, SmallArraysTakeLittle) {
  constexpr size_t kPiece = DevicePool::kPieceBytes;
  auto pool = DevicePool::Make(0, 3 * kChunk);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  {
    std::vector<GrowingArray> arrays(40);
    for (GrowingArray& array : arrays) {
      ASSERT_TRUE(array.Reserve(**pool, 2 * kChunk).ok());
      ASSERT_TRUE(array.Grow(kPiece - 1).ok());
      EXPECT_EQ(array.bytes(), kPiece);
      EXPECT_EQ(cudaMemset(array.data(), 9, kPiece), cudaSuccess);
    }
    EXPECT_EQ((*pool)->bytes_free(), 3 * kChunk - 40 * kPiece);
  }
  // All chunks have been cut by now, or can be: pieces stand in for them.
  GrowingArray large;
  ASSERT_TRUE(large.Reserve(**pool, 3 * kChunk).ok());
  ASSERT_TRUE(large.Grow(3 * kChunk).ok());
  EXPECT_EQ(cudaMemset(large.data(), 1, 3 * kChunk), cudaSuccess);
  EXPECT_EQ((*pool)->bytes_free(), 0U);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(DevicePoolTest, SaysWhatIsMissing) {
  const auto nowhere = DevicePool::Make(GpusHere(), kChunk);
  EXPECT_EQ(nowhere.status().code(), StatusCode::kNotFound) << nowhere.status().ToString();
  const auto too_much = DevicePool::Make(0, size_t{1} << 50);
  EXPECT_EQ(too_much.status().code(), StatusCode::kFailed);
  EXPECT_NE(too_much.status().message().find("MiB free"), std::string::npos)
      << too_much.status().ToString();
}

}  // namespace
}  // namespace strata
