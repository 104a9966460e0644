// The GPUs of a server: what they are asked for, and what happens when one fails.
#include "base/human_text.h"
#include "base/large_blocks.h"
#include "storage/gpu/device_pool.h"
#include "storage/gpu/gpu_tables.h"
#include "storage/gpu/pinned_pool.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr uint64_t kMemory = uint64_t{1} << 30;

TableSpec Spec() {
  TableSpec spec{.name = "t"};
  spec.dim = 4;
  return spec;
}

class GpuTablesTest : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

TEST_F(GpuTablesTest, TellsWhatItTook) {
  const auto tables = GpuTables::Open({.ordinal = 0, .memory_bytes = kMemory});
  ASSERT_TRUE(tables.ok()) << tables.status().ToString();
  ASSERT_EQ((*tables)->plan().size(), 1U);
  const std::string plan = (*tables)->plan()[0];
  EXPECT_NE(plan.find("1.0 GiB taken for rows"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("leaves more"), std::string::npos) << plan;
}

TEST_F(GpuTablesTest, ReadsRowsOfLargeMessagesWhereTheyCame) {
  const auto tables = GpuTables::Open({.ordinal = 0, .memory_bytes = kMemory});
  ASSERT_TRUE(tables.ok()) << tables.status().ToString();
  const auto table = (*tables)->Make(Spec(), 0);
  const auto message = TakeBlock(size_t{2} << 20);
  EXPECT_TRUE(table->ReadsInPlace({reinterpret_cast<const float*>(message.get()), 100}));
  const std::vector<float> elsewhere(100);
  EXPECT_FALSE(table->ReadsInPlace(elsewhere));
}

TEST_F(GpuTablesTest, SaysThatItLeavesLittle) {
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const auto tables = GpuTables::Open({.ordinal = 0, .memory_bytes = free - (256U << 20)});
  if (!tables.ok()) GTEST_SKIP() << "somebody else has taken some: " << tables.status().ToString();
  EXPECT_NE((*tables)->plan()[0].find("leaves more"), std::string::npos) << (*tables)->plan()[0];
}

// Somebody else has all but a little of it, and nothing is asked for.
TEST_F(GpuTablesTest, RefusesAGpuThatHasNoMemoryForRows) {
  constexpr size_t kLeft = size_t{20} << 20;
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const auto others = DevicePool::Make(0, free - (size_t{64} << 20));
  if (!others.ok()) GTEST_SKIP() << "somebody else has taken some: " << others.status().ToString();
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  void* more = nullptr;
  if (cudaMalloc(&more, free - kLeft) != cudaSuccess) {
    (void)cudaGetLastError();
    GTEST_SKIP() << "somebody else has taken some";
  }
  size_t left = 0;  // about kLeft: drivers give memory in pieces of their own
  ASSERT_EQ(cudaMemGetInfo(&left, &total), cudaSuccess);
  const Status refused = GpuTables::Open({.ordinal = 0}).status();
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(cudaFree(more), cudaSuccess);
  if (free > left) GTEST_SKIP() << "somebody else has given some back";
  EXPECT_LE(left, kLeft);
  EXPECT_EQ(refused.code(), StatusCode::kFailed) << refused.ToString();
  const std::string expected =
      "there are " + HumanBytes(left / 100 * 85) + " for them: " + HumanBytes(left) + " of ";
  EXPECT_NE(refused.message().find(expected), std::string::npos) << refused.ToString();
}

TEST_F(GpuTablesTest, LanesShareTheGpusInTurns) {
  const auto tables = GpuTables::Open({.ordinal = {}, .memory_bytes = kMemory});
  ASSERT_TRUE(tables.ok()) << tables.status().ToString();
  EXPECT_EQ((*tables)->plan().size(), static_cast<size_t>(GpusHere()));
  const std::vector<Key> keys = {1, 2, 3};
  const std::vector<float> values(keys.size() * 4, 0.5F);
  for (uint16_t lane = 0; lane < 3; ++lane) {
    const auto table = (*tables)->Make(Spec(), lane);
    ASSERT_TRUE(table->Assign(keys, values).ok());
    const auto rows = table->RoomForRows(values.size());
    ASSERT_TRUE(table->Lookup(keys, {rows.get(), values.size()}).ok());
    EXPECT_TRUE(std::equal(values.begin(), values.end(), rows.get()));
  }
}

TEST_F(GpuTablesTest, LeavesAloneWhatNoLaneUses) {
  const auto tables = GpuTables::Open({.ordinal = {}, .memory_bytes = kMemory, .lanes = 1});
  ASSERT_TRUE(tables.ok()) << tables.status().ToString();
  EXPECT_EQ((*tables)->plan().size(), 1U);
  EXPECT_EQ((*tables)->name(), "cuda:0");
  EXPECT_EQ((*tables)->unused(), static_cast<size_t>(GpusHere()) - 1);
}

TEST_F(GpuTablesTest, SaysWhatIsMissing) {
  const auto absent = GpuTables::Open({.ordinal = 99, .memory_bytes = kMemory});
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  EXPECT_NE(absent.status().message().find("GPU 99 is not there"), std::string::npos);
  const auto large = GpuTables::Open({.ordinal = 0, .memory_bytes = uint64_t{1} << 50});
  EXPECT_EQ(large.status().code(), StatusCode::kInvalid);
  EXPECT_NE(large.status().message().find("1.0 PiB are asked for: ask for less"), std::string::npos)
      << large.status().message();
  void* held = nullptr;  // somebody else's
  ASSERT_EQ(cudaMalloc(&held, kMemory), cudaSuccess);
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const auto taken = GpuTables::Open({.ordinal = 0, .memory_bytes = total});
  EXPECT_EQ(taken.status().code(), StatusCode::kFailed);
  EXPECT_NE(taken.status().message().find("nvidia-smi shows who uses its memory"),
            std::string::npos)
      << taken.status().message();
  EXPECT_EQ(cudaFree(held), cudaSuccess);
}

TEST_F(GpuTablesTest, MemoryForRowsIsUsedAgain) {
  const std::shared_ptr<PinnedPool> pool = PinnedPool::Make();
  auto first = pool->Take(5'000);
  const float* const memory = first.get();
  const auto other = pool->Take(5'000);
  EXPECT_NE(other.get(), memory);
  first.reset();
  first = pool->Take(8'000);  // of the same size class
  EXPECT_EQ(first.get(), memory);
  cudaPointerAttributes attributes = {};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
}

// Small ones are cut from pieces.
TEST_F(GpuTablesTest, BlocksOfMemoryForRowsLieApart) {
  const std::shared_ptr<PinnedPool> pool = PinnedPool::Make();
  for (const size_t count : {1'000, 8'192, 70'000, 300'000}) {
    std::vector<std::shared_ptr<float[]>> blocks;
    for (int i = 0; i < 40; ++i) {
      blocks.push_back(pool->Take(count));
      std::fill_n(blocks.back().get(), count, static_cast<float>(i));
    }
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(std::count(blocks[i].get(), blocks[i].get() + count, static_cast<float>(i)),
                static_cast<ptrdiff_t>(count));
    }
  }
}

__global__ void Trap() { __trap(); }

// Nothing can be asked of a GPU that has failed: whoever holds rows there ends, and the next
// process recovers them from checkpoint and log.
TEST_F(GpuTablesTest, AFaultEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [] {
    const auto tables = GpuTables::Open({.ordinal = 0, .memory_bytes = kMemory});
    const auto table = (*tables)->Make(Spec(), 0);
    const std::vector<Key> keys = {1};
    std::vector<float> row(4);
    (void)table->Assign(keys, row);
    Trap<<<1, 1>>>();
    (void)cudaDeviceSynchronize();
    (void)table->Lookup(keys, row);
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(70), "CUDA");
}

}  // namespace
}  // namespace strata
