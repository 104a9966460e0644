// These tests show what a linked program sees of a GPU that fails.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "strata/gpu/gpu_store.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

const TableSpec kTable = {.name = "t", .dim = 2};

std::unique_ptr<TableStore> StoreWithATable() {
  auto store = MakeGpuStore({.memory_bytes = size_t{64} << 20});
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_TRUE((*store)->CreateTable(kTable).ok());
  return std::move(*store);
}

Status PushOnes(TableStore& store, std::vector<Key> keys) {
  return Push(store, kTable, keys, std::vector<float>(keys.size() * kTable.dim, 1.0F));
}

TEST(GpuStore, AFailureOfTheGpuIsFinalForTheStoreAndLeavesTheProcess) {
  STRATA_SKIP_BELOW_GPUS(1);
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "only emulated GPUs can be made to fail";
  std::unique_ptr<TableStore> store = StoreWithATable();
  ASSERT_TRUE(PushOnes(*store, {1, 2}).ok());

  fail("cudaStreamSynchronize", 0, 1000000);
  const Status first = Pull(*store, kTable, std::vector<Key>{1}).status();
  EXPECT_EQ(first.code(), StatusCode::kFailed);
  EXPECT_NE(first.ToString().find("GPU 0 failed"), std::string::npos) << first.ToString();
  fail("cudaStreamSynchronize", 0, 0);  // as one that works again by itself
  EXPECT_EQ(Pull(*store, kTable, std::vector<Key>{1}).status().ToString(), first.ToString());
  EXPECT_EQ(PushOnes(*store, {1}).ToString(), first.ToString());
  const Status made = store->CreateTable({.name = "u", .dim = 1});
  EXPECT_EQ(made.Prefixed("table 't'").ToString(), first.ToString());
  EXPECT_EQ(store->DropTable(kTable.name).ToString(), made.ToString());
  store.reset();

  const std::unique_ptr<TableStore> next = StoreWithATable();
  EXPECT_TRUE(PushOnes(*next, {1}).ok());
}

}  // namespace
}  // namespace strata
