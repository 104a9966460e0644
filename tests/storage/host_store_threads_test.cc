// The host store under many threads.
#include <gtest/gtest.h>

#include <thread>

#include "storage/memory/host_store.h"

namespace strata {
namespace {

constexpr uint64_t kThreads = 4, kBatches = 200, kKeys = 64;

TableSpec Counting(const std::string& name) {
  TableSpec spec;
  spec.name = name;
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}

// Each thread pushes -1 to the same keys of two tables, named in opposite orders, while others look
// up, scan, and make and drop a table. Small whole numbers add exactly in any order.
TEST(HostStoreThreadsTest, NoUpdateIsLost) {
  const auto store = MakeHostStore();
  const TableSpec a = Counting("a"), b = Counting("b");
  ASSERT_TRUE(store->CreateTable(a).ok());
  ASSERT_TRUE(store->CreateTable(b).ok());
  const auto work = [&](uint64_t thread) {
    std::vector<Key> keys(kKeys);
    const std::vector<float> gradients(kKeys, -1.0F);
    std::vector<float> rows(kKeys);
    for (uint64_t i = 0; i < kBatches; ++i) {
      for (uint64_t k = 0; k < kKeys; ++k) keys[k] = (i * 7 + k) % 1000;
      const TableId first = thread % 2 == 0 ? a.id() : b.id();
      const TableId second = thread % 2 == 0 ? b.id() : a.id();
      Operation update;
      update.kind = OpKind::kUpdate;
      update.parts = {{.table = first, .keys = keys, .in = gradients},
                      {.table = second, .keys = keys, .in = gradients}};
      EXPECT_TRUE(SubmitAndWait(*store, update).status.ok());
      Operation lookup;
      lookup.kind = OpKind::kLookup;
      lookup.parts = {{.table = second, .keys = keys, .out = rows}};
      EXPECT_TRUE(SubmitAndWait(*store, lookup).status.ok());
      for (const float row : rows) EXPECT_GE(row, 1.0F) << "a thread sees its own updates";
      const TableSpec own = Counting("own" + std::to_string(thread));
      EXPECT_TRUE(store->CreateTable(own).ok());
      EXPECT_TRUE(store->DropTable(own.name).ok());
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  }
  std::vector<float> expected(1000, 0.0F);
  for (uint64_t i = 0; i < kBatches; ++i) {
    for (uint64_t k = 0; k < kKeys; ++k) expected[(i * 7 + k) % 1000] += kThreads;
  }
  std::vector<Key> keys(1000);
  for (uint64_t k = 0; k < keys.size(); ++k) keys[k] = k;
  for (const TableSpec& spec : {a, b}) {
    std::vector<float> rows(1000);
    Operation lookup;
    lookup.kind = OpKind::kLookup;
    lookup.parts = {{.table = spec.id(), .keys = keys, .out = rows}};
    ASSERT_TRUE(SubmitAndWait(*store, lookup).status.ok());
    EXPECT_EQ(rows, expected);
  }
}

}  // namespace
}  // namespace strata
