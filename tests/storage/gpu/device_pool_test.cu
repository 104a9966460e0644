#include <cuda.h>

#include "storage/gpu/device_buffer.h"
#include "storage/gpu/device_pool.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr size_t kChunk = DevicePool::kChunkBytes;

class DevicePoolTest : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

// With calls of the driver that fail, as only an emulated one can be told to.
class DevicePoolFailing : public DevicePoolTest {
 protected:
  void SetUp() override {
    DevicePoolTest::SetUp();
    fail_ = CallsThatFail();
    if (fail_ == nullptr) GTEST_SKIP() << "needs a GPU that is emulated";
  }
  void Fail(const char* call, unsigned after, unsigned times) { fail_(call, after, times); }

 private:
  FailCalls fail_ = nullptr;
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
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // or a busy GPU writes when they are gone
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
  EXPECT_NE(too_much.status().message().find(" free of "), std::string::npos)
      << too_much.status().ToString();
}

TEST_F(DevicePoolTest, LetsInTheGpusThatReachIt) {
  auto pool = DevicePool::Make(0, 2 * kChunk);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  GrowingArray array;
  ASSERT_TRUE(array.Reserve(**pool, 2 * kChunk).ok());
  ASSERT_TRUE(array.Grow(1).ok());
  ASSERT_TRUE(array.Grow(2 * kChunk).ok());
  auto* const get_access = FromDriver<decltype(cuMemGetAccess)>("cuMemGetAccess");
  ASSERT_NE(get_access, nullptr);
  for (int device = 0; device < GpusHere(); ++device) {
    int reaches = 1;
    if (device != 0) {
      ASSERT_EQ(cudaDeviceCanAccessPeer(&reaches, device, 0), cudaSuccess);
    }
    CUmemLocation location = {};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device;
    for (const std::byte* at : {array.data(), array.data() + 2 * kChunk - 1}) {
      unsigned long long flags = 0;
      ASSERT_EQ(get_access(&flags, &location, reinterpret_cast<CUdeviceptr>(at)), CUDA_SUCCESS);
      EXPECT_EQ(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, reaches != 0) << "GPU " << device;
    }
  }
}

TEST_F(DevicePoolFailing, AChunkThatCannotBeCutIsWholeAgain) {
  auto pool = DevicePool::Make(0, 2 * kChunk);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  GrowingArray array;
  ASSERT_TRUE(array.Reserve(**pool, 2 * kChunk).ok());
  for (const unsigned after : {0U, 5U, 15U}) {
    Fail("cuMemCreate", after, 1);
    EXPECT_EQ(array.Grow(1).code(), StatusCode::kRefused);
    EXPECT_EQ(array.bytes(), 0U);
    EXPECT_EQ((*pool)->bytes_free(), 2 * kChunk);
  }
  ASSERT_TRUE(array.Grow(2 * kChunk).ok());
  EXPECT_EQ(cudaMemset(array.data(), 1, 2 * kChunk), cudaSuccess);
}

TEST_F(DevicePoolFailing, AChunkThatIsGoneIsNotCounted) {
  auto pool = DevicePool::Make(0, 2 * kChunk);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  GrowingArray array;
  ASSERT_TRUE(array.Reserve(**pool, 2 * kChunk).ok());
  Fail("cuMemCreate", 5, 2);
  EXPECT_EQ(array.Grow(1).code(), StatusCode::kRefused);
  EXPECT_EQ((*pool)->bytes(), kChunk);
  EXPECT_EQ((*pool)->bytes_free(), kChunk);
  EXPECT_TRUE(array.Grow(kChunk).ok());
  EXPECT_EQ(array.Grow(2 * kChunk).code(), StatusCode::kRefused);
}

TEST_F(DevicePoolFailing, AnArrayThatCannotBeMappedIsAsItWas) {
  auto pool = DevicePool::Make(0, 4 * kChunk);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  GrowingArray array;
  ASSERT_TRUE(array.Reserve(**pool, 4 * kChunk).ok());
  ASSERT_TRUE(array.Grow(kChunk).ok());
  EXPECT_EQ(cudaMemset(array.data(), 5, kChunk), cudaSuccess);
  const std::pair<const char*, unsigned> cases[] = {
      {"cuMemMap", 0}, {"cuMemMap", 2}, {"cuMemSetAccess", 0}};
  for (const auto& [call, after] : cases) {
    Fail(call, after, 1);
    EXPECT_EQ(array.Grow(4 * kChunk).code(), StatusCode::kRefused);
    EXPECT_EQ(array.bytes(), kChunk);
    EXPECT_EQ((*pool)->bytes_free(), 3 * kChunk);
  }
  ASSERT_TRUE(array.Grow(4 * kChunk).ok());
  EXPECT_EQ(cudaMemset(array.data() + kChunk, 6, 3 * kChunk), cudaSuccess);
  std::byte ends[2];
  EXPECT_EQ(cudaMemcpy(&ends[0], array.data(), 1, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(&ends[1], array.data() + 4 * kChunk - 1, 1, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(ends[0], std::byte{5});
  EXPECT_EQ(ends[1], std::byte{6});
}

// A buffer grows by more than it is asked for, so that it seldom does, and where there is not so
// much memory by no more.
TEST_F(DevicePoolFailing, ABufferTakesNoMoreThanItIsAskedForWhereThereIsNone) {
  constexpr size_t kFirst = size_t{1} << 20;
  constexpr size_t kAsked = kFirst + kFirst / 4;
  DeviceBuffer buffer;
  ASSERT_TRUE(buffer.Reserve(kFirst).ok());
  Fail("cudaMalloc", 0, 2);
  EXPECT_EQ(buffer.Reserve(kAsked).code(), StatusCode::kRefused);
  EXPECT_EQ(buffer.all().size(), kFirst);
  Fail("cudaMalloc", 0, 1);
  ASSERT_TRUE(buffer.Reserve(kAsked).ok());
  EXPECT_EQ(buffer.all().size(), kAsked);
  EXPECT_EQ(cudaMemset(buffer.all().data(), 7, kAsked), cudaSuccess);
  Fail("cudaMalloc", 0, 0);
  ASSERT_TRUE(buffer.Reserve(kAsked + 1).ok());
  EXPECT_EQ(buffer.all().size(), kAsked + kAsked / 2);
}

}  // namespace
}  // namespace strata
